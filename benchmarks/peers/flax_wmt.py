"""Flax's WMT example: its model and its loss, taken from a checkout of Flax.

The example's train.py needs TensorFlow to be imported; of that file only the loss is
read. Adam and the step around them are ours, as a step of the example has a pmap.
"""

import ast
import importlib.util
import pathlib
import time
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from flax.training import common_utils

from benchmarks.sizes import Sizes
from benchmarks.turns import Prepared
from benchmarks.workloads import CompileLog, device_facts
from transformer_jax.errors import UserError

_LOSS = "compute_weighted_cross_entropy"


def prepare_training(sizes: Mapping[str, Any], steps: int, examples: str) -> Prepared:
    """Be ready to train: a turn is `steps` steps.

    Args:
      sizes: of model and batch; the example's layers are pre-norm and its encoder and
        decoder equally deep.
      steps: of a turn.
      examples: Flax's folder examples/.
    """
    of = Sizes(**sizes)
    models, loss_fn = _load(pathlib.Path(examples) / "wmt")
    config = models.TransformerConfig(
        vocab_size=of.vocab_width,
        output_vocab_size=of.vocab_width,
        share_embeddings=True,
        logits_via_embedding=True,
        dtype=jnp.dtype(of.dtype),
        emb_dim=of.d_model,
        num_heads=of.num_heads,
        num_layers=of.num_decoder_layers,
        qkv_dim=of.d_model,
        mlp_dim=of.d_ff,
        max_len=max(of.length, 256),
        dropout_rate=of.dropout_rate,
        attention_dropout_rate=of.dropout_rate,
    )
    model, optimizer = models.Transformer(config), optax.adam(1e-4, 0.9, 0.98, 1e-9)
    source, target = (jnp.asarray(of.random_tokens(seed)) for seed in (0, 1))
    rngs = {name: jax.random.key(0) for name in ("params", "dropout")}
    params = model.init(rngs, source[:1], target[:1])["params"]
    state = params, optimizer.init(params)

    def mean_loss(params: Any, rng: jax.Array) -> jax.Array:
        logits = model.apply({"params": params}, source, target, rngs={"dropout": rng})
        total, weight = loss_fn(
            logits,
            target,
            jnp.where(target > 0, 1.0, 0.0),
            label_smoothing=of.label_smoothing,
        )
        return total / weight

    def step(state: Any, rng: jax.Array) -> tuple[Any, jax.Array]:
        params, moments = state
        loss, grads = jax.value_and_grad(mean_loss)(params, rng)
        updates, moments = optimizer.update(grads, moments)
        return (optax.apply_updates(params, updates), moments), loss

    log = CompileLog()
    jitted = jax.jit(step, donate_argnums=0)
    rng = jax.random.key(1)
    state, loss = jax.block_until_ready(jitted(state, rng))
    compiled = list(log.seconds)

    def turn() -> float:
        nonlocal state, loss
        start = time.perf_counter()
        for i in range(steps):
            state, loss = jitted(state, jax.random.fold_in(rng, i))
        jax.block_until_ready((state, loss))
        return (time.perf_counter() - start) / steps

    def facts() -> dict[str, Any]:
        return {
            "compile_seconds": sum(compiled),
            "programs": len(compiled),
            "loss": float(loss),
            **device_facts(),
        }

    return Prepared(turn, facts)


def _load(folder: pathlib.Path) -> tuple[ModuleType, Callable[..., Any]]:
    """Return the example's models.py as a module, and the loss of its train.py."""
    if not (folder / "models.py").is_file():
        raise UserError(
            f"{folder} has no models.py: expected the folder examples of a checkout of "
            "Flax. Give its path as --flax_examples."
        )
    spec = importlib.util.spec_from_file_location("wmt_models", folder / "models.py")
    assert spec is not None and spec.loader is not None
    models = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(models)
    tree = ast.parse((folder / "train.py").read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if getattr(node, "name", "") == _LOSS]
    names: dict[str, Any] = {
        "jnp": jnp,
        "np": np,
        "nn": nn,
        "common_utils": common_utils,
    }
    exec(compile(tree, str(folder / "train.py"), "exec"), names)
    return models, names[_LOSS]
