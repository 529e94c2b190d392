"""Which sentences belong to which split.

The English sentence alone decides, so no two splits ever share one.
"""

import hashlib
import random
from typing import Literal

from transformer_jax.grammar import english, german, sentences

Split = Literal["train", "validation", "test", "long"]

# Words on either side. Up to this many in training; more, on both sides, in "long".
MAX_WORDS = 20
MAX_WORDS_LONG = 40

# An English sentence falls into one of these drawers; two of them are held out.
_NUM_DRAWERS = 16
_HELD_OUT: dict[int, Split] = {0: "validation", 1: "test"}


def make_pair(split: Split, index: int, seed: int) -> tuple[str, str]:
    """Return the first pair of the split in the stream of (seed, index)."""
    rng = random.Random(hash_number(f"{split} {seed} {index}"))
    make = sentences.long_sentence if split == "long" else sentences.sentence
    while True:
        sentence = make(rng)
        source = english.say_sentence(sentence)
        if split not in ("long", split_of(source)):
            continue
        pair = source, german.say_sentence(sentence)
        if is_long_enough(pair) if split == "long" else is_short_enough(pair):
            return pair


def is_short_enough(pair: tuple[str, str]) -> bool:
    """Return whether a pair is within the limit of training."""
    return max(_num_words(pair)) <= MAX_WORDS


def is_long_enough(pair: tuple[str, str]) -> bool:
    """Return whether both sides are longer than any in training."""
    lengths = _num_words(pair)
    return MAX_WORDS < min(lengths) and max(lengths) <= MAX_WORDS_LONG


def _num_words(pair: tuple[str, str]) -> tuple[int, int]:
    return len(pair[0].split()), len(pair[1].split())


def split_of(source: str) -> Split:
    """Return the split of an English sentence within the limit of training."""
    return _HELD_OUT.get(hash_number(source) % _NUM_DRAWERS, "train")


def hash_number(text: str) -> int:
    """Return a 64-bit number that depends on the text alone, on every machine."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
