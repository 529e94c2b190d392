"""A tiny recurrent "model" for searches, and exhaustive search over it in numpy."""

import itertools
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from transformer_jax.decoding.hypotheses import SearchSettings

PAD, BOS, EOS = 0, 1, 2
VOCAB_SIZE, WIDTH = 6, 8  # three words, and two rows of padding
WORDS = range(3, VOCAB_SIZE)


@flax.struct.dataclass
class Cache:
    sentence: jax.Array  # [batch, depth]
    hypothesis: jax.Array  # [batch, beam, depth]


class RandomModel:
    """Next-token logits that depend on the sentence and on every token before."""

    depth = 7

    def __init__(self, seed=0, scale=2.0, eos_bias=0.0):
        rng = np.random.default_rng(seed)
        self.mix = rng.normal(size=(self.depth, self.depth)).astype(np.float32)
        self.embedding = rng.normal(size=(WIDTH, self.depth)).astype(np.float32)
        self.out = (scale * rng.normal(size=(self.depth, WIDTH))).astype(np.float32)
        self.bias = np.zeros(WIDTH, np.float32)
        self.bias[EOS] = eos_bias
        self.sentences = rng.normal(size=(100, self.depth)).astype(np.float32)

    def cache(self, beam, sentences):
        chosen = jnp.asarray(self.sentences[list(sentences)])
        state = jnp.zeros((len(chosen), beam, self.depth), jnp.float32)
        return Cache(sentence=chosen, hypothesis=state)

    def __call__(self, tokens, cache):
        state = jnp.tanh(
            cache.hypothesis @ self.mix
            + jnp.asarray(self.embedding)[tokens]
            + cache.sentence[:, None, :]
        )
        logits = state @ self.out + jnp.asarray(self.bias)[None, None, :]
        return logits, cache.replace(hypothesis=state)

    def log_prob(self, sentence, tokens):
        """Sum of the log-probabilities of `tokens` in float64, EOS among them."""
        state, total = np.zeros(self.depth), 0.0
        for previous, token in itertools.pairwise([BOS, *tokens]):
            state = np.tanh(
                state @ self.mix.astype(np.float64)
                + self.embedding[previous]
                + self.sentences[sentence]
            )
            logits = (state @ self.out + self.bias)[:VOCAB_SIZE]
            total += logits[token] - np.log(np.exp(logits).sum())
        return total


def no_growth(cache, max_length):
    """A recurrent state has no length."""
    return cache


def penalty(length, alpha, kind):
    return ((5 + length) / 6) ** alpha if kind == "gnmt" else length**alpha


def exhaustive_search(model, sentence, max_length, alpha, kind, min_length=0):
    """Every hypothesis of at most `max_length` tokens as (score, log_prob, tokens)."""
    found = []
    for length in range(min(min_length + 1, max_length), max_length + 1):
        for words in itertools.product(WORDS, repeat=length - 1):
            tokens = [*words, EOS]
            log_prob = model.log_prob(sentence, tokens)
            found.append((log_prob / penalty(length, alpha, kind), log_prob, tokens))
    return sorted(found, reverse=True)


def settings(**fields: Any) -> SearchSettings:
    """Return the paper's search, with changes."""
    ids = {"eos_id": EOS, "bos_id": BOS, "pad_id": PAD, "vocab_size": VOCAB_SIZE}
    paper = {"beam_size": 4, "alpha": 0.6, "length_penalty": "gnmt"}
    return SearchSettings(**ids | paper | {"num_best": 1, "block_size": 8} | fields)
