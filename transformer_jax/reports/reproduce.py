"""Which of the paper's conditions a run meets: why is my score lower?"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from transformer_jax.config import sections
from transformer_jax.config.tree import fields_of, leaves, source_section
from transformer_jax.data.sources import SOURCES
from transformer_jax.fields import declared
from transformer_jax.language_codes import short_code
from transformer_jax.reports import paper_numbers
from transformer_jax.reports.render import Column, Part, Report
from transformer_jax.reports.run_summary import RunSummary, read_runs
from transformer_jax.runs.averages import find_doubts, is_comparable

# 3003 lines; the filtered version has 2737, and other scores.
_TEST_SET = "newstest2014 (full)"
# Fields that say which text a run is of, or how arrays are laid out: none of these is a
# condition by itself. Every other field is one that decides what an update does.
_NO_CONDITIONS = (
    "seed",
    "data.source",
    "data.source_language",
    "data.target_language",
    "data.row_multiple",
    "data.max_batch_shapes",
    "data.packed_length",
    "model.vocab_multiple",
)
_OF_SOURCES = tuple(
    f"{section}." for section in map(source_section, SOURCES) if section != "data"
)
# Fields by which the test split is to be translated, as conditions are called.
_DECODING = {
    "beam": "beam_size",
    "alpha": "alpha",
    "length penalty": "length_penalty",
    "extra output length": "max_extra_length",
}
_NOTES = (
    "The paper's value of a field is its default: the paper's own, or where that "
    "is silent what docs/fields.md says.",
    "A condition that is not met, or not known yet, may lower or raise a score.",
    "Decoding conditions are those of the evaluation of the test split that averaged "
    "the most checkpoints.",
)


def make_report(workdirs: Sequence[str | os.PathLike[str]]) -> Report:
    """List each condition of Sections 5 and 6.1 for each run."""
    parts, notes = [], list(_NOTES)
    for run in read_runs(workdirs):
        notes += run.warnings
        rows = [
            {
                "row": f"{run.name}: {condition}",
                "paper_value": paper,
                "measured_value": measured,
                "is_met": None if measured is None else measured == paper,
            }
            for condition, paper, measured in _conditions(run)
        ]
        parts.append(Part(run.name, _columns(run), rows))
    all_rows = [row for part in parts for row in part.rows]
    return Report("The paper's conditions", parts, all_rows, notes)


def _columns(run: RunSummary) -> tuple[Column, ...]:
    return (
        Column("row", "condition", lambda row: row.removeprefix(f"{run.name}: ")),
        Column("paper_value", "the paper's"),
        Column("measured_value", "the run's"),
        Column("is_met", "met?"),
    )


def _conditions(run: RunSummary) -> Iterator[tuple[str, Any, Any]]:
    """Yield (condition, the paper's value, the run's value or None if unknown)."""
    size = "big" if run.config["model"].get("d_model") == 1024 else "base"
    paper = next(row for row in paper_numbers.TABLE_3 if row.row == size)
    is_french = short_code(run.config["data"]["target_language"]) == "fr"
    yield "text", "WMT14", _text(run.config["data"])
    for split in ("validation", "test"):
        counted = run.repetitions.get(split)
        repeated = None if counted is None else counted.in_training
        yield f"{split} pairs that are trained on too", 0, repeated
    yield "steps", paper.num_steps, run.steps
    yield from _field_conditions(run, paper, is_french)
    yield from _decoding_conditions(run, size, is_french)


def _field_conditions(
    run: RunSummary, paper: paper_numbers.Variation, is_french: bool
) -> Iterator[tuple[str, Any, Any]]:
    """Yield every declared field that decides what an update does.

    So an option that is added to the model is a condition, and a departure from the
    paper where it is used, without a word here.
    """
    values = dict(leaves(run.config))
    vocab_size = (
        paper_numbers.FRENCH_VOCAB_SIZE if is_french else sections.PAPER_VOCAB_SIZE
    )
    base = paper_numbers.TABLE_3[0]
    of_size = {
        "data.vocab_size": vocab_size,
        "model.num_encoder_layers": paper.num_layers,
        "model.num_decoder_layers": paper.num_layers,
        "model.d_model": paper.d_model,
        "model.d_ff": paper.d_ff,
        "model.num_heads": paper.num_heads,
        "model.d_k": paper.d_k,
        "model.d_v": paper.d_v,
        # Section 6.1: the base model's for the big model too, on English-French.
        "model.dropout_rate": (base if is_french else paper).dropout_rate,
    }
    for path, field in fields_of(values["model.name"], values["task.name"]).items():
        if field.is_free or path in _NO_CONDITIONS or path.startswith(_OF_SOURCES):
            continue
        value = values[path]
        if path in ("model.d_k", "model.d_v") and value is None:
            value = values["model.d_model"] // values["model.num_heads"]
        paper_value = of_size.get(path, field.default)
        # None says "unknown" of a value; here nothing is unknown.
        yield path, _or_unset(paper_value), _or_unset(value)


def _or_unset(value: Any) -> Any:
    return "unset" if value is None else value


def _text(data: dict[str, Any]) -> str:
    """Name the training text as far as the config tells."""
    name = data.get("tfds", {}).get("name", "")
    if data["source"] == "tfds" and name.startswith("wmt14_translate/"):
        return "WMT14"
    return name or data["source"]


def _decoding_conditions(
    run: RunSummary, size: str, is_french: bool
) -> Iterator[tuple[str, Any, Any]]:
    """Yield what Section 6.1 asks of an evaluation of the test split."""
    tests = [
        evaluation
        for evaluation in run.evaluations.values()
        if evaluation["produced_by"].get("split") == "test"
    ]
    best: Mapping[str, Any] = max(
        tests,
        key=lambda e: (len(e["produced_by"]["checkpoint_steps"]), e["num_sentences"]),
        default={},
    )
    by = best.get("produced_by", {})
    averaged = _averaged(run, best) if best else None
    yield "averaged checkpoints", paper_numbers.NUM_AVERAGED[size], averaged
    fields = declared(sections.DecodingSection)
    for condition, name in _DECODING.items():
        yield condition, fields[name].default, by.get(name)
    yield "test set", _TEST_SET, best.get("test_set")
    signature = "case:mixed|tok:moses-{}|smooth:none|split:{}"
    expected = signature.format(*(("fr", "no") if is_french else ("de", "hyphens")))
    yield "tokenised score", expected, best.get("paper_bleu_signature")


def _averaged(run: RunSummary, test: Mapping[str, Any]) -> int | str:
    """Return how many checkpoints a test was of, and what speaks against their mean."""
    steps = test["produced_by"]["checkpoint_steps"]
    validation_beam_size = run.config["evaluation"]["beam_size"]
    scores = [
        evaluation["sacrebleu"]
        for evaluation in run.evaluations.values()
        if evaluation["produced_by"].get("split") == "validation"
        and evaluation["produced_by"]["checkpoint_steps"] == steps
        and is_comparable(evaluation["produced_by"]["beam_size"], validation_beam_size)
        and evaluation["sacrebleu_signature"] == test["sacrebleu_signature"]
    ]
    doubts = find_doubts(
        steps,
        run.config["optimizer"]["warmup_steps"],
        run.directory.read_metrics(),
        max(scores, default=None),
    )
    return ", but ".join([str(len(steps)), *doubts]) if doubts else len(steps)
