"""Recurrent models in float64, one sentence at a time, from their papers."""

import numpy as np


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _linear(params, x):
    kernel = np.float64(params["kernel"])
    return np.tensordot(x, kernel, axes=1) + np.float64(params.get("bias", 0.0))


def lstm_step(params, x, h, c):
    """Zaremba et al. 2014, Section 3.1; forget gates start a bias of 1 higher."""
    i, f, g, o = _linear(params["from_input"], x) + _linear(params["from_state"], h)
    c = _sigmoid(f + 1) * c + _sigmoid(i) * np.tanh(g)
    return _sigmoid(o) * np.tanh(c), c


def gru_step(params, x, h):
    """Cho et al. 2014, Equations 5 to 8."""
    of_x = _linear(params["from_input"], x)
    of_h = np.float64(params["from_state"]["kernel"])
    r = _sigmoid(of_x[0] + h @ of_h[:, 0])
    z = _sigmoid(of_x[1] + h @ of_h[:, 1])
    candidate = np.tanh(of_x[2] + (r * h) @ of_h[:, 2])
    return z * h + (1 - z) * candidate


def advance(params, cell, x, state):
    """Take a step; a state is [parts, d_state]."""
    if cell == "lstm":
        return np.stack(lstm_step(params, x, *state))
    return gru_step(params, x, state[0])[None]


def zero_state(cell, d_state):
    return np.zeros((2 if cell == "lstm" else 1, d_state))


def read(params, cell, xs, state):
    """Read a sentence from its start; return the state after each word."""
    states = []
    for x in xs:
        state = advance(params, cell, x, state)
        states.append(state)
    return np.stack(states)


def _lookup(params, side, tokens):
    table = params.get("token_embedding") or params[f"{side}_embedding"]
    table = np.float64(table["embedding"])
    return table[tokens] * np.sqrt(table.shape[1])


def _logits(params, x):
    table = params.get("token_embedding") or params["target_embedding"]
    table = params.get("output_embedding", table)
    return x @ np.float64(table["embedding"]).T


def encoder_decoder(params, config, source, target):
    """Return logits [t, V] of one sentence pair; Sutskever et al. 2014."""
    if config.reverse_source:
        source = source[::-1]
    x, last = _lookup(params, "source", source), []
    for number in range(config.num_layers):
        states = read(
            params[f"encoder_layer_{number}"],
            config.cell,
            x,
            zero_state(config.cell, config.d_state),
        )
        x = states[:, 0]
        last.append(states[-1])
    x = _lookup(params, "target", target)
    for number in range(config.num_layers):
        layer = params[f"decoder_layer_{number}"]
        x = read(layer, config.cell, x, last[number])[:, 0]
    return _logits(params, _linear(params["output"], x))


def attention(params, score, state, memory):
    """Return the context and the weights of one state (Bahdanau et al., A.1.2)."""
    keys = _linear(params["key"], memory)
    scores = []
    for key in keys:
        if score == "additive":
            hidden = np.tanh(_linear(params["query"], state) + key)
            scores.append(np.float64(params["vector"]) @ hidden)
        else:
            scores.append(state @ key)
    weights = np.exp(scores - np.max(scores))
    weights = weights / weights.sum()
    return weights @ memory, weights


def attentive_encoder_decoder(params, config, source, target):
    """Return logits [t, V] and weights [t, s] of one sentence pair."""
    x = _lookup(params, "source", source)
    zero = zero_state(config.cell, config.d_state)
    for number in range(config.num_encoder_layers):
        forward = read(params[f"forward_layer_{number}"], config.cell, x, zero)
        backward = params[f"backward_layer_{number}"]
        backward = read(backward, config.cell, x[::-1], zero)[::-1]
        x = np.concatenate([forward[:, 0], backward[:, 0]], axis=-1)
    memory, decoder = x, params["decoder"]
    states = np.tanh(_linear(decoder["initial"], memory[0, config.d_state :]))
    first, logits, all_weights = decoder["layer_0"], [], []
    for word in _lookup(params, "target", target):
        context, weights = attention(
            first["cross_attention"], config.attention_score, states[0, 0], memory
        )
        both = dict(first["recurrence"])
        both["from_input"] = {
            "kernel": np.concatenate(
                [both["from_input"]["kernel"], first["from_context"]["kernel"]]
            ),
            "bias": both["from_input"]["bias"],
        }
        below = np.concatenate([word, context])
        following = [advance(both, config.cell, below, states[0])]
        for number in range(1, config.num_decoder_layers):
            layer, state = decoder[f"layer_{number}"], states[number]
            following.append(advance(layer, config.cell, following[-1][0], state))
        states = np.stack(following)
        seen = np.concatenate([states[-1, 0], word, context])
        logits.append(_linear(decoder["output"], seen).max(axis=0))
        all_weights.append(weights)
    return _logits(params, np.stack(logits)), np.stack(all_weights)
