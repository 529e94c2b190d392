"""How well a run foresees each token of right translations."""

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from transformer_jax.data.row_layout import RowLayout
from transformer_jax.runs.trained_run import TrainedRun

_ROWS = 50  # sentences that are scored at a time


def score_tokens(
    run: TrainedRun, pairs: Sequence[tuple[str, str]]
) -> list[list[tuple[float, int]]]:
    """Return -log p and whether it is the likeliest, of each target token with EOS."""

    @jax.jit
    def score(params: Any, truth: jax.Array, inputs: Any) -> tuple[Any, Any]:
        logits = run.parts.model.apply({"params": params}, **inputs)
        log_p = jax.nn.log_softmax(jnp.asarray(logits, jnp.float32))
        of_truth = jnp.take_along_axis(log_p, truth[..., None], axis=-1)
        return -of_truth[..., 0], log_p.argmax(axis=-1) == truth

    source, target = (
        tokenizer.encode(list(side))
        for tokenizer, side in zip(
            run.tokenizers, zip(*pairs, strict=True), strict=True
        )
    )
    scores = []
    for truth, inputs in forced_batches(run, source, target, _ROWS):
        nll, is_right = map(np.asarray, score(run.params, truth, inputs))
        for row, count in enumerate((inputs["target_segments"] != 0).sum(axis=1)):
            found = zip(nll[row, :count], is_right[row, :count], strict=True)
            scores.append([(float(nll), int(right)) for nll, right in found])
    return scores[: len(pairs)]


def forced_batches(
    run: TrainedRun,
    source: Sequence[Sequence[int]],
    target: Sequence[Sequence[int]],
    num_together: int,
) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
    """Yield what a run's model is called with, given all of a target but its end.

    Args:
      run: whose tokenizers the pieces are of.
      source: pieces of each sentence.
      target: pieces of its translation, or of the beginning of one.
      num_together: rows of a batch, one pair each; the last batch has empty ones.

    Yields:
      The pieces that come next [num_together, target_length], EOS at the end, and the
      model's arguments by name.
    """
    num_rows = -(-len(source) // num_together) * num_together

    def layout(sentences: Sequence[Sequence[int]]) -> RowLayout:
        lengths = np.array([len(ids) for ids in sentences])
        return RowLayout(
            lengths, np.arange(len(lengths)), (num_rows, lengths.max() + 1)
        )

    of_source, of_target = run.tokenizers
    source_layout, target_layout = layout(source), layout(target)
    source_ids, target_ids = (
        np.concatenate([np.array(ids, np.int32) for ids in side])
        for side in (source, target)
    )
    truth = target_layout.place_tokens(target_ids, of_target.eos_id, of_target.pad_id)
    arrays = {
        "source_tokens": source_layout.place_tokens(
            source_ids, of_source.eos_id, of_source.pad_id
        ),
        "source_segments": source_layout.place(source_layout.segments),
        "decoder_input_tokens": target_layout.place_shifted(
            target_ids, of_target.bos_id, of_target.pad_id
        ),
        "target_segments": target_layout.place(target_layout.segments),
    }
    for start in range(0, num_rows, num_together):
        rows = slice(start, start + num_together)
        yield truth[rows], {name: array[rows] for name, array in arrays.items()}
