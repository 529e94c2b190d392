"""What pre-training is worth for two questions that the grammar answers."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import ml_collections

from transformer_jax.grammar.labelled import QUESTIONS, Question
from transformer_jax.reports.render import Column, Part, Report, Row, decimals
from transformer_jax.reports.run_summary import read_run
from transformer_jax.runs.trained_run import TrainedRun
from transformer_jax.studies.bench import Bench
from transformer_jax.studies.rows import distinct
from transformer_jax.studies.starts import (
    PRETRAINED,
    STARTS,
    describe_means,
    draw_tasks,
    finetuning_config,
    part_of_task,
    tiny_pretraining,
)
from transformer_jax.studies.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What the tables call the questions, and the sentences that each is about.
_TASKS: Mapping[Question, tuple[str, int]] = {
    "antecedent": ("which noun a pronoun means", 1),
    "order": ("what happens first", 2),
}


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How large the study is.

    Attributes:
      pretrained: from a corpus to the run that was pre-trained on it, as configs/bert
        has it; the first one is fine-tuned.
      questions: of the grammar, that are asked.
      num_examples: labelled texts to learn from.
      num_test_texts: that accuracy is measured on, once, at the end.
      num_steps: updates of a fine-tuning.
      peak_learning_rate: of it.
      tokens_per_batch: of it.
      seeds: one fine-tuning for each; other seeds draw other texts.
      num_pretraining_steps: 0, or on how many steps to train a tiny model instead.
    """

    pretrained: dict[str, str]
    questions: tuple[Question, ...] = ("antecedent", "order")
    num_examples: tuple[int, ...] = (30, 100, 1_000, 10_000)
    num_test_texts: int = 1_000
    num_steps: int = 200
    peak_learning_rate: float = 5e-4
    tokens_per_batch: int = 2_048
    seeds: tuple[int, ...] = (0, 1, 2)
    num_pretraining_steps: int = 0


def _measure(sizes: Sizes, bench: Bench) -> list[Row]:
    before = {corpus: _open(sizes, corpus, bench) for corpus in sizes.pretrained}
    rows = [_of_pretraining(corpus, run) for corpus, run in before.items()]
    start_run = next(iter(before.values()))
    for question, number, seed, start in itertools.product(
        sizes.questions, sizes.num_examples, sizes.seeds, STARTS
    ):
        config = _make_config(sizes, start_run, question, number, seed, start)
        name = f"{question}_{number}_{seed}_{start.replace(' ', '_')}"
        run = read_run(bench.train(name, config).directory.root)
        rows.append(
            {
                "task": _TASKS[question][0],
                "num_examples": number,
                "seed": seed,
                "start": start,
                "score": run.validation["accuracy"],
                "seconds": run.seconds,
            }
        )
    return rows


def _open(sizes: Sizes, corpus: str, bench: Bench) -> TrainedRun:
    name = sizes.pretrained[corpus]
    if not sizes.num_pretraining_steps:
        return bench.open(name, f"train --config configs/bert/{name}.py")
    return bench.train(name, tiny_pretraining(sizes.num_pretraining_steps))


def _of_pretraining(corpus: str, run: TrainedRun) -> Row:
    summary = read_run(run.directory.root)
    names = (
        "accuracy",
        "perplexity",
        "unigram_accuracy",
        "unigram_perplexity",
    )
    found = {name: summary.validation[name] for name in names}
    return {"corpus": corpus, "steps": run.steps[-1], **found} | {
        "seconds": summary.seconds
    }


def _make_config(
    sizes: Sizes,
    before: TrainedRun,
    question: Question,
    num_examples: int,
    seed: int,
    start: str,
) -> ml_collections.ConfigDict:
    """Return a fine-tuning from a run, or with its sizes and tokenizer from scratch."""
    config = finetuning_config(
        seed=seed,
        num_steps=sizes.num_steps,
        peak_learning_rate=sizes.peak_learning_rate,
    )
    config.model = before.config.model
    config.data.update(
        source="grammar_labels",
        tokens_per_batch=sizes.tokens_per_batch,
        max_batch_shapes=4,
        tokenizer_path=str(before.directory.tokenizer_path),
    )
    config.data.grammar_labels.update(
        question=question,
        num_train_texts=num_examples,
        num_validation_texts=sizes.num_test_texts,
        num_test_texts=1,  # Not looked at.
    )
    config.task.update(
        labels=",".join(QUESTIONS[question][0]),
        num_sentences=_TASKS[question][1],
        row_length=64,
    )
    if start == PRETRAINED:
        config.training.init_from = str(before.directory.root)
    return config


def _tabulate(rows: Sequence[Row]) -> Report:
    columns = (
        Column("corpus", "text"),
        Column("steps", "updates", decimals(0)),
        Column("accuracy", "hidden tokens found, %", decimals(1)),
        Column("unigram_accuracy", "always the most frequent, %", decimals(1)),
        Column("perplexity", "perplexity", decimals(1)),
        Column("unigram_perplexity", "by frequency alone", decimals(1)),
        Column("seconds", "seconds", decimals(0)),
    )
    pretraining = [
        {**row, **{n: 100 * row[n] for n in ("accuracy", "unigram_accuracy")}}
        for row in rows
        if "corpus" in row
    ]
    parts = [
        Part("Pre-training", columns, pretraining),
        *(part_of_task(rows, task, 100) for task in distinct(rows, "task")),
    ]
    notes = [
        "Accuracy in percent on texts, or pairs, that no training saw, at the end "
        "of each fine-tuning; a guess finds half. "
        f"{describe_means(rows, 'other examples and other test texts')} From scratch: "
        "the same model, tokenizer, examples and updates, with random weights.",
    ]
    return Report("What pre-training is worth", parts, rows, notes)


def _draw(rows: Sequence[Row]) -> "Figure":
    tasks = [row for row in rows if "task" in row]
    return draw_tasks(tasks, "accuracy, %", 100, chance=50)


STUDY = Study(
    shows="fine-tuning pre-trained and from scratch, with 30 to 10 000 examples",
    about=(
        "BERT tiny (2 layers of 128) is pre-trained on English sentences of the "
        "built-in corpus, and another on Multi30k's (configs/bert). The first is "
        "fine-tuned with one added layer on two questions whose answers the grammar "
        'knows (transformer_jax/grammar/labelled.py): which noun "it" means, where '
        "both would do but for an adjective, and which of two sentences happens first."
    ),
    sizes={
        "full": Sizes(
            {"built-in corpus": "pretrain_tiny", "Multi30k": "pretrain_multi30k"}
        ),
        "small": Sizes(
            {"built-in corpus": "pretrain_tiny"},
            questions=("order",),
            num_examples=(10,),
            num_test_texts=8,
            num_steps=2,
            tokens_per_batch=256,
            seeds=(0,),
            num_pretraining_steps=2,
        ),
    },
    measure=_measure,
    tabulate=_tabulate,
    draw=_draw,
)
