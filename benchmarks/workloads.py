"""The package's own work, as benchmarks measure it: models, batches and steps."""

import argparse
import functools
import resource
import time
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import ml_collections
import numpy as np

from benchmarks.sizes import BOS, EOS, PAD, Sizes, shifted_right
from benchmarks.turns import Prepared
from configs import multi30k_tiny, wmt14_ende_base, wmt14_ende_big
from transformer_jax.commands.huge_pages import has_accelerator
from transformer_jax.data.batch import Batch
from transformer_jax.decoding.translator import Translator
from transformer_jax.models.interface import TranslationModel
from transformer_jax.models.layer_scan import stack_layers
from transformer_jax.models.parameters import init_params
from transformer_jax.runs import components
from transformer_jax.tasks.objective import translation_objective
from transformer_jax.training.losses import smoothed_cross_entropy
from transformer_jax.training.state import create_state
from transformer_jax.training.step import train_step

MODELS = {"tiny": multi30k_tiny, "base": wmt14_ende_base, "big": wmt14_ende_big}
# The paper's vocabulary (Section 5.1); tiny has its config's.
_WMT_VOCAB_SIZE = 37_000
_COMPILED = "/jax/core/compile/backend_compile_duration"


def model_config(
    model: str, dtype: str | None, layers: int | None = None
) -> ml_collections.ConfigDict:
    """Return an experiment's config, with `layers` in each stack if that is given."""
    config = MODELS[model].get_config()
    if dtype is not None:
        config.model.dtype = dtype
    if layers is not None:
        config.model.update(num_encoder_layers=layers, num_decoder_layers=layers)
    return config


def add_model_arguments(
    parser: argparse.ArgumentParser, vocab_size: int | None = None
) -> None:
    """Add which model is measured, how it computes, and against which peers."""
    parser.add_argument("--model", choices=MODELS, default="tiny")
    parser.add_argument(
        "--dtype",
        choices=("float32", "bfloat16"),
        default="bfloat16" if has_accelerator() else "float32",
    )
    parser.add_argument("--vocab_size", type=int, default=vocab_size)
    parser.add_argument("--layers", type=int, help="of each stack, in place of all")
    parser.add_argument("--only", nargs="*", help="these peers, by their rows' names")


