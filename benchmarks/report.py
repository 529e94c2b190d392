"""Write docs/performance.md from what was measured.

python -m benchmarks.report > docs/performance.md

The targets beside the figures of benchmarks/results/*.json, then
benchmarks/performance_notes.md, which is written by hand, then every file of results
as a table with its machine, versions, date and command.
"""

import dataclasses
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.records import RESULTS, read_record, results_table
from transformer_jax.reports.render import render

_NOTES = pathlib.Path(__file__).with_name("performance_notes.md")
_INTRODUCTION = """\
What was measured, with the command that measures it again, and what was not.
Contestants take turns in one run, each in a process of its own; ratios are the median
over the turns, with the lowest and the highest, and above 1 the peer takes longer.
`make docs` writes this page from benchmarks/results/ and
benchmarks/performance_notes.md."""
_GPU_SCRIPT = "benchmarks/accelerator.sh OUT"

Rows = Mapping[str, Mapping[str, Any]]  # A record's, by the text of their first column.


@dataclasses.dataclass(frozen=True)
class Target:
    """One row of the table of targets.

    Attributes:
      work: what is to be fast.
      peer: what it is compared with; "-" for nothing.
      before: the figure when the target was set.
      target: the figure to reach.
      results: stem of the file of results.
      read: from the file's rows to the figure; raises KeyError where it is missing.
      command: what measures it.
      needs_device: not to be had without an accelerator.
    """

    work: str
    peer: str
    before: str
    target: str
    results: str
    read: Callable[[Rows], str]
    command: str
    needs_device: bool = False


def _ratio(peer: str) -> Callable[[Rows], str]:
    def read(rows: Rows) -> str:
        row = rows[peer]
        low, high = row["times_low"], row["times_high"]
        return f"{row['times_ours']:.2f} ({low:.2f} to {high:.2f})"

    return read


def _ratio_and_peak(rows: Rows) -> str:
    return f"{_ratio('torch.compile')(rows)}; {rows['ours']['of_peak']:.0%}"


def _full_speed(rows: Rows) -> str:
    cold, warm = (rows[cache]["full_speed_s"] for cache in ("cold", "warm"))
    return f"{cold:.0f} s; {warm:.0f} s warm"


def _bytes(rows: Rows) -> str:
    return f"{rows['v5e:2x4, layer by layer']['bytes']:.2e}".replace("e+", "e")


def _real_share(rows: Rows) -> str:
    ours, theirs = (
        f"{row['real_source']:.2f} / {row['real_target']:.2f}"
        for row in (rows["ours, packed"], rows["PyTorch, exact shapes"])
    )
    return f"{ours} (peer: {theirs})"


