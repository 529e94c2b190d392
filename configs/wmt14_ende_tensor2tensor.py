"""WMT14 English-German as tensor2tensor's transformer_base_v3 trains it.

python train.py --config=configs/wmt14_ende_tensor2tensor.py --workdir=RUN

Not the text of the paper but its authors' later recipe; each value is checked against
github.com/tensorflow/tensor2tensor (folder tensor2tensor/): `transformer_base_v1` to
`transformer_base_v3` in models/transformer.py, `smoothing_cross_entropy` in
layers/common_layers.py, `get_timing_signal_1d` in layers/common_attention.py.
"""

import ml_collections

from configs import default


def get_config() -> ml_collections.ConfigDict:
    """The base model with what tensor2tensor does otherwise."""
    config = default.get_config()
    config.data.source = "tfds"
    config.data.tfds.name = "wmt14_translate/de-en"
    config.model.update(
        # layer_preprocess_sequence="n", layer_postprocess_sequence="da"; each stack
        # ends with a norm.
        norm_position="pre",
        # attention_dropout and relu_dropout.
        attention_dropout_rate=0.1,
        feed_forward_dropout_rate=0.1,
        sinusoid_layout="tensor2tensor",
        dtype="bfloat16",
        vocab_multiple=128,
    )
    config.optimizer.update(
        # learning_rate_constant=2.0 times linear warm-up, rsqrt decay and rsqrt width.
        learning_rate_factor=2.0,
        warmup_steps=8_000,
        beta2=0.997,
    )
    # (1 - confidence) / (V - 1) on each wrong piece.
    config.training.label_smoothing_formula = "others"
    return config
