"""What makes a pair of text files unfit, or suspicious, for scoring."""

import re
from collections import Counter
from collections.abc import Callable, Sequence

from sacrebleu.metrics.bleu import BLEUScore

from transformer_jax.errors import UserError

COMPOUND_MARK = "##AT##"

# sacreBLEU's own limit for "you forgot to detokenize your test data".
_TOKENISED_LINES = 100
_SUB_WORD = re.compile(r"@@(\s|$)|\u2581")
_ESCAPE = re.compile(r"&(apos|quot|amp|lt|gt|#\d+);|@-@")
# Below this, a score says more about the length of the translations than about them.
_LEAST_BREVITY_PENALTY = 0.9
# A line repeats itself if no more than this share of its runs of four characters are
# different ones. Words of a language give more, up to pages long.
_RUN, _LEAST_RUNS, _SHARE_OF_RUNS = 4, 12, 0.5
# From this share of all lines on, such lines are remarked on.
_MANY = 0.1
_SGML = re.compile(r"^\s*</?(seg|doc|refset|srcset|tstset|mteval|hl|p)\b[^>]*>", re.I)


def require_scorable(
    hypotheses: Sequence[str],
    references: Sequence[str],
    sources: Sequence[str] | None = None,
    *,
    side: str = "hypothesis",
) -> None:
    """Refuse lines that have no well-defined score.

    Args:
      hypotheses: translations, one a line.
      references: the translations to compare with, one a line.
      sources: what was translated, one a line, where it is known.
      side: what to call the hypotheses.

    Raises:
      TypeError: for one string in place of a sequence of lines, or what is no string
        in place of a line.
      UserError: if there are no lines, the numbers of lines differ, or a line already
        holds the mark that splitting a compound would add.
    """
    if isinstance(hypotheses, str) or isinstance(references, str):
        raise TypeError("hypotheses and references must be sequences of lines.")
    for side_lines in (hypotheses, references):
        for number, line in enumerate(side_lines, start=1):
            if not isinstance(line, str):
                raise TypeError(f"expected text, got {line!r} as line {number}.")
    for other, lines in (("reference", references), ("source", sources)):
        if lines is not None and len(lines) != len(hypotheses):
            raise UserError(
                f"There are {len(hypotheses)} {side} lines and {len(lines)} {other} "
                "lines, and line n of one belongs to line n of the other. Give files "
                "with equally many lines, empty translations as empty lines."
            )
    if not hypotheses:
        raise UserError(
            f"There is nothing to score: {side} and reference hold no lines. Give at "
            "least one line of each."
        )
    for name, lines in ((side, hypotheses), ("reference", references)):
        for number, line in enumerate(lines, start=1):
            if COMPOUND_MARK in line:
                raise UserError(
                    f"The {name} holds {COMPOUND_MARK} in line {number}: its compounds "
                    "are already split, and splitting twice would split the mark. Give "
                    "plain text, as it was before tokenisation."
                )


def _count(lines: Sequence[str], is_found: Callable[[str], object]) -> int:
    return sum(bool(is_found(line)) for line in lines)


def _format_notes(side: str, lines: Sequence[str]) -> list[str]:
    """Say where one side looks like anything but plain text."""
    notes = []
    ends = _count(lines, lambda line: line.endswith(" ."))
    escapes = _count(lines, _ESCAPE.search)
    if ends >= _TOKENISED_LINES or 2 * ends > len(lines) or escapes:
        notes.append(
            f"The {side} looks tokenised already ({ends} lines end in ' .', {escapes} "
            f"hold marks such as &apos; or @-@). Score plain text."
        )
    if sub_words := _count(lines, _SUB_WORD.search):
        notes.append(
            f"The {side} has sub-word marks (@@ or \u2581) in {sub_words} lines. Join "
            f"the pieces before scoring."
        )
    if markup := _count(lines, _SGML.search):
        notes.append(
            f"The {side} looks like SGML or XML ({markup} lines start with a tag). "
            f"Extract the plain text first."
        )
    return notes


