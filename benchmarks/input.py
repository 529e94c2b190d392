"""Time the data pipeline, and count the padding, on lengths like WMT's.

python -m benchmarks.input [--pairs 200000] [--output benchmarks/results/NAME.json]

The lengths are drawn: a source has exp(N(3.2, 0.6)) pieces, a target 1.03 times as many
times exp(N(0, 0.2)), both cut to data.max_length. That gives means near those of WMT14
English-German in 37 000 joint pieces (29 and 31) with a long tail; real text would
differ in the tail. Tokens are random. Batches have about 25 000 tokens a side.

`real source` and `real target` are the shares of real tokens among all positions of
an epoch. The peer is what PyTorch users do: sorted by target, then source length, cut
at 25 000 positions of the longer side, padded to the longest of the batch; each batch
then has a shape of its own, which `shapes` counts. A turn is 200 batches of either,
from the tokens on disk to arrays.
"""

import argparse
import functools
import itertools
import pathlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, get_args

import numpy as np

from benchmarks.records import add_record_arguments, record
from benchmarks.sizes import BOS, EOS, PAD
from benchmarks.turns import NOT_INSTALLED, Result, timing_row, without_empty_columns
from transformer_jax.commands.messages import command
from transformer_jax.config import default
from transformer_jax.data.batch import assemble
from transformer_jax.data.batch_plan import Batching, BatchPlan
from transformer_jax.data.pipeline import make_batches
from transformer_jax.data.token_cache import TokenCache, build_token_cache
from transformer_jax.data.tokenizer import SpecialIds
from transformer_jax.runs.corpus import plan_training

_VOCAB_SIZE = 37_000
_BATCHES_A_TURN = 200


def main() -> None:
    """Measure and record."""
    options = _parse()
    with command("benchmarks.input"), tempfile.TemporaryDirectory() as folder:
        config = default.get_config()
        data = config.data
        lengths = draw_lengths(options.pairs, data.max_length)
        cache = _write_cache(lengths, pathlib.Path(folder), data.max_length)
        plans, plan_seconds = {}, {}
        for batching in get_args(Batching):
            config.data.batching = batching
            start = time.perf_counter()
            plans[batching] = plan_training(config, *cache.lengths)
            plans[batching].batch(0)
            plan_seconds[batching] = time.perf_counter() - start
        exact = exact_batches(cache.lengths, data.tokens_per_batch)
        results = {name: Result(f"ours, {name}") for name in plans}
        ours, theirs = results["buckets"], Result("PyTorch, exact shapes")
        takers = [
            (result, _our_turns(cache, plans[name], data.num_threads))
            for name, result in results.items()
        ]
        try:
            takers.append((theirs, _torch_turns(cache, exact, data.num_threads)))
        except ModuleNotFoundError as error:
            theirs.problem = f"{NOT_INSTALLED} ({error.name})"
        counts: dict[str, tuple[int, int]] = {}
        for _ in range(options.turns):
            for result, turns in takers:
                start = time.perf_counter()
                counts[result.name] = next(turns)
                result.seconds.append((time.perf_counter() - start) / _BATCHES_A_TURN)
        rows = []
        shares = [
            (
                results[name],
                plan.real_token_share(),
                len(plan.shapes),
                plan_seconds[name],
            )
            for name, plan in plans.items()
        ]
        of_exact = exact_share(cache.lengths, exact), _num_shapes(cache, exact)
        shares.append((theirs, *of_exact, None))
        for result, share, num_shapes, seconds_to_plan in shares:
            row = timing_row(result, ours)
            if result.seconds:
                pairs, tokens = counts[result.name]
                seconds = _BATCHES_A_TURN * result.median
                row |= {"pairs_s": pairs / seconds, "target_tokens_s": tokens / seconds}
            row |= {
                "real_source": share[0],
                "real_target": share[1],
                "shapes": num_shapes,
                "plan_seconds": seconds_to_plan,
            }
            rows.append(row)
        means = lengths.mean(axis=1)
        work = (
            f"input, {options.pairs} pairs of {means[0]:.1f} and {means[1]:.1f} pieces "
            f"on average, {data.tokens_per_batch} tokens a batch, ms a batch, median "
            f"of {options.turns} turns of {_BATCHES_A_TURN} batches"
        )
        record(options, work, without_empty_columns(rows))


def draw_lengths(num_pairs: int, max_length: int) -> np.ndarray:
    """Return [2, num_pairs] int32 as the module says, EOS not counted."""
    rng = np.random.default_rng(0)
    source = np.exp(rng.normal(3.2, 0.6, num_pairs))
    target = 1.03 * source * np.exp(rng.normal(0.0, 0.2, num_pairs))
    drawn = np.stack([source, target]).round().astype(np.int32)
    return np.clip(drawn, 1, max_length - 1)


