"""A pre-trained BERT as the encoder of a Transformer (Rothe et al. 2020)."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def encoder_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return BERT's parameters by the names that a Transformer has for them.

    The Transformer needs learned positions, a norm on embeddings, biases in attention
    and post-norm; it then encodes a sentence as BERT does one of the first type, but
    for the piece that opens BERT's: without it, each word is a position further to the
    front, and so is the table. The decoder, but for the table of tokens, is not given.

    Args:
      params: of `Bert`; its heads are left out.
    """
    tokens = params["token_embedding"]["embedding"]
    positions = np.asarray(params["position_embedding"]["embedding"])
    positions = np.concatenate([positions[1:], positions[-1:]])
    of_type = params["type_embedding"]["embedding"][:1]
    # A Transformer multiplies tokens alone, and a norm takes any factor away.
    scale = math.sqrt(tokens.shape[1])
    return {
        "token_embedding": params["token_embedding"],
        "source_positions": {"embedding": scale * (positions + of_type)},
        "source_norm": params["embedding_norm"],
        "encoder": params["encoder"],
    }
