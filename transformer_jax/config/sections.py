"""The sections of a config, and each field in them.

The fields of `config.model`, `config.task` and the sources below `config.data` are
declared by the chosen model, task and sources themselves.
"""

import dataclasses

from transformer_jax.data.batch_plan import Batching
from transformer_jax.data.sources import SOURCES
from transformer_jax.data.tokenizer import NORMALIZERS
from transformer_jax.decoding.hypotheses import LengthPenalty
from transformer_jax.fields import fixed, free
from transformer_jax.models import MODELS
from transformer_jax.models.layer_scan import LayerScan
from transformer_jax.tasks import TASKS
from transformer_jax.training.losses import Formula
from transformer_jax.training.optimizer import SCHEDULES
from transformer_jax.training.trackers import TRACKERS

# The paper's base model on WMT14 English-German (Sections 5.1, 5.3 and 6.1): those of
# its numbers that other sizes and reports are told by, too.
PAPER_VOCAB_SIZE = 37_000
PAPER_TOKENS_PER_BATCH = 25_000
PAPER_WARMUP_STEPS = 4_000
PAPER_NUM_STEPS = 100_000
PAPER_NUM_AVERAGED = 5


@dataclasses.dataclass(frozen=True)
class RunSection:
    """Fields at the top of the config."""

    seed: int = fixed(
        0,
        "initial parameters, dropout and the order of the data follow from it",
        least=0,
        below=2**32,  # JAX takes 32 bits of it; beyond them two would be one.
    )


@dataclasses.dataclass(frozen=True)
class DataSection:
    """From text to batches (Section 5.1)."""

    source: str = fixed("files", "where sentences come from", choices=SOURCES)
    source_language: str = fixed("en", "code of the language to translate from")
    target_language: str = fixed("de", "code of the language to translate into")
    vocab_size: int = fixed(
        PAPER_VOCAB_SIZE,
        "pieces of a sentencepiece BPE model, trained on both languages together",
        least=1,
    )
    tokenizer_path: str | None = free(
        None, "an existing sentencepiece model to use instead of training one"
    )
    tokenizer_sentences: int = fixed(
        1_000_000,
        "training sentences, of both sides together, that the tokenizer learns from",
        least=2,
    )
    normalizer: str = fixed(
        "identity",
        "sentencepiece's normalisation rule; identity leaves text as it is, lowercase "
        "makes letters small on both sides",
        choices=NORMALIZERS,
    )
    max_length: int = fixed(
        256,
        "pairs with more pieces than this on a side, EOS counted, are left out of "
        "training and of the validation loss; longer lines are translated in pieces",
        least=2,
    )
    max_length_ratio: float = fixed(
        0.0,
        "training pairs whose longer side has over this many times the pieces of the "
        "shorter one are skipped; 0 keeps all",
        least=0,
    )
    tokens_per_batch: int = fixed(
        PAPER_TOKENS_PER_BATCH,
        "pieces on each side of a batch, padding included (Section 5.1)",
        least=1,
    )
    batching: Batching = fixed(
        "buckets",
        "buckets: pairs of like length share a batch, one a row (paper); packed: "
        "several pairs in a row, so that hardly any position is left empty",
    )
    max_batch_shapes: int = fixed(
        12, "buckets: shapes, for each of which XLA compiles the step", least=1
    )
    packed_length: int = fixed(
        64,
        "packed: positions, at least, of the shortest rows; rows for longer pairs are "
        "twice, four times ... as long",
        least=2,
    )
    row_multiple: int = fixed(
        8,
        "rows of every batch are a multiple of this, so that devices and micro-batches "
        "can share them",
        least=1,
    )
    cache_directory: str = free(
        "",
        "where tokenised text is kept, to be shared between runs; empty: in the run",
    )
    num_threads: int = free(2, "threads that tokenise and assemble batches", least=1)


@dataclasses.dataclass(frozen=True)
class ModelSection:
    """Which model; its own dataclass declares the rest."""

    name: str = fixed("transformer", "which model", choices=MODELS)


@dataclasses.dataclass(frozen=True)
class TaskSection:
    """What the model is trained for; the task's own dataclass declares the rest."""

    name: str = fixed("translation", "what the model is trained for", choices=TASKS)


