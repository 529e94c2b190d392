import functools
import itertools
import subprocess
import sys

import jax
import numpy as np
import pytest

from transformer_jax.data.batch import assemble
from transformer_jax.data.batch_plan import PlannedBatch
from transformer_jax.data.batch_shapes import BatchShape, choose_shapes
from transformer_jax.data.bucketed_plan import plan_buckets
from transformer_jax.data.pipeline import evaluation_batches, make_batches
from transformer_jax.data.token_cache import build_token_cache
from transformer_jax.data.tokenizer import SpecialIds

SPECIALS = SpecialIds(pad=9, bos=1, eos=2)


def _maker(cache):
    return functools.partial(assemble, cache, specials=SPECIALS)


class _Numbers:
    """A source and a tokenizer at once: pair i has ids that spell out i."""

    fingerprint = "numbers"
    vocab_size = 1 << 16
    drops: dict[str, int] = {}

    def __init__(self, pairs):
        self.pairs = pairs

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, index):
        return tuple(" ".join(map(str, side)) for side in self.pairs[index])

    def gather(self, indices):
        return [self[index] for index in indices]

    def encode(self, sentences, num_threads=1):
        return [[int(word) for word in text.split()] for text in sentences]


def _make_cache(pairs, directory):
    class Source(_Numbers):
        def fingerprint(self):
            return repr(self.pairs)

    tokenizer = _Numbers(())
    return build_token_cache(
        Source(pairs),
        [tokenizer, tokenizer],
        directory,
        max_length=99,
        shard_size=50,
        num_threads=2,
    )


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    rng = np.random.default_rng(0)
    pairs = [
        ([100 + i] * rng.integers(1, 20), [1000 + i] * rng.integers(1, 23))
        for i in range(333)
    ]
    return _make_cache(pairs, tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def plan(cache):
    lengths = cache.lengths
    shapes = choose_shapes(
        *lengths, tokens_per_batch=300, max_batch_shapes=5, row_multiple=8
    )
    return plan_buckets(*lengths, shapes, seed=0)


def _assert_equal(first, second):
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_a_batch_by_hand(tmp_path):
    cache = _make_cache([([11, 12, 13], [21]), ([14], [22, 23])], tmp_path)
    planned = PlannedBatch(BatchShape(3, 5, 4), np.array([1, 0]), np.array([0, 1]))
    batch = assemble(cache, planned, SPECIALS)
    expected = {
        "source_tokens": [[14, 2, 9, 9, 9], [11, 12, 13, 2, 9], [9] * 5],
        "source_segments": [[1, 1, 0, 0, 0], [1, 1, 1, 1, 0], [0] * 5],
        "source_positions": [[0, 1, 0, 0, 0], [0, 1, 2, 3, 0], [0] * 5],
        "decoder_input_tokens": [[1, 22, 23, 9], [1, 21, 9, 9], [9] * 4],
        "target_tokens": [[22, 23, 2, 9], [21, 2, 9, 9], [9] * 4],
        "target_segments": [[1, 1, 1, 0], [1, 1, 0, 0], [0] * 4],
        "target_positions": [[0, 1, 2, 0], [0, 1, 0, 0], [0] * 4],
        "loss_weights": [[1, 1, 1, 0], [1, 1, 0, 0], [0] * 4],
    }
    for name, rows in expected.items():
        value = getattr(batch, name)
        assert value.tolist() == rows, name
        assert value.dtype == (np.float32 if name == "loss_weights" else np.int32)


def test_a_packed_row_by_hand(tmp_path):
    """Each sentence starts with BOS, position 0 and a segment of its own."""
    cache = _make_cache([([11, 12], [21]), ([14], [22, 23]), ([15], [24])], tmp_path)
    planned = PlannedBatch(
        BatchShape(2, 6, 7), np.array([2, 1, 0]), np.array([0, 1, 1])
    )
    batch = assemble(cache, planned, SPECIALS)
    assert batch.source_tokens.tolist() == [[15, 2, 9, 9, 9, 9], [14, 2, 11, 12, 2, 9]]
    assert batch.source_segments[1].tolist() == [1, 1, 2, 2, 2, 0]
    assert batch.source_positions[1].tolist() == [0, 1, 0, 1, 2, 0]
    assert batch.decoder_input_tokens[1].tolist() == [1, 22, 23, 1, 21, 9, 9]
    assert batch.target_tokens[1].tolist() == [22, 23, 2, 21, 2, 9, 9]
    assert batch.target_segments[1].tolist() == [1, 1, 1, 2, 2, 0, 0]
    assert batch.target_positions[1].tolist() == [0, 1, 2, 0, 1, 0, 0]
    assert batch.loss_weights[1].tolist() == [1, 1, 1, 1, 1, 0, 0]


def test_an_epoch_carries_the_tokens_of_every_pair_once(cache, plan):
    batches = make_batches(
        _maker(cache), plan, num_steps=plan.batches_per_epoch, num_threads=2
    )
    sources, targets, tokens = [], [], 0
    for batch in batches:
        sources += batch.source_tokens[batch.source_segments > 0].tolist()
        targets += batch.target_tokens[batch.loss_weights > 0].tolist()
        tokens += batch.loss_weights.sum()
    everything = cache.gather(np.arange(len(cache)))
    eos = [SPECIALS.eos] * len(cache)
    assert sorted(sources) == sorted(everything[0].tolist() + eos)
    assert sorted(targets) == sorted(everything[1].tolist() + eos)
    assert tokens == cache.lengths[1].sum() + len(cache)


@pytest.mark.parametrize("num_threads", [0, 1, 3])
def test_threads_change_nothing_and_any_step_can_be_first(cache, plan, num_threads):
    n = plan.batches_per_epoch
    for start in (0, 1, n - 2, 5 * n + 3):
        batches = make_batches(
            _maker(cache), plan, start_step=start, num_threads=num_threads
        )
        for step, batch in zip(range(start, start + 5), batches, strict=False):
            _assert_equal(batch, assemble(cache, plan.batch(step), SPECIALS))


def test_the_number_of_steps_is_kept(cache, plan):
    batches = make_batches(
        _maker(cache), plan, start_step=7, num_steps=3, num_threads=2
    )
    assert len(list(batches)) == 3
    endless = make_batches(_maker(cache), plan, num_threads=2)
    assert len(list(itertools.islice(endless, 100))) == 100


def test_evaluation_sees_every_pair_once_in_the_planned_shapes(cache, plan):
    batches = list(evaluation_batches(_maker(cache), plan))
    shapes = {(*b.source_tokens.shape, b.target_tokens.shape[1]) for b in batches}
    assert shapes <= set(plan.shapes)
    firsts = [b.target_tokens[b.loss_weights[:, 0] > 0, 0] for b in batches]
    assert sorted(np.concatenate(firsts)) == list(range(1000, 1333))
    again = evaluation_batches(_maker(cache), plan)
    for first, second in zip(batches, again, strict=True):
        _assert_equal(first, second)


def test_grain_reads_ahead_in_a_program_without_absl_flags(cache):
    """Grain's own flags are not parsed outside `absl.app.run`."""
    program = f"""
import functools
from transformer_jax.data.batch import assemble
from transformer_jax.data.batch_shapes import choose_shapes
from transformer_jax.data.bucketed_plan import plan_buckets
from transformer_jax.data.pipeline import make_batches
from transformer_jax.data.token_cache import TokenCache
from transformer_jax.data.tokenizer import SpecialIds
cache = TokenCache({str(cache.directory)!r})
lengths = cache.lengths
settings = {{"tokens_per_batch": 99, "max_batch_shapes": 12, "row_multiple": 8}}
plan = plan_buckets(*lengths, choose_shapes(*lengths, **settings), seed=0)
make_batch = functools.partial(assemble, cache, specials=SpecialIds(0, 1, 2))
print(len(list(make_batches(make_batch, plan, num_steps=4, num_threads=2))))
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert run.stdout == "4\n", run.stderr
