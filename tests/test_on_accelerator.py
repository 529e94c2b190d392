"""What a GPU or TPU does differently: precision, memory, and devices that go away.

    JAX_PLATFORMS=cuda,cpu python -m pytest -m accelerator tests/test_on_accelerator.py

(or `tpu,cpu`) where there is one; without JAX_PLATFORMS tests see the CPU alone. Where
a CPU can do what a test does, the test is run on one too, on the last of the eight.
"""

import json
import os
import pathlib
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from tests import short_sentences
from tests.decoding.test_translator import LINES, MODEL, SETTINGS, TOKENIZER
from tests.training.toy import (
    OPTIMIZER,
    assert_same,
    make_batch,
    make_step,
    random_state,
)
from transformer_jax.decoding.translations import Candidate
from transformer_jax.decoding.translator import Translator
from transformer_jax.evaluation.means import divide
from transformer_jax.models.attention import (
    fused_attention,
    scaled_dot_product_attention,
)
from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.masks import Visibility
from transformer_jax.models.parameters import init_params
from transformer_jax.models.transformer import Transformer
from transformer_jax.tasks.objective import translation_objective
from transformer_jax.training.checkpoints import CheckpointStore
from transformer_jax.training.state import TrainState, create_state

ROOT = pathlib.Path(__file__).resolve().parent.parent


def _accelerator() -> jax.Device:
    device = jax.devices()[0]
    if device.platform == "cpu":
        pytest.skip(
            "JAX sees no GPU or TPU; where there is one, run "
            "`JAX_PLATFORMS=cuda,cpu python -m pytest -m accelerator` (or tpu,cpu)"
        )
    return device


@pytest.fixture
def accelerator() -> jax.Device:
    return _accelerator()


@pytest.fixture(
    params=["cpu", pytest.param("accelerator", marks=pytest.mark.accelerator)]
)
def device(request: pytest.FixtureRequest) -> jax.Device:
    """Where a test takes place: never the first CPU, which is what it compares with."""
    if request.param == "cpu":
        return jax.devices("cpu")[-1]
    return _accelerator()


def _one_step(
    device: jax.Device, dtype: str
) -> tuple[TrainState, TrainState, dict[str, float]]:
    """Take the second step of a new model; return state before and after, and sums.

    The second, as after the first everything is compiled and in place.
    """
    sizes = {"d_model": 128, "d_ff": 256, "num_heads": 4, "dropout_rate": 0.0}
    layers = {"num_encoder_layers": 1, "num_decoder_layers": 1}
    model = Transformer(
        TransformerConfig(
            source_vocab_size=11, target_vocab_size=11, dtype=dtype, **sizes, **layers
        )
    )
    optimizer = OPTIMIZER
    step_fn = make_step(
        loss_fn=translation_objective(model, label_smoothing=0.1), optimizer=optimizer
    )
    params = jax.jit(lambda rng: init_params(model, rng))(jax.random.key(0))
    rng = jax.device_put(jax.random.key(1), device)
    first, second = (jax.device_put(make_batch(seed), device) for seed in (0, 1))
    new = jax.device_put(create_state(params, optimizer), device)
    before, _ = jax.block_until_ready(step_fn(new, first, rng))
    bytes_before = _bytes_in_use(device)
    after, sums = jax.block_until_ready(step_fn(before, second, rng))
    growth = _bytes_in_use(device) - bytes_before
    return before, after, divide(jax.device_get(sums)) | {"bytes": growth}


def _bytes_in_use(device: jax.Device) -> int:
    """Return what the device counts; 0 where it does not, as CPUs do not."""
    return (device.memory_stats() or {}).get("bytes_in_use", 0)


def test_a_bfloat16_step_is_a_float32_step_within_its_precision(device):
    # GPUs multiply float32 in TensorFloat-32 and TPUs in bfloat16 unless told not to.
    with jax.default_matmul_precision("highest"):
        _, whole, expected = _one_step(jax.devices("cpu")[0], "float32")
    _, half, sums = _one_step(device, "bfloat16")
    # bfloat16 keeps 8 bits, a relative error of 0.4 % at each rounding; they add up
    # over the layers, forward and backward. A CPU has 0.5 %, 1.0 % and 0.9995.
    assert sums["loss"] == pytest.approx(expected["loss"], rel=0.02)
    assert sums["gradient_norm"] == pytest.approx(expected["gradient_norm"], rel=0.04)
    assert _cosine(_momentum(half), _momentum(whole)) > 0.995
    # The same to the last bit would mean that nothing was computed in bfloat16.
    assert sums["loss"] != expected["loss"]


