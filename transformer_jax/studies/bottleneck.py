"""BLEU against the sentence's length: what a vector of fixed size can hold.

Bahdanau et al. 2015 (arXiv 1409.0473), Figure 2.
"""

import dataclasses
import itertools
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from transformer_jax.evaluation.languages import sacrebleu_metric
from transformer_jax.language_codes import normalise_language
from transformer_jax.reports.render import Column, Report, Row, decimals, one_table
from transformer_jax.runs.run_evaluation import evaluate_run
from transformer_jax.studies.bench import Bench
from transformer_jax.studies.rows import distinct, values
from transformer_jax.studies.study import Study
from transformer_jax.studies.translation_runs import (
    MULTI30K_CONFIGS,
    TINY_CONFIGS,
    TranslationRuns,
    open_runs,
)
from transformer_jax.visualization import theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclasses.dataclass(frozen=True)
class Sizes(TranslationRuns):
    """How large the study is.

    Attributes:
      groups: test sentences are ordered by their words and cut into so many groups.
    """

    groups: int = 6


def _measure(sizes: Sizes, bench: Bench) -> list[Row]:
    rows: list[Row] = []
    for system, seed, run in open_runs(sizes, bench):
        with bench.part(f"translate {system} {seed}"):
            found = evaluate_run(run)
        metric = sacrebleu_metric(normalise_language(run.config.data.target_language))
        lengths = np.array([len(source.split()) for source in found.sources])
        for group in _groups_of_like_length(lengths, sizes.groups):
            score = metric.corpus_score(
                [found.hypotheses[index] for index in group],
                [[found.references[index] for index in group]],
            )
            rows.append(
                {
                    "system": system,
                    "seed": seed,
                    "least_words": int(lengths[group].min()),
                    "most_words": int(lengths[group].max()),
                    "mean_words": float(lengths[group].mean()),
                    "num_sentences": len(group),
                    "sacrebleu": score.score,
                    "signature": str(metric.get_signature()),
                }
            )
    return rows


def _groups_of_like_length(lengths: np.ndarray, num_groups: int) -> list[np.ndarray]:
    """Return the sentences of each group; those of one length are never parted."""
    borders = np.quantile(lengths, np.arange(1, num_groups) / num_groups)
    group = np.searchsorted(np.unique(borders), lengths, side="left")
    return [np.flatnonzero(group == number) for number in np.unique(group)]


def _tabulate(rows: Sequence[Row]) -> Report:
    systems = distinct(rows, "system")
    table = []
    for (least, most), group in _by_length(rows):
        table.append(
            {
                "words": f"{least} to {most}",
                "num_sentences": group[0]["num_sentences"],
                **{
                    system: statistics.mean(values(group, "sacrebleu", system=system))
                    for system in systems
                },
            }
        )
    columns = [
        Column("words", "words of the source"),
        Column("num_sentences", "sentences"),
        *(Column(name, name.replace("_", " "), decimals(1)) for name in systems),
    ]
    seeds = len(distinct(rows, "seed"))
    return one_table(
        "The bottleneck: BLEU against the sentence's length",
        columns,
        table,
        [
            f"sacreBLEU of each group, {rows[0]['signature']}; "
            + (f"the mean over {seeds} seeds." if seeds > 1 else "one seed.")
        ],
    )


def _by_length(rows: Sequence[Row]) -> list[tuple[tuple[int, int], list[Row]]]:
    def words(row: Row) -> tuple[int, int]:
        return row["least_words"], row["most_words"]

    ordered = sorted(rows, key=words)
    return [(key, list(group)) for key, group in itertools.groupby(ordered, words)]


def _draw(rows: Sequence[Row]) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure((6.4, 4), layout="constrained")
    axes = figure.subplots()
    groups = [group for _, group in _by_length(rows)]
    words = [group[0]["mean_words"] for group in groups]
    for number, system in enumerate(distinct(rows, "system")):
        scores = [values(group, "sacrebleu", system=system) for group in groups]
        axes.plot(
            words,
            [statistics.mean(seeds) for seeds in scores],
            label=system.replace("_", " "),
            **theme.series(number),
        )
        axes.fill_between(
            words,
            [min(seeds) for seeds in scores],
            [max(seeds) for seeds in scores],
            color=theme.series(number)["color"],
            alpha=0.15,
            linewidth=0,
        )
    axes.set_xlabel("words of the source, mean of the group")
    axes.set_ylabel("sacreBLEU of the group")
    axes.set_ylim(bottom=0)
    axes.set_title("What is lost on long sentences")
    axes.legend()
    return figure


STUDY = Study(
    shows="BLEU against the sentence's length, with and without attention",
    about=(
        "A recurrent encoder-decoder hands one vector of fixed size to its decoder, "
        "however long the sentence is; one with attention, and the Transformer, look "
        "back at every word. The test set of Multi30k, cut into groups by the length "
        "of the source, shows what that costs (Bahdanau et al. 2015, Figure 2)."
    ),
    sizes={
        "full": Sizes(
            {k: v for k, v in MULTI30K_CONFIGS.items() if k != "convolutional"}
        ),
        "small": Sizes(TINY_CONFIGS, num_steps=2, groups=3),
    },
    measure=_measure,
    tabulate=_tabulate,
    draw=_draw,
)
