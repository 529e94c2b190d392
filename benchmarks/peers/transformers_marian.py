"""The side of transformers: `generate` of a Marian model of equal sizes."""

import time
from collections.abc import Mapping
from typing import Any

import torch
from transformers import MarianConfig, MarianMTModel

from benchmarks.sizes import BOS, EOS, PAD, Sizes
from benchmarks.turns import Prepared


def prepare_decoding(
    sizes: Mapping[str, Any], beam_size: int, num_tokens: int
) -> Prepared:
    """Be ready to translate: a turn is one batch, a unit one step of its search."""
    of = Sizes(**sizes)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    config = MarianConfig(
        vocab_size=of.vocab_size,
        d_model=of.d_model,
        encoder_layers=of.num_encoder_layers,
        decoder_layers=of.num_decoder_layers,
        encoder_attention_heads=of.num_heads,
        decoder_attention_heads=of.num_heads,
        encoder_ffn_dim=of.d_ff,
        decoder_ffn_dim=of.d_ff,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        forced_eos_token_id=None,
        decoder_start_token_id=BOS,
    )
    dtype = getattr(torch, of.dtype)
    model = MarianMTModel(config).eval().to(device, dtype)
    tokens = torch.from_numpy(of.random_tokens(0)).long().to(device)

    def translate() -> torch.Tensor:
        with torch.inference_mode():
            return model.generate(
                tokens,
                attention_mask=(tokens != PAD).long(),
                num_beams=beam_size,
                do_sample=False,
                min_new_tokens=num_tokens,
                max_new_tokens=num_tokens,
            )

    width = translate().shape[1]
    if width != num_tokens + 1:  # The start mark comes first.
        raise ValueError(f"translations of {width - 1} tokens, expected {num_tokens}")

    def turn() -> float:
        start = time.perf_counter()
        translate().cpu()
        return (time.perf_counter() - start) / num_tokens

    return Prepared(turn)
