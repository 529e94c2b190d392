"""The reference reproduction of "Attention Is All You Need" in JAX and Flax.

What a notebook needs is here by name, and imported when it is first asked for:

    run = transformer_jax.load_run("RUN")
    run.translator().translate(["A man rides a bicycle."])
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformer_jax.config.default import get_config
    from transformer_jax.decoding.translator import Translator
    from transformer_jax.models.configs import TransformerConfig
    from transformer_jax.models.parameters import init_params
    from transformer_jax.models.transformer import Transformer
    from transformer_jax.runs.experiment import train
    from transformer_jax.runs.run_evaluation import evaluate_run
    from transformer_jax.runs.trained_run import TrainedRun, load_run
    from transformer_jax.visualization.attention_maps import collect_attention
    from transformer_jax.visualization.plots import plot_attention

__version__ = "0.1.0"
__all__ = [
    "TrainedRun",
    "Transformer",
    "TransformerConfig",
    "Translator",
    "collect_attention",
    "evaluate_run",
    "get_config",
    "init_params",
    "load_run",
    "plot_attention",
    "train",
]

# Where each name is defined. `import transformer_jax` alone imports none of it.
_HOMES = {
    "TrainedRun": "runs.trained_run",
    "Transformer": "models.transformer",
    "TransformerConfig": "models.configs",
    "Translator": "decoding.translator",
    "collect_attention": "visualization.attention_maps",
    "evaluate_run": "runs.run_evaluation",
    "get_config": "config.default",
    "init_params": "models.parameters",
    "load_run": "runs.trained_run",
    "plot_attention": "visualization.plots",
    "train": "runs.experiment",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for by name."""
    if name not in _HOMES:
        raise AttributeError(
            f"transformer_jax has no {name!r} at its front door, which offers "
            f"{', '.join(__all__)}. For all else, import its module: "
            "`from transformer_jax.models import attention`."
        )
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
