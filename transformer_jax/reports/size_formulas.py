"""Parameters of each system by formula, so that a reader can check them by hand."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any

from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.convolutional_config import ConvolutionalConfig
from transformer_jax.models.dilated import DilatedConfig
from transformer_jax.models.recurrence import CELLS
from transformer_jax.models.recurrent import RecurrentConfig
from transformer_jax.models.recurrent_attention_config import RecurrentAttentionConfig
from transformer_jax.models.vocabulary import VocabularyConfig


@dataclasses.dataclass(frozen=True)
class Term:
    """Some of a model's parameters.

    Attributes:
      part: which, in words.
      formula: how many, of symbols, numbers, +, - and · (a product).
      symbols: the number that each symbol stands for.
      paths: a pattern of their names in the tree of parameters.
    """

    part: str
    formula: str
    symbols: Mapping[str, int]
    paths: str

    @property
    def written_out(self) -> str:
        """The formula with numbers in place of symbols."""
        return re.sub(
            r"[A-Za-z]\w*", lambda name: str(self.symbols[name[0]]), self.formula
        )

    @property
    def count(self) -> int:
        """What the formula, as it is printed, comes to."""
        # Its signs and numbers are Python's, and it is written in this file.
        return int(eval(self.written_out.replace("·", "*"), {"__builtins__": {}}))


def _tables(config: Any) -> list[Term]:
    """Return the terms of what every system begins with: its vocabulary."""
    of: VocabularyConfig = config
    symbols = {"V": of.target_vocab_width, "d_model": config.d_model}
    names = {
        "all": {"token_embedding": "one table for source, target and logits"},
        "target": {
            "source_embedding": "table of the source",
            "target_embedding": "one table for target and logits",
        },
        "none": {
            "source_embedding": "table of the source",
            "target_embedding": "table of the target",
            "output_embedding": "table of the logits",
        },
    }[of.tied_embeddings]
    terms = []
    for path, words in names.items():
        width = of.source_vocab_width if path.startswith("source") else symbols["V"]
        terms.append(Term(words, "V·d_model", symbols | {"V": width}, path))
    if of.use_logits_bias:
        terms.append(Term("bias of the logits", "V", symbols, "logits_bias"))
    return terms


def transformer_terms(config: TransformerConfig) -> list[Term]:
    """Return the terms of a Transformer (Section 3)."""
    symbols = {
        "d_model": config.d_model,
        "d_ff": config.d_ff,
        "h": config.num_heads,
        "d_k": config.key_depth,
        "d_v": config.value_depth,
        "n": config.max_positions,
    }
    attention = "2·h·(d_k + d_v)·d_model"
    if config.use_attention_bias:
        attention += " + 2·h·d_k + h·d_v + d_model"
    feed_forward = "2·d_model·d_ff + d_ff + d_model"
    terms = _tables(config)
    for side, num_layers, num_attentions in (
        ("encoder", config.num_encoder_layers, 1),
        ("decoder", config.num_decoder_layers, 2),
    ):
        layers = symbols | {"N": num_layers}
        for part, formula, paths in (
            ("attention", f"N·{num_attentions}·({attention})", r"\w+_attention"),
            ("feed-forward", f"N·({feed_forward})", "feed_forward"),
            ("norms", f"N·{num_attentions + 1}·2·d_model", r"\w+_residual"),
        ):
            terms.append(
                Term(f"{side}: {part}", formula, layers, rf"{side}/layer_\d+/{paths}")
            )
        if config.norm_position == "pre":
            terms.append(
                Term(f"{side}: last norm", "2·d_model", symbols, f"{side}/norm")
            )
    if config.positions == "learned":
        paths = "(source|target)_positions"
        terms.append(Term("positions of both sides", "2·n·d_model", symbols, paths))
    if config.norm_embeddings:
        paths = "(source|target)_norm"
        terms.append(Term("norms of embeddings", "2·2·d_model", symbols, paths))
    return terms


def recurrent_terms(config: RecurrentConfig) -> list[Term]:
    """Return the terms of a recurrent encoder-decoder."""
    symbols = {"d_in": config.d_model, "d_h": config.d_state, "d_model": config.d_model}
    symbols |= {"N": config.num_layers}
    gates = CELLS[config.cell].num_gates
    terms = [
        *_tables(config),
        Term(
            "first layer of both sides",
            f"2·{gates}·(d_in + d_h + 1)·d_h",
            symbols,
            "(en|de)coder_layer_0",
        ),
    ]
    if config.num_layers > 1:
        terms.append(
            Term(
                "further layers of both sides",
                f"2·(N - 1)·{gates}·(d_h + d_h + 1)·d_h",
                symbols,
                r"(en|de)coder_layer_[1-9]\d*",
            )
        )
    return [*terms, Term("output", "(d_h + 1)·d_model", symbols, "output")]


def recurrent_attention_terms(config: RecurrentAttentionConfig) -> list[Term]:
    """Return the terms of a recurrent model with attention."""
    cell = CELLS[config.cell]
    gates = cell.num_gates
    symbols = {
        "d_in": config.d_model,
        "d_model": config.d_model,
        "d_h": config.d_state,
        "d_a": config.d_attention,
        "E": config.num_encoder_layers,
        "D": config.num_decoder_layers,
    }
    attention = "3·d_h·d_a + d_a"
    if config.attention_score == "multiplicative":
        attention = "2·d_h·d_h"
    terms = [
        *_tables(config),
        Term(
            "encoder: first layer, both directions",
            f"2·{gates}·(d_in + d_h + 1)·d_h",
            symbols,
            "(for|back)ward_layer_0",
        ),
        Term(
            "decoder: first layer, which reads word and context",
            f"{gates}·(d_in + 2·d_h + d_h + 1)·d_h",
            symbols,
            "decoder/layer_0/(recurrence|from_context)",
        ),
        Term(
            "decoder: attention",
            attention,
            symbols,
            "decoder/layer_0/cross_attention",
        ),
        Term(
            "decoder: where its states start",
            f"(d_h + 1)·D·{cell.num_parts}·d_h",
            symbols,
            "decoder/initial",
        ),
        Term(
            "decoder: output",
            "(d_h + d_model + 2·d_h + 1)·2·d_model",
            symbols,
            "decoder/output",
        ),
    ]
    if config.num_encoder_layers > 1:
        terms.append(
            Term(
                "encoder: further layers",
                f"(E - 1)·2·{gates}·(2·d_h + d_h + 1)·d_h",
                symbols,
                r"(for|back)ward_layer_[1-9]\d*",
            )
        )
    if config.num_decoder_layers > 1:
        terms.append(
            Term(
                "decoder: further layers",
                f"(D - 1)·{gates}·(d_h + d_h + 1)·d_h",
                symbols,
                r"decoder/layer_[1-9]\d*",
            )
        )
    return terms


def convolutional_terms(config: ConvolutionalConfig) -> list[Term]:
    """Return the terms of a ConvS2S; each output of a map has a scale and a bias."""
    symbols = {
        "d_model": config.d_model,
        "d_c": config.num_channels,
        "k": config.kernel_width,
        "E": config.num_encoder_layers,
        "D": config.num_decoder_layers,
        "n": config.max_positions,
    }
    # One from and one to the width of embeddings.
    maps = "(d_model·d_c + 2·d_c + d_c·d_model + 2·d_model)"
    convolution = "(k·d_c·2·d_c + 2·2·d_c)"
    return [
        *_tables(config),
        *(
            Term(part, formula, symbols, paths)
            for part, formula, paths in (
                ("positions of both sides", "2·n·d_model", "(source|target)_positions"),
                ("maps at both ends of both sides", f"2·{maps}", r"\w+/\w+_embeddings"),
                (
                    "encoder: convolutions",
                    f"E·{convolution}",
                    r"encoder/layer_\d+/convolution",
                ),
                (
                    "decoder: convolutions",
                    f"D·{convolution}",
                    r"decoder/layer_\d+/convolution",
                ),
                (
                    "decoder: attention",
                    f"D·{maps}",
                    r"decoder/layer_\d+/cross_attention",
                ),
            )
        ),
    ]


def dilated_terms(config: DilatedConfig) -> list[Term]:
    """Return the terms of a ByteNet, whose blocks are half as wide inside."""
    symbols = {
        "d_model": config.d_model,
        "d_c": config.d_model // 2,
        "k": config.kernel_width,
    }
    norms = "2·d_model + 2·2·d_c"
    maps = "d_model·d_c + d_c + k·d_c·d_c + d_c + d_c·d_model + d_model"
    terms = _tables(config)
    for side, num_layers in (
        ("encoder", config.num_encoder_layers),
        ("decoder", config.num_decoder_layers),
    ):
        layers = symbols | {"N": num_layers}
        part, paths = f"{side}: blocks", rf"{side}/layer_\d+"
        terms += [
            Term(part, f"N·({maps} + {norms})", layers, paths),
            Term(f"{side}: last norm", "2·d_model", symbols, f"{side}/norm"),
        ]
    return terms


# A name in `MODELS` → from its config to all of its parameters, each in one term.
SIZE_FORMULAS: Mapping[str, Callable[[Any], list[Term]]] = {
    "transformer": transformer_terms,
    "restricted_transformer": transformer_terms,
    "recurrent": recurrent_terms,
    "recurrent_attention": recurrent_attention_terms,
    "convolutional": convolutional_terms,
    "dilated": dilated_terms,
}
