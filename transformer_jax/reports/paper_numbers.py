"""The paper's figures, each with its table and row (arXiv 1706.03762v5).

What the base model is trained with is the default of a config, and taken from there.
"""

import dataclasses

from transformer_jax.config.sections import PAPER_NUM_AVERAGED, PAPER_NUM_STEPS


@dataclasses.dataclass(frozen=True)
class LayerType:
    """A row of Table 1; n is the length, d the width, k a kernel, r a neighbourhood.

    Attributes:
      row: the layer's name.
      complexity: operations per layer.
      sequential: operations that cannot run side by side.
      path: the longest path between two positions.
    """

    row: str
    complexity: str
    sequential: str
    path: str


TABLE_1 = (
    LayerType("self-attention", "O(n^2 d)", "O(1)", "O(1)"),
    LayerType("recurrent", "O(n d^2)", "O(n)", "O(n)"),
    LayerType(
        "convolutional", "O(k n d^2)", "O(1)", "O(log_k n), O(n/k) if contiguous"
    ),
    LayerType("self-attention (restricted)", "O(r n d)", "O(1)", "O(n/r)"),
)


@dataclasses.dataclass(frozen=True)
class TranslationResult:
    """A row of Table 2, newstest2014; None where the paper has a blank.

    Attributes:
      row: the system's name.
      bleu_ende: tokenised, cased, compounds split.
      bleu_enfr: tokenised, cased.
      flops_ende: of training.
      flops_enfr: of training.
    """

    row: str
    bleu_ende: float | None
    bleu_enfr: float | None
    flops_ende: float | None
    flops_enfr: float | None


TABLE_2 = (
    TranslationResult("ByteNet", 23.75, None, None, None),
    TranslationResult("Deep-Att + PosUnk", None, 39.2, None, 1.0e20),
    TranslationResult("GNMT + RL", 24.6, 39.92, 2.3e19, 1.4e20),
    TranslationResult("ConvS2S", 25.16, 40.46, 9.6e18, 1.5e20),
    TranslationResult("MoE", 26.03, 40.56, 2.0e19, 1.2e20),
    TranslationResult("Deep-Att + PosUnk ensemble", None, 40.4, None, 8.0e20),
    TranslationResult("GNMT + RL ensemble", 26.30, 41.16, 1.8e20, 1.1e21),
    TranslationResult("ConvS2S ensemble", 26.36, 41.29, 7.7e19, 1.2e21),
    TranslationResult("Transformer (base)", 27.3, 38.1, 3.3e18, 3.3e18),
    TranslationResult("Transformer (big)", 28.4, 41.8, 2.3e19, 2.3e19),
)


@dataclasses.dataclass(frozen=True)
class PaperTraining:
    """How long a Transformer of Table 2 was trained (Section 5.2).

    Attributes:
      seconds: wall-clock time.
      num_devices: how many.
      accelerator: a name in `costs.accelerators`.
    """

    seconds: float
    num_devices: int
    accelerator: str


TRAININGS = {
    "Transformer (base)": PaperTraining(12 * 3600.0, 8, "P100"),
    "Transformer (big)": PaperTraining(3.5 * 86_400.0, 8, "P100"),
}


@dataclasses.dataclass(frozen=True)
class Variation:
    """A row of Table 3, newstest2013; what it does not name is the base model's.

    Attributes:
      row: name of its file in configs/table3, without the suffix.
      perplexity: per piece, of unsmoothed targets.
      bleu: tokenised, cased, compounds split.
      params: millions of parameters; None where the paper has a blank.
      num_layers: N, of each stack.
      d_model: width.
      d_ff: inner width of the feed-forward.
      num_heads: h.
      d_k: depth of queries and keys.
      d_v: depth of values.
      dropout_rate: P_drop.
      label_smoothing: eps_ls.
      positions: "sinusoidal" or "learned".
      num_steps: updates.
    """

    row: str
    perplexity: float
    bleu: float
    params: int | None = None
    num_layers: int = 6
    d_model: int = 512
    d_ff: int = 2048
    num_heads: int = 8
    d_k: int = 64
    d_v: int = 64
    dropout_rate: float = 0.1
    label_smoothing: float = 0.1
    positions: str = "sinusoidal"
    num_steps: int = PAPER_NUM_STEPS


TABLE_3 = (
    Variation("base", 4.92, 25.8, 65),
    Variation("a_heads_1", 5.29, 24.9, num_heads=1, d_k=512, d_v=512),
    Variation("a_heads_4", 5.00, 25.5, num_heads=4, d_k=128, d_v=128),
    Variation("a_heads_16", 4.91, 25.8, num_heads=16, d_k=32, d_v=32),
    Variation("a_heads_32", 5.01, 25.4, num_heads=32, d_k=16, d_v=16),
    Variation("b_d_k_16", 5.16, 25.1, 58, d_k=16),
    Variation("b_d_k_32", 5.01, 25.4, 60, d_k=32),
    Variation("c_layers_2", 6.11, 23.7, 36, num_layers=2),
    Variation("c_layers_4", 5.19, 25.3, 50, num_layers=4),
    Variation("c_layers_8", 4.88, 25.5, 80, num_layers=8),
    Variation("c_d_model_256", 5.75, 24.5, 28, d_model=256, d_k=32, d_v=32),
    Variation("c_d_model_1024", 4.66, 26.0, 168, d_model=1024, d_k=128, d_v=128),
    Variation("c_d_ff_1024", 5.12, 25.4, 53, d_ff=1024),
    Variation("c_d_ff_4096", 4.75, 26.2, 90, d_ff=4096),
    Variation("d_dropout_0_0", 5.77, 24.6, dropout_rate=0.0),
    Variation("d_dropout_0_2", 4.95, 25.5, dropout_rate=0.2),
    Variation("d_smoothing_0_0", 4.67, 25.3, label_smoothing=0.0),
    Variation("d_smoothing_0_2", 5.47, 25.7, label_smoothing=0.2),
    Variation("e_learned_positions", 4.92, 25.7, positions="learned"),
    Variation(
        "big",
        4.33,
        26.4,
        213,
        d_model=1024,
        d_ff=4096,
        num_heads=16,
        dropout_rate=0.3,
        num_steps=300_000,
    ),
)
# Section 5.1, WMT14 English-French.
FRENCH_VOCAB_SIZE = 32_000
# Section 6.1, the last checkpoints, by the size of the model.
NUM_AVERAGED = {"base": PAPER_NUM_AVERAGED, "big": 20}
