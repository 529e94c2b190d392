"""Which of the paper's conditions a run meets: why is my score lower?"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from transformer_jax.reports import paper_numbers
from transformer_jax.reports.render import Report
from transformer_jax.reports.runs import RunSummary, read_run

_NUM_AVERAGED = {"base": 5, "big": 20}
# 3003 lines; the filtered version has 2737, and other scores.
_TEST_SET = "newstest2014 (full)"
# Fields that the paper has alike for all models (Sections 3, 5.3 and 5.4).
_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "model": {
        "attention_dropout_rate": 0.0,
        "feed_forward_dropout_rate": 0.0,
        "activation": "relu",
        "positions": "sinusoidal",
        "sinusoid_layout": "interleaved",
        "norm_position": "post",
        "tied_embeddings": "all",
        "use_attention_bias": False,
        "use_logits_bias": False,
    },
    "training": {"label_smoothing": 0.1, "label_smoothing_formula": "uniform"},
    "optimizer": {
        "schedule": "paper",
        "warmup_steps": 4_000,
        "learning_rate_factor": 1.0,
        "beta1": 0.9,
        "beta2": 0.98,
        "epsilon": 1e-9,
        "max_gradient_norm": 0.0,
        "ema_decay": 0.0,
    },
}
_NOTES = (
    "A condition that is not met, or not known yet, may each lower or raise a score.",
    "Decoding conditions are those of the evaluation of the test split that averaged "
    "the most checkpoints.",
)


def make_report(workdirs: Sequence[str | os.PathLike[str]]) -> Report:
    """List each condition of Sections 5 and 6.1 for each run."""
    rows = []
    for workdir in workdirs:
        run = read_run(workdir)
        for condition, paper, measured in _conditions(run):
            is_met = None if measured is None else measured == paper
            rows.append(
                {
                    "row": f"{run.name}: {condition}",
                    "paper_value": paper,
                    "measured_value": measured,
                    "is_met": is_met,
                }
            )
    return Report("The paper's conditions", rows, _NOTES)


def _conditions(run: RunSummary) -> Iterator[tuple[str, Any, Any]]:
    """Yield (condition, the paper's value, the run's value or None if unknown)."""
    data, model = run.config["data"], run.config["model"]
    size = "big" if model["d_model"] == 1024 else "base"
    paper = next(row for row in paper_numbers.TABLE_3 if row.row == size)
    is_french = data["target_language"] == "fr"

    yield "text", "WMT14", _text(data)
    yield (
        "vocabulary",
        32_000 if is_french else paper_numbers.VOCAB_SIZE,
        data["vocab_size"],
    )
    yield "tokens per batch", paper_numbers.TOKENS_PER_BATCH, data["tokens_per_batch"]
    yield "steps", paper.num_steps, run.steps
    yield "encoder layers", paper.num_layers, model["num_encoder_layers"]
    yield "decoder layers", paper.num_layers, model["num_decoder_layers"]
    yield "width", paper.d_model, model["d_model"]
    yield "inner width", paper.d_ff, model["d_ff"]
    yield "heads", paper.num_heads, model["num_heads"]
    yield (
        "dropout",
        0.1 if is_french else paper.dropout_rate,
        model["dropout_rate"],
    )
    depth = model["d_model"] // model["num_heads"]
    yield "depth of keys", paper.d_k, model["d_k"] or depth
    yield "depth of values", paper.d_v, model["d_v"] or depth
    for group, fields in _FIELDS.items():
        for name, value in fields.items():
            yield name.replace("_", " "), value, run.config[group][name]
    yield from _decoding_conditions(run, size, is_french)


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
    steps = by.get("checkpoint_steps")
    yield "averaged checkpoints", _NUM_AVERAGED[size], steps and len(steps)
    yield "beam", 4, by.get("beam_size")
    yield "alpha", 0.6, by.get("alpha")
    yield "length penalty", "gnmt", by.get("length_penalty")
    yield "extra output length", 50, by.get("max_extra_length")
    yield "test set", _TEST_SET, best.get("test_set")
    signature = "case:mixed|tok:moses-{}|smooth:none|split:{}"
    expected = signature.format(*(("fr", "no") if is_french else ("de", "hyphens")))
    yield "tokenised score", expected, best.get("paper_bleu_signature")
