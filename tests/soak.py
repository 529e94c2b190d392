"""Train under kills, full disks, second starts and readers: python -m tests.soak.

One run is trained in peace; then the same run is broken again and again, until it ends,
and has to end bit for bit as the first did. That is repeated until the time is up. It
prints what was done and what went wrong, as a table, and exits with 1 if anything did.
"""

import argparse
import collections
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import jax
import numpy as np

from transformer_jax.runs.run_check import check_run
from transformer_jax.runs.trained_run import load_run
from transformer_jax.text_table import text_table

ROOT = pathlib.Path(__file__).resolve().parent.parent
NUM_STEPS = 400
CONFIG = {
    "data.grammar.num_train_pairs": 2000,
    "data.vocab_size": 600,
    "data.max_length": 32,
    "data.tokens_per_batch": 512,
    "data.max_batch_shapes": 1,
    "model.num_encoder_layers": 1,
    "model.num_decoder_layers": 1,
    "model.d_model": 32,
    "model.d_ff": 64,
    "model.num_heads": 2,
    "training.num_steps": NUM_STEPS,
    "evaluation.eval_every_steps": 50,
    "evaluation.beam_size": 1,
    "checkpoints.save_every_steps": 2,
    "checkpoints.save_every_minutes": 0,
    "decoding.tokens_per_batch": 2048,
}
# Exit codes: 1 for what a person can put right, 130 for a run that was asked to end.
ERROR, ENDED = 1, 130
# Signals are heard even if this program ignores them, and files are limited in size.
_LAUNCH = """
import os, resource, signal, sys
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
os.execv(sys.argv[2], sys.argv[2:])
"""
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
FULL_DISK_BYTES = 20_000

Counts = collections.Counter[str]


class Soak:
    """Breaks runs, and counts what was done and what went wrong."""

    def __init__(self, folder: pathlib.Path, seed: int) -> None:
        """Prepare to work in `folder`, with events that `seed` draws."""
        self.folder = folder
        self.rng = random.Random(seed)
        self.done: Counts = collections.Counter()
        self.faults: list[str] = []

    def train(
        self, workdir: pathlib.Path, *flags: str, file_bytes: int | None = None
    ) -> subprocess.Popen[str]:
        """Start training; with `file_bytes`, no file can become larger than that."""
        limit = str(resource.RLIM_INFINITY if file_bytes is None else file_bytes)
        fields = [f"--config.{name}={value}" for name, value in CONFIG.items()]
        return subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, limit, sys.executable, "train.py"]
            + ["--config=configs/grammar_tiny.py"]
            + [f"--workdir={workdir}", *fields, *flags],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def read(self, *command: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a reader to its end."""
        return subprocess.run(
            [sys.executable, "-m", "transformer_jax", *command],
            cwd=ROOT,
            input=text,
            capture_output=True,
            text=True,
        )

    def expect(self, what: str, is_right: bool, said: str = "") -> None:
        """Count an event, and keep what was said where it went wrong."""
        self.done[what] += 1
        if not is_right or "Traceback" in said:
            self.faults.append(f"{what}: {said[-2000:]}")

    def break_once(self, workdir: pathlib.Path) -> bool:
        """Train until something happens; say whether the run came to its end."""
        event = self.rng.choice([self._kill] * 4 + [self._end, self._fill, self._crowd])
        event(workdir)
        return (workdir / "checkpoints" / str(NUM_STEPS)).is_dir()

    def _kill(self, workdir: pathlib.Path) -> None:
        process = self.train(workdir)
        time.sleep(self.rng.uniform(0.5, 25.0))
        process.kill()
        _, said = process.communicate()
        self.expect("SIGKILL", process.returncode in (0, -signal.SIGKILL), said)

    def _end(self, workdir: pathlib.Path) -> None:
        number = self.rng.choice(SIGNALS)
        process = self.train(workdir)
        time.sleep(self.rng.uniform(8.0, 20.0))
        process.send_signal(number)
        _, said = process.communicate()
        codes = (0, ENDED, -number)
        self.expect(number.name, process.returncode in codes, said)

    def _fill(self, workdir: pathlib.Path) -> None:
        """Files that can grow no further are what a full disk is to a writer."""
        process = self.train(workdir, file_bytes=FULL_DISK_BYTES)
        _, said = process.communicate()
        self.expect("full disk", process.returncode in (0, ERROR), said)

    def _crowd(self, workdir: pathlib.Path) -> None:
        """Start the same run a second time, and read it, while it trains."""
        process, lock = self.train(workdir), workdir / "lock"
        _wait_while(lambda: process.poll() is None and not lock.exists())
        second = self.train(workdir)
        _, said = second.communicate()
        is_refused = second.returncode == ERROR and "in use" in said
        is_over = process.poll() is not None
        self.expect("second start", is_refused or is_over, said)
        saved = workdir / "parameters"
        _wait_while(
            lambda: process.poll() is None and not list(saved.glob("*/checksums.json"))
        )
        if saved.is_dir():
            for command in (
                ("translate", "--checkpoint=last", f"--workdir={workdir}"),
                ("check", f"--workdir={workdir}"),
                ("report", "card", f"--workdirs={workdir}"),
            ):
                reader = self.read(*command, text="The dog sleeps.\n")
                # A checkpoint may be half written or gone while it is checked.
                codes = (0, ERROR) if command[0] == "check" else (0,)
                is_right = reader.returncode in codes
                self.expect(f"{command[0]} beside it", is_right, reader.stderr)
        process.kill()
        _, said = process.communicate()
        self.expect("SIGKILL", "Traceback" not in said, said)


def _wait_while(is_waiting: Callable[[], bool]) -> None:
    while is_waiting():
        time.sleep(0.05)


def _params(workdir: pathlib.Path) -> list[np.ndarray]:
    params = load_run(workdir, str(NUM_STEPS)).params
    return [np.asarray(leaf) for leaf in jax.tree.leaves(params)]


def _until(is_over: Callable[[], bool], soak: Soak) -> None:
    peaceful = soak.folder / "peaceful"
    process = soak.train(peaceful)
    _, said = process.communicate()
    soak.expect("unbroken run", process.returncode == 0, said)
    expected = _params(peaceful)
    while not is_over():
        workdir = soak.folder / "broken"
        shutil.rmtree(workdir, ignore_errors=True)
        while not soak.break_once(workdir) and not is_over():
            pass
        process = soak.train(workdir)
        _, said = process.communicate()
        soak.expect("last start", process.returncode == 0, said)
        ours = _params(workdir)
        same = all(
            np.array_equal(left, right)
            for left, right in zip(ours, expected, strict=True)
        )
        soak.expect("broken run that ended as the unbroken one", same)
        damaged = [finding for finding in check_run(workdir) if finding.damage]
        soak.expect("whole in the end", not damaged, str(damaged))
        left = [str(path) for path in workdir.rglob("*") if _is_left_over(path)]
        soak.expect("nothing left over", not left, str(left))


def _is_left_over(path: pathlib.Path) -> bool:
    return path.suffix == ".partial" or ".orbax-checkpoint-tmp" in path.name


def main() -> None:
    """Parse the arguments, soak, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(pathlib.Path(folder), options.seed)
        _until(lambda: time.monotonic() > end, soak)
    rows = [(name, str(number)) for name, number in sorted(soak.done.items())]
    print(text_table([("event", "times"), *rows], right=[1]))
    print(f"faults: {len(soak.faults)}")
    for fault in soak.faults:
        print(fault, file=sys.stderr)
    sys.exit(bool(soak.faults))


if __name__ == "__main__":
    main()
