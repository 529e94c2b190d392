"""BERT in float64, from Devlin et al. 2018."""

import numpy as np

from tests.reference.attention import multi_head_attention
from tests.reference.layers import ACTIVATIONS, feed_forward, layer_norm
from tests.reference.transformer import stack, visible


def encode(params, config, tokens, segments, token_types):
    """Return a vector for each position, [b, t, m]."""
    tables = {
        name: np.float64(params[f"{name}_embedding"]["embedding"])
        for name in ("token", "position", "type")
    }
    x = tables["token"][tokens] + tables["type"][token_types]
    x = x + tables["position"][np.arange(tokens.shape[1])]
    x = layer_norm(params["embedding_norm"], x, config.norm_epsilon)
    mask = visible(segments, segments, is_causal=False)
    return stack(
        params["encoder"],
        config.encoder,
        x,
        config.num_layers,
        [
            (
                "self_attention",
                lambda of, x: multi_head_attention(of, x, x, mask)[0],
            ),
            ("feed_forward", lambda of, x: feed_forward(of, x, config.activation)),
        ],
    )


def bert(params, config, tokens, segments, token_types, masked_places):
    """Return logits of the masked places [b, p, V], and of the next sentence [b, 2]."""
    x = encode(params, config, tokens, segments, token_types)
    head = params["token_prediction"]
    hidden = np.take_along_axis(x, masked_places[..., None], axis=1)
    hidden = np.vectorize(ACTIVATIONS[config.activation])(
        _linear(head["transform"], hidden)
    )
    hidden = layer_norm(head["norm"], hidden, config.norm_epsilon)
    table = np.float64(params["token_embedding"]["embedding"])
    logits = hidden @ table.T + head["bias"]
    pooled = np.tanh(_linear(params["pooler"], x[:, 0]))
    is_next = _linear(params["next_sentence"], pooled)
    return logits[..., : config.vocab_size], is_next


def _linear(params, x):
    return x @ np.float64(params["kernel"]) + params["bias"]