@dataclasses.dataclass(frozen=True)
class OptimizerSection:
    """Adam and its learning rate (Section 5.3)."""

    schedule: str = fixed(
        "paper", "how the learning rate rises and falls", choices=SCHEDULES
    )
    warmup_steps: int = fixed(
        PAPER_WARMUP_STEPS, "updates in which the learning rate rises", least=0
    )
    factor: float = fixed(1.0, "multiplies whatever the schedule says", least=0)
    peak_learning_rate: float = fixed(
        1e-3, "the highest learning rate of the other schedules", least=0
    )
    num_steps: int = fixed(
        PAPER_NUM_STEPS, "the step at which cosine and linear reach their end", least=1
    )
    final_fraction: float = fixed(
        0.0, "of the peak, where cosine and linear end", least=0
    )
    beta1: float = fixed(0.9, "decay of the gradient's mean", least=0, below=1)
    beta2: float = fixed(0.98, "decay of the squared gradient's mean", least=0, below=1)
    epsilon: float = fixed(
        1e-9, "added to the root of the squared gradient's mean", least=0
    )
    clip_norm: float = fixed(
        0.0, "largest norm of all gradients together; 0 clips nothing (paper)", least=0
    )
    weight_decay: float = fixed(
        0.0,
        "times the learning rate, the share of each parameter that an update takes "
        "away, but for biases and norms (AdamW); 0: none (paper)",
        least=0,
    )
    ema_decay: float = fixed(
        0.0,
        "of a moving average of the parameters, which is then what is evaluated; 0: "
        "none",
        least=0,
        below=1,
    )


@dataclasses.dataclass(frozen=True)
class TrainingSection:
    """The loss and the loop (Sections 5.2 and 5.4)."""

    num_steps: int = free(PAPER_NUM_STEPS, "updates", least=1)
    label_smoothing: float = fixed(
        0.1, "eps, the probability taken away from the truth (5.4)", least=0, below=1
    )
    label_smoothing_formula: Formula = fixed(
        "uniform",
        "uniform spreads it over all V pieces (paper); others over the V - 1 wrong "
        "ones (tensor2tensor)",
    )
    num_micro_batches: int = free(
        1,
        "parts of a batch that take turns, to save memory; the gradient stays that of "
        "the whole batch",
        least=1,
    )
    layer_scan: LayerScan = free(
        "auto",
        "always: one program for all layers of a stack, which compiles in a fraction "
        "of the time; never: each layer by itself; auto: always on accelerators, never "
        "on CPUs. The same but for rounding",
    )
    init_from: str | None = fixed(
        None, "a run whose parameters to start from; its tokenizer is taken over"
    )
    patience: int = free(
        0, "stops after this many validations without a better score; 0: never", least=0
    )
    max_skips: int = free(
        10,
        "stops when this many updates in a row had gradients that are not finite",
        least=1,
    )
    log_every_steps: int = free(
        100, "updates between two reports; 0: only with validations and saves", least=0
    )
    trackers: str = free(
        "tensorboard",
        "where numbers go beside the run's metrics.jsonl, with commas; empty: nowhere",
        choices=TRACKERS,
        is_several=True,
    )


@dataclasses.dataclass(frozen=True)
class DecodingSection:
    """Beam search (Section 6.1)."""

    beam_size: int = free(4, "hypotheses kept for each sentence; 1 is greedy", least=1)
    alpha: float = free(0.6, "exponent of the length penalty")
    length_penalty: LengthPenalty = free(
        "gnmt", "gnmt: ((5 + length) / 6)^alpha (paper); length: length^alpha"
    )
    max_extra_length: int = free(
        50, "a translation has at most this many pieces more than its source", least=0
    )
    # Not in the paper; 0 lets a line that has words come out empty.
    min_length: int = free(1, "pieces that a translation has at least", least=0)
    tokens_per_batch: int = free(
        4_096,
        "source pieces in a batch of sentences to translate, padding included; pieces "
        "on each side of a batch for the validation loss",
        least=1,
    )


@dataclasses.dataclass(frozen=True)
class EvaluationSection:
    """What happens on the validation split during training."""

    eval_every_steps: int = free(
        2_000, "updates between two validations; 0: only at the end", least=0
    )
    beam_size: int = free(
        4,
        "1 is greedy: quicker, and a little lower, than the beam of decoding",
        least=1,
    )


@dataclasses.dataclass(frozen=True)
class CheckpointsSection:
    """When to save, and what to keep (Section 6.1)."""

    save_every_steps: int = free(
        2_000, "updates between two saves; 0: none by steps", least=0
    )
    save_every_minutes: float = free(
        10.0, "minutes between two saves; 0: none by time", least=0
    )
    keep_params: int = free(
        PAPER_NUM_AVERAGED,
        "sets of parameters to keep, to be averaged, beside the best; the full state "
        "is kept for the newest two",
        least=1,
    )


@dataclasses.dataclass(frozen=True)
class ShardingSection:
    """What lies on which device."""

    data: int = free(
        0, "devices that share the rows of a batch; 0: all there are", least=0
    )
