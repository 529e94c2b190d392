"""What makes a pair of text files unfit, or suspicious, for scoring."""

import re
from collections.abc import Callable, Sequence

from transformer_jax.errors import UserError

COMPOUND_MARK = "##AT##"

# sacreBLEU's own limit for "you forgot to detokenize your test data".
_TOKENISED_LINES = 100
_SUB_WORD = re.compile(r"@@(\s|$)|\u2581")
_ESCAPE = re.compile(r"&(apos|quot|amp|lt|gt|#\d+);|@-@")
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
      TypeError: for one string in place of a sequence of lines.
      UserError: if there are no lines, the numbers of lines differ, or a line already
        holds the mark that splitting a compound would add.
    """
    if isinstance(hypotheses, str) or isinstance(references, str):
        raise TypeError("hypotheses and references must be sequences of lines.")
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
    side: str = "hypothesis",
) -> tuple[str, ...]:
    """Return a note for each sign that the score may not mean what it seems to.

    Args:
      hypotheses: translations, one a line.
      references: the translations to compare with, as many lines.
      sources: what was translated, as many lines, where it is known.
      side: what to call the hypotheses.
    """
    notes = _format_notes(side, hypotheses)
    notes += _format_notes("reference", references)
    if empty := _count(hypotheses, lambda line: not line.strip()):
        notes.append(f"empty {side} lines: {empty}, scored as such.")
    if empty := _count(references, lambda line: not line.strip()):
        notes.append(f"empty reference lines: {empty}, scored as such.")
    filled = [
        pair for pair in zip(hypotheses, references, strict=True) if pair[0].strip()
    ]
    if len(filled) > 1 and all(line == reference for line, reference in filled):
        notes.append(
            f"Every translated line equals its reference. Is the {side} a copy?"
        )
    if sources is not None:
        pairs = zip(hypotheses, sources, strict=True)
        copies = sum(bool(line.strip()) and line == source for line, source in pairs)
        if 2 * copies > len(filled):
            notes.append(
                f"{copies} of {len(hypotheses)} {side} lines equal their source. "
                f"Is the direction of translation the right one?"
            )
    return tuple(notes)
