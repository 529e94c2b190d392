"""CTranslate2's side: a model of equal sizes with random weights, and its search."""

import pathlib
import tempfile
import time
from collections.abc import Iterator, Mapping
from typing import Any

import ctranslate2
import numpy as np
from ctranslate2.specs import TransformerSpec, model_spec

from benchmarks.sizes import EOS, PAD, Sizes
from benchmarks.turns import Prepared

# A token's text is its number, so that the pieces need no tokenizer.
_SPECIAL = ["<blank>", "<unk>", "<s>", "</s>"]


def write_model(sizes: Sizes, directory: str, compute_type: str) -> None:
    """Write a model with random weights, quantised if `compute_type` says so."""
    spec = TransformerSpec.from_config(
        (sizes.num_encoder_layers, sizes.num_decoder_layers),
        sizes.num_heads,
        pre_norm=sizes.is_pre_norm,
    )
    rng = np.random.default_rng(0)
    d_model, d_ff = sizes.d_model, sizes.d_ff

    def draw(*shape: int) -> np.ndarray:
        values = rng.standard_normal(shape, np.float32)
        return values / np.float32(shape[-1] ** 0.5)

    embedding = draw(sizes.vocab_size, d_model)
    embedding[EOS] = 0.0
    for path, layer in _layers(spec):
        kind, name = path.split("/")[-2:]
        if name in ("embeddings", "embeddings_0", "projection"):
            layer.weight = embedding
        elif name == "layer_norm":
            layer.gamma = np.ones(d_model, np.float32)
            layer.beta = np.zeros(d_model, np.float32)
        elif kind == "ffn":
            out, into = (d_ff, d_model) if name == "linear_0" else (d_model, d_ff)
            layer.weight, layer.bias = draw(out, into), np.zeros(out, np.float32)
        elif name.startswith("linear"):
            num_parts = {
                ("self_attention", "linear_0"): 3,
                ("attention", "linear_1"): 2,
            }.get((kind, name), 1)
            layer.weight = draw(num_parts * d_model, d_model)
    tokens = _SPECIAL + [str(i) for i in range(len(_SPECIAL), sizes.vocab_size)]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.validate()
    spec.optimize(quantization=None if compute_type == "float32" else compute_type)
    pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
    spec.save(directory)


def _layers(spec: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each part of a model that has weights of its own, with its path."""
    for name, part in vars(spec).items():
        parts = enumerate(part) if isinstance(part, list) else [(None, part)]
        for number, member in parts:
            if isinstance(member, model_spec.LayerSpec):
                place = name if number is None else f"{name}_{number}"
                yield f"{path}/{place}", member
                yield from _layers(member, f"{path}/{place}")


def prepare_decoding(
    sizes: Mapping[str, Any],
    beam_size: int,
    num_tokens: int,
    compute_type: str,
    num_threads: int,
) -> Prepared:
    """Be ready to translate: a turn is one batch, a unit one step of its search."""
    of = Sizes(**sizes)
    device = "cuda" if ctranslate2.get_cuda_device_count() else "cpu"
    with tempfile.TemporaryDirectory() as directory:
        write_model(of, directory, compute_type)
        translator = ctranslate2.Translator(
            directory, device, compute_type=compute_type, intra_threads=num_threads
        )
    sources = [
        [str(token) for token in row if token != PAD] for row in of.random_tokens(0)
    ]

    def translate() -> list[Any]:
        return translator.translate_batch(
            sources,
            beam_size=beam_size,
            min_decoding_length=num_tokens,
            max_decoding_length=num_tokens,
        )

    lengths = {len(result.hypotheses[0]) for result in translate()}
    if lengths != {num_tokens}:
        raise ValueError(f"translations of {lengths} tokens, expected {num_tokens}")

    def turn() -> float:
        start = time.perf_counter()
        translate()
        return (time.perf_counter() - start) / num_tokens

    return Prepared(turn)
