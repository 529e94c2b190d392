"""PyTorch's side: the same Transformer as its users would write it.

Linear layers, joint ones for query, key and value; `scaled_dot_product_attention`; the
embedding tied to the logits; dropout on embeddings and sub-layers; smoothed
cross-entropy; Adam. On CUDA bfloat16 is autocast over float32 weights and Adam is
fused.
"""

import math
import resource
import time
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.sizes import PAD, Sizes, shifted_right
from benchmarks.turns import Prepared


class Attention(nn.Module):
    """Multi-head attention, of `x` to itself or to a memory."""

    def __init__(self, d_model: int, num_heads: int, to_memory: bool) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.to_memory = to_memory
        if to_memory:
            self.query = nn.Linear(d_model, d_model, bias=False)
            self.key_value = nn.Linear(d_model, 2 * d_model, bias=False)
        else:
            self.query_key_value = nn.Linear(d_model, 3 * d_model, bias=False)
        self.output = nn.Linear(d_model, d_model, bias=False)

    def forward(
        self, x: Tensor, memory: Tensor | None, mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        if self.to_memory:
            query = self.query(x)
            key, value = self.key_value(memory).chunk(2, dim=-1)
        else:
            query, key, value = self.query_key_value(x).chunk(3, dim=-1)
        output = F.scaled_dot_product_attention(
            *(self._to_heads(part) for part in (query, key, value)),
            attn_mask=mask,
            is_causal=is_causal,
        )  # [batch, num_heads, length, depth]
        return self.output(output.transpose(1, 2).flatten(2))

    def _to_heads(self, part: Tensor) -> Tensor:
        return part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)


class Residual(nn.Module):
    """A sub-layer with its norm, dropout and the sum around it."""

    def __init__(self, sublayer: nn.Module, sizes: Sizes) -> None:
        super().__init__()
        self.sublayer = sublayer
        self.norm = nn.LayerNorm(sizes.d_model, eps=1e-6)
        self.dropout = nn.Dropout(sizes.dropout_rate)
        self.is_pre_norm = sizes.is_pre_norm

    def forward(self, x: Tensor, *arguments: Any) -> Tensor:
        if self.is_pre_norm:
            return x + self.dropout(self.sublayer(self.norm(x), *arguments))
        return self.norm(x + self.dropout(self.sublayer(x, *arguments)))


class Stack(nn.Module):
    """Encoder or decoder."""

    def __init__(self, sizes: Sizes, is_decoder: bool) -> None:
        super().__init__()
        self.is_decoder = is_decoder

        def layer() -> nn.ModuleList:
            heads = sizes.d_model, sizes.num_heads
            attentions = [Attention(*heads, to_memory=False)]
            if is_decoder:
                attentions.append(Attention(*heads, to_memory=True))
            feed_forward = nn.Sequential(
                nn.Linear(sizes.d_model, sizes.d_ff),
                nn.ReLU(),
                nn.Linear(sizes.d_ff, sizes.d_model),
            )
            return nn.ModuleList(
                Residual(sublayer, sizes) for sublayer in (*attentions, feed_forward)
            )

        number = sizes.num_decoder_layers if is_decoder else sizes.num_encoder_layers
        self.layers = nn.ModuleList(layer() for _ in range(number))
        norm = nn.LayerNorm(sizes.d_model, eps=1e-6)
        self.norm = norm if sizes.is_pre_norm else nn.Identity()

    def forward(self, x: Tensor, memory: Tensor | None, source_mask: Tensor) -> Tensor:
        for layer in self.layers:
            if self.is_decoder:
                # Padding comes after all tokens, where a causal mask hides it.
                x = layer[0](x, None, None, True)
                x = layer[1](x, memory, source_mask, False)
            else:
                x = layer[0](x, None, source_mask, False)
            x = layer[-1](x)
        return self.norm(x)


