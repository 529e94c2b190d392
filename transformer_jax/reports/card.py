"""RUN/README.md: what a run is, what it scores, and how to use it."""

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from transformer_jax.config.tree import fields_of, leaves
from transformer_jax.errors import UserError
from transformer_jax.evaluation.class_scores import CLASS_SCORE_NAMES
from transformer_jax.files import write_atomically
from transformer_jax.reports import row_models
from transformer_jax.reports.render import Column, decimals, one_table, render
from transformer_jax.reports.run_cost import run_cost
from transformer_jax.reports.run_summary import RunSummary, read_run
from transformer_jax.runs.components import Parts, languages

_USE = """## How to use it

    python -m transformer_jax translate --workdir RUN < in.txt > out.txt
    python -m transformer_jax evaluate --workdir RUN --source S --reference R

RUN is the folder of this file. It needs nothing else.
"""

_FACTS = (Column("fact", "fact"), Column("value", "value"))
_SCORES = (
    Column("scored", "scored"),
    Column("score", "score"),
    Column("value", "value", decimals(2)),
    Column("signature", "signature"),
    Column("text", "text"),
    Column("sentences", "sentences"),
)
_DEPARTURES = (
    Column("field", "field"),
    Column("value", "value"),
    Column("default", "default"),
)
# The head of its first table, by which a card is known.
_MARK = "| fact | value |"


def write_card(workdir: str | os.PathLike[str]) -> str:
    """Write the card of a run into it, and return the path.

    Raises:
      UserError: if there is a README.md that somebody else wrote.
    """
    run = read_run(workdir)
    path = run.directory.root / "README.md"
    if path.is_file() and _MARK not in path.read_text("utf-8", errors="replace"):
        raise UserError(
            f"{path} is no card that this program wrote, and stays as it is. Move it "
            "away or give it another name to have a card written there."
        )
    with write_atomically(path) as file:
        file.write(make_card(run).encode())
    return str(path)


def make_card(run: RunSummary) -> str:
    """Return the card as Markdown."""
    parts = row_models.of_run(run)
    departing = list(_departures(run))
    facts, scores, departures = (
        render(report, "markdown")
        for report in (
            one_table(run.name, _FACTS, _facts(run, parts), run.warnings),
            one_table("Scores", _SCORES, _scores(run)),
            one_table("Departures from the defaults", _DEPARTURES, departing),
        )
    )
    config = json.dumps(run.config, indent=2, ensure_ascii=False)
    can_translate = parts.task.can_translate
    unscored = "## Scores\n\nNone yet: evaluate the run." if can_translate else ""
    blocks = [
        facts,
        "#" + scores if run.evaluations else unscored,
        "#" + departures if departing else "",
        _USE if can_translate else "",
        f"## Config\n\n```json\n{config}\n```\n",
    ]
    return "\n\n".join(part.strip("\n") for part in blocks if part) + "\n"


def _departures(run: RunSummary) -> Iterator[dict[str, Any]]:
    """Yield each field that decides what an update does and is not at its default.

    The defaults are the paper's base model.
    """
    values = dict(leaves(run.config))
    for path, field in fields_of(values["model.name"], values["task.name"]).items():
        if not field.is_free and values[path] != field.default:
            yield {"field": path, "value": values[path], "default": field.default}


def _facts(run: RunSummary, parts: Parts) -> list[dict[str, Any]]:
    """Return what the run was trained on, for how long, and what that took."""
    data = run.config["data"]
    cost, config = run_cost(run), run.directory.read_config()
    batch = data["tokens_per_batch"]
    if run.target_tokens is not None or parts.task.can_translate:
        side, trained_on = (
            "target ",
            {
                "source tokens trained on": _whole(run.source_tokens),
                "target tokens trained on": _whole(run.target_tokens),
                "tokens of a batch on each side, at most": batch,
            },
        )
    else:
        side, trained_on = (
            "",
            {
                "tokens trained on": _whole(run.tokens),
                "predictions trained on": _whole(run.predictions),
                "tokens of a batch, at most": batch,
            },
        )
    values = {
        "task": run.config["task"]["name"],
        "languages": " to ".join(languages(config, parts.task)),
        "source of text": data["source"],
        "vocabulary (joint sentencepiece BPE)": row_models.vocab_size_of_run(run),
        "parameters": row_models.num_params_of_run(run),
        "steps": run.steps,
        **trained_on,
        "training FLOPs (matrix products)": cost.flops,
        "hardware": run.describe_hardware() or None,
        "hours of training, without validation": cost.hours,
        f"{side}tokens/s, median": _whole(run.tokens_per_second),
        "utilisation of the devices' peak": cost.utilisation,
        "validation perplexity, best": run.perplexity,
        "compute type": run.config["model"].get("dtype"),
        "seed": run.config["seed"],
    }
    fingerprints = run.directory.read_fingerprints()
    values |= {f"SHA-256 of {name}": value for name, value in fingerprints.items()}
    return [{"fact": name, "value": value} for name, value in values.items()]


def _whole(number: float | None) -> int | None:
    return None if number is None else round(number)


def _scores(run: RunSummary) -> list[dict[str, Any]]:
    """Return each score with its signature and what was decoded how, in per cent."""
    rows = []
    for name, evaluation in run.evaluations.items():
        of_classes = [score for score in CLASS_SCORE_NAMES if score in evaluation]
        for score in of_classes or _names(evaluation):
            is_share = score == "comet" or score in of_classes
            number = evaluation["produced_by"].get("num_texts")
            rows.append(
                {
                    "scored": name,
                    "score": f"{score} x 100" if is_share else score,
                    "value": evaluation[score] * (100 if is_share else 1),
                    "signature": evaluation.get(f"{score}_signature"),
                    "text": evaluation.get("test_set"),
                    "sentences": evaluation.get("num_sentences", number),
                }
            )
    return rows


def _names(evaluation: Mapping[str, Any]) -> list[str]:
    """Return what an evaluation has scored: whatever has a value and a signature."""
    return [
        name
        for name, value in evaluation.items()
        if value is not None and f"{name}_signature" in evaluation
    ]