def find_suspicions(
    hypotheses: Sequence[str],
    references: Sequence[str],
    sources: Sequence[str] | None = None,
    *,
    more_references: Sequence[Sequence[str]] = (),
    side: str = "hypothesis",
) -> tuple[str, ...]:
    """Return a note for each sign that the score may not mean what it seems to.

    Args:
      hypotheses: translations, one a line.
      references: the translations to compare with, as many lines.
      sources: what was translated, as many lines, where it is known.
      more_references: others to compare with.
      side: what to call the hypotheses.
    """
    notes = _format_notes(side, hypotheses)
    notes += find_degeneration(hypotheses, references, side=side)
    empty, num_filled = _count_blank(hypotheses)
    if empty and num_filled:
        notes.append(f"empty {side} lines: {empty}, scored as such.")
    for lines in (references, *more_references):
        notes += _format_notes("reference", lines)
        if empty := _count_blank(lines)[0]:
            notes.append(f"empty reference lines: {empty}, scored as such.")
        pairs = zip(hypotheses, lines, strict=True)
        filled = [line == reference for line, reference in pairs if line.strip()]
        if len(filled) > 1 and all(filled):
            notes.append(
                f"Every translated line equals its reference. Is the {side} a copy?"
            )
    if sources is not None:
        pairs = zip(hypotheses, sources, strict=True)
        copies = sum(bool(line.strip()) and line == source for line, source in pairs)
        if 2 * copies > num_filled:
            notes.append(
                f"{copies} of {len(hypotheses)} {side} lines equal their source. "
                f"Is the direction of translation the right one?"
            )
    return tuple(dict.fromkeys(notes))


def _count_blank(lines: Sequence[str]) -> tuple[int, int]:
    """Return how many lines hold nothing, and how many something."""
    num_filled = _count(lines, str.strip)
    return len(lines) - num_filled, num_filled


def find_degeneration(
    hypotheses: Sequence[str], references: Sequence[str], *, side: str = "hypothesis"
) -> list[str]:
    """Return a note where translations say nothing, all the same, or one thing again.

    What the references do as well is not remarked on.

    Args:
      hypotheses: translations, one a line.
      references: the translations to compare with, as many lines.
      side: what to call the hypotheses.
    """
    _, num_filled = _count_blank(hypotheses)
    if not num_filled:
        return [f"All {len(hypotheses)} {side} lines are empty."]
    notes = []
    (line, same), (_, usual) = _most_common(hypotheses), _most_common(references)
    if same > 1 and 2 * same > num_filled and same >= 2 * usual:
        notes.append(
            f"{same} of {len(hypotheses)} {side} lines are the same: {_cut(line)!r}."
        )
    looping = [line for line in hypotheses if _is_loop(line)]
    if len(looping) >= max(_MANY * num_filled, 2 * _count(references, _is_loop), 1):
        notes.append(
            f"{len(looping)} of {len(hypotheses)} {side} lines repeat a phrase over "
            f"and over, such as {_cut(looping[0])!r}."
        )
    return notes


def _most_common(lines: Sequence[str]) -> tuple[str, int]:
    """Return the line with words that occurs most often, and how often it does."""
    filled = Counter(stripped for line in lines if (stripped := line.strip()))
    return max(filled.items(), key=lambda item: item[1], default=("", 0))


def _is_loop(line: str) -> bool:
    num_runs = len(line) - _RUN + 1
    if num_runs < _LEAST_RUNS:
        return False
    return len({line[n : n + _RUN] for n in range(num_runs)}) <= (
        _SHARE_OF_RUNS * num_runs
    )


def _cut(line: str) -> str:
    """Return the beginning of a line, to be quoted."""
    return line if len(line) <= 60 else f"{line[:60]}..."


def find_oddities_of_score(
    score: BLEUScore, unsmoothed: float | None = None, *, side: str = "hypothesis"
) -> list[str]:
    """Return a note where BLEU is low, or 0, for another reason than the words.

    Args:
      score: sacreBLEU's.
      unsmoothed: BLEU without smoothing, if there is one.
      side: what to call what was scored.
    """
    notes = []
    if score.sys_len and score.bp < _LEAST_BREVITY_PENALTY:
        notes.append(
            f"The {side} has {score.ratio:.3f} of the reference's length, for which "
            f"sacreBLEU is multiplied by {score.bp:.3f} (brevity penalty)."
        )
    if not has_four_grams(score):
        notes.append(
            f"No line of the {side} has four tokens: BLEU counts four-grams, and is 0 "
            "without any. chrF2 is the score to read."
        )
    elif unsmoothed == 0:
        notes.append(
            "The paper's BLEU is 0 because no four-gram is in the reference: it is not "
            "smoothed."
        )
    return notes


def has_four_grams(score: BLEUScore) -> bool:
    """Say whether there is any of what BLEU counts at most."""
    return score.totals[-1] > 0
