"""Time the translation of one line, from the start of a process to its output.

python -m benchmarks.one_line [--model tiny|base] [--output FILE]

Ours is `python -m transformer_jax translate` on a run of one step, so that no sentence
ends before its limit; its compiled programs are kept from an uncounted first time,
which the row "ours, first time" shows. The peer is a process that imports CTranslate2,
loads a model of equal sizes and the same tokenizer, and translates the line to the same
limit. Turns alternate.
"""

import argparse
import contextlib
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.records import add_record_arguments, record
from benchmarks.training_run import grammar_flags, start_training
from benchmarks.turns import NOT_INSTALLED, Result, timing_row, without_empty_columns
from benchmarks.workloads import make_sizes
from transformer_jax.commands.messages import command
from transformer_jax.errors import UserError

_LINE = "The dog sleeps in the garden because it is tired.\n"
_EXTRA_LENGTH = 9
_CONFIGS = {"tiny": "configs/multi30k_tiny.py", "base": "configs/wmt14_ende_base.py"}


def main() -> None:
    """Measure and record."""
    options = _parse()
    with command("benchmarks.one_line"), _folder(options.keep) as folder:
        run, cache = folder / "run", folder / "compiled"
        if not (run / "config.json").is_file():
            _make_run(options.model, run)
        shutil.rmtree(cache, ignore_errors=True)  # The first time is to compile.
        ours = [sys.executable, "-m", "transformer_jax", "translate", "--beam_size=4"]
        ours += ["--workdir", str(run)]
        environment = {"JAX_COMPILATION_CACHE_DIR": str(cache)}
        results = [Result("ours"), Result("CTranslate2 float32")]
        first = Result("ours, first time")
        first.seconds.append(_time(ours, environment))
        theirs = None
        if importlib.util.find_spec("ctranslate2") is None:
            results[1].problem = f"{NOT_INSTALLED} (ctranslate2)"
        else:
            theirs = _peer(options.model, run, folder)
            _time(theirs, {})
        for _ in range(options.turns):
            results[0].seconds.append(_time(ours, environment))
            if theirs is not None:
                results[1].seconds.append(_time(theirs, {}))
        rows = [timing_row(result, results[0]) for result in results]
        rows.append(timing_row(first, first))
        work = (
            f"one line, {options.model}, beam 4, from start to output, median of "
            f"{options.turns} turns"
        )
        record(options, work, without_empty_columns(rows))


def _make_run(model: str, run: pathlib.Path) -> None:
    flags = [
        *grammar_flags(),
        "--config.training.num_steps=1",
        "--config.evaluation.eval_every_steps=0",
        "--config.evaluation.beam_size=1",
        "--config.data.max_batch_shapes=1",
        "--config.data.tokens_per_batch=1024",
        "--config.model.dtype=float32",
        f"--config.decoding.max_extra_length={_EXTRA_LENGTH}",
    ]
    if code := start_training(_CONFIGS[model], run, flags, os.environ).wait():
        log = run.with_suffix(".log").read_text("utf-8", errors="replace")
        raise UserError(f"training one step ended with code {code}: {log[-800:]}")


def _peer(model: str, run: pathlib.Path, folder: pathlib.Path) -> list[str]:
    """Write CTranslate2's model and return the command that translates with it."""
    import sentencepiece

    from benchmarks.peers.ctranslate2_model import write_model

    tokenizer = run / "tokenizer.model"
    size = sentencepiece.SentencePieceProcessor(model_file=str(tokenizer)).vocab_size()
    sizes = make_sizes(model, dtype="float32", rows=1, length=16, vocab_size=size)
    write_model(sizes, str(folder / "ctranslate2"), "float32")
    arguments = [str(folder / "ctranslate2"), str(tokenizer), str(_EXTRA_LENGTH)]
    module = "benchmarks.peers.ctranslate2_one_line"
    return [sys.executable, "-m", module, *arguments]


def _time(program: Sequence[str], environment: Mapping[str, str]) -> float:
    """Return seconds until the program has ended, its line written."""
    usual = {k: v for k, v in os.environ.items() if k != "GLIBC_TUNABLES"}
    start = time.perf_counter()
    result = subprocess.run(
        program,
        input=_LINE,
        capture_output=True,
        text=True,
        env=usual | environment,
    )
    seconds = time.perf_counter() - start
    if result.returncode or result.stdout.count("\n") != 1:
        raise RuntimeError(f"{program[2]} wrote no line: {result.stderr[-500:]}")
    return seconds


@contextlib.contextmanager
def _folder(keep: str | None) -> Iterator[pathlib.Path]:
    """Yield a folder for the run and what is compiled, kept if it has a name."""
    if keep is not None:
        yield pathlib.Path(keep)
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield pathlib.Path(folder)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", choices=_CONFIGS, default="tiny")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--keep", metavar="DIR", help="keep the run here, or find it")
    add_record_arguments(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
