"""WMT14 English-German as tensor2tensor's transformer_base_v3 trains it.

python -m transformer_jax train --config=configs/wmt14_ende_tensor2tensor.py \
    --workdir=RUN

Not the text of the paper but its authors' later recipe. Each value was read in the last
commit of github.com/tensorflow/tensor2tensor (bafdc1b, 2023), folder tensor2tensor/;
the comments name file and function. `transformer_base_v3` in models/transformer.py
builds on `transformer_base_v2` and `_v1` there, and these on `basic_params1` in
layers/common_hparams.py.

What it has like the paper needs no line here: six layers, d_model 512, d_ff 2048, eight
heads, dropout 0.1 after sub-layers and on the embedded input (v2,
layer_prepostprocess_dropout), ReLU with biases in the feed-forward and no biases in
attention (layers/common_layers.py, dense_relu_dense; layers/common_attention.py,
compute_attention_component), one matrix for both embeddings and the logits, multiplied
by the root of d_model in the lookup alone (layers/modalities.py, _symbol_bottom_simple
and symbol_top), Adam's beta1 0.9 and epsilon 1e-9, no clipping, smoothing 0.1 (v1).
Where the paper is silent, the default follows it already: norms with epsilon 1e-6
(layers/common_hparams.py, basic_params1), an embedding of deviation d_model^-0.5
(layers/modalities.py, get_weights), other matrices uniform by the mean of their fans
(utils/optimize.py, get_variable_initializer), at most 256 pieces a side (v1).

What it has and this config has not: a vector for the task, added to the source
(use_target_space_embedding); a zero vector in place of BOS; a learning rate one step
behind, zero at the first; 4096 tokens of the longer side on each device, not 25 000 on
all of them together; sub-words of its own, some 32 000; float32. Steps and search are
the paper's.
"""

import ml_collections

from transformer_jax.config import default


def get_config() -> ml_collections.ConfigDict:
    """The base model with what tensor2tensor does otherwise."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.tfds.name = "wmt14_translate/de-en"
    config.model.update(
        # v2: layer_preprocess_sequence="n", layer_postprocess_sequence="da". Then
        # transformer_encoder and transformer_decoder norm what they return.
        norm_position="pre",
        # v2: attention_dropout and relu_dropout.
        attention_dropout_rate=0.1,
        feed_forward_dropout_rate=0.1,
        # layers/common_attention.py, get_timing_signal_1d.
        sinusoid_layout="tensor2tensor",
        dtype="bfloat16",
        vocab_multiple=128,
    )
    config.optimizer.update(
        # v3: learning_rate_constant=2.0 times linear_warmup, rsqrt_decay and
        # rsqrt_hidden_size (utils/learning_rate.py): 2 * min(1, n / 8000) *
        # max(n, 8000)^-0.5 * 512^-0.5, twice the paper's formula. In the older way of
        # v2 the same 2 is learning_rate=0.2 times 5000 times 0.002.
        factor=2.0,
        # v2: learning_rate_warmup_steps.
        warmup_steps=8_000,
        # v3: optimizer_adam_beta2.
        beta2=0.997,
    )
    # layers/common_layers.py, smoothing_cross_entropy: (1 - confidence) / (V - 1) on
    # each wrong piece. The loss that it logs is lower, by the entropy of these targets.
    config.training.label_smoothing_formula = "others"
    return config
