"""How much the first word still moves the last output, over distance (Section 4)."""

import dataclasses
import functools
import itertools
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from transformer_jax.models.parameters import init_params
from transformer_jax.reports.render import Column, Part, Report, Row
from transformer_jax.studies import long_dependencies
from transformer_jax.studies.bench import Bench
from transformer_jax.studies.rows import distinct, values
from transformer_jax.studies.study import Study
from transformer_jax.visualization import theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NEW, _TRAINED = "new", "trained"


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How large the study is.

    Attributes:
      training: how the systems are trained.
      distances: pieces between the first of the source and the last of the target.
      num_sentences: of random pieces, whose norms are averaged.
      seeds: of the trainings.
    """

    training: long_dependencies.Sizes
    distances: tuple[int, ...]
    num_sentences: int
    seeds: tuple[int, ...]


def jacobian_norm(
    model: Any, params: Any, distance: jax.Array, tokens: jax.Array, first: int
) -> jax.Array:
    """Return the norm of the derivative of the last logits by the first word's vector.

    Source and target have `distance` + 1 pieces each; rows are as long as the longest
    distance needs, so that one program serves all.

    Args:
      model: a translation model.
      params: its parameters.
      distance: int32 scalar.
      tokens: [2, length] int32, random pieces for source and target, none of them
        `first`.
      first: the piece that the source begins with; its row of the table is what is
        moved, and its own logit is left out, since the table may serve the logits too.

    Returns:
      The Frobenius norm, float32 scalar.
    """
    name = "token_embedding" if "token_embedding" in params else "source_embedding"
    table, tokens = jnp.asarray(params[name]["embedding"]), jnp.asarray(tokens)
    segments = (jnp.arange(tokens.shape[1]) <= distance).astype(jnp.int32)[None]
    source = tokens[:1].at[0, 0].set(first)

    def last_logits(row: jax.Array) -> jax.Array:
        moved = {**params, name: {"embedding": table.at[first].set(row)}}
        logits = model.apply(
            {"params": moved},
            source,
            tokens[1:],
            source_segments=segments,
            target_segments=segments,
        )
        return jnp.delete(logits[0, distance], first, assume_unique_indices=True)

    return jnp.linalg.norm(jax.jacfwd(last_logits)(table[first]))


def _measure(sizes: Sizes, bench: Bench) -> list[Row]:
    rows: list[Row] = []
    for system, seed in itertools.product(sizes.training.systems, sizes.seeds):
        config = long_dependencies.make_config(sizes.training, system, seed)
        run = bench.train(f"{system}_{seed}", config)
        model = run.parts.model
        vocab_size = model.config.target_vocab_size
        rng = np.random.default_rng(seed)
        shape = (sizes.num_sentences, 2, max(sizes.distances) + 1)
        sentences = rng.integers(4, vocab_size - 1, shape, np.int32)
        norm = jax.jit(functools.partial(jacobian_norm, model, first=vocab_size - 1))
        new = init_params(model, jax.random.key(seed))
        with bench.part(f"norms {system}_{seed}"):
            for state, params in ((_NEW, new), (_TRAINED, run.params)):
                rows += [
                    {
                        "system": system,
                        "seed": seed,
                        "state": state,
                        "distance": distance,
                        "norm": statistics.fmean(
                            float(norm(params, jnp.int32(distance), tokens))
                            for tokens in sentences
                        ),
                    }
                    for distance in sizes.distances
                ]
    return rows


def _mean_norms(rows: Sequence[Row], state: str) -> dict[str, dict[int, float]]:
    """Return by system and distance the mean over the seeds."""
    return {
        system: {
            distance: statistics.fmean(
                values(rows, "norm", state=state, system=system, distance=distance)
            )
            for distance in distinct(rows, "distance")
        }
        for system in distinct(rows, "system")
    }


def _tabulate(rows: Sequence[Row]) -> Report:
    parts = []
    for state, title in ((_NEW, "Newly made"), (_TRAINED, "Trained")):
        norms = _mean_norms(rows, state)
        columns = [
            Column("distance", "pieces between"),
            *(
                Column(system, system.replace("_", " "), lambda norm: f"{norm:.2g}")
                for system in norms
            ),
        ]
        table = [
            {"distance": distance}
            | {system: by_distance[distance] for system, by_distance in norms.items()}
            for distance in distinct(rows, "distance")
        ]
        parts.append(Part(title, columns, table))
    return Report(
        "One step instead of n: what the first word does to the last output",
        parts,
        rows,
        [
            "Norm of the derivative of the last output's logits by the vector of the "
            "first source word, in random pieces: the mean over sentences and seeds. "
            "The convolutional system's are as its training sees them, with its "
            "encoder's gradients scaled down (Gehring et al. 2017, Section 3.4); the "
            "recurrent one reads the source from its end (`reverse_source`), so that "
            "its first word is the last one read. The convolutional system's positions "
            "are learned: behind those of training they are as they began."
        ],
    )


def _draw(rows: Sequence[Row]) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure((9, 4), layout="constrained")
    for axes, state in zip(
        figure.subplots(1, 2, sharey=True), (_NEW, _TRAINED), strict=True
    ):
        for number, (system, norms) in enumerate(_mean_norms(rows, state).items()):
            axes.plot(
                list(norms),
                # A float32 product of so many small factors may be nothing at all.
                [norm or None for norm in norms.values()],
                label=system.replace("_", " "),
                **theme.series(number),
            )
        theme.set_log_scale(axes, "x")
        theme.set_log_scale(axes, "y")
        axes.set_title(f"{state.capitalize()} models")
        axes.set_xlabel("pieces between")
    figure.axes[0].set_ylabel("norm of the derivative")
    figure.axes[0].legend()
    return figure


def _with_room_for(
    training: long_dependencies.Sizes, length: int
) -> long_dependencies.Sizes:
    """Give learned positions so many rows; training leaves the last as they began."""
    systems = {
        name: {**sizes, "max_positions": length} if "max_positions" in sizes else sizes
        for name, sizes in training.systems.items()
    }
    return dataclasses.replace(training, systems=systems)


STUDY = Study(
    shows="how much the first word moves the last output, over distance",
    about=(
        "A recurrent state passes a word on step by step, and every step multiplies; "
        "attention reaches it in one. The norm of the Jacobian from the first word's "
        "vector to the last output says how much of it arrives, and of a gradient on "
        "the way back: for all systems, newly made and trained as for the study "
        "`long_dependencies`, beyond the lengths of training too."
    ),
    sizes={
        "full": Sizes(
            _with_room_for(long_dependencies.STUDY.sizes["full"], 256),
            distances=(1, 2, 5, 10, 20, 50, 100, 200),
            num_sentences=3,
            seeds=(0,),
        ),
        "small": Sizes(
            long_dependencies.STUDY.sizes["small"],
            distances=(1, 3),
            num_sentences=1,
            seeds=(0,),
        ),
    },
    measure=_measure,
    tabulate=_tabulate,
    draw=_draw,
)
