"""Cut a line that is too long for the model into pieces that are not."""

import re
from collections.abc import Callable

# Sentence punctuation with the quotes and brackets that may close after it, at the end
# of a word; the full-width marks of Chinese and Japanese end a sentence anywhere.
_SENTENCE = re.compile(r"[.!?…][\"'»«”“’)\]]*(?=\s|$)|[。！？][」』”’）]*")
_SPACES = re.compile(r"\s+")


def split_line(
    line: str, count_tokens: Callable[[str], int], max_tokens: int
) -> list[str]:
    """Cut a line into pieces of at most `max_tokens` tokens, losing nothing but spaces.

    Each piece is as long as possible under these wishes: it ends after a sentence, else
    between two words, else anywhere. A single character that is too long stands alone.

    Args:
      line: any text.
      count_tokens: text -> the number of its tokens.
      max_tokens: 1 or more.

    Returns:
      The pieces without spaces around them; none for a line of spaces.
    """
    pieces = []
    rest = line.strip()
    while rest:
        end = _find_cut(rest, lambda text: count_tokens(text) <= max_tokens, max_tokens)
        pieces.append(rest[:end].rstrip())
        rest = rest[end:].lstrip()
    return pieces


def _find_cut(text: str, fits: Callable[[str], bool], max_tokens: int) -> int:
    """Return where the first piece ends; `text` does not start with a space."""
    longest = _longest_fit(text, fits, first_guess=2 * max_tokens)
    if longest == len(text):
        return longest
    # One character more is searched, to see whether a word ends where the fit does.
    sentences = _SENTENCE.finditer(text, 0, longest + 1)
    spaces = _SPACES.finditer(text, 0, longest + 1)
    wishes = [
        [match.end() for match in sentences if match.end() <= longest],
        [match.start() for match in spaces],
    ]
    for ends in wishes:
        for end in reversed(ends):
            if fits(text[:end]):
                return end
    return longest


def _longest_fit(text: str, fits: Callable[[str], bool], first_guess: int) -> int:
    """Return the length of about the longest prefix that fits, at least 1.

    Guesses double from a small one, so that the work stays linear in the text: no
    prefix far too long is ever tokenised.
    """
    low, high = 1, min(first_guess, len(text))
    while fits(text[:high]):
        if high == len(text):
            return high
        low, high = high, min(2 * high, len(text))
    while high - low > 1:
        middle = (low + high) // 2
        if fits(text[:middle]):
            low = middle
        else:
            high = middle
    return low
