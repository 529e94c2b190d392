"""Names of classes, as a side of a text beside its sentences."""

import hashlib
from collections.abc import Sequence

from transformer_jax.errors import UserError, did_you_mean
from transformer_jax.fields import split_names


class Labels:
    """The names that a text, or each of its words, may be labelled with.

    It numbers names as a tokenizer does pieces, so that a side of labels is kept with
    the tokens.

    Attributes:
      names: in order; a name's number is its place.
    """

    def __init__(self, names: Sequence[str], *, is_of_words: bool) -> None:
        """Keep the names.

        Args:
          names: in order.
          is_of_words: whether each word of a text has one, parted by spaces, or the
            text has one, which may hold spaces then.

        Raises:
          UserError: if there are fewer than two.
        """
        if len(names) < 2:
            raise UserError(
                f"labels={','.join(names)!r}: expected two names or more, with commas."
            )
        self.names = tuple(names)
        self.is_of_words = is_of_words
        self._numbers = {name: number for number, name in enumerate(names)}

    @property
    def vocab_size(self) -> int:
        """How many names there are."""
        return len(self.names)

    @property
    def fingerprint(self) -> str:
        """A hash of names, order and what they are of."""
        content = repr((self.names, self.is_of_words))
        return hashlib.sha256(content.encode()).hexdigest()

    def split(self, label: str) -> list[str]:
        """Return the names that a text's label consists of."""
        return label.split() if self.is_of_words else [label]

    def join(self, classes: Sequence[int]) -> str:
        """Return the names of a text's classes as its label."""
        return " ".join(self.names[number] for number in classes)

    def check(self, label: str) -> None:
        """Make sure that a text's label is made of names that there are.

        Raises:
          UserError: says which is not.
        """
        for name in self.split(label):
            if name not in self._numbers:
                raise UserError(
                    f"the label {name!r} is none of config.task.labels="
                    f"{','.join(self.names)}.{did_you_mean(name, self.names)}"
                )

    def encode(self, labels: Sequence[str], num_threads: int = 1) -> list[list[int]]:
        """Return the numbers of each text's names, which sources have checked."""
        return [[self._numbers[name] for name in self.split(label)] for label in labels]


def labels_from(names: str, *, is_of_words: bool = False) -> Labels:
    """Return labels from their names with commas between."""
    return Labels(split_names(names), is_of_words=is_of_words)