def exact_batches(lengths: np.ndarray, tokens_per_batch: int) -> list[np.ndarray]:
    """Return the pairs of each batch, sorted by length and cut at so many positions.

    Args:
      lengths: [2, pairs], EOS not counted.
      tokens_per_batch: most positions of the longer side.
    """
    order = np.lexsort((lengths[0], lengths[1]))
    longer = lengths.max(axis=0)[order] + 1
    batches, start, longest = [], 0, 0
    for stop, length in enumerate(longer.tolist()):
        longest = max(longest, length)
        if (stop - start + 1) * longest > tokens_per_batch:
            batches.append(order[start:stop])
            start, longest = stop, length
    return [*batches, order[start:]]


def exact_share(
    lengths: np.ndarray, batches: Sequence[np.ndarray]
) -> tuple[float, float]:
    """Return which share of source and of target positions holds tokens."""
    taken = sum(len(pairs) * (lengths[:, pairs].max(axis=1) + 1) for pairs in batches)
    source, target = ((lengths + 1).sum(axis=1) / taken).tolist()
    return source, target


def _num_shapes(cache: TokenCache, batches: Sequence[np.ndarray]) -> int:
    return len({(len(p), *cache.lengths[:, p].max(axis=1).tolist()) for p in batches})


def _our_turns(
    cache: TokenCache, plan: BatchPlan, num_threads: int
) -> Iterator[tuple[int, int]]:
    """Take turns; yield pairs and target tokens of each."""
    specials = SpecialIds(pad=PAD, bos=BOS, eos=EOS)
    make: Callable[..., Any] = functools.partial(assemble, cache, specials=specials)
    batches = make_batches(make, plan, num_threads=num_threads)
    while True:
        pairs = tokens = 0
        for batch in itertools.islice(batches, _BATCHES_A_TURN):
            pairs += int((batch.target_positions[batch.target_segments > 0] == 0).sum())
            tokens += int(batch.loss_weights.sum())
        yield pairs, tokens


def _torch_turns(
    cache: TokenCache, batches: Sequence[np.ndarray], num_threads: int
) -> Iterator[tuple[int, int]]:
    """Take turns with a DataLoader; yield pairs and target tokens of each."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    eos = torch.tensor([EOS], dtype=torch.int32)
    source, target = (
        torch.from_numpy(side).split((cache.lengths[i]).tolist())
        for i, side in enumerate(cache.gather(np.arange(cache.lengths.shape[1])))
    )

    def collate(pairs: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        first, second = (
            pad_sequence(
                [torch.cat((side[pair], eos)) for pair in pairs],
                batch_first=True,
                padding_value=PAD,
            )
            for side in (source, target)
        )
        return first, second

    order = np.random.default_rng(0).permutation(len(batches))
    loader = torch.utils.data.DataLoader(
        range(cache.lengths.shape[1]),  # type: ignore[arg-type]
        batch_sampler=[batches[i].tolist() for i in order],
        collate_fn=collate,
        num_workers=num_threads,
    )

    def turns() -> Iterator[tuple[int, int]]:
        endless = itertools.chain.from_iterable(itertools.repeat(loader))
        while True:
            pairs = tokens = 0
            for _, padded in itertools.islice(endless, _BATCHES_A_TURN):
                pairs += len(padded)
                tokens += int((padded != PAD).sum())
            yield pairs, tokens

    return turns()


class _Numbered:
    """A source of texts and their tokenizer in one: text i is "i", its ids are drawn.

    Side s of pair i has the id 4 + (i + j) % (V - 4) at its place j.
    """

    vocab_size = _VOCAB_SIZE
    drops: dict[str, int] = {}

    def __init__(self, lengths: np.ndarray, side: int = 0) -> None:
        self._lengths = lengths
        self._side = side
        self._ids = 4 + np.arange(2 * _VOCAB_SIZE) % (_VOCAB_SIZE - 4)

    def __len__(self) -> int:
        return self._lengths.shape[1]

    def gather(self, indices: Sequence[int]) -> list[tuple[str, str]]:
        return [(str(i), str(i)) for i in indices]

    def encode(self, texts: Sequence[str], num_threads: int = 1) -> list[list[int]]:
        starts = [(int(text), int(text) % _VOCAB_SIZE) for text in texts]
        lengths = self._lengths[self._side]
        return [self._ids[at : at + lengths[i]].tolist() for i, at in starts]


class _Texts(_Numbered):
    def fingerprint(self) -> str:
        return "numbers"


class _Tokenizer(_Numbered):
    fingerprint = "numbers"


def _write_cache(
    lengths: np.ndarray, folder: pathlib.Path, max_length: int
) -> TokenCache:
    return build_token_cache(
        _Texts(lengths),  # type: ignore[arg-type]
        [_Tokenizer(lengths, side) for side in (0, 1)],  # type: ignore[misc]
        folder,
        max_length=max_length,
        num_threads=1,
    )


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=200_000)
    parser.add_argument("--turns", type=int, default=5)
    add_record_arguments(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
