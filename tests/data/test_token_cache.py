import numpy as np
import pytest

from transformer_jax.data import token_cache
from transformer_jax.data.token_cache import TokenCache, build_token_cache, cache_key
from transformer_jax.errors import UserError
from transformer_jax.files import read_checked_json


class Pairs:
    """Pairs whose text is numbers, and whose tokens are those numbers."""

    def __init__(self, pairs, drops=None):
        self.pairs = pairs
        self.drops = drops or {}
        self.read = []

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, index):
        self.read.append(index)
        source, target = self.pairs[index]
        return " ".join(map(str, source)), " ".join(map(str, target))

    def gather(self, indices):
        return [self[index] for index in indices]

    def fingerprint(self):
        return repr(self.pairs)


class Numbers:
    def __init__(self, fingerprint="numbers", vocab_size=1000):
        self.fingerprint = fingerprint
        self.vocab_size = vocab_size

    def encode(self, sentences, num_threads=1):
        return [[int(word) for word in text.split()] for text in sentences]


def _random_pairs(count):
    rng = np.random.default_rng(0)
    return [
        tuple(rng.integers(4, 1000, rng.integers(1, 9)).tolist() for _ in range(2))
        for _ in range(count)
    ]


def _build(source, directory, tokenizer=None, **settings):
    tokenizer = tokenizer or Numbers()
    settings = dict(max_length=100, shard_size=10) | settings
    return build_token_cache(
        source, [tokenizer, tokenizer], directory, **{"num_threads": 2} | settings
    )


def _contents(cache):
    pairs = [cache.gather(np.array([i])) for i in range(len(cache))]
    return [(source.tolist(), target.tolist()) for source, target in pairs]


@pytest.mark.parametrize("shard_size", [1, 7, 10, 1000])
@pytest.mark.parametrize(
    ("vocab_size", "dtype"), [(65536, "uint16"), (65537, "uint32")]
)
def test_the_cache_gives_back_every_pair(tmp_path, shard_size, vocab_size, dtype):
    pairs = _random_pairs(43)
    tokenizer = Numbers(vocab_size=vocab_size)
    built = _build(Pairs(pairs), tmp_path, tokenizer, shard_size=shard_size)
    for cache in (built, TokenCache(tmp_path)):
        assert _contents(cache) == [(list(s), list(t)) for s, t in pairs]
        assert cache.lengths[0].tolist() == [len(s) for s, _ in pairs]
        assert cache.lengths[1].tolist() == [len(t) for _, t in pairs]
        assert cache.lengths.dtype == np.int32
        assert cache.manifest["dtype"] == dtype
        assert len(cache) == cache.manifest["num_pairs"] == 43


def test_gathering_keeps_the_given_order_across_shards(tmp_path):
    pairs = _random_pairs(43)
    cache = _build(Pairs(pairs), tmp_path, shard_size=7)
    order = np.random.default_rng(1).permutation(43)[:19]
    source, target = cache.gather(order)
    assert source.tolist() == [i for pair in order for i in pairs[pair][0]]
    assert target.tolist() == [i for pair in order for i in pairs[pair][1]]


def test_drops_are_counted_by_reason_and_eos_counts(tmp_path):
    pairs = [
        ([4] * 4, [5] * 4),  # Five with EOS: just fits.
        ([4] * 5, [5] * 4),
        ([4], [5] * 7),
        ([], [5]),
        ([4], []),
        ([4], [5] * 2),  # Ratio of exactly 2 stays.
        ([4], [5] * 3),
        ([4] * 3, [5]),
    ]
    source = Pairs(pairs, drops={"empty": 11})
    cache = _build(source, tmp_path, max_length=5, max_length_ratio=2.0, shard_size=3)
    assert cache.manifest["drops"] == {"empty": 13, "too long": 2, "length ratio": 2}
    assert _contents(cache) == [([4] * 4, [5] * 4), ([4], [5] * 2)]


def test_the_ratio_filter_is_off_by_default(tmp_path):
    cache = _build(Pairs([([4], [5] * 90)]), tmp_path)
    assert len(cache) == 1
    assert sum(cache.manifest["drops"].values()) == 0


def test_nothing_left_is_an_error_that_says_why(tmp_path):
    with pytest.raises(UserError, match="None of the 2 pairs.*2 too long.*max_length"):
        _build(Pairs([([4] * 9, [5]), ([4], [5] * 9)]), tmp_path, max_length=3)