TARGETS = (
    Target(
        "base step, bfloat16, one H100 or H200",
        "torch.compile",
        "0.65",
        "1.25, and 35 % of the chip's peak",
        "train_base_gpu",
        _ratio_and_peak,
        _GPU_SCRIPT,
        needs_device=True,
    ),
    Target(
        "big step, the same",
        "torch.compile",
        "?",
        "1.2, and 50 %",
        "train_big_gpu",
        _ratio_and_peak,
        _GPU_SCRIPT,
        needs_device=True,
    ),
    Target(
        "start to full speed, multi30k_tiny_long, GPU",
        "-",
        "over 5 min",
        "45 s; 15 s with a warm cache",
        "start_tiny_gpu",
        _full_speed,
        _GPU_SCRIPT,
        needs_device=True,
    ),
    Target(
        "start to full speed, base, all shapes, GPU",
        "-",
        "5 to 6 min",
        "60 s; 20 s with a warm cache",
        "start_base_gpu",
        _full_speed,
        _GPU_SCRIPT,
        needs_device=True,
    ),
    Target(
        "base step compiled for v5e:2x4, bytes a chip",
        "-",
        "3.59e10",
        "1.5e10",
        "compile_base",
        _bytes,
        "python -m benchmarks.compile",
    ),
    Target(
        "training tiny, two cores",
        "PyTorch eager",
        "1.1",
        "1.6 without the user setting anything",
        "train_tiny_cpu",
        _ratio("PyTorch eager"),
        "python -m benchmarks.train",
    ),
    Target(
        "training base, one or two cores",
        "PyTorch eager",
        "1.0",
        "1.1",
        "train_base_cpu",
        _ratio("PyTorch eager"),
        "python -m benchmarks.train --model base",
    ),
    Target(
        "beam 4, tiny, two cores",
        "CTranslate2 float32",
        "0.40",
        "0.8, then 1.0",
        "decode_tiny_cpu",
        _ratio("CTranslate2 float32"),
        "python -m benchmarks.decode",
    ),
    Target(
        "beam 4, base, two cores",
        "CTranslate2 float32",
        "1.16",
        "1.3",
        "decode_base_cpu",
        _ratio("CTranslate2 float32"),
        "python -m benchmarks.decode --model base",
    ),
    Target(
        "`translate` of one line, warm cache, from start to output",
        "CTranslate2",
        "?",
        "2",
        "one_line_tiny_cpu",
        _ratio("CTranslate2 float32"),
        "python -m benchmarks.one_line",
    ),
    Target(
        "real tokens in a batch, WMT-like lengths, 25 000",
        "torch's exact shapes, 0.88 / 0.99",
        "0.88 / 0.90 (Multi30k)",
        "0.95 / 0.97",
        "input",
        _real_share,
        "python -m benchmarks.input",
    ),
)


def main() -> None:
    """Print the page."""
    print(make_page(RESULTS))


def make_page(results: pathlib.Path) -> str:
    """Return docs/performance.md, without the final newline.

    Args:
      results: the folder with a JSON file for each measurement.
    """
    records = {path.stem: read_record(path) for path in sorted(results.glob("*.json"))}
    rows = [_target(target, records) for target in TARGETS]
    targets = render(results_table("Targets", rows), "markdown")
    parts = ["# Performance", _INTRODUCTION, f"#{targets}"]
    parts.append(_NOTES.read_text(encoding="utf-8").strip())
    parts.append("## Figures")
    parts += [_figures(name, record) for name, record in records.items()]
    return "\n\n".join(parts)


def _target(target: Target, records: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    command, record = target.command, records.get(target.results)
    measured = "no device" if target.needs_device else "not measured"
    if record is not None:
        try:
            measured = target.read(_by_name(record["rows"]))
            command = record["command"]
            measured += "; see its note" if record["note"] else ""
        except (KeyError, TypeError):  # The peer was missing, or the chip unknown.
            measured = "not measured"
    return {
        "work": target.work,
        "peer": target.peer,
        "before": target.before,
        "target": target.target,
        "measured": measured,
        "command": f"`{command}`",
    }


def _by_name(rows: list[dict[str, Any]]) -> Rows:
    return {str(next(iter(row.values()))): row for row in rows}


def _figures(name: str, record: Mapping[str, Any]) -> str:
    """Return a section for one file of results."""
    machine = record["machine"]
    kind = machine.get("device_kind")
    device = "" if kind in (None, "cpu") else f", {kind}"
    versions = ", ".join(f"{k} {v}" for k, v in record["versions"].items())
    table = render(results_table(name, record["rows"]), "markdown")
    notes = [
        f"{record['work'][0].upper()}{record['work'][1:]}.",
        f"`{record['command']}`, {record['date']}; {machine['processor']}, "
        f"{machine['cores']} cores, {machine['memory_gib']:.0f} GiB{device}, "
        f"load {machine.get('load_average', '?')} at the end; {versions}.",
    ]
    return "\n\n".join(
        [f"##{table}", "\n".join(notes), *filter(None, [record["note"]])]
    )


if __name__ == "__main__":
    main()
