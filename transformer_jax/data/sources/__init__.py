"""Text from somewhere, and nothing else.

A source offers random access to sentences, or pairs of them, as plain text; tokens,
lengths and batches are the business of the folder above. To add one, write a file here,
with a dataclass that declares its fields and a function that opens its splits, and one
line in `SOURCES`.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from transformer_jax.data.sources.distances import (
    DistanceSettings,
    check_distances,
    open_distances,
)
from transformer_jax.data.sources.grammar import (
    GrammarSettings,
    check_grammar,
    open_grammar,
)
from transformer_jax.data.sources.grammar_labels import (
    GrammarLabelSettings,
    check_grammar_labels,
    open_grammar_labels,
)
from transformer_jax.data.sources.labelled_files import (
    LabelledFileSettings,
    check_labelled_files,
    open_labelled_files,
)
from transformer_jax.data.sources.text_files import (
    TextFileSettings,
    check_text_files,
    open_text_files,
)
from transformer_jax.data.sources.tfds_labels import (
    TfdsLabelSettings,
    check_tfds_labels,
    open_tfds_labels,
)
from transformer_jax.data.sources.tfds_pairs import TfdsSettings, open_tfds
from transformer_jax.data.text_source import OpenRequest, TextSource


def _check_nothing(settings: Any, languages: Sequence[str]) -> None:
    """Leave it all to the opening."""


class Source(NamedTuple):
    """A kind of source.

    Attributes:
      settings: frozen dataclass that declares its fields of `config.data`.
      open_splits: (settings, request) → the splits it has: train and validation, and
        others to be scored on.
      check: refuses (settings, languages) that are sure not to open; needs no text.
      has_labels: whether its texts are labelled.
      has_documents: whether it can tell which sentences belong together.
    """

    settings: type
    open_splits: Callable[[Any, OpenRequest], dict[str, TextSource]]
    check: Callable[[Any, Sequence[str]], None] = _check_nothing
    has_labels: bool = False
    has_documents: bool = False


SOURCES = {
    "distances": Source(DistanceSettings, open_distances, check_distances),
    "files": Source(
        TextFileSettings, open_text_files, check_text_files, has_documents=True
    ),
    "grammar": Source(GrammarSettings, open_grammar, check_grammar),
    "grammar_labels": Source(
        GrammarLabelSettings, open_grammar_labels, check_grammar_labels, has_labels=True
    ),
    "labelled": Source(
        LabelledFileSettings, open_labelled_files, check_labelled_files, has_labels=True
    ),
    "tfds": Source(TfdsSettings, open_tfds),
    "tfds_labels": Source(
        TfdsLabelSettings, open_tfds_labels, check_tfds_labels, has_labels=True
    ),
}
