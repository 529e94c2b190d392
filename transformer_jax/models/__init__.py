"""What the networks compute; knows nothing of data or training."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from transformer_jax.models.bert import (
    CLASSIFICATION_INPUTS,
    PRETRAINING_INPUTS,
    TAGGING_INPUTS,
    Bert,
)
from transformer_jax.models.bert_config import BertConfig
from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.convolutional import Convolutional
from transformer_jax.models.convolutional_config import ConvolutionalConfig
from transformer_jax.models.dilated import Dilated, DilatedConfig
from transformer_jax.models.interface import TRANSLATION_INPUTS
from transformer_jax.models.recurrent import Recurrent, RecurrentConfig
from transformer_jax.models.recurrent_attention import RecurrentAttention
from transformer_jax.models.recurrent_attention_config import RecurrentAttentionConfig
from transformer_jax.models.restricted_transformer import RestrictedTransformerConfig
from transformer_jax.models.transformer import Transformer


class ModelKind(NamedTuple):
    """A model that a config can name.

    Attributes:
      module: config → module; offers what models/interface.py says.
      config: frozen dataclass of its sizes; it declares the fields of `config.model`.
      inputs: what it can be called with: it learns the tasks that ask for one of these.
    """

    module: Callable[[Any], Any]
    config: type
    inputs: tuple[Mapping[str, Any], ...] = (TRANSLATION_INPUTS,)


MODELS = {
    "transformer": ModelKind(Transformer, TransformerConfig),
    "recurrent": ModelKind(Recurrent, RecurrentConfig),
    "recurrent_attention": ModelKind(RecurrentAttention, RecurrentAttentionConfig),
    "restricted_transformer": ModelKind(Transformer, RestrictedTransformerConfig),
    "convolutional": ModelKind(Convolutional, ConvolutionalConfig),
    "dilated": ModelKind(Dilated, DilatedConfig),
    "bert": ModelKind(
        Bert,
        BertConfig,
        (PRETRAINING_INPUTS, CLASSIFICATION_INPUTS, TAGGING_INPUTS),
    ),
}
TRANSLATION_MODELS = {
    name: kind for name, kind in MODELS.items() if TRANSLATION_INPUTS in kind.inputs
}
