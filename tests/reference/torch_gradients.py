"""Write the gradients that PyTorch finds for `gradient_case`.

Needs PyTorch and numpy alone; the file in the repository came from PyTorch 2.13 on a
CPU. In an environment apart from the package's, from the root of the repository:

    python3 -m venv torch_env
    torch_env/bin/pip install torch==2.13.0 numpy
    torch_env/bin/python -m tests.reference.torch_gradients \
      tests/models/parity/torch_gradients.npz

The model follows the paper, with PyTorch's own attention, layer norm and cross-entropy,
in float64. It shares with the package no code, only the names and shapes of parameters.
"""

import sys

import numpy as np

from tests.reference.gradient_case import (
    LABEL_SMOOTHING,
    SIZES,
    SUBLAYERS,
    batch,
    params,
)


def main(path):
    """Write loss and gradients for both norm placements to the .npz file `path`."""
    arrays = {}
    for norm_position in ("post", "pre"):
        start = params(norm_position)
        loss, gradients = _loss_and_gradients(start, norm_position)
        arrays[f"{norm_position}/loss"] = np.float64(loss)
        arrays[f"{norm_position}/sum_of_weights"] = np.float64(
            sum(array.sum(dtype=np.float64) for array in start.values())
        )
        for name, gradient in gradients.items():
            arrays[f"{norm_position}/gradients/{name}"] = np.float32(gradient)
    np.savez_compressed(path, **arrays)


def _loss_and_gradients(start, norm_position):
    """Return the mean loss over real targets and a dict of its gradients."""
    import torch

    tensors = {
        name: torch.tensor(array, dtype=torch.float64, requires_grad=True)
        for name, array in start.items()
    }
    inputs = {name: torch.tensor(rows).long() for name, rows in batch().items()}
    logits = _logits(tensors, inputs, norm_position)
    is_real = inputs["target_segments"] != 0
    # PyTorch smooths as the paper's source does, over all words, and takes the mean.
    loss = torch.nn.functional.cross_entropy(
        logits[is_real],
        inputs["target_tokens"][is_real],
        label_smoothing=LABEL_SMOOTHING,
    )
    gradients = torch.autograd.grad(loss, list(tensors.values()))
    return loss.item(), {
        name: gradient.numpy()
        for name, gradient in zip(tensors, gradients, strict=True)
    }


def _logits(tensors, inputs, norm_position):
    """Return [b, t, V] (Sections 3.1, 3.2.3 and 3.4)."""
    source, target = inputs["source_segments"], inputs["target_segments"]
    memory = _stack(
        tensors,
        "encoder",
        _embed(tensors, inputs["source_tokens"], inputs["source_positions"]),
        norm_position,
        {"self_attention": _mask(source, source)},
    )
    states = _stack(
        tensors,
        "decoder",
        _embed(tensors, inputs["decoder_input_tokens"], inputs["target_positions"]),
        norm_position,
        {
            "self_attention": _mask(target, target).tril(),
            "cross_attention": _mask(target, source),
        },
        memory,
    )
    return states @ tensors["token_embedding/embedding"].T


def _mask(queries, keys):
    """Return [b, 1, q, k]: a position sees its own sentence; padding sees padding."""
    return (queries[:, :, None] == keys[:, None, :])[:, None]


def _embed(tensors, tokens, positions):
    """Return [b, t, m]: table times sqrt(d_model), plus sinusoids (3.4, 3.5)."""
    import torch

    d_model = SIZES["d_model"]
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    angles = positions[:, :, None] / 10000 ** (even / d_model)
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(start_dim=2)
    table = tensors["token_embedding/embedding"]
    return torch.nn.functional.embedding(tokens, table) * d_model**0.5 + waves


def _stack(tensors, stack, x, norm_position, masks, memory=None):
    """Apply the layers of a stack to [b, t, m] (Section 3.1)."""

    def norm(x, place):
        import torch

        scale, bias = tensors[f"{place}/norm/scale"], tensors[f"{place}/norm/bias"]
        return torch.nn.functional.layer_norm(
            x, scale.shape, scale, bias, SIZES["norm_epsilon"]
        )

    def sublayer(x, name, place):
        if name == "feed_forward":
            return _feed_forward(tensors, place, x)
        looked_at = memory if name == "cross_attention" else x
        return _attention(tensors, place, x, looked_at, masks[name])

    for i in range(SIZES[f"num_{stack}_layers"]):
        for name in SUBLAYERS[stack]:
            place = f"{stack}/layer_{i}/{name}"
            if norm_position == "post":
                x = norm(x + sublayer(x, name, place), f"{place}_residual")
            else:
                x = x + sublayer(norm(x, f"{place}_residual"), name, place)
    return norm(x, stack) if norm_position == "pre" else x


def _attention(tensors, place, x, looked_at, mask):
    """Return [b, q, m] for x [b, q, m] that looks at [b, k, m] (Section 3.2)."""
    import torch

    def heads(name, states):
        kernel = tensors[f"{place}/{name}/kernel"]
        weight = kernel.flatten(start_dim=1).T
        projected = torch.nn.functional.linear(states, weight)
        return projected.unflatten(-1, kernel.shape[1:]).transpose(1, 2)

    output = torch.nn.functional.scaled_dot_product_attention(
        heads("query", x), heads("key", looked_at), heads("value", looked_at), mask
    )
    side_by_side = output.transpose(1, 2).flatten(start_dim=2)
    weight = tensors[f"{place}/output/kernel"].flatten(end_dim=1).T
    return torch.nn.functional.linear(side_by_side, weight)


def _feed_forward(tensors, place, x):
    """Return max(0, x W1 + b1) W2 + b2 for x [b, t, m] (Section 3.3)."""
    import torch

    def linear(name, x):
        kernel, bias = (
            tensors[f"{place}/{name}/{part}"] for part in ("kernel", "bias")
        )
        return torch.nn.functional.linear(x, kernel.T, bias)

    return linear("contract", linear("expand", x).relu())


if __name__ == "__main__":
    main(*sys.argv[1:])
