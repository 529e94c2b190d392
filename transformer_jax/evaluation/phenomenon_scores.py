"""The grammar corpus's suite: one accuracy per phenomenon."""

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence

from transformer_jax.grammar.phenomena import PhenomenonExample
from transformer_jax.text_table import text_table

_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclasses.dataclass(frozen=True)
class PhenomenonScores:
    """How many sentences of each phenomenon have their decisive word right.

    Attributes:
      num_right: by name of the phenomenon.
      num_examples: likewise.
    """

    num_right: Mapping[str, int]
    num_examples: Mapping[str, int]

    @property
    def shares(self) -> dict[str, float]:
        """The share of right sentences, from 0 to 1."""
        return {
            name: self.num_right[name] / number
            for name, number in self.num_examples.items()
        }

    def as_dict(self) -> dict[str, dict[str, float]]:
        """Return the shares and the numbers of examples, for JSON."""
        return {
            name: {"share": share, "num_examples": self.num_examples[name]}
            for name, share in self.shares.items()
        }

    def table(self) -> str:
        """Return the shares as lines of text."""
        rows = [("phenomenon", "right", "examples")]
        for name, share in self.shares.items():
            num_examples = str(self.num_examples[name])
            rows.append((name.replace("_", " "), f"{share:.1%}", num_examples))
        return text_table(rows, right=[1, 2])


def score_phenomena(
    translate: Callable[[list[str]], list[str]],
    examples: Mapping[str, Sequence[PhenomenonExample]],
) -> PhenomenonScores:
    """Translate every example and count those with the decisive word right.

    Args:
      translate: sentences to translations, in the same order.
      examples: some of each phenomenon, by its name; none of the lists is empty.
    """
    sources = [example.source for group in examples.values() for example in group]
    translations = iter(translate(sources))
    num_right = {
        name: sum(is_right(example, next(translations)) for example in group)
        for name, group in examples.items()
    }
    return PhenomenonScores(num_right, {n: len(group) for n, group in examples.items()})


def is_right(example: PhenomenonExample, translation: str) -> bool:
    """Return whether a translation has the decisive tokens and not their contrast.

    Tokens are words and single punctuation marks, so ("schläft", ".") asks for the verb
    at the very end. The decisive tokens have to follow one another.
    """
    tokens = _TOKEN.findall(translation)
    size = len(example.decisive)
    windows = (tuple(tokens[i : i + size]) for i in range(len(tokens)))
    return example.decisive in windows and not set(example.contrast) & set(tokens)
