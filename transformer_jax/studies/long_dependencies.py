"""Long dependencies, learnt: is a word right whose reason is far away? (Section 4)."""

import dataclasses
import itertools
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import ml_collections
import numpy as np

from transformer_jax.config import default
from transformer_jax.grammar.distances import (
    LEAST_DISTANCE,
    PRONOUNS,
    DistantPair,
    distant_pairs,
)
from transformer_jax.models.parameters import count_params
from transformer_jax.reports.render import Column, Report, Row, one_table, spaced
from transformer_jax.reports.run_summary import read_run
from transformer_jax.runs.trained_run import TrainedRun
from transformer_jax.studies.bench import Bench
from transformer_jax.studies.next_tokens import forced_batches
from transformer_jax.studies.short_training import set_short_training
from transformer_jax.studies.study import Study
from transformer_jax.visualization import theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# All words of this corpus are pieces of their own.
_VOCAB_SIZE = 1_200
# Pieces of the longest sentence, and more.
_MAX_LENGTH = 128


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How large the study is.

    Attributes:
      systems: what differs from the defaults of `config.model`, by the model's name.
      num_train_pairs: to train on.
      num_steps: updates.
      tokens_per_batch: pieces of each side in an update, padding included.
      most_distance: in training, in words.
      longest_distance: in the test.
      num_pairs: to test with, of each distance.
      seeds: one training of each system for each.
    """

    systems: Mapping[str, Mapping[str, Any]]
    num_train_pairs: int
    num_steps: int
    tokens_per_batch: int = 2_048
    most_distance: int = 20
    longest_distance: int = 40
    num_pairs: int = 60
    seeds: tuple[int, ...] = (0, 1, 2)


def make_config(sizes: Sizes, system: str, seed: int) -> ml_collections.ConfigDict:
    """Return the config of one training; systems differ in `config.model` alone."""
    config = default.get_config(system)
    config.data.update(
        source="distances",
        vocab_size=_VOCAB_SIZE,
        tokenizer_sentences=20_000,
        max_length=_MAX_LENGTH,
        tokens_per_batch=sizes.tokens_per_batch,
        batching="packed",
    )
    config.data.distances.update(
        most_distance=sizes.most_distance,
        longest_distance=sizes.longest_distance,
        num_train_pairs=sizes.num_train_pairs,
        num_validation_pairs=8,
        num_test_pairs=8,
    )
    config.model.update(dropout_rate=0.0, **sizes.systems[system])
    set_short_training(
        config,
        seed=seed,
        num_steps=sizes.num_steps,
        warmup_steps=sizes.num_steps // 5,
        peak_learning_rate=4e-3,
    )
    config.optimizer.clip_norm = 1.0
    config.training.label_smoothing = 0.0
    # The pronouns are counted afterwards.
    config.evaluation.eval_every_steps = 0
    return config


def _measure(sizes: Sizes, bench: Bench) -> list[Row]:
    distances = range(LEAST_DISTANCE, sizes.longest_distance + 1)
    num_pairs = sizes.num_pairs * len(distances)
    # The seed of no training, so that all are tested on the same pairs.
    pairs = list(distant_pairs("test", num_pairs, distances, seed=1_000))
    rows: list[Row] = []
    for system, seed in itertools.product(sizes.systems, sizes.seeds):
        run = bench.train(f"{system}_{seed}", make_config(sizes, system, seed))
        with bench.part(f"test {system}_{seed}"):
            is_right = find_right_ones(run, pairs, len(distances))
        accuracies = is_right.reshape(-1, len(distances)).mean(0)
        rows += [
            {
                "system": system,
                "seed": seed,
                "distance": distance,
                "most_distance": sizes.most_distance,
                "accuracy": float(accuracy),
                "num_params": count_params(run.params),
                "target_tokens": read_run(run.directory.root).target_tokens,
            }
            for distance, accuracy in zip(distances, accuracies, strict=True)
        ]
    return rows


def find_right_ones(
    run: TrainedRun, pairs: Sequence[DistantPair], num_together: int
) -> np.ndarray:
    """Return of each pair whether the right pronoun is the most probable of the three.

    The decoder is given the true words before it.

    Args:
      run: with its parameters.
      pairs: to test with.
      num_together: pairs in a batch; a divisor of their number.

    Raises:
      ValueError: if a pronoun is no single piece of the run's vocabulary.
    """
    source, target = run.tokenizers
    pronouns = target.encode(PRONOUNS)
    if any(len(pieces) != 1 for pieces in pronouns):
        raise ValueError(f"expected one piece for each of {PRONOUNS}, got {pronouns}")
    batches = forced_batches(
        run,
        source.encode([pair.source for pair in pairs]),
        target.encode([pair.prefix for pair in pairs]),
        num_together,
    )

    @jax.jit
    def choose(params: Any, inputs: Any) -> jax.Array:
        logits = run.parts.model.apply({"params": params}, **inputs)
        last = (inputs["target_segments"] != 0).sum(1)[:, None, None] - 1
        at_pronoun = jnp.take_along_axis(logits, last, axis=1)[:, 0]
        return at_pronoun[:, jnp.array(pronouns)[:, 0]].argmax(1)

    chosen = [choose(run.params, inputs) for _, inputs in batches]
    return np.concatenate(chosen) == [pair.gender for pair in pairs]


def _tabulate(rows: Sequence[Row]) -> Report:
    bands = _bands(rows)
    names = [f"{band[0]}–{band[-1]}" for band in bands]
    columns = [
        Column("system", "system"),
        Column("num_params", "parameters", spaced),
        Column("target_tokens", "German pieces seen", lambda n: spaced(round(n))),
        *[Column(name, f"{name} words, %") for name in names],
    ]
    table = []
    for system, accuracies in _by_system(rows).items():
        known = [row for row in rows if row["system"] == system]
        cells = {
            "system": system,
            "num_params": known[0]["num_params"],
            "target_tokens": statistics.mean(row["target_tokens"] for row in known),
        }
        for name, band in zip(names, bands, strict=True):
            means = 100 * accuracies[:, band - LEAST_DISTANCE].mean(1)  # [num_seeds]
            cells[name] = f"{means.mean():.0f} ({min(means):.0f}–{max(means):.0f})"
        table.append(cells)
    notes = [
        "Mean over the seeds (lowest and highest). A guess is right in 33 %.",
        f"Distances over {rows[0]['most_distance']} words are longer than any in "
        "training.",
    ]
    return one_table("Long dependencies, learnt", columns, table, notes)


def _draw(rows: Sequence[Row]) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure((8.4, 4.2), layout="constrained")
    axes = figure.subplots()
    distances = np.concatenate(_bands(rows))
    axes.axvspan(distances[0], rows[0]["most_distance"], color="#f0f0f0", zorder=0)
    guess = 100 / len(PRONOUNS)
    axes.axhline(guess, color=theme.GREY, linewidth=1)
    axes.text(distances[0], guess - 1, "a guess", color=theme.GREY, va="top")
    for number, (system, accuracies) in enumerate(_by_system(rows).items()):
        look = theme.series(number) | {"markersize": 3}
        shares = 100 * accuracies
        axes.plot(distances, shares.mean(0), label=system.replace("_", " "), **look)
        axes.fill_between(
            distances, shares.min(0), shares.max(0), color=look["color"], alpha=0.12
        )
    axes.set_title("The right pronoun of three (grey: distances of the training)")
    axes.set_xlabel("English words from the noun to its pronoun")
    axes.set_ylabel("right, %; mean and range over seeds")
    axes.set_ylim(0, 103)
    figure.legend(loc="outside right upper")
    return figure


def _by_system(rows: Sequence[Row]) -> dict[str, np.ndarray]:
    """Return each system's accuracies: [num_seeds, num_distances]."""
    num_distances = len({row["distance"] for row in rows})
    found: dict[str, list[float]] = {}
    for row in rows:
        found.setdefault(row["system"], []).append(row["accuracy"])
    return {
        system: np.reshape(accuracies, (-1, num_distances))
        for system, accuracies in found.items()
    }


