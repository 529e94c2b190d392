"""Every field, its meaning and its unit; the values are the paper's base model.

An experiment imports this file and says only what differs:

    config = default.get_config()
    config.model.num_encoder_layers = 2

Any field can be given on the command line too: `--config.model.num_encoder_layers=2`.
"""

import ml_collections
from ml_collections.config_dict import placeholder

# Rises when a field changes its meaning or goes.
CONFIG_VERSION = 1


def get_config() -> ml_collections.ConfigDict:
    """The base model of Section 3, trained as in Section 5; new fields are refused."""
    config = ml_collections.ConfigDict()
    # The layout of this tree; a run written with another one is refused.
    config.version = CONFIG_VERSION
    # Initial weights, dropout and the order of the data all follow from this number.
    config.seed = 0
    config.data = _data()
    config.model = _model()
    config.optimizer = _optimizer()
    config.training = _training()
    config.decoding = _decoding()
    config.evaluation = _evaluation()
    config.checkpoints = _checkpoints()
    config.sharding = _sharding()
    config.lock()
    return config


def _data() -> ml_collections.ConfigDict:
    data = ml_collections.ConfigDict()
    # Where sentence pairs come from: "files", "tfds" (TensorFlow Datasets) or "grammar"
    # (built in).
    data.source = "files"
    data.source_language = "en"
    data.target_language = "de"

    # Source "files". Paths are relative to `directory`; plain text or .gz, one sentence
    # a line. Several files of a split are joined with commas. Where a target is empty,
    # its source holds both sides on each line, separated by a tab.
    data.directory = "."
    data.train_source = ""
    data.train_target = ""
    data.validation_source = ""
    data.validation_target = ""
    data.test_source = ""
    data.test_target = ""

    # Source "tfds": a translation data set, prepared by `transformer_jax.prepare_data`.
    data.tfds = ml_collections.ConfigDict()
    # Its name and configuration, as "wmt14_translate/de-en", for either direction;
    # empty if `directory` is that of one prepared data set.
    data.tfds.name = ""
    # The folder of prepared data sets; empty: what TFDS_DATA_DIR names.
    data.tfds.directory = ""

    # Source "grammar": how many sentence pairs of each split.
    data.grammar = ml_collections.ConfigDict()
    data.grammar.num_train_pairs = 100_000
    data.grammar.num_validation_pairs = 500
    data.grammar.num_test_pairs = 1_000

    # Sentencepiece BPE, trained on both languages together; a number of pieces.
    data.vocab_size = 37_000
    # An existing sentencepiece model to use instead of training one.
    data.tokenizer_path = placeholder(str)
    # How many training sentences, of both sides together, the tokenizer learns from.
    data.tokenizer_sentences = 1_000_000
    # Sentencepiece's normalisation rule; "identity" leaves text as it is.
    data.normalizer = "identity"

    # Training pairs with more pieces than this on a side, EOS counted, are skipped;
    # longer lines are translated in pieces.
    data.max_length = 256
    # Training pairs whose longer side has over this many times the pieces of the
    # shorter one are skipped; 0 keeps all.
    data.max_length_ratio = 0.0
    # Pieces on each side of a batch, padding included (Section 5.1).
    data.tokens_per_batch = 25_000
    # XLA compiles the step once for each shape of batch.
    data.max_batch_shapes = 12
    # Rows of every batch are a multiple of this, so that devices and micro-batches can
    # share them. Part of the plan of batches: not to be changed within a run.
    data.row_multiple = 8
    # Where tokenised text is kept, to be shared between runs; empty: inside the run.
    data.cache_directory = ""
    # Worker threads that tokenise and assemble batches.
    data.num_workers = 2
    return data


