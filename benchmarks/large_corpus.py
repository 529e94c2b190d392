"""What preparing a corpus as large as WMT14 takes: time to tokenise, memory to plan.

python -m benchmarks.large_corpus --source FILE --target FILE

FILE are aligned lines of real text. Neighbouring lines are joined until a pair has
about the bytes that one of WMT14 has; they are tokenised by one thread, which gives
pairs a second and core. Then the batches of an epoch are planned for as many pairs as
WMT14 has, with lengths drawn from those of the text, each in a process of its own whose
peak of memory is printed.
"""

import argparse
import json
import logging
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

from transformer_jax.commands.messages import command
from transformer_jax.config.sections import PAPER_TOKENS_PER_BATCH
from transformer_jax.data.batch_shapes import choose_shapes
from transformer_jax.data.bucketed_plan import plan_buckets
from transformer_jax.data.sources.text_files import TextFiles
from transformer_jax.data.token_cache import build_token_cache
from transformer_jax.data.tokenizer import Tokenizer, train_tokenizer
from transformer_jax.runs.run_evaluation import read_aligned

# Pairs and bytes of both sides, as the data sets' cards on Hugging Face count them.
CORPORA = {
    "WMT14 English-German": (4_508_785, 1_358_410_408),
    "WMT14 English-French": (40_836_715, 14_956_705_827),
}


def main() -> None:
    """Measure here, or as a child plan one epoch."""
    options = _parse()
    with command("large_corpus"):
        if options.child:
            print(json.dumps(_plan(*json.load(sys.stdin))))
            return
        logging.getLogger("transformer_jax").setLevel(logging.WARNING)
        with tempfile.TemporaryDirectory() as folder:
            lengths = _tokenise(options, pathlib.Path(folder))
        for name, (num_pairs, _) in CORPORA.items():
            seconds, gigabytes = _plan_in_child(num_pairs, lengths)
            print(
                f"{name}: {num_pairs:,} pairs are planned in {seconds:.0f} s; "
                f"{gigabytes:.1f} GB of memory at most"
            )


def _tokenise(options: argparse.Namespace, folder: pathlib.Path) -> np.ndarray:
    """Tokenise joined pairs by one thread, and return their lengths [2, pairs]."""
    pairs = _join(*read_aligned(options.source, options.target))
    paths = [folder / "source", folder / "target"]
    for path, lines in zip(paths, zip(*pairs, strict=True), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    num_bytes = sum(path.stat().st_size for path in paths)
    train_tokenizer(
        (line for pair in pairs for line in pair),
        folder / "tokenizer.model",
        vocab_size=options.vocab_size,
    )
    tokenizer = Tokenizer(folder / "tokenizer.model")
    source = TextFiles(paths[:1], paths[1:])
    turns = []
    for turn in range(options.turns):
        start = time.process_time()
        cache = build_token_cache(
            source,
            [tokenizer, tokenizer],
            folder / f"tokens{turn}",
            max_length=256,
            num_threads=1,
        )
        turns.append(time.process_time() - start)
    bytes_per_second = num_bytes / sorted(turns)[len(turns) // 2]
    print(
        f"{len(pairs)} pairs of {num_bytes / len(pairs):.0f} bytes, "
        f"{tokenizer.vocab_size} pieces: {bytes_per_second / 1e6:.2f} MB a second and "
        f"core, {bytes_per_second * len(pairs) / num_bytes:.0f} pairs"
    )
    for name, (num_pairs, total) in CORPORA.items():
        hours = total / bytes_per_second / 3600
        print(f"{name}: {num_pairs:,} pairs are tokenised in {hours:.2f} core hours")
    return cache.lengths


def _join(sources: list[str], targets: list[str]) -> list[tuple[str, str]]:
    """Join neighbouring lines into pairs as long as those of WMT14 English-German."""
    num_pairs, num_bytes = CORPORA["WMT14 English-German"]
    text = sum(len(line.encode()) for line in sources + targets)
    num_joined = max(1, round(num_bytes / num_pairs * len(sources) / text))
    return [
        (" ".join(sources[i : i + num_joined]), " ".join(targets[i : i + num_joined]))
        for i in range(0, len(sources), num_joined)
    ]


def _plan_in_child(num_pairs: int, lengths: np.ndarray) -> tuple[float, float]:
    result = subprocess.run(
        [sys.executable, "-m", "benchmarks.large_corpus", "--child"],
        input=json.dumps([num_pairs, lengths.tolist()]),
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, gigabytes = json.loads(result.stdout)
    return seconds, gigabytes


def _plan(num_pairs: int, lengths: list[list[int]]) -> tuple[float, float]:
    """Return the seconds until the first batch of an epoch, and the peak of memory."""
    known = np.array(lengths, np.int32)
    drawn = np.random.default_rng(0).integers(0, known.shape[1], num_pairs, np.int32)
    source, target = known[0][drawn], known[1][drawn]
    del drawn
    start = time.monotonic()
    shapes = choose_shapes(
        source,
        target,
        tokens_per_batch=PAPER_TOKENS_PER_BATCH,
        max_batch_shapes=12,
        row_multiple=8,
    )
    plan_buckets(source, target, shapes, seed=0).batch(0)
    seconds = time.monotonic() - start
    # In KiB on Linux, in bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return seconds, peak / 1e9


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--source", help="lines of text, one side")
    parser.add_argument("--target", help="their translations")
    parser.add_argument("--vocab_size", "--vocab-size", type=int, default=8_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.child and not (options.source and options.target):
        parser.error("give --source and --target")
    return options


if __name__ == "__main__":
    main()
