"""Pairs of the grammar's words, with a dependency over a set number of words."""

import dataclasses
import functools
from collections.abc import Sequence

from transformer_jax.data.sources.grammar import check_languages, in_languages
from transformer_jax.data.text_source import (
    MadeTexts,
    OpenRequest,
    Text,
    TextSource,
)
from transformer_jax.errors import UserError
from transformer_jax.fields import fixed
from transformer_jax.grammar.distances import LEAST_DISTANCE, distant_pairs
from transformer_jax.grammar.splits import Split


@dataclasses.dataclass(frozen=True)
class DistanceSettings:
    """How far apart the noun and its pronoun are, in English words, and how often."""

    least_distance: int = fixed(
        LEAST_DISTANCE, "words from noun to pronoun, at least", least=LEAST_DISTANCE
    )
    most_distance: int = fixed(
        20, "the same at most, in all splits but long", least=LEAST_DISTANCE
    )
    longest_distance: int = fixed(
        40,
        "the same at most in the split long, which begins beyond most_distance",
        least=LEAST_DISTANCE,
    )
    num_train_pairs: int = fixed(50_000, "pairs of the training split", least=1)
    num_validation_pairs: int = fixed(500, "pairs of the validation split", least=1)
    num_test_pairs: int = fixed(
        1_000, "pairs of the test split, and of the one with long distances", least=1
    )


def check_distances(settings: DistanceSettings, languages: Sequence[str]) -> None:
    """Make sure that the distances rise, and that the grammar speaks the language.

    Raises:
      UserError: names the fields.
    """
    distances = (
        settings.least_distance,
        settings.most_distance,
        settings.longest_distance,
    )
    if not distances[0] <= distances[1] < distances[2]:
        raise UserError(
            "least_distance={}, most_distance={} and longest_distance={} do not rise. "
            "Make the first at most the second, and the third larger.".format(
                *distances
            )
        )
    check_languages(languages)


def open_distances(
    settings: DistanceSettings, request: OpenRequest
) -> dict[str, TextSource]:
    """Return the four splits, or one language of each.

    Raises:
      UserError: if the settings do not fit together, or one language is asked for that
        is neither English nor German.
    """
    check_distances(settings, request.languages)
    trained = range(settings.least_distance, settings.most_distance + 1)
    beyond = range(settings.most_distance + 1, settings.longest_distance + 1)
    num_pairs, seed = settings.num_test_pairs, request.seed
    splits: dict[str, TextSource] = {
        "train": distance_texts("train", settings.num_train_pairs, trained, seed),
        "validation": distance_texts(
            "validation", settings.num_validation_pairs, trained, seed
        ),
        "test": distance_texts("test", num_pairs, trained, seed),
        "long": distance_texts("test", num_pairs, beyond, seed),
    }
    return in_languages(splits, request.languages)


def distance_texts(
    split: Split, num_pairs: int, distances: range, seed: int = 0
) -> MadeTexts:
    """Return distinct pairs.

    Args:
      split: of the grammar; no sentence is in two.
      num_pairs: how many.
      distances: which take turns.
      seed: another seed, other sentences.
    """
    make = functools.partial(_make_texts, split, num_pairs, distances, seed)
    return MadeTexts(make, num_pairs)


def _make_texts(
    split: Split, num_pairs: int, distances: range, seed: int
) -> list[Text]:
    try:
        pairs = distant_pairs(split, num_pairs, distances, seed)
        return [(pair.source, pair.target) for pair in pairs]
    except ValueError as error:
        raise UserError(
            f"{str(error).capitalize()}. Ask for fewer pairs or longer distances."
        ) from error