class Transformer(nn.Module):
    """The model of "Attention Is All You Need", with its loss."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.embedding = nn.Embedding(sizes.vocab_width, sizes.d_model)
        nn.init.normal_(self.embedding.weight, std=sizes.d_model**-0.5)
        self.register_buffer("positions", _sinusoids(sizes.length, sizes.d_model))
        self.dropout = nn.Dropout(sizes.dropout_rate)
        self.encoder = Stack(sizes, is_decoder=False)
        self.decoder = Stack(sizes, is_decoder=True)

    def forward(self, source: Tensor, decoder_input: Tensor, target: Tensor) -> Tensor:
        """Return the mean loss over real target tokens."""
        source_mask = (source != PAD)[:, None, None, :]
        memory = self.encoder(self._embed(source), None, source_mask)
        x = self.decoder(self._embed(decoder_input), memory, source_mask)
        logits = F.linear(x, self.embedding.weight)[..., : self.sizes.vocab_size]
        return F.cross_entropy(
            logits.flatten(0, 1),
            target.flatten(),
            ignore_index=PAD,
            label_smoothing=self.sizes.label_smoothing,
        )

    def _embed(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens) * math.sqrt(self.sizes.d_model)
        return self.dropout(x + self.positions)


def _sinusoids(length: int, d_model: int) -> Tensor:
    rates = 10_000 ** (-torch.arange(0, d_model, 2) / d_model)
    angles = torch.arange(length)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def prepare_training(
    sizes: Mapping[str, Any], steps: int, is_compiled: bool
) -> Prepared:
    """Be ready to train: a turn is `steps` steps."""
    of = Sizes(**sizes)
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")  # TF32, as JAX's default.
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Transformer(of).to(device)
    optimizer = torch.optim.Adam(
        model.parameters(), 1e-4, (0.9, 0.98), 1e-9, fused=device.type == "cuda"
    )
    loss_fn = torch.compile(model) if is_compiled else model
    source, target = of.random_tokens(0), of.random_tokens(1)
    batch = [
        torch.from_numpy(tokens).long().to(device)
        for tokens in (source, shifted_right(target), target)
    ]

    def step() -> Tensor:
        optimizer.zero_grad(set_to_none=True)
        is_narrow = of.dtype == "bfloat16"
        with torch.autocast(device.type, torch.bfloat16, enabled=is_narrow):
            loss = loss_fn(*batch)
        loss.backward()
        optimizer.step()
        return loss.detach()

    start = time.perf_counter()
    loss = step()
    _wait(device)
    first_seconds = time.perf_counter() - start

    def turn() -> float:
        nonlocal loss
        start = time.perf_counter()
        for _ in range(steps):
            loss = step()
        _wait(device)
        return (time.perf_counter() - start) / steps

    def facts() -> dict[str, Any]:
        # torch.compile compiles in the first step; eager has nothing to compile.
        compiling = {"compile_seconds": first_seconds} if is_compiled else {}
        return {"loss": float(loss), **compiling, **_device_facts(device)}

    return Prepared(turn, facts)


def prepare_loss(sizes: Mapping[str, Any], steps: int, is_compiled: bool) -> Prepared:
    """Be ready for the smoothed cross-entropy and its gradient alone."""
    of = Sizes(**sizes)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    logits = torch.randn(
        (of.rows * of.length, of.vocab_size),
        dtype=getattr(torch, of.dtype),
        device=device,
        requires_grad=True,
    )
    truth = torch.from_numpy(of.random_tokens(1)).long().flatten().to(device)

    def loss_of(logits: Tensor) -> Tensor:
        return F.cross_entropy(
            logits, truth, label_smoothing=of.label_smoothing, reduction="sum"
        )

    loss_fn = torch.compile(loss_of) if is_compiled else loss_of

    def step() -> None:
        logits.grad = None
        loss_fn(logits).backward()

    step()
    _wait(device)

    def turn() -> float:
        start = time.perf_counter()
        for _ in range(steps):
            step()
        _wait(device)
        return (time.perf_counter() - start) / steps

    return Prepared(turn, lambda: _device_facts(device))


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def _device_facts(device: torch.device) -> dict[str, Any]:
    if device.type == "cuda":
        return {"peak_gib": torch.cuda.max_memory_allocated() / 2**30}
    return {"peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}
