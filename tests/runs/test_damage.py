"""Each file of a run, damaged in each way: readers name it, or nothing differs."""

import logging
import pathlib
import shutil
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from tests.tiny_run import tiny_config
from transformer_jax.errors import UserError
from transformer_jax.reports import reproduce, table3
from transformer_jax.reports.card import make_card
from transformer_jax.reports.render import render
from transformer_jax.reports.run_summary import read_run
from transformer_jax.runs import experiment
from transformer_jax.runs.directory import RunDirectory
from transformer_jax.runs.run_evaluation import evaluate_run
from transformer_jax.runs.trained_run import load_run

LINES = ["The dog sleeps.", "A child sees the old house."]
# Of a folder of checkpoints one is enough, and of the files of one each kind.
FILES = [
    "config.json",
    "data.json",
    "manifest.json",
    "tokenizer.model",
    "hardware.json",
    "repetitions.json",
    "metrics.jsonl",
    "text/test.source.txt",
    "text/test.target.txt",
    "text/validation.target.txt",
    "evaluation/*.json",
    "evaluation/*.txt",
    "tokens/train-*/manifest.json",
    "tokens/train-*/shard-00000.json",
    "tokens/train-*/shard-00000.bin",
    "tokens/lines/*.json",
    "tokens/lines/*.offsets",
    "checkpoints/4/step.json",
    "checkpoints/4/checksums.json",
    "checkpoints/4/_METADATA",
    "checkpoints/4/d/*",
    "checkpoints/4",
    "checkpoints",
    "parameters/4/step.json",
    "parameters/4/checksums.json",
    "parameters/4/_METADATA",
    "parameters/4/d/*",
    "parameters/4",
    "parameters",
]


@pytest.fixture(scope="module")
def run(text: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A run of four steps, the last of them the best, with an evaluation."""
    workdir = tmp_path_factory.mktemp("runs") / "run"
    experiment.train(_config(text, 4), workdir)
    evaluation = evaluate_run(load_run(workdir, "last"), {})
    RunDirectory(workdir).write_evaluation(
        evaluation.name, evaluation.report, evaluation.hypotheses
    )
    return workdir


def _config(text: pathlib.Path, num_steps: int) -> Any:
    config = tiny_config(text, num_steps)
    config.evaluation.eval_every_steps = 0
    return config


def _train(workdir: pathlib.Path, text: pathlib.Path) -> Any:
    assert experiment.train(_config(text, 5), workdir) == "finished"
    params = load_run(workdir, "5").params
    return {
        jax.tree_util.keystr(path): np.asarray(leaf).tobytes()
        for path, leaf in jax.tree_util.tree_leaves_with_path(params)
    }


def _translate(workdir: pathlib.Path, text: pathlib.Path) -> Any:
    translations = load_run(workdir).translator().translate(LINES)
    return [translation.text for translation in translations]


def _average(workdir: pathlib.Path, text: pathlib.Path) -> Any:
    return load_run(workdir, average=2).steps


def _evaluate(workdir: pathlib.Path, text: pathlib.Path) -> Any:
    return evaluate_run(load_run(workdir), {}).scores.as_dict()


def _card(workdir: pathlib.Path, text: pathlib.Path) -> Any:
    return make_card(read_run(workdir))


def _tables(workdir: pathlib.Path, text: pathlib.Path) -> Any:
    runs = [str(workdir)]
    reports = (table3.make_report(runs), reproduce.make_report(runs))
    return [render(report, "markdown") for report in reports]


READERS = [_translate, _average, _card, _tables, _evaluate]


def _truncate(path: pathlib.Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _flip(path: pathlib.Path) -> None:
    """Change one bit of a letter or digit near the middle: JSON stays JSON."""
    content = bytearray(path.read_bytes())
    places = [n for n, byte in enumerate(content) if chr(byte).isalnum()]
    content[places[len(places) // 2]] ^= 1
    path.write_bytes(content)


def _break(path: pathlib.Path) -> None:
    """Put in a byte that is in no UTF-8."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] = 0xFF
    path.write_bytes(content)


def _empty(path: pathlib.Path) -> None:
    path.write_bytes(b"{}" if path.suffix == ".json" else b"")


def _delete(path: pathlib.Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


DAMAGES = [_truncate, _flip, _break, _empty, _delete]
CASES = [
    pytest.param(file, damage, id=f"{damage.__name__[1:]}-{file}")
    for file in FILES
    for damage in DAMAGES
    if damage is _delete
    or file.rpartition("/")[2] not in ("4", "checkpoints", "parameters")
]


def _damaged(
    run: pathlib.Path, folder: pathlib.Path, file: str, damage: Callable
) -> tuple[pathlib.Path, pathlib.Path]:
    """Return a copy of the run with a damaged file, and that file."""
    workdir = shutil.copytree(run, folder / "run")
    path = sorted(path for path in workdir.glob(file))[0]
    damage(path)
    return workdir, path


def _assert_safe(
    job: Callable,
    workdir: pathlib.Path,
    text: pathlib.Path,
    path: pathlib.Path,
    expected: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Let a job meet damage: it has its right result, or names what is damaged."""
    caplog.clear()
    caplog.set_level(logging.WARNING, logger="transformer_jax")
    try:
        result = job(workdir, text)
    except UserError as error:
        said, result = str(error), None
    else:
        said = caplog.text
    names = [path.name, *(parent.name for parent in path.parents)]
    names = [name for name in names[: names.index("run")] if name not in ("d", "text")]
    is_named = any(name in said for name in names) or str(text) in said
    assert result == expected or is_named, said


@pytest.fixture(scope="module")
def whole(
    text: pathlib.Path, run: pathlib.Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[Callable, Any]:
    """What each job makes of the run as it was written."""
    jobs = [*READERS, _train]
    folder = tmp_path_factory.mktemp("whole")
    return {
        job: job(shutil.copytree(run, folder / job.__name__ / "run"), text)
        for job in jobs
    }


@pytest.mark.slow
@pytest.mark.parametrize(("file", "damage"), CASES)
def test_readers_name_what_is_damaged_or_do_not_need_it(
    text, run, whole, tmp_path, caplog, file, damage
):
    workdir, path = _damaged(run, tmp_path, file, damage)
    for job in READERS:
        _assert_safe(job, workdir, text, path, whole[job], caplog)


@pytest.mark.slow
@pytest.mark.parametrize(("file", "damage"), CASES)
def test_training_names_what_is_damaged_or_goes_on_as_if_nothing_were(
    text, run, whole, tmp_path, caplog, file, damage
):
    workdir, path = _damaged(run, tmp_path, file, damage)
    _assert_safe(_train, workdir, text, path, whole[_train], caplog)
