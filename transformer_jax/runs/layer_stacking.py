"""The layers of a stack as one array for each parameter, while a run trains."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax

from transformer_jax.models.layer_scan import LayerScan, stack_layers, unstack_layers
from transformer_jax.sharding.mesh import with_whole_axis
from transformer_jax.training.state import TrainState


@dataclasses.dataclass(frozen=True)
class LayerStacking:
    """How a state lies while it is trained; saved it has a name for each layer.

    Attributes:
      stack: from the state as it is made and saved.
      unstack: back.
      unstack_params: likewise of parameters alone.
      shardings: where each array lies meanwhile.
    """

    stack: Callable[[TrainState], TrainState]
    unstack: Callable[[TrainState], TrainState]
    unstack_params: Callable[[Any], Any]
    shardings: Any


def choose_stacking(
    layer_scan: LayerScan, stacks: Sequence[str], shardings: Any
) -> LayerStacking:
    """Return how layers lie.

    Args:
      layer_scan: whether they are stacked, as `config.training.layer_scan` says.
      stacks: names of the model's stacks.
      shardings: where each array of a saved state lies.
    """
    is_on_cpu = shardings.step.mesh.devices.flat[0].platform == "cpu"
    if not stacks or layer_scan == "never" or (layer_scan == "auto" and is_on_cpu):

        def leave(tree: Any) -> Any:
            return tree

        return LayerStacking(leave, leave, leave, shardings)

    def stack(params: Any) -> Any:
        return stack_layers(params, stacks)

    def unstack(params: Any) -> Any:
        return unstack_layers(params, stacks)

    def stack_shardings(params: Any) -> Any:
        return stack_layers(params, stacks, lambda layers: with_whole_axis(layers[0]))

    stacked = shardings.with_params(stack_shardings)
    return LayerStacking(
        jax.jit(lambda state: state.with_params(stack), out_shardings=stacked),
        jax.jit(lambda state: state.with_params(unstack), out_shardings=shardings),
        jax.jit(unstack, out_shardings=shardings.params),
        stacked,
    )
