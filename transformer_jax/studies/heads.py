"""How many heads, at equal cost (Section 3.2.2, Table 3 row A)."""

import dataclasses
import itertools
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

import ml_collections

from transformer_jax.config import default
from transformer_jax.reports.render import Column, Part, Report, Row, decimals
from transformer_jax.reports.run_summary import read_run
from transformer_jax.studies.bench import Bench
from transformer_jax.studies.rows import distinct, values
from transformer_jax.studies.short_training import set_short_training
from transformer_jax.studies.study import Study
from transformer_jax.visualization import theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_GRAMMAR, _MULTI30K = "grammar corpus", "Multi30k"


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How large the study is.

    Attributes:
      num_steps: updates, by the corpus.
      heads: h; each head has d_model / h.
      d_model: width.
      num_layers: of each stack.
      vocab_size: pieces.
      tokens_per_batch: of each side.
      num_test_pairs: that the built-in corpus is validated on.
      seeds: one training for each.
    """

    num_steps: dict[str, int]
    heads: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    d_model: int = 64
    num_layers: int = 2
    vocab_size: int = 2_000
    tokens_per_batch: int = 2_048
    num_test_pairs: int = 200
    seeds: tuple[int, ...] = (0, 1)


def _make_config(
    sizes: Sizes, corpus: str, num_heads: int, seed: int, data: str
) -> ml_collections.ConfigDict:
    config = default.get_config()
    config.data.update(
        vocab_size=sizes.vocab_size,
        tokens_per_batch=sizes.tokens_per_batch,
        batching="packed",
    )
    if corpus == _GRAMMAR:
        config.data.source = "grammar"
        config.data.grammar.update(
            num_train_pairs=20_000,
            num_validation_pairs=sizes.num_test_pairs,
            num_test_pairs=sizes.num_test_pairs,
        )
    else:
        config.data.update(
            directory=data,
            train_source="train.en",
            train_target="train.de",
            validation_source="val.en",
            validation_target="val.de",
        )
    config.model.update(
        num_encoder_layers=sizes.num_layers,
        num_decoder_layers=sizes.num_layers,
        d_model=sizes.d_model,
        d_ff=2 * sizes.d_model,
        num_heads=num_heads,
        norm_position="pre",
    )
    num_steps = sizes.num_steps[corpus]
    set_short_training(
        config,
        seed=seed,
        num_steps=num_steps,
        warmup_steps=num_steps // 8,
        peak_learning_rate=4e-3,
    )
    return config


def _measure(sizes: Sizes, bench: Bench) -> list[Row]:
    corpora = [name for name in sizes.num_steps if name != _MULTI30K or bench.data]
    rows: list[Row] = []
    for corpus, num_heads, seed in itertools.product(corpora, sizes.heads, sizes.seeds):
        name = f"{corpus.split()[0].lower()}_{num_heads}_{seed}"
        config = _make_config(sizes, corpus, num_heads, seed, str(bench.data))
        run = read_run(bench.train(name, config).directory.root)
        rows.append(
            {
                "corpus": corpus,
                "num_heads": num_heads,
                "depth": sizes.d_model // num_heads,
                "seed": seed,
                "perplexity": run.validation["perplexity"],
                "sacrebleu": run.validation["sacrebleu"],
                "seconds": run.seconds,
            }
        )
    return rows


def _tabulate(rows: Sequence[Row]) -> Report:
    columns = (
        Column("num_heads", "heads"),
        Column("depth", "depth of each"),
        Column("perplexity", "perplexity", decimals(3)),
        Column("perplexity_spread", "its spread", decimals(3)),
        Column("sacrebleu", "sacreBLEU", decimals(2)),
        Column("sacrebleu_spread", "its spread", decimals(2)),
        Column("seconds", "seconds", decimals(0)),
    )
    parts = []
    for corpus in distinct(rows, "corpus"):
        table = []
        for num_heads in distinct(rows, "num_heads"):
            chosen = {"corpus": corpus, "num_heads": num_heads}
            (depth,) = distinct(rows, "depth", **chosen)
            entry = {"num_heads": num_heads, "depth": depth}
            for name in ("perplexity", "sacrebleu", "seconds"):
                found = values(rows, name, **chosen)
                entry[name] = statistics.fmean(found)
                entry[f"{name}_spread"] = max(found) - min(found)
            table.append(entry)
        parts.append(Part(corpus, columns, table))
    notes = [
        "Validation split: perplexity per piece, sacreBLEU 13a, cased, greedy; the "
        "mean over the seeds and the spread from the lowest to the highest. Parameters "
        "and operations are the same in every row."
    ]
    if len(parts) == 1:
        notes.append("Give --data for Multi30k, which is not part of the project.")
    return Report("How many heads, at equal cost", parts, rows, notes)


def _draw(rows: Sequence[Row]) -> "Figure":
    from matplotlib.figure import Figure

    corpora = distinct(rows, "corpus")
    figure = Figure((4.6 * len(corpora), 3.8), layout="constrained")
    for axes, corpus in zip(
        figure.subplots(1, len(corpora), squeeze=False)[0], corpora, strict=True
    ):
        heads = distinct(rows, "num_heads", corpus=corpus)
        means = [
            statistics.fmean(values(rows, "perplexity", corpus=corpus, num_heads=h))
            for h in heads
        ]
        axes.plot(heads, means, **theme.series(0))
        axes.plot(
            values(rows, "num_heads", corpus=corpus),
            values(rows, "perplexity", corpus=corpus),
            ".",
            color=theme.GREY,
        )
        axes.set_xscale("log", base=2)
        axes.set_xticks(heads, [str(h) for h in heads])
        axes.set_title(corpus)
        axes.set_xlabel("heads, at equal cost")
    figure.axes[0].set_ylabel("validation perplexity")
    return figure


STUDY = Study(
    shows="1 to 32 heads at equal cost",
    about=(
        "Several heads look at several things at once, but each is narrower: d_k = d_v "
        "= d_model / h, so that parameters and operations stay the same. The paper "
        "finds one head worse by 0.9 BLEU and too many worse as well (Table 3, row A). "
        "Small Transformers (2 + 2 layers, pre-norm) on two corpora; dots are seeds."
    ),
    sizes={
        "full": Sizes({_GRAMMAR: 600, _MULTI30K: 800}),
        "small": Sizes(
            {_GRAMMAR: 2},
            heads=(2,),
            d_model=8,
            num_layers=1,
            vocab_size=600,
            tokens_per_batch=256,
            num_test_pairs=5,
            seeds=(0,),
        ),
    },
    measure=_measure,
    tabulate=_tabulate,
    draw=_draw,
)