def _bands(rows: Sequence[Row]) -> list[np.ndarray]:
    """Return the distances in four parts, the first two of which are trained on."""
    distances = np.unique([row["distance"] for row in rows])
    is_trained = distances <= rows[0]["most_distance"]
    return [
        band
        for part in (distances[is_trained], distances[~is_trained])
        for band in np.array_split(part, 2)
    ]


_TRANSFORMER = {
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "d_model": 64,
    "d_ff": 256,
    "num_heads": 4,
    "norm_position": "pre",
}
# All of 308 992 parameters, and up to 3 % more.
_SYSTEMS: Mapping[str, Mapping[str, Any]] = {
    "transformer": _TRANSFORMER,
    "restricted_transformer": _TRANSFORMER | {"window": 9},
    "recurrent": {"num_layers": 2, "d_model": 64, "d_state": 88},
    "recurrent_attention": {"d_model": 64, "d_state": 88, "d_attention": 64},
    "convolutional": {
        "num_encoder_layers": 3,
        "num_decoder_layers": 3,
        "d_model": 64,
        "num_channels": 69,
        "max_positions": _MAX_LENGTH,
    },
    "dilated": {
        "num_encoder_layers": 6,
        "num_decoder_layers": 6,
        "d_model": 96,
        "num_dilations": 6,
    },
}

STUDY = Study(
    shows="how often a word is right whose reason is far away, against the distance",
    about=(
        'German says er, sie or es for "it" by the gender of a noun that stands a set '
        "number of words before it; every gender is equally frequent at every "
        "distance, and nothing between gives it away (transformer_jax/grammar/"
        "distances.py). Each system has equally many parameters, within 5 %, and is "
        "trained on the same batches; of three pronouns the most probable one counts, "
        "where the true words before it are given."
    ),
    sizes={
        "full": Sizes(_SYSTEMS, num_train_pairs=30_000, num_steps=300),
        "small": Sizes(
            {"transformer": _TRANSFORMER | {"num_encoder_layers": 1}},
            num_train_pairs=1_000,
            num_steps=2,
            tokens_per_batch=256,
            most_distance=5,
            longest_distance=9,
            num_pairs=3,
            seeds=(0,),
        ),
    },
    measure=_measure,
    tabulate=_tabulate,
    draw=_draw,
)
