"""Attention weights of one sentence pair, with the word pieces they lie between."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from transformer_jax.errors import UserError

if TYPE_CHECKING:
    from transformer_jax.runs.trained_run import TrainedRun

Kind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")

_PATHS = {
    "encoder": ("encoder", "self_attention"),
    "decoder": ("decoder", "self_attention"),
    "cross": ("decoder", "cross_attention"),
}
_BEGIN, _END = "<s>", "</s>"


@dataclasses.dataclass(frozen=True)
class AttentionMaps:
    """All attention weights of one sentence pair; each row of weights adds up to 1.

    In the decoder a query writes one piece of the target, and looks at the pieces
    before it: row t is labelled with the piece written, column t with the piece read.

    Attributes:
      weights: float32 [num_layers, num_heads, query_length, key_length] of each kind
        that the model keeps.
      source_pieces: read by the encoder, the end mark included.
      read_pieces: read by the decoder: the begin mark, then the target.
      written_pieces: expected from the decoder: the target, then the end mark.
    """

    weights: Mapping[Kind, np.ndarray]
    source_pieces: tuple[str, ...]
    read_pieces: tuple[str, ...]
    written_pieces: tuple[str, ...]

    def query_pieces(self, kind: Kind) -> tuple[str, ...]:
        """Return the labels of the rows, those who look."""
        return self.source_pieces if kind == "encoder" else self.written_pieces

    def key_pieces(self, kind: Kind) -> tuple[str, ...]:
        """Return the labels of the columns, what is looked at."""
        return self.read_pieces if kind == "decoder" else self.source_pieces


def collect_attention(
    run: "TrainedRun", source: str, target: str | None = None
) -> AttentionMaps:
    """Run a run's model on one sentence pair and keep all attention weights.

    Of a run that does not translate there is the encoder alone.

    Args:
      run: whose model's attention layers sow `attention_weights`.
      source: one sentence.
      target: its translation; None: the run's own.

    Raises:
      UserError: if the source is empty, or the model keeps no attention weights.
    """
    if not run.parts.task.can_translate:
        if target is not None:
            raise UserError("The run does not translate: leave the target out.")
        return _of_encoder(run, source)
    source_tokenizer, target_tokenizer = run.source_tokenizer, run.target_tokenizer
    if target is None:
        target = run.translator().translate([source])[0].text
    source_ids = _encode(run, source)
    target_ids = target_tokenizer.encode([target])[0]
    source_tokens = jnp.array([[*source_ids, source_tokenizer.eos_id]], jnp.int32)
    read_tokens = jnp.array([[target_tokenizer.bos_id, *target_ids]], jnp.int32)
    weights = _collect(
        run,
        None,
        source_tokens=source_tokens,
        decoder_input_tokens=read_tokens,
        source_segments=jnp.ones_like(source_tokens),
        target_segments=jnp.ones_like(read_tokens),
    )
    target_pieces = _labels(target_tokenizer.pieces(target_ids))
    return AttentionMaps(
        weights=weights,
        source_pieces=(*_labels(source_tokenizer.pieces(source_ids)), _END),
        read_pieces=(_BEGIN, *target_pieces),
        written_pieces=(*target_pieces, _END),
    )


def _of_encoder(run: "TrainedRun", source: str) -> AttentionMaps:
    """Keep the weights of an encoder, whose sentence has a piece that opens it too."""
    tokenizer, ids = run.source_tokenizer, _encode(run, source)
    tokens = jnp.array([[tokenizer.bos_id, *ids, tokenizer.eos_id]], jnp.int32)
    weights = _collect(
        run,
        "encode",
        tokens=tokens,
        segments=jnp.ones_like(tokens),
        token_types=jnp.zeros_like(tokens),
    )
    pieces = (_BEGIN, *_labels(tokenizer.pieces(ids)), _END)
    return AttentionMaps(weights, pieces, read_pieces=(), written_pieces=())


def _encode(run: "TrainedRun", source: str) -> list[int]:
    """Return the ids of a sentence.

    Raises:
      UserError: if it is empty.
    """
    ids = run.source_tokenizer.encode([source])[0]
    if not ids:
        raise UserError(f"The source sentence {source!r} is empty. Give some words.")
    return ids


def _collect(
    run: "TrainedRun", method: str | None, **inputs: jax.Array
) -> dict[Kind, np.ndarray]:
    """Call a method of a run's model, and return the weights that it keeps.

    Raises:
      UserError: if it keeps none.
    """
    # Compiled as a whole, which takes less time than compiling operation by operation.
    apply = jax.jit(
        functools.partial(
            run.parts.model.apply, mutable=["intermediates"], method=method
        )
    )
    _, collections = apply({"params": run.params}, **inputs)
    sown = collections.get("intermediates", {})
    of_kinds = {kind: _stack_layers(sown, *_PATHS[kind]) for kind in KINDS}
    weights = {kind: kept for kind, kept in of_kinds.items() if kept is not None}
    if not weights:
        raise UserError(
            "The model keeps no attention weights, so none can be drawn. Name a run "
            "whose model attends, such as a Transformer."
        )
    return weights


def _stack_layers(
    sown: Mapping[str, Any], stack: str, attention: str
) -> np.ndarray | None:
    """Return [num_layers, num_heads, query_length, key_length] of one stack.

    None where its layers do not keep such weights.
    """
    layers = sown.get(stack, {})
    names = sorted(
        (name for name in layers if name.startswith("layer_")),
        key=lambda name: int(name.removeprefix("layer_")),
    )
    if not names or any(attention not in layers[name] for name in names):
        return None
    sentences = [layers[name][attention]["attention_weights"][0] for name in names]
    return np.stack([np.asarray(one[0], np.float32) for one in sentences])


def _labels(pieces: list[str]) -> tuple[str, ...]:
    """Write word pieces for people: a dot where a piece goes on with a word.

    Sentencepiece marks where a word begins; most pieces begin one, so the others are
    marked here, punctuation excepted: ▁Hund chen . → Hund ·chen .
    """
    return tuple(_label(piece) for piece in pieces)


def _label(piece: str) -> str:
    if piece.startswith("\u2581"):
        # The open box stands for a space on its own.
        return piece.replace("\u2581", " ").strip() or "\u2423"
    return f"\u00b7{piece}" if piece[:1].isalnum() else piece
