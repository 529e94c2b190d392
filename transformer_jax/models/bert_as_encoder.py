"""A pre-trained BERT as the encoder of a Transformer (Rothe et al. 2020)."""

import math
from collections.abc import Mapping
from typing import Any


def encoder_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return BERT's parameters by the names that a Transformer has for them.

    The Transformer needs learned positions, a norm on embeddings, biases in attention
    and post-norm; it then encodes a sentence as BERT does one of the first type.
    Its decoder, but for the table of tokens, is not among them.

    Args:
      params: of `Bert`; its heads are left out.
    """
    tokens = params["token_embedding"]["embedding"]
    positions = params["position_embedding"]["embedding"]
    of_type = params["type_embedding"]["embedding"][:1]
    # A Transformer multiplies tokens alone, and a norm takes any factor away.
    scale = math.sqrt(tokens.shape[1])
    return {
        "token_embedding": params["token_embedding"],
        "source_positions": {"embedding": scale * (positions + of_type)},
        "source_norm": params["embedding_norm"],
        "encoder": params["encoder"],
    }