def test_a_shard_of_dropped_pairs_alone_does_no_harm(tmp_path):
    pairs = [([4], [5]), ([4] * 9, [5]), ([6], [7])]
    cache = _build(Pairs(pairs), tmp_path, max_length=3, shard_size=1)
    assert _contents(cache) == [([4], [5]), ([6], [7])]


def test_a_finished_cache_is_opened_without_reading_text(tmp_path):
    source = Pairs(_random_pairs(25))
    first = _build(source, tmp_path)
    source.read.clear()
    assert _contents(_build(source, tmp_path)) == _contents(first)
    assert not source.read


def test_a_build_that_was_killed_goes_on_after_its_last_whole_shard(
    tmp_path, monkeypatch
):
    source = Pairs(_random_pairs(35))
    whole = _build(source, tmp_path / "whole")
    write = token_cache.write_atomically
    writes = []

    def write_until_killed(path):
        writes.append(path)
        if len(writes) == 6:  # The third shard's summary; its data is written.
            raise KeyboardInterrupt
        return write(path)

    monkeypatch.setattr(token_cache, "write_atomically", write_until_killed)
    with pytest.raises(KeyboardInterrupt):
        _build(source, tmp_path / "killed")
    monkeypatch.undo()
    with pytest.raises(UserError, match="holds no finished token cache"):
        TokenCache(tmp_path / "killed")
    source.read.clear()
    resumed = _build(source, tmp_path / "killed")
    assert source.read == list(range(20, 35))
    assert resumed.manifest == whole.manifest
    assert _contents(resumed) == _contents(whole)


@pytest.mark.parametrize("damage", ["flip", "cut", "delete"])
def test_a_damaged_shard_is_named_and_made_again(tmp_path, damage):
    source = Pairs(_random_pairs(35))
    contents = _contents(_build(source, tmp_path))
    path = tmp_path / "shard-00001.bin"
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw if damage == "flip" else raw[:-2])
    if damage == "delete":
        path.unlink()
    with pytest.raises(UserError, match="is damaged: .*shard-00001.bin"):
        TokenCache(tmp_path)
    source.read.clear()
    assert _contents(_build(source, tmp_path)) == contents
    assert source.read == list(range(10, 20))


def test_a_broken_manifest_is_written_again(tmp_path):
    source = Pairs(_random_pairs(5))
    _build(source, tmp_path)
    manifest = tmp_path / "manifest.json"
    manifest.write_text(manifest.read_text()[:40])
    with pytest.raises(UserError, match="missing or broken"):
        TokenCache(tmp_path)
    assert len(_build(source, tmp_path)) == 5


def test_text_tokenizers_and_settings_all_change_the_key():
    def key(pairs=(((4,), (5,)),), source="a", target="b", **settings):
        settings = dict(max_length=9) | settings
        tokenizers = Numbers(source), Numbers(target)
        return cache_key(Pairs(pairs), tokenizers, **settings)

    keys = [
        key(),
        key(pairs=(((4,), (6,)),)),
        key(source="c"),
        key(target="c"),
        key(source="b", target="a"),
        key(max_length=8),
        key(max_length_ratio=2),
        key(shard_size=3),
    ]
    assert len(set(keys)) == len(keys)
    assert key() == key(max_length_ratio=0)


def test_a_directory_of_another_cache_is_refused(tmp_path):
    _build(Pairs([([4], [5])]), tmp_path)
    with pytest.raises(UserError, match="tokens of another text, tokenizer or setting"):
        _build(Pairs([([4], [5])]), tmp_path, Numbers("other"))


def test_shards_left_by_another_text_are_not_taken_over(tmp_path):
    _build(Pairs([([4], [5])]), tmp_path)
    (tmp_path / "manifest.json").unlink()
    assert _contents(_build(Pairs([([6], [7])]), tmp_path)) == [([6], [7])]


def test_the_manifest_records_what_made_the_cache(tmp_path):
    cache = _build(Pairs([([4], [5])]), tmp_path, max_length_ratio=3)
    manifest = read_checked_json(tmp_path / "manifest.json")
    assert manifest == cache.manifest
    assert manifest["settings"] == {
        "max_length": 100,
        "max_length_ratio": 3.0,
        "shard_size": 10,
    }
    assert manifest["tokenizers"] == ["numbers", "numbers"]
    assert manifest["format_version"] == 1
