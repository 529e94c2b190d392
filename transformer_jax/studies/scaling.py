"""Scaling by sqrt(d_k): what large scores do to a softmax (Section 3.2.1)."""

import dataclasses
import functools
import statistics
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import ml_collections

from transformer_jax.config import default
from transformer_jax.models.attention import scaled_dot_product_attention
from transformer_jax.models.softmax import (
    AttentionScaling,
    masked_softmax,
    scaled_query,
)
from transformer_jax.reports.render import (
    Column,
    Part,
    Report,
    Row,
    by_itself,
    decimals,
    powers,
)
from transformer_jax.studies.bench import Bench
from transformer_jax.studies.rows import distinct, values
from transformer_jax.studies.short_training import set_short_training
from transformer_jax.studies.study import Study
from transformer_jax.training.metrics_file import read_rows
from transformer_jax.visualization import theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCALINGS: tuple[AttentionScaling, ...] = ("sqrt_d_k", "none")
_LABELS = {"sqrt_d_k": "scaled", "none": "not scaled"}


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Attributes:
      depths: d_k of the attentions that are drawn at random.
      num_keys: that each query looks at.
      num_queries: of each d_k and seed; as many draws of the keys as are needed.
      trained_depths: d_k of the models that are trained; it divides d_model.
      d_model: their width, h d_k for any d_k: so many heads there are.
      trained_layers: of each of their stacks.
      max_batch_shapes: of their batches.
      num_steps: of each training.
      train_pairs: of the grammar corpus.
      vocab_size: of its tokenizer.
      seeds: of draws and trainings.
    """

    depths: tuple[int, ...] = tuple(2**power for power in range(11))
    num_keys: int = 64
    num_queries: int = 1024
    trained_depths: tuple[int, ...] = (4, 64)
    d_model: int = 64
    trained_layers: int = 2
    max_batch_shapes: int = 2
    num_steps: int = 300
    train_pairs: int = 20_000
    vocab_size: int = 2_000
    seeds: tuple[int, ...] = (0, 1, 2)


_SMALL = Sizes(
    depths=(1, 64),
    num_keys=16,
    num_queries=32,
    trained_depths=(16,),
    d_model=16,
    trained_layers=1,
    max_batch_shapes=1,
    num_steps=4,
    train_pairs=100,
    vocab_size=330,
    seeds=(0,),
)


def measure(sizes: Sizes, bench: Bench) -> list[Row]:
    """Draw queries and keys at random, then train with and without scaling."""
    rows: list[Row] = []
    with bench.part("random queries and keys"):
        for d_k in sizes.depths:
            for scaling in SCALINGS:
                attend = jax.jit(functools.partial(_attend, sizes, d_k, scaling))
                for seed in sizes.seeds:
                    found = jax.device_get(attend(jax.random.key(seed)))
                    rows.append(
                        {"d_k": d_k, "scaling": scaling, "seed": seed}
                        | {name: float(value) for name, value in found.items()}
                    )
    for d_k in sizes.trained_depths:
        for scaling in SCALINGS:
            for seed in sizes.seeds:
                run = bench.train(
                    f"d_k {d_k} {scaling} seed {seed}",
                    _config(sizes, d_k, scaling, seed),
                )
                rows += [
                    {"d_k": d_k, "scaling": scaling, "seed": seed, "step": row["step"]}
                    | {
                        key: row.get(f"{split}/loss")
                        for split, key in (
                            ("train", "train_loss"),
                            ("validation", "validation_loss"),
                        )
                    }
                    for row in read_rows(run.directory.metrics_path)
                ]
    return rows


def _attend(
    sizes: Sizes, d_k: int, scaling: AttentionScaling, rng: jax.Array
) -> dict[str, jax.Array]:
    """Look at random keys with random queries, all components of variance 1."""
    num_draws = -(-sizes.num_queries // sizes.num_keys)
    shape = (num_draws, sizes.num_keys, 1)
    of_query, of_key, of_value, of_gradient = jax.random.split(rng, 4)
    query = jax.random.normal(of_query, (*shape, d_k))
    key = jax.random.normal(of_key, (*shape, d_k))
    value = jax.random.normal(of_value, (*shape, 1))

    def attend(query: jax.Array) -> tuple[jax.Array, jax.Array]:
        return scaled_dot_product_attention(query, key, value, scaling=scaling)

    output, to_query, weights = jax.vjp(attend, query, has_aux=True)
    (gradient,) = to_query(jax.random.normal(of_gradient, output.shape))
    scores = jnp.einsum("bqhd,bkhd->bhqk", scaled_query(query, scaling), key)
    softmax = functools.partial(masked_softmax, mask=None)
    rows = scores.reshape(-1, sizes.num_keys)
    jacobian = jax.vmap(jax.jacrev(softmax))(rows)  # [queries, num_keys, num_keys]
    return {
        "variance": scores.var(),
        "entropy": jax.scipy.special.entr(weights).sum(axis=-1).mean(),
        "largest_weight": weights.max(axis=-1).mean(),
        "jacobian_norm": jnp.median(jnp.linalg.norm(jacobian, axis=(1, 2))),
        "query_gradient_norm": jnp.median(jnp.linalg.norm(gradient, axis=-1)),
    }


def _config(
    sizes: Sizes, d_k: int, scaling: AttentionScaling, seed: int
) -> ml_collections.ConfigDict:
    """Return a short run on the grammar corpus."""
    config = default.get_config()
    config.data.update(
        source="grammar",
        vocab_size=sizes.vocab_size,
        tokenizer_sentences=5_000,
        tokens_per_batch=2_048,
        max_batch_shapes=sizes.max_batch_shapes,
        max_length=64,
    )
    config.data.grammar.update(
        num_train_pairs=sizes.train_pairs,
        num_validation_pairs=sizes.train_pairs // 100,
        num_test_pairs=16,
    )
    config.model.update(
        num_encoder_layers=sizes.trained_layers,
        num_decoder_layers=sizes.trained_layers,
        d_model=sizes.d_model,
        d_ff=2 * sizes.d_model,
        num_heads=sizes.d_model // d_k,
        dropout_rate=0.0,
        attention_scaling=scaling,
    )
    set_short_training(
        config,
        seed=seed,
        num_steps=sizes.num_steps,
        warmup_steps=sizes.num_steps // 4,
        peak_learning_rate=2e-3,
    )
    config.training.log_every_steps = -(-sizes.num_steps // 20)
    config.decoding.update(max_extra_length=3)
    config.sharding.data = 1
    return config


def _depths(rows: Sequence[Row], name: str) -> list[int]:
    return sorted({row["d_k"] for row in rows if row.get(name) is not None})


def tabulate(rows: Sequence[Row]) -> Report:
    """Put means over seeds: of random attentions, then of trainings."""

    def line(d_k: int, names: Sequence[str]) -> dict[str, Any]:
        return {"d_k": d_k} | {
            f"{name}_{scaling}": statistics.fmean(
                values(rows, name, d_k=d_k, scaling=scaling)
            )
            for name in names
            for scaling in SCALINGS
        }

    def columns(name: str, heading: str, write: Callable[[Any], str]) -> list[Column]:
        return [
            Column(f"{name}_{scaling}", f"{heading}, {word}", write)
            for scaling, word in (("sqrt_d_k", "scaled"), ("none", "not"))
        ]

    drawn = [
        {"theory": d_k}
        | line(d_k, ("variance", "entropy", "jacobian_norm", "query_gradient_norm"))
        for d_k in _depths(rows, "variance")
    ]
    trained = []
    for d_k in _depths(rows, "validation_loss"):
        trained.append(line(d_k, ["validation_loss"]))
        for scaling in SCALINGS:
            losses = values(rows, "validation_loss", d_k=d_k, scaling=scaling)
            spread = f"{min(losses):.2f} to {max(losses):.2f}"
            trained[-1][f"spread_{scaling}"] = spread
    depth = Column("d_k", "d_k")
    return Report(
        "Scaling by sqrt(d_k)",
        [
            Part(
                "Scores of random queries and keys",
                [
                    depth,
                    Column("theory", "variance by theory, not scaled"),
                    *columns("variance", "variance", decimals(2)),
                    *columns("entropy", "entropy, nats", decimals(2)),
                ],
                drawn,
            ),
            Part(
                "Gradients through the softmax of such scores, median of norms",
                [
                    depth,
                    *columns("jacobian_norm", "Jacobian by the scores", powers),
                    *columns("query_gradient_norm", "a loss by the query", powers),
                ],
                drawn,
            ),
            Part(
                "Validation loss of short trainings, nats a token",
                [
                    depth,
                    *columns("validation_loss", "mean of seeds", decimals(2)),
                    *columns("spread", "least to most", by_itself),
                ],
                trained,
            ),
        ],
        rows,
        (
            "A score is a sum of d_k products of independent numbers of mean 0 and "
            "variance 1, and so has the variance d_k; divided by sqrt(d_k), it has 1.",
            "The Jacobian is that of the weights by the scores, its norm Frobenius's; "
            "a loss gives the output a random gradient of variance 1.",
            "Heads times d_k is the width in all trainings, so that all have the same "
            "number of parameters; queries and keys start with variance 1.",
        ),
    )


def draw(rows: Sequence[Row]) -> "Figure":
    """Draw variance, entropy and gradients by d_k, and the losses of trainings."""
    from matplotlib.figure import Figure

    figure = Figure((9, 7), layout="constrained")
    panels = figure.subplots(2, 2)
    depths = _depths(rows, "variance")
    _draw_by_depth(panels[0, 0], rows, "variance")
    panels[0, 0].plot(
        depths, depths, color=theme.GREY, linewidth=1, label="theory: d_k and 1"
    )
    panels[0, 0].axhline(1, color=theme.GREY, linewidth=1)
    theme.set_log_scale(panels[0, 0], "y", base=2)
    panels[0, 0].set_title("Variance of the scores")
    panels[0, 0].legend()
    _draw_by_depth(panels[0, 1], rows, "entropy")
    panels[0, 1].set_ylim(bottom=0)
    panels[0, 1].set_ylabel("nats")
    panels[0, 1].set_title("Entropy of the weights")
    _draw_by_depth(panels[1, 0], rows, "jacobian_norm")
    theme.set_log_scale(panels[1, 0], "y")
    panels[1, 0].set_title("Softmax's Jacobian, median norm")
    _draw_trainings(panels[1, 1], rows)
    return figure


def _draw_by_depth(axes: "Axes", rows: Sequence[Row], name: str) -> None:
    depths = _depths(rows, name)
    for number, scaling in enumerate(SCALINGS):
        means = [
            statistics.fmean(values(rows, name, d_k=d_k, scaling=scaling))
            for d_k in depths
        ]
        axes.plot(depths, means, label=_LABELS[scaling], **theme.series(number))
    theme.set_log_scale(axes, "x", base=2)
    axes.set_xticks(depths, [str(d_k) for d_k in depths], rotation=45)
    axes.set_xlabel("d_k")


def _draw_trainings(axes: "Axes", rows: Sequence[Row]) -> None:
    """Draw the loss of all seeds, a line for each d_k and scaling."""
    number = 0
    for d_k in _depths(rows, "train_loss"):
        for scaling in SCALINGS:
            chosen = {"d_k": d_k, "scaling": scaling}
            steps = sorted(distinct(rows, "step", **chosen))
            means = [
                statistics.fmean(values(rows, "train_loss", step=step, **chosen))
                for step in steps
            ]
            style = theme.series(number) | {"markersize": 3}
            axes.plot(steps, means, label=f"d_k = {d_k}, {_LABELS[scaling]}", **style)
            number += 1
    axes.set_xlabel("step")
    axes.set_ylabel("nats a token")
    axes.set_title("Training loss, mean of seeds")
    axes.legend()


STUDY = Study(
    shows="what large scores do to a softmax, and to training, with and without",
    about=(
        "The paper divides scores by sqrt(d_k), suspecting that large ones push the "
        "softmax into regions where its gradients are extremely small (Section "
        "3.2.1). Queries and keys are drawn with independent components of variance "
        "1, and scores, weights and gradients measured; then small Transformers are "
        "trained on the grammar corpus, with and without."
    ),
    sizes={"full": Sizes(), "small": _SMALL},
    measure=measure,
    tabulate=tabulate,
    draw=draw,
)
