"""Order: self-attention has none of its own, positions give it one (Section 3.5)."""

import dataclasses
import functools
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import ml_collections
import numpy as np

from transformer_jax.config import default
from transformer_jax.data.sources.grammar import GrammarPairs
from transformer_jax.grammar.splits import MAX_WORDS
from transformer_jax.models.attention import MultiHeadAttention
from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.parameters import init_params
from transformer_jax.models.positions import POSITIONS
from transformer_jax.models.transformer import Transformer
from transformer_jax.reports.render import (
    Column,
    Part,
    Report,
    Row,
    decimals,
    powers,
    spaced,
)
from transformer_jax.runs.trained_run import TrainedRun
from transformer_jax.studies.bench import Bench
from transformer_jax.studies.next_tokens import score_tokens
from transformer_jax.studies.rows import distinct, values
from transformer_jax.studies.short_training import set_short_training
from transformer_jax.studies.study import Study
from transformer_jax.visualization import theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = ("none", "learned", "sinusoidal")
_VOCAB_SIZE = 1000  # of the networks whose input is shuffled
_WORDS_A_BIN = 5


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Attributes:
      shuffled_tokens: length of the input that is shuffled.
      d_model: width of all networks.
      num_layers: of the stacks whose input is shuffled.
      trained_layers: of each stack of the networks that are trained.
      max_batch_shapes: of their batches.
      num_steps: of each training.
      train_pairs: of the grammar corpus.
      test_pairs: of each of its two test splits, short sentences and long ones.
      vocab_size: of the corpus's tokenizer.
      seeds: of weights, shuffles and trainings.
    """

    shuffled_tokens: int = 32
    d_model: int = 64
    num_layers: int = 6
    trained_layers: int = 2
    max_batch_shapes: int = 3
    num_steps: int = 1000
    train_pairs: int = 100_000
    test_pairs: int = 1000
    vocab_size: int = 3500
    seeds: tuple[int, ...] = (0,)


_SMALL = Sizes(
    shuffled_tokens=9,
    d_model=16,
    num_layers=1,
    trained_layers=1,
    max_batch_shapes=1,
    num_steps=2,
    train_pairs=60,
    test_pairs=20,
    vocab_size=330,
    seeds=(0,),
)


def measure(sizes: Sizes, bench: Bench) -> list[Row]:
    """Shuffle inputs of new networks, then train some and read beyond their lengths."""
    rows: list[Row] = []
    with bench.part("shuffling"):
        for kind in KINDS:
            for seed in sizes.seeds:
                rows += _shuffle(sizes, kind, seed)
    for seed in sizes.seeds:
        for kind in KINDS:
            run = bench.train(f"{kind} seed {seed}", _config(sizes, kind, seed))
            with bench.part(f"reading {kind} seed {seed}"):
                rows += _read(sizes, run, {"positions": kind, "seed": seed})
    return rows


def _shuffle(sizes: Sizes, kind: str, seed: int) -> list[Row]:
    """Compare what networks make of an input and of the same input, shuffled."""
    config = TransformerConfig(
        _VOCAB_SIZE,
        _VOCAB_SIZE,
        d_model=sizes.d_model,
        d_ff=2 * sizes.d_model,
        num_heads=4,
        num_encoder_layers=sizes.num_layers,
        num_decoder_layers=sizes.num_layers,
        max_positions=sizes.shuffled_tokens,
        positions=kind,
    )
    model = Transformer(config)
    rngs = iter(jax.random.split(jax.random.key(seed), 7))
    params = init_params(model, next(rngs))
    shape = (1, sizes.shuffled_tokens)
    source, target = jax.random.randint(next(rngs), (2, *shape), 4, _VOCAB_SIZE)
    order = jax.random.permutation(next(rngs), sizes.shuffled_tokens)
    segments = jnp.ones(shape, int)
    x = jax.random.normal(next(rngs), (*shape, sizes.d_model))
    attention = MultiHeadAttention(
        sizes.d_model, config.num_heads, config.key_depth, config.value_depth
    )
    variables = attention.init(next(rngs), x, None)
    encoding = _encoding(config, shape[1], next(rngs))

    apply = functools.partial(model.apply, {"params": params}, source_segments=segments)

    @jax.jit
    def attend(x: jax.Array) -> jax.Array:
        return jnp.asarray(attention.apply(variables, x + encoding, None))

    @jax.jit
    def encode(source: jax.Array) -> jax.Array:
        return jnp.asarray(apply(source, method="encode"))

    @jax.jit
    def logits(source: jax.Array, target: jax.Array) -> jax.Array:
        return jnp.asarray(apply(source, target, target_segments=segments))

    compared = {
        "self-attention": (attend(x)[:, order], attend(x[:, order])),
        "encoder": (encode(source)[:, order], encode(source[:, order])),
        "logits, source shuffled": (
            logits(source, target),
            logits(source[:, order], target),
        ),
        "logits, target shuffled": (
            logits(source, target)[:, order],
            logits(source, target[:, order]),
        ),
    }
    return [
        {
            "network": name,
            "positions": kind,
            "seed": seed,
            "difference": _difference(*both),
        }
        for name, both in compared.items()
    ]


def _encoding(config: TransformerConfig, length: int, rng: jax.Array) -> jax.Array:
    """Return what positions add to embeddings, [1, length, d_model]; maybe zeros."""
    make = POSITIONS[config.positions].encoding
    if make is None:
        return jnp.zeros((1, length, config.d_model))
    encoding, _ = make(config).init_with_output(rng, None, length)
    return jnp.asarray(encoding)


def _difference(expected: jax.Array, found: jax.Array) -> float:
    """Return the largest difference, as a share of the largest number."""
    return float(jnp.max(jnp.abs(expected - found)) / jnp.max(jnp.abs(expected)))


def _config(sizes: Sizes, kind: str, seed: int) -> ml_collections.ConfigDict:
    """Return a run on the grammar corpus whose positions are of a kind."""
    config = default.get_config()
    config.data.update(
        source="grammar",
        vocab_size=sizes.vocab_size,
        tokenizer_sentences=20_000,
        tokens_per_batch=2_048,
        max_batch_shapes=sizes.max_batch_shapes,
        max_length=64,
    )
    config.data.grammar.update(
        num_train_pairs=sizes.train_pairs, num_validation_pairs=16, num_test_pairs=16
    )
    config.model.update(
        num_encoder_layers=sizes.trained_layers,
        num_decoder_layers=sizes.trained_layers,
        d_model=sizes.d_model,
        d_ff=2 * sizes.d_model,
        num_heads=4,
        dropout_rate=0.0,
        norm_position="pre",
        positions=kind,
        max_positions=256,
    )
    set_short_training(
        config,
        seed=seed,
        num_steps=sizes.num_steps,
        warmup_steps=min(200, sizes.num_steps // 2),
        peak_learning_rate=4e-3,
    )
    config.decoding.update(max_extra_length=3)
    config.sharding.data = 1
    return config


def _read(sizes: Sizes, run: TrainedRun, common: Row) -> list[Row]:
    """Score each next token of test sentences, short and long, by their length."""
    pairs = [
        pair
        for split in ("test", "long")
        for pair in GrammarPairs(split, sizes.test_pairs).all_texts()
    ]
    by_words: dict[int, list[tuple[float, int]]] = {}
    scores = score_tokens(run, pairs)
    for (_, target), of_tokens in zip(pairs, scores, strict=True):
        words = -(-len(target.split()) // _WORDS_A_BIN) * _WORDS_A_BIN
        by_words.setdefault(words, []).extend(of_tokens)
    return [
        {
            **common,
            "most_words": words,
            "num_tokens": len(tokens),
            "nll": statistics.fmean(nll for nll, _ in tokens),
            "accuracy": statistics.fmean(is_right for _, is_right in tokens),
        }
        for words, tokens in sorted(by_words.items())
    ]


def tabulate(rows: Sequence[Row]) -> Report:
    """Put the worst seed of each network first, then the mean of seeds by length."""
    networks = distinct(rows, "network")
    shuffled = [
        {"network": name}
        | {
            kind: max(values(rows, "difference", network=name, positions=kind))
            for kind in KINDS
        }
        for name in networks
    ]
    lengths = sorted(distinct(rows, "most_words"))
    by_length = []
    for words in lengths:
        line: dict[str, Any] = {"words": _bin(words)}
        for kind in KINDS:
            chosen = {"most_words": words, "positions": kind}
            for name in ("accuracy", "nll"):
                line[f"{name}_{kind}"] = statistics.fmean(values(rows, name, **chosen))
            line["num_tokens"] = max(values(rows, "num_tokens", **chosen))
        by_length.append(line)
    return Report(
        "Order: what positions are for",
        [
            Part(
                "The input shuffled: largest difference, as a share of the largest "
                "number; 1e-7 is rounding",
                [Column("network", "what is compared")]
                + [Column(kind, f"positions: {kind}", powers) for kind in KINDS],
                shuffled,
            ),
            Part(
                f"Next tokens right, trained on sentences of up to {MAX_WORDS} words",
                [
                    Column("words", "words of the target"),
                    Column("num_tokens", "tokens", spaced),
                    *[
                        Column(f"accuracy_{kind}", f"{kind}, %", decimals(1, 0.01))
                        for kind in KINDS
                    ],
                    *[
                        Column(f"nll_{kind}", f"{kind}, nats a token", decimals(3))
                        for kind in KINDS
                    ],
                ],
                by_length,
            ),
        ],
        rows,
        (
            "Without positions, a shuffled input gives self-attention's outputs in the "
            "same new order, and an encoder's, and nothing else changes: the logits do "
            "not know in which order the source came. In the decoder the mask, which "
            "hides later tokens, tells order without positions.",
            "Of learned positions, those beyond the longest sentence trained on are "
            "what they were at the start. Sinusoids are defined there, but no weight "
            "has ever met their values.",
        ),
    )


def _bin(most_words: int) -> str:
    return f"{most_words - _WORDS_A_BIN + 1} to {most_words}"


def draw(rows: Sequence[Row]) -> "Figure":
    """Draw accuracy and loss of next tokens against length."""
    from matplotlib.figure import Figure

    figure = Figure((9, 3.8), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True)
    _draw_by_length(panels[0], rows, "accuracy", 100)
    panels[0].set_ylabel("next tokens right (%)")
    panels[0].set_title("Accuracy")
    panels[0].legend(title="positions")
    _draw_by_length(panels[1], rows, "nll", 1)
    theme.set_log_scale(panels[1], "y")
    panels[1].set_yticks((0.3, 0.5, 1, 2, 4))
    panels[1].set_ylabel("loss (nats a token)")
    panels[1].set_title("Loss")
    return figure


def _draw_by_length(axes: "Axes", rows: Sequence[Row], name: str, unit: float) -> None:
    """Draw the mean of seeds, each seed as a dash, and where training ended."""
    found = [row for row in rows if "most_words" in row]
    lengths = sorted({row["most_words"] for row in found})
    for number, kind in enumerate(KINDS):
        means = [
            statistics.fmean(values(found, name, most_words=words, positions=kind))
            for words in lengths
        ]
        style = theme.series(number)
        axes.plot(lengths, np.multiply(means, unit), label=kind, **style)
        for row in found:
            if row["positions"] == kind:
                axes.plot(
                    row["most_words"], unit * row[name], "_", color=style["color"]
                )
    axes.axvline(MAX_WORDS, color=theme.GREY, linewidth=1, linestyle="--")
    axes.text(
        MAX_WORDS,
        1.0,
        " beyond training",
        color=theme.GREY,
        fontsize=9,
        va="bottom",
        transform=axes.get_xaxis_transform(),
    )
    axes.set_xlabel(f"words of the target, up to (bins of {_WORDS_A_BIN})")


STUDY = Study(
    shows="what shuffling changes, and lengths beyond training, by kind of positions",
    about=(
        "The tokens of an input are shuffled, and what untrained networks make of that "
        "is compared with what they make of the input, shuffled afterwards (Section "
        "3.5). Then small Transformers are trained on the grammar corpus, whose "
        f"sentences have at most {MAX_WORDS} words, and read sentences of up to twice "
        "as many: the share of next tokens that are right, given those before."
    ),
    sizes={"full": Sizes(), "small": _SMALL},
    measure=measure,
    tabulate=tabulate,
    draw=draw,
)