def make_sizes(
    model: str,
    *,
    dtype: str,
    rows: int,
    length: int,
    vocab_size: int | None = None,
    layers: int | None = None,
) -> Sizes:
    """Return the sizes of a named model and of a batch for it."""
    config = model_config(model, dtype, layers)
    if vocab_size is None:
        vocab_size = config.data.vocab_size if model == "tiny" else _WMT_VOCAB_SIZE
    fields, multiple = config.model, config.model.vocab_multiple
    return Sizes(
        model=model,
        dtype=dtype,
        vocab_size=vocab_size,
        vocab_width=-(-vocab_size // multiple) * multiple,
        num_encoder_layers=fields.num_encoder_layers,
        num_decoder_layers=fields.num_decoder_layers,
        d_model=fields.d_model,
        d_ff=fields.d_ff,
        num_heads=fields.num_heads,
        dropout_rate=fields.dropout_rate,
        label_smoothing=config.training.label_smoothing,
        is_pre_norm=fields.norm_position == "pre",
        rows=rows,
        length=length,
    )


def build(
    sizes: Sizes, changes: Mapping[str, Any] | None = None
) -> tuple[ml_collections.ConfigDict, TranslationModel]:
    """Return config and model of these sizes, with `changes` to the model's fields."""
    config = model_config(sizes.model, sizes.dtype)
    config.model.update(
        num_encoder_layers=sizes.num_encoder_layers,
        num_decoder_layers=sizes.num_decoder_layers,
        **(changes or {}),
    )
    return config, components.build_model(config, sizes.vocab_size, sizes.vocab_size)


def make_step(config: ml_collections.ConfigDict, model: TranslationModel) -> Any:
    """Return the step as `runs/experiment.py` makes it, not yet jitted."""
    return functools.partial(
        train_step,
        loss_fn=translation_objective(
            model, label_smoothing=config.training.label_smoothing
        ),
        optimizer=components.build_optimizer(config),
        schedule=components.build_schedule(config, model),
    )


def make_state(
    config: ml_collections.ConfigDict, model: TranslationModel, is_stacked: bool
) -> Any:
    """Return the state that training begins with, its layers stacked or not."""
    params = init_params(model, jax.random.key(0))
    if is_stacked:
        params = stack_layers(params, model.layer_stacks)
    return create_state(params, components.build_optimizer(config))


def make_batch(sizes: Sizes) -> Batch:
    """Return a random batch of one pair a row."""
    source, target = sizes.random_tokens(0), sizes.random_tokens(1)
    positions = np.broadcast_to(np.arange(sizes.length, dtype=np.int32), source.shape)
    ones = np.ones_like(source)
    return Batch(
        source_tokens=source,
        source_segments=ones,
        source_positions=positions,
        decoder_input_tokens=shifted_right(target),
        target_tokens=target,
        target_segments=ones,
        target_positions=positions,
        loss_weights=ones.astype(np.float32),
    )


class CompileLog:
    """What XLA compiled since this object was made.

    Attributes:
      seconds: one entry a program.
    """

    def __init__(self) -> None:
        self.seconds: list[float] = []
        jax.monitoring.register_event_duration_secs_listener(self._note)

    def _note(self, event: str, seconds: float, **_: Any) -> None:
        if event == _COMPILED:
            self.seconds.append(seconds)


def device_facts(device: jax.Device | None = None) -> dict[str, Any]:
    """Return kind and memory of the device, and the peak of what was used."""
    device = device or jax.devices()[0]
    statistics = device.memory_stats() or {}
    # A CPU has no statistics; the process's own peak then is the device's.
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    limit = statistics.get("bytes_limit")
    return {
        "platform": device.platform,
        "device_kind": device.device_kind,
        "device_memory_gib": limit and round(limit / 2**30, 1),
        "peak_gib": statistics.get("peak_bytes_in_use", resident) / 2**30,
    }


def prepare_training(
    sizes: Mapping[str, Any],
    steps: int,
    model_changes: Mapping[str, Any] | None = None,
    is_stacked: bool | None = None,
) -> Prepared:
    """Be ready to train: a turn is `steps` steps.

    Args:
      sizes: of model and batch.
      steps: of a turn.
      model_changes: to the model's fields.
      is_stacked: whether the layers are one program; None: as a run has them.
    """
    if is_stacked is None:
        is_stacked = jax.default_backend() != "cpu"
    of = Sizes(**sizes)
    config, model = build(of, model_changes)
    state, rng = make_state(config, model, is_stacked), jax.random.key(1)
    batch = jax.device_put(make_batch(of))
    log = CompileLog()
    step = jax.jit(make_step(config, model), donate_argnums=0)
    state, sums = jax.block_until_ready(step(state, batch, rng))
    compiled = list(log.seconds)

    def turn() -> float:
        nonlocal state, sums
        start = time.perf_counter()
        for _ in range(steps):
            state, sums = step(state, batch, rng)
        jax.block_until_ready((state, sums))
        return (time.perf_counter() - start) / steps

    def facts() -> dict[str, Any]:
        loss = sums["loss"]
        return {
            "compile_seconds": sum(compiled),
            "programs": len(compiled),
            "loss": float(loss.total) / float(loss.weight),
            "programs_after": len(log.seconds) - len(compiled),
            **device_facts(),
        }

    return Prepared(turn, facts)


def prepare_product(dtype: str, size: int, repetitions: int) -> Prepared:
    """Be ready to multiply square matrices: what the device reaches at best."""
    rng = jax.random.key(0)
    left = jax.random.normal(rng, (size, size), jnp.dtype(dtype))

    @jax.jit
    def product(left: jax.Array, right: jax.Array) -> jax.Array:
        return left @ right

    jax.block_until_ready(product(left, left))

    def turn() -> float:
        start = time.perf_counter()
        result = left
        for _ in range(repetitions):
            result = product(left, left)
        jax.block_until_ready(result)
        return (time.perf_counter() - start) / repetitions

    return Prepared(turn, lambda: {"flops": 2 * size**3})


def prepare_loss(sizes: Mapping[str, Any], steps: int) -> Prepared:
    """Be ready for the smoothed cross-entropy and its gradient alone."""
    of = Sizes(**sizes)
    shape = (of.rows, of.length)
    logits = jax.random.normal(jax.random.key(0), (*shape, of.vocab_size), of.dtype)
    truth, weights = jnp.asarray(of.random_tokens(1)), jnp.ones(shape)

    @jax.jit
    @jax.grad
    def gradient(logits: jax.Array) -> jax.Array:
        loss_sum, _, _ = smoothed_cross_entropy(
            logits,
            truth,
            weights,
            label_smoothing=of.label_smoothing,
            vocab_size=of.vocab_size,
        )
        return loss_sum

    jax.block_until_ready(gradient(logits))

    def turn() -> float:
        start = time.perf_counter()
        for _ in range(steps):
            result = gradient(logits)
        jax.block_until_ready(result)
        return (time.perf_counter() - start) / steps

    return Prepared(turn, device_facts)


class NumberTokenizer:
    """A tokenizer of lines such as "17 4 99": each number is a token."""

    pad_id, bos_id, eos_id = PAD, BOS, EOS

    def __init__(self, vocab_size: int) -> None:
        self.vocab_size = vocab_size

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        return [[int(word) for word in line.split()] for line in sentences]

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        return [" ".join(map(str, row)) for row in ids]


def prepare_decoding(
    sizes: Mapping[str, Any], beam_size: int, num_tokens: int
) -> Prepared:
    """Be ready to translate: a turn is one batch, a unit one step of its search.

    The weights are random and the end mark's row is zero, so that its logit is 0, far
    from the best, and every sentence runs to its limit of `num_tokens`.
    """
    of = Sizes(**sizes)
    config, model = build(of)
    params = jax.tree.map(
        lambda leaf: leaf.at[EOS].set(0) if leaf.shape[0] == of.vocab_width else leaf,
        init_params(model, jax.random.key(0)),
    )
    tokenizer = NumberTokenizer(of.vocab_size)
    sentence_length = of.length - 1  # EOS takes a position.
    translator: Translator = components.build_translator(
        config,
        model,
        params,
        (tokenizer,),  # type: ignore[arg-type]
        beam_size=beam_size,
        max_extra_length=num_tokens - sentence_length,
        tokens_per_batch=of.rows * of.length,
    )
    lines = tokenizer.decode(of.random_tokens(0)[:, :sentence_length].tolist())
    log = CompileLog()
    translations = translator.translate(lines)
    compiled = list(log.seconds)
    shortest = min(len(line.text.split()) for line in translations)
    if shortest < num_tokens - 1:
        raise ValueError(
            f"a translation has {shortest} tokens, expected {num_tokens - 1}"
        )

    def turn() -> float:
        start = time.perf_counter()
        translator.translate(lines)
        return (time.perf_counter() - start) / num_tokens

    def facts() -> dict[str, Any]:
        return {
            "compile_seconds": sum(compiled),
            "programs": len(compiled),
            "programs_after": len(log.seconds) - len(compiled),
            **device_facts(),
        }

    return Prepared(turn, facts)