def _model() -> ml_collections.ConfigDict:
    """Fields of `transformer_jax.models.configs`, where each is explained."""
    model = ml_collections.ConfigDict()
    # A name in `transformer_jax.models.MODELS`.
    model.name = "transformer"
    model.num_encoder_layers = 6
    model.num_decoder_layers = 6
    model.d_model = 512
    model.d_ff = 2048
    model.num_heads = 8
    # Unset: d_model / num_heads.
    model.d_k = placeholder(int)
    model.d_v = placeholder(int)
    model.dropout_rate = 0.1
    # Not in the paper; tensor2tensor has 0.1 for both.
    model.attention_dropout_rate = 0.0
    model.feed_forward_dropout_rate = 0.0
    # "relu", "gelu" or "swish".
    model.activation = "relu"
    # "post" (paper) or "pre".
    model.norm_position = "post"
    model.norm_epsilon = 1e-6
    # "sinusoidal" (paper) or "learned" (Table 3, row E).
    model.positions = "sinusoidal"
    # "interleaved" (paper), "halves" (Marian) or "tensor2tensor".
    model.sinusoid_layout = "interleaved"
    # Rows of a learned position table: the longest source or target, in pieces.
    model.max_positions = 1024
    # "all" (paper, Section 3.4), "target" or "none".
    model.tied_embeddings = "all"
    model.use_attention_bias = False
    model.use_logits_bias = False
    # The vocabulary's tables are padded to a multiple of this many rows.
    model.vocab_multiple = 1
    # "float32" or "bfloat16", to compute in; parameters and loss are float32.
    model.dtype = "float32"
    return model


def _optimizer() -> ml_collections.ConfigDict:
    """Adam and its learning rate (Section 5.3)."""
    optimizer = ml_collections.ConfigDict()
    # "paper", "inverse_sqrt", "cosine", "linear" or "constant".
    optimizer.schedule = "paper"
    optimizer.warmup_steps = 4_000
    # Multiplies the paper's schedule.
    optimizer.learning_rate_factor = 1.0
    # The highest learning rate of the other schedules.
    optimizer.peak_learning_rate = 1e-3
    # The step at which "cosine" and "linear" reach their end, and the learning rate
    # there, as a share of the peak.
    optimizer.decay_steps = 100_000
    optimizer.final_share = 0.0
    optimizer.beta1 = 0.9
    optimizer.beta2 = 0.98
    optimizer.epsilon = 1e-9
    # Largest global norm of a gradient; 0 leaves gradients alone (paper).
    optimizer.max_gradient_norm = 0.0
    # Keeps a moving average of the weights, which is then what is evaluated; 0: none.
    optimizer.ema_decay = 0.0
    return optimizer


def _training() -> ml_collections.ConfigDict:
    training = ml_collections.ConfigDict()
    training.num_steps = 100_000
    # Section 5.4. "uniform" spreads it over all V pieces (paper); "others" over the V-1
    # wrong ones (tensor2tensor).
    training.label_smoothing = 0.1
    training.label_smoothing_formula = "uniform"
    # Splits a batch into this many parts, one after another, to save memory; the
    # gradient stays that of the whole batch.
    training.num_micro_batches = 1
    # A run whose weights to start from; its tokenizer is taken over.
    training.init_from = placeholder(str)
    # Stops after this many validations without a better score; 0: never.
    training.patience = 0
    # Stops when this many updates in a row had gradients that are not finite.
    training.max_skipped_updates = 10
    training.log_every_steps = 100
    return training


def _decoding() -> ml_collections.ConfigDict:
    """Beam search (Section 6.1)."""
    decoding = ml_collections.ConfigDict()
    decoding.beam_size = 4
    decoding.alpha = 0.6
    # "gnmt": ((5 + length) / 6)^alpha (paper); "length": length^alpha.
    decoding.length_penalty = "gnmt"
    # A translation has at most this many pieces more than its source.
    decoding.max_extra_length = 50
    # Source pieces in a batch of sentences to translate, padding included.
    decoding.tokens_per_batch = 4_096
    return decoding


def _evaluation() -> ml_collections.ConfigDict:
    """What happens on the validation split during training."""
    evaluation = ml_collections.ConfigDict()
    evaluation.every_steps = 2_000
    # 1 is greedy: quicker, and a little lower, than the beam of `decoding`.
    evaluation.beam_size = 4
    return evaluation


def _checkpoints() -> ml_collections.ConfigDict:
    checkpoints = ml_collections.ConfigDict()
    # 0 switches a cadence off.
    checkpoints.every_steps = 2_000
    checkpoints.every_minutes = 10.0
    # How many sets of weights to keep, to be averaged (Section 6.1), beside the best.
    # The full state is kept for the newest two.
    checkpoints.keep_weights = 5
    return checkpoints


def _sharding() -> ml_collections.ConfigDict:
    sharding = ml_collections.ConfigDict()
    # Devices that share the rows of a batch; 0: all there are.
    sharding.data = 0
    return sharding
