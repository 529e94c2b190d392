"""What training costs, counted from the operations of a model's forward pass.

The backward pass has two products for each one of the forward pass, so that training is
three times the forward pass. The optimizer is left out.
"""

from transformer_jax.models.bert import Bert
from transformer_jax.models.interface import TranslationModel

# Pieces in a sentence, for the quadratic part of attention, a few percent of the whole.
SENTENCE_LENGTH = 30

_TRAINING_FACTOR = 3


def training_flops(
    model: TranslationModel,
    *,
    source_tokens: float,
    target_tokens: float,
    sentence_length: float,
) -> float:
    """Count a whole training, forward and backward.

    Args:
      model: counts its own forward pass.
      source_tokens: pieces of the source side that were trained on, over all updates.
      target_tokens: likewise of the target side.
      sentence_length: pieces of a target; it decides the share of attention's quadratic
        part alone.

    Returns:
      Floating point operations.
    """
    num_pairs = target_tokens / sentence_length
    return step_flops(model, num_pairs, source_tokens / num_pairs, sentence_length)


def text_training_flops(
    model: Bert, *, tokens: float, predictions: float, sentence_length: float
) -> float:
    """Count a whole training on single texts, as `training_flops` does on pairs.

    Args:
      model: counts its own forward pass.
      tokens: pieces that were trained on, over all updates.
      predictions: places that were predicted.
      sentence_length: pieces of a sentence.
    """
    num_sentences = tokens / sentence_length
    per_sentence = model.forward_flops(sentence_length, predictions / num_sentences)
    return _TRAINING_FACTOR * num_sentences * per_sentence


def step_flops(
    model: TranslationModel,
    num_pairs: float,
    source_length: float,
    target_length: float,
) -> float:
    """Count an update on `num_pairs` sentences of these lengths, or mean lengths."""
    return (
        _TRAINING_FACTOR * num_pairs * model.forward_flops(source_length, target_length)
    )
