"""Compile the training step for a TPU or a GPU that is not there, and count.

python -m benchmarks.compile [--target v5e:2x4 h100] [--model base] [--dtype bfloat16]
    [--output benchmarks/results/NAME.json]

784 rows of 32 source and 32 target tokens, V = 37 000 padded to 37 120, rows spread
over all devices: eight chips of a v5e, one H100 (h100.txtpb describes it). A TPU needs
libtpu (the tpu extra), an H100 jax-cuda12-plugin and jax-cuda12-pjrt of JAX's version,
and neither a device nor a driver.

For each target: processor seconds, scratch, operations and bytes of one device as XLA
counts them (not for GPUs), kernels and the bytes of their operands and results, and the
products' types as "factor factor result". All of it twice: with the layers of a stack
as one program, as runs on accelerators have them, and layer by layer. XLA counts
operations and bytes of a loop once, so they are left out of the first.
"""

import argparse
import collections
import os
import pathlib
import time
from collections.abc import Sequence
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
from jax.experimental import topologies  # noqa: E402

from benchmarks.program_text import product_types, read_kernels  # noqa: E402
from benchmarks.records import add_record_arguments, record  # noqa: E402
from benchmarks.sizes import Sizes  # noqa: E402
from benchmarks.workloads import (  # noqa: E402
    MODELS,
    build,
    make_batch,
    make_sizes,
    make_state,
    make_step,
)
from transformer_jax.commands.messages import command  # noqa: E402
from transformer_jax.errors import UserError  # noqa: E402
from transformer_jax.sharding.mesh import (  # noqa: E402
    batch_sharding,
    make_mesh,
    placed_shapes,
    replicated,
)

H100 = "h100"
_H100_CONFIG = pathlib.Path(__file__).with_name("h100.txtpb")


def main() -> None:
    """Compile for each target and record."""
    options = _parse()
    with command("benchmarks.compile"):
        sizes = make_sizes(
            options.model,
            dtype=options.dtype,
            rows=options.rows,
            length=options.length,
            layers=options.layers,
            vocab_size=options.vocab_size,
        )
        work = (
            f"training {sizes.model}, {sizes.dtype}, compiled for absent devices: a "
            f"step of {sizes.rows} x {sizes.length} positions, V = {sizes.vocab_width}"
        )
        rows = [
            measure(name, sizes, is_stacked)
            for name in options.target
            for is_stacked in (True, False)
        ]
        record(options, work, rows)


def measure(target: str, sizes: Sizes, is_stacked: bool) -> dict[str, Any]:
    """Return what XLA says of the step on one of the target's devices.

    Args:
      target: `H100`, or a TPU topology's name such as "v5e:2x4".
      sizes: of model and batch.
      is_stacked: whether the layers are one program.
    """
    name = target if is_stacked else f"{target}, layer by layer"
    try:
        mesh = make_mesh(_devices(target))
    except jax.errors.JaxRuntimeError as error:
        raise UserError(
            f"--target {target}: {str(error).splitlines()[0]}. Expected {H100} or a "
            "TPU topology such as v5e:2x4."
        ) from error
    except RuntimeError:  # JAX's, where the wheel for this target is not installed.
        needed = "jax-cuda12-plugin and -pjrt" if target == H100 else "libtpu"
        return {"target": name, "problem": f"needs {needed} of JAX's version"}
    # "auto" looks for the devices that are here.
    config, model = build(sizes, {"attention_projections": "joint"})
    state, rng = placed_shapes(
        jax.eval_shape(
            lambda: (make_state(config, model, is_stacked), jax.random.key(0))
        ),
        replicated(mesh),
    )
    batch = placed_shapes(make_batch(sizes), batch_sharding(mesh))
    lowered = jax.jit(
        make_step(config, model),
        donate_argnums=0,
        out_shardings=(jax.tree.map(lambda leaf: leaf.sharding, state), None),
    ).lower(state, batch, rng)
    start = time.process_time()
    compiled = lowered.compile()
    seconds = time.process_time() - start
    costs = {} if is_stacked else compiled.cost_analysis() or {}
    kernels = read_kernels(compiled.as_text())
    return {
        "target": name,
        "compile_processor_seconds": round(seconds, 1),
        "scratch_gib": compiled.memory_analysis().temp_size_in_bytes / 2**30,
        "operations": costs.get("flops"),
        "bytes": costs.get("bytes accessed"),
        "kernel_bytes": float(kernels.num_bytes),
        "kernels": kernels.number,
        "fusions": kernels.by_kind["fusion"],
        "custom_calls": kernels.by_kind["custom-call"],
        "transposing": kernels.num_transposing,
        **_by_float32(product_types(lowered.as_text())),
    }


def _by_float32(products: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    """Return how many products there are, with a float32 factor, and all types."""
    counts = collections.Counter(" ".join(types) for types in products)
    return {
        "products": len(products),
        "with_float32_factor": sum("f32" in types[:2] for types in products),
        "types": "; ".join(f"{count} {types}" for types, count in counts.items()),
    }


def _devices(target: str) -> Sequence[Any]:
    if target == H100:
        return topologies.get_topology_desc(
            platform="cuda",
            topology_name="",
            target_config=_H100_CONFIG.read_text(encoding="utf-8"),
            topology="1x1x1",
        ).devices
    return topologies.get_topology_desc(platform="tpu", topology_name=target).devices


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", nargs="+", default=["v5e:2x4", H100])
    parser.add_argument("--model", choices=MODELS, default="base")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--rows", type=int, default=784)
    parser.add_argument("--length", type=int, default=32)
    parser.add_argument("--vocab_size", type=int)
    parser.add_argument("--layers", type=int, help="of each stack, in place of all")
    add_record_arguments(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
