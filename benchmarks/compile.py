"""Compile the base model's training step for a TPU that is not there, and count.

python -m benchmarks.compile [--topology v5e:2x4] [--dtype bfloat16]

784 rows of 32 source and 32 target tokens, V = 37 000 padded to 37 120, rows spread
over all devices. Needs libtpu of JAX's version (the tpu extra) and no TPU. Prints JSON:
seconds, operations and bytes of one device as XLA counts them, scratch, and the types
of the products as (factor, factor, result).
"""

import argparse
import collections
import functools
import json
import os
import re
import time
from typing import Any

# libtpu asks for the machine that it is not on; see before it is loaded.
os.environ.update(
    JAX_PLATFORMS="cpu",
    TPU_SKIP_MDS_QUERY="1",
    TPU_WORKER_HOSTNAMES="localhost",
    TPU_WORKER_ID="0",
    TPU_ACCELERATOR_TYPE="v5litepod-8",
    ALLOW_MULTIPLE_LIBTPU_LOAD="1",
)

import jax  # noqa: E402 (the variables above must be set first)
import jax.numpy as jnp  # noqa: E402
from jax.experimental import topologies  # noqa: E402

from configs import wmt14_ende_base  # noqa: E402
from transformer_jax.data.batch import Batch  # noqa: E402
from transformer_jax.models.parameters import init_params  # noqa: E402
from transformer_jax.runs import components  # noqa: E402
from transformer_jax.sharding.mesh import (  # noqa: E402
    batch_sharding,
    make_mesh,
    placed_shapes,
    replicated,
)
from transformer_jax.tasks.objective import translation_objective  # noqa: E402
from transformer_jax.training.state import create_state  # noqa: E402
from transformer_jax.training.step import train_step  # noqa: E402

ROWS, LENGTH, VOCAB_SIZE, VOCAB_MULTIPLE = 784, 32, 37_000, 128
_PRODUCT = re.compile(
    r"dot_general.*: \(tensor<[0-9x]+x(\w+)>, tensor<[0-9x]+x(\w+)>\) -> "
    r"tensor<[0-9x]+x(\w+)>"
)


def main() -> None:
    """Compile and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topology", default="v5e:2x4")
    parser.add_argument("--dtype", default="bfloat16")
    options = parser.parse_args()
    print(json.dumps(measure(options.topology, options.dtype), indent=2))


def measure(topology: str, dtype: str) -> dict[str, Any]:
    """Return what XLA says of the step, compiled for one device of a topology."""
    devices = topologies.get_topology_desc(
        platform="tpu", topology_name=topology
    ).devices
    mesh = make_mesh(devices)
    config = wmt14_ende_base.get_config()
    config.model.update(dtype=dtype, vocab_multiple=VOCAB_MULTIPLE)
    model = components.build_model(config, VOCAB_SIZE, VOCAB_SIZE)
    optimizer = components.build_optimizer(config)

    state, rng = placed_shapes(
        jax.eval_shape(
            lambda: (
                create_state(init_params(model, jax.random.key(0)), optimizer),
                jax.random.key(0),
            )
        ),
        replicated(mesh),
    )
    tokens = jax.ShapeDtypeStruct((ROWS, LENGTH), jnp.int32)
    weights = jax.ShapeDtypeStruct((ROWS, LENGTH), jnp.float32)
    batch = placed_shapes(Batch(*[tokens] * 7, weights), batch_sharding(mesh))
    step = jax.jit(
        functools.partial(
            train_step,
            loss_fn=translation_objective(
                model, label_smoothing=config.training.label_smoothing
            ),
            optimizer=optimizer,
            schedule=components.build_schedule(config, model),
        ),
        donate_argnums=0,
        out_shardings=(jax.tree.map(lambda leaf: leaf.sharding, state), None),
    )
    lowered = step.lower(state, batch, rng)
    start = time.perf_counter()
    compiled = lowered.compile()
    seconds = time.perf_counter() - start
    costs = compiled.cost_analysis()
    products = collections.Counter(_PRODUCT.findall(lowered.as_text()))
    return {
        "topology": topology,
        "jax": jax.__version__,
        "dtype": dtype,
        "compile_seconds": round(seconds, 1),
        "operations": costs["flops"],
        "bytes": costs["bytes accessed"],
        "scratch_gib": compiled.memory_analysis().temp_size_in_bytes / 2**30,
        "products": {" ".join(types): count for types, count in products.items()},
    }


if __name__ == "__main__":
    main()
