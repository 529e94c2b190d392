"""One model and one batch whose gradients are compared; numpy alone.

The weights come from a seed, so that PyTorch and the package start from the same ones
without exchanging them.
"""

import numpy as np

LABEL_SMOOTHING = 0.2
# Every axis has a size of its own. A large epsilon shows where it is added.
SIZES = {
    "source_vocab_size": 11,
    "target_vocab_size": 11,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "d_model": 8,
    "d_ff": 13,
    "num_heads": 2,
    "d_k": 5,
    "d_v": 3,
    "norm_epsilon": 0.01,
}
SUBLAYERS = {
    "encoder": ("self_attention", "feed_forward"),
    "decoder": ("self_attention", "cross_attention", "feed_forward"),
}

# Four rows of 7 source and 6 target positions: one full, one with padding, one with two
# sentence pairs, and one empty. 0 is padding, 1 begins a sentence and 2 ends it.
BATCH = {
    "source_tokens": [
        [5, 8, 4, 10, 6, 7, 2],
        [9, 4, 6, 2, 0, 0, 0],
        [7, 5, 2, 10, 2, 0, 0],
        [0, 0, 0, 0, 0, 0, 0],
    ],
    "source_segments": [
        [1, 1, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 0, 0, 0],
        [1, 1, 1, 2, 2, 0, 0],
        [0, 0, 0, 0, 0, 0, 0],
    ],
    "source_positions": [
        [0, 1, 2, 3, 4, 5, 6],
        [0, 1, 2, 3, 0, 0, 0],
        [0, 1, 2, 0, 1, 0, 0],
        [0, 0, 0, 0, 0, 0, 0],
    ],
    "decoder_input_tokens": [
        [1, 6, 9, 4, 8, 10],
        [1, 7, 5, 10, 4, 0],
        [1, 8, 1, 6, 9, 0],
        [0, 0, 0, 0, 0, 0],
    ],
    "target_tokens": [
        [6, 9, 4, 8, 10, 2],
        [7, 5, 10, 4, 2, 0],
        [8, 2, 6, 9, 2, 0],
        [0, 0, 0, 0, 0, 0],
    ],
    "target_segments": [
        [1, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 1, 0],
        [1, 1, 2, 2, 2, 0],
        [0, 0, 0, 0, 0, 0],
    ],
    "target_positions": [
        [0, 1, 2, 3, 4, 5],
        [0, 1, 2, 3, 4, 0],
        [0, 1, 0, 1, 2, 0],
        [0, 0, 0, 0, 0, 0],
    ],
}


def batch():
    """Return int32 arrays, and float32 `loss_weights`: 1 where a target is real."""
    arrays = {name: np.array(rows, np.int32) for name, rows in BATCH.items()}
    is_real = arrays["target_segments"] != 0
    return arrays | {"loss_weights": is_real.astype(np.float32)}


def params(norm_position):
    """Return random float32 arrays by their path, such as "decoder/norm/scale"."""
    rng = np.random.default_rng(0)
    # Wide enough for attention to be far from even; the norms' scales lie around 1.
    return {
        path: rng.normal(path.endswith("scale"), 0.4, shape).astype(np.float32)
        for path, shape in _shapes(norm_position).items()
    }


def _shapes(norm_position):
    """Return what every parameter of the paper's model is called, and its shape."""
    d_model, d_ff, num_heads = SIZES["d_model"], SIZES["d_ff"], SIZES["num_heads"]
    attention = {
        "query/kernel": (d_model, num_heads, SIZES["d_k"]),
        "key/kernel": (d_model, num_heads, SIZES["d_k"]),
        "value/kernel": (d_model, num_heads, SIZES["d_v"]),
        "output/kernel": (num_heads, SIZES["d_v"], d_model),
    }
    feed_forward = {
        "expand/kernel": (d_model, d_ff),
        "expand/bias": (d_ff,),
        "contract/kernel": (d_ff, d_model),
        "contract/bias": (d_model,),
    }
    norm = {"norm/scale": (d_model,), "norm/bias": (d_model,)}
    shapes = {"token_embedding/embedding": (SIZES["target_vocab_size"], d_model)}
    for stack, sublayers in SUBLAYERS.items():
        for i in range(SIZES[f"num_{stack}_layers"]):
            for name in sublayers:
                inner = feed_forward if name == "feed_forward" else attention
                of_layer = {f"{name}/{part}": inner[part] for part in inner}
                of_layer |= {f"{name}_residual/{part}": norm[part] for part in norm}
                shapes |= {
                    f"{stack}/layer_{i}/{part}": shape
                    for part, shape in of_layer.items()
                }
        if norm_position == "pre":
            shapes |= {f"{stack}/{part}": shape for part, shape in norm.items()}
    return shapes
