"""Lines for the studies on real text: Multi30k's, or a few of the built-in corpus."""

import pathlib
from collections.abc import Sequence

from transformer_jax.data.lines import read_lines
from transformer_jax.data.sources.grammar import GrammarPairs
from transformer_jax.errors import UserError
from transformer_jax.grammar.splits import Split
from transformer_jax.studies.bench import Bench

_FILES: dict[Split, str] = {"train": "train", "validation": "val"}


def read_pairs(
    bench: Bench, split: Split, num_made: int = 0
) -> Sequence[tuple[str, str]]:
    """Return the English and German lines of a split of Multi30k.

    Args:
      bench: of the study; knows the folder.
      split: "train" or "validation".
      num_made: 0, or how many pairs of the built-in corpus to return instead.

    Raises:
      UserError: if no folder is named, or it lacks the files.
    """
    if num_made:
        return list(GrammarPairs(split, num_made).all_texts())
    if bench.data is None:
        raise UserError(
            "This study trains on Multi30k, which is not part of the project. Name the "
            "folder of its train and val, each as .en and .de: --data DIR."
        )
    sides = [
        read_lines(bench.data / f"{_FILES[split]}.{language}")
        for language in ("en", "de")
    ]
    return list(zip(*sides, strict=True))


def write_lines(path: pathlib.Path, lines: Sequence[str]) -> None:
    """Write a text file of these lines, and the folder that it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
