"""Does translation gain from an encoder that was pre-trained on the same language?"""

import dataclasses
import itertools
import pathlib
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

import ml_collections

from transformer_jax.config import default
from transformer_jax.reports.render import Report, Row
from transformer_jax.reports.run_summary import read_run
from transformer_jax.runs.trained_run import TrainedRun
from transformer_jax.studies.bench import Bench
from transformer_jax.studies.real_text import read_pairs, write_lines
from transformer_jax.studies.rows import distinct
from transformer_jax.studies.short_training import set_short_training
from transformer_jax.studies.starts import (
    PRETRAINED,
    STARTS,
    describe_means,
    draw_tasks,
    part_of_task,
    tiny_pretraining,
)
from transformer_jax.studies.study import Study
from transformer_jax.visualization import theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BLEU, _PERPLEXITY = "sacreBLEU", "perplexity"
_RUN = "pretrain_multi30k_both"
_COMMAND = (
    "train --config configs/bert/pretrain_multi30k.py --config.data.directory=DIR "
    "--config.data.train_source=train.en,train.de "
    "--config.data.validation_source=val.en,val.de"
)


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How large the study is.

    Attributes:
      num_steps: updates, by the number of pairs to learn from.
      tokens_per_batch: of each side.
      peak_learning_rate: of the translation.
      seeds: one training for each; other seeds draw other pairs.
      num_made: 0, or how many pairs of the built-in corpus to use instead of Multi30k.
    """

    num_steps: dict[int, int]
    tokens_per_batch: int = 2_048
    peak_learning_rate: float = 1e-3
    seeds: tuple[int, ...] = (0, 1)
    num_made: int = 0


def _measure(sizes: Sizes, bench: Bench) -> list[Row]:
    before = (
        bench.train(_RUN, tiny_pretraining(num_steps=2))
        if sizes.num_made
        else bench.open(_RUN, _COMMAND)
    )
    train = read_pairs(bench, "train", sizes.num_made)
    texts = bench.workdirs / "texts"
    _write(texts, "validation", read_pairs(bench, "validation", sizes.num_made))
    rows: list[Row] = []
    for (number, num_steps), seed in itertools.product(
        sizes.num_steps.items(), sizes.seeds
    ):
        name = f"{number}_{seed}"
        _write(texts, name, random.Random(seed).sample(train, number))
        for start in STARTS:
            config = _make_config(sizes, before, texts, name, num_steps, seed)
            if start == PRETRAINED:
                config.training.init_from = str(before.directory.root)
            run = bench.train(f"transfer_{name}_{start.replace(' ', '_')}", config)
            metrics = run.directory.read_metrics()
            scores = [
                row["validation/sacrebleu"]
                for row in metrics
                if "validation/sacrebleu" in row
            ]
            summary = read_run(run.directory.root)
            for task, score in (
                (_BLEU, max(scores)),
                (_PERPLEXITY, summary.perplexity),
            ):
                rows.append(
                    {
                        "task": task,
                        "num_examples": number,
                        "seed": seed,
                        "start": start,
                        "score": score,
                        "seconds": summary.seconds,
                    }
                )
    return rows


def _write(folder: pathlib.Path, name: str, pairs: Sequence[tuple[str, str]]) -> None:
    for language, lines in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
        write_lines(folder / f"{name}.{language}", lines)


def _make_config(
    sizes: Sizes,
    before: TrainedRun,
    texts: pathlib.Path,
    name: str,
    num_steps: int,
    seed: int,
) -> ml_collections.ConfigDict:
    """Return a translation whose encoder has the sizes of the pre-trained one."""
    config = default.get_config()
    bert = before.config.model
    config.model.update(default.transformer_like_bert("tiny"))
    config.model.update(
        num_encoder_layers=bert.num_layers,
        num_decoder_layers=bert.num_layers,
        d_model=bert.d_model,
        d_ff=bert.d_ff,
        num_heads=bert.num_heads,
        max_positions=bert.max_positions,
    )
    config.data.update(
        directory=str(texts),
        train_source=f"{name}.en",
        train_target=f"{name}.de",
        validation_source="validation.en",
        validation_target="validation.de",
        tokens_per_batch=sizes.tokens_per_batch,
        max_batch_shapes=4,
        max_length=bert.max_positions - 1,
        tokenizer_path=str(before.directory.tokenizer_path),
    )
    set_short_training(
        config,
        seed=seed,
        num_steps=num_steps,
        warmup_steps=num_steps // 8,
        peak_learning_rate=sizes.peak_learning_rate,
    )
    config.evaluation.eval_every_steps = max(num_steps // 4, 1)
    return config


def _tabulate(rows: Sequence[Row]) -> Report:
    parts = [part_of_task(rows, task) for task in distinct(rows, "task")]
    notes = [
        "On the validation split, the best of four validations each: sacreBLEU (13a, "
        "cased, greedy), and perplexity a piece, where less is better. "
        f"{describe_means(rows, 'other pairs')} Either start has the same "
        "model, tokenizer, pairs and updates; pre-trained are the encoder, its "
        "embeddings and, as it is shared, the table of tokens; the decoder is new.",
    ]
    return Report(
        "Does translation gain from a pre-trained encoder?", parts, rows, notes
    )


def _draw(rows: Sequence[Row]) -> "Figure":
    figure = draw_tasks(rows, "on the validation split", share_y=False)
    theme.set_log_scale(figure.axes[1], "y")
    return figure


STUDY = Study(
    shows="translation from a pre-trained encoder and from scratch, over pairs",
    about=(
        "BERT tiny is pre-trained on all of Multi30k's lines, English and German, each "
        "by itself. Its encoder then starts a small Transformer that learns to "
        "translate from a thousandth, a hundredth and a tenth of the pairs."
    ),
    sizes={
        "full": Sizes({29: 200, 290: 400, 2_900: 500}),
        "small": Sizes({8: 4}, tokens_per_batch=256, seeds=(0,), num_made=12),
    },
    measure=_measure,
    tabulate=_tabulate,
    draw=_draw,
)
