"""What became of a line: candidates, pieces put together again, and warnings."""

import dataclasses
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One translation of a line.

    Attributes:
      text: one line of text.
      score: log_prob / length penalty, what the search maximises.
      log_prob: the model's log-probability of the tokens, EOS included.
      is_cut: whether it is as long as it may be, and so perhaps without its end.
    """

    text: str
    score: float
    log_prob: float
    is_cut: bool = False


@dataclasses.dataclass(frozen=True)
class Translation:
    """What became of one line.

    Attributes:
      text: the best candidate's.
      candidates: distinct texts, best first; at least one, at most `num_best`. Those of
        a line translated in pieces join pieces of equal rank and add their scores.
      num_pieces: in how many pieces the line was translated; 0 for an empty one.
      warnings: what a person should hear about this line.
    """

    text: str
    candidates: tuple[Candidate, ...]
    num_pieces: int = 1
    warnings: tuple[str, ...] = ()


def join_pieces(
    pieces: Sequence[tuple[Candidate, ...]], max_tokens: int, max_extra_length: int
) -> Translation:
    """Put the pieces of a line together again.

    Args:
      pieces: candidates of each piece, best first; at least one piece.
      max_tokens: of a piece, EOS not included, for a warning.
      max_extra_length: of a translation, likewise.
    """
    candidates = pieces[0]
    warnings = []
    if len(pieces) > 1:
        candidates = tuple(
            Candidate(
                text=" ".join(piece.text for piece in same_rank if piece.text),
                score=sum(piece.score for piece in same_rank),
                log_prob=sum(piece.log_prob for piece in same_rank),
                is_cut=any(piece.is_cut for piece in same_rank),
            )
            for same_rank in zip(*pieces, strict=False)
        )
        warnings.append(
            f"more than {max_tokens} tokens, the model's limit; it was translated in "
            f"{len(pieces)} pieces."
        )
    if candidates[0].is_cut:
        warnings.append(
            "its translation is as long as it may be "
            f"(decoding.max_extra_length={max_extra_length}) and may have been cut off."
        )
    return Translation(candidates[0].text, candidates, len(pieces), tuple(warnings))


def copy_line(line: str) -> Translation:
    """Return a line that is not searched for as its own translation."""
    text = in_one_line(line)
    return Translation(text, (Candidate(text, 0.0, 0.0),), num_pieces=0)


def in_one_line(text: str) -> str:
    """Replace whatever Unicode takes for the end of a line by a space."""
    return " ".join(text.splitlines())