@pytest.mark.parametrize("length", [256, 255])  # cuDNN refuses the odd one.
def test_fused_attention_is_the_plain_one_within_bfloat16(device, length):
    rng = np.random.default_rng(0)
    shape = (2, length, 4, 64)
    inputs = [rng.standard_normal(shape, dtype=np.float32) for _ in range(3)]
    segments = np.ones((2, length), np.int32)
    segments[1, 200:] = 0  # Those queries may look nowhere.
    mask = Visibility(segments, segments, is_causal=True).mask()

    def attend(attention):
        def total(query, key, value):
            output = attention(query, key, value, jax.device_put(mask, device))
            return jnp.sum(jnp.sin(output.astype(jnp.float32))), output

        narrow = [jax.device_put(x.astype(jnp.bfloat16), device) for x in inputs]
        run = jax.jit(jax.value_and_grad(total, argnums=(0, 1, 2), has_aux=True))
        (_, output), grads = run(*narrow)
        return [np.asarray(x, np.float32) for x in (output, *grads)]

    plain = attend(lambda *given: scaled_dot_product_attention(*given)[0])
    for one, other in zip(attend(fused_attention), plain, strict=True):
        np.testing.assert_allclose(one, other, atol=0.06)  # 8 bits of values up to 4.
        assert not np.any(one[1, 200:])


def _momentum(state: TrainState) -> np.ndarray:
    """Return Adam's mean of gradients, all in one vector."""
    tree = optax.tree.get(state.opt_state, "mu")
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)])


def _cosine(left: np.ndarray, right: np.ndarray) -> float:
    return float(left @ right / np.linalg.norm(left) / np.linalg.norm(right))


def test_a_donated_state_is_gone_and_its_memory_is_used_again(device):
    before, after, sums = _one_step(device, "float32")
    assert all(leaf.is_deleted() for leaf in jax.tree.leaves(before))
    assert not any(leaf.is_deleted() for leaf in jax.tree.leaves(after))
    num_bytes = sum(leaf.nbytes for leaf in jax.tree.leaves(after))
    assert num_bytes > 3_000_000
    assert sums["bytes"] < num_bytes / 4


def test_beam_search_in_float32_finds_what_it_finds_on_a_cpu(device):
    def best(place: jax.Device) -> list[tuple[Candidate, ...]]:
        on_device = jax.device_put(params, place)
        translator = Translator(MODEL, on_device, TOKENIZER, TOKENIZER, SETTINGS)
        return [line.candidates for line in translator.translate(LINES)]

    # Larger than at the start, so that no two hypotheses come close.
    params = jax.tree.map(
        lambda leaf: np.asarray(leaf) * (2.0 if leaf.ndim > 1 else 1.0),
        init_params(MODEL, jax.random.key(0)),
    )
    with jax.default_matmul_precision("highest"):
        found, expected = best(device), best(jax.devices("cpu")[0])
    # A character for each id.
    assert [[candidate.text for candidate in line] for line in found] == [
        [candidate.text for candidate in line] for line in expected
    ]
    for line, expected_line in zip(found, expected, strict=True):
        np.testing.assert_allclose(
            [candidate.score for candidate in line],
            [candidate.score for candidate in expected_line],
            rtol=1e-4,  # Sums of log-probabilities over up to twenty steps.
        )


_READ = """
import sys
import jax, numpy
from tests.training.toy import random_state
from transformer_jax.training.checkpoints import CheckpointStore
assert [device.platform for device in jax.devices()] == ["cpu"]
with CheckpointStore(sys.argv[1]) as store:
    state, rng, _ = store.restore(random_state(700))
numpy.savez(sys.argv[2], *jax.tree.leaves(state), jax.random.key_data(rng))
"""


def test_a_checkpoint_is_read_where_its_device_does_not_exist(device, tmp_path):
    """By a process with a single CPU and nothing else."""
    state = jax.device_put(random_state(700, seed=3), device)
    rng = jax.device_put(jax.random.key(7), device)
    with CheckpointStore(tmp_path) as store:
        store.save(5, state, rng=rng, metadata={})
    result = subprocess.run(
        [sys.executable, "-c", _READ, str(tmp_path), str(tmp_path / "read.npz")],
        capture_output=True,
        cwd=ROOT,
        env=os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""},
    )
    assert result.returncode == 0, result.stderr.decode()
    with np.load(tmp_path / "read.npz") as arrays:
        read = list(arrays.values())
    assert_same(read, [*jax.tree.leaves(state), jax.random.key_data(rng)])


@pytest.mark.accelerator
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_short_sentences_are_learnt_on_the_device(accelerator, tmp_path, dtype):
    """As `tests/test_learning.py` has it on a CPU."""
    text = short_sentences.write_short_sentences(tmp_path / "text")
    config = short_sentences.short_sentences_config(text)
    config.model.dtype = dtype
    scores = short_sentences.train(config, tmp_path / "run")
    assert short_sentences.is_learnt(scores), scores
    hardware = json.loads((tmp_path / "run/hardware.json").read_text())
    assert accelerator.device_kind in json.dumps(hardware)
