"""BERT: an encoder that is pre-trained on text alone (Devlin et al. 2018).

Its layers are the Transformer's encoder layers, with biases and GELU. Around them stand
embeddings of tokens, positions and token types, and three heads: two for pre-training,
which predict hidden tokens and whether the second sentence follows the first, and the
one layer that is added for classes.
"""

import flax.linen as nn
import jax
import jax.numpy as jnp

from transformer_jax.models.bert_config import BertConfig
from transformer_jax.models.dropout import Dropout, DropoutBits
from transformer_jax.models.embeddings import mask_padded_vocabulary
from transformer_jax.models.layers import ACTIVATIONS, Linear, flat_product
from transformer_jax.models.masks import Visibility
from transformer_jax.models.norms import LayerNorm
from transformer_jax.models.operations import encoder_flops
from transformer_jax.models.parameters import parameter
from transformer_jax.models.segments import take
from transformer_jax.models.stacks import Encoder

_ROW = jax.ShapeDtypeStruct((1, 1), jnp.int32)
# What the model is called with, in the least shape: enough to make parameters from.
# Each call makes the head that it uses.
PRETRAINING_INPUTS = {
    "tokens": _ROW,
    "segments": _ROW,
    "token_types": _ROW,
    "masked_places": _ROW,
}
CLASSIFICATION_INPUTS = {
    "tokens": _ROW,
    "segments": _ROW,
    "token_types": _ROW,
    "method": "classify",
}
TAGGING_INPUTS = {**CLASSIFICATION_INPUTS, "method": "tag"}


class Table(nn.Module):
    """One learned vector for each number.

    Attributes:
      num_rows: how many numbers there are.
      d_model: width of the vectors.
      axis: logical name of the rows.
      init_stddev: of the vectors at the start.
    """

    num_rows: int
    d_model: int
    axis: str
    init_stddev: float

    def setup(self) -> None:
        init = nn.initializers.truncated_normal(self.init_stddev)
        shape = (self.num_rows, self.d_model)
        self.embedding = parameter(
            self, "embedding", init, (self.axis, "d_model"), shape
        )

    def __call__(self, numbers: jax.Array) -> jax.Array:
        """Look up [batch, length] numbers: float32 [batch, length, d_model]."""
        return jnp.take(self.embedding, numbers, axis=0)


class TokenPrediction(nn.Module):
    """The head that predicts tokens: a layer, then the token table (Section 3.1).

    Attributes:
      config: of the model.
    """

    config: BertConfig

    def setup(self) -> None:
        config = self.config
        self.transform = _square(config)
        self.norm = LayerNorm(config.norm_epsilon, config.dtype)
        zeros, shape = nn.initializers.zeros, (config.vocab_width,)
        self.bias = parameter(self, "bias", zeros, ("vocab",), shape)

    def __call__(self, x: jax.Array, table: jax.Array) -> jax.Array:
        """Score every piece.

        Args:
          x: [batch, places, d_model].
          table: of the tokens, [vocab_width, d_model].

        Returns:
          [batch, places, vocab_width] in `config.dtype`; the lowest finite number at
          padding rows of the vocabulary.
        """
        config = self.config
        x = self.norm(ACTIVATIONS[config.activation](self.transform(x)))
        logits = flat_product(x, table.T, 1, config.dtype) + self.bias[None, None]
        return mask_padded_vocabulary(logits.astype(config.dtype), config.vocab_size)


class Bert(nn.Module):
    """The encoder and its heads for pre-training (Devlin et al. 2018, Section 3).

    Segments number the inputs that share a row from 1 and are 0 on padding; `dropout`
    None means a deterministic pass.
    """

    config: BertConfig

    @property
    def layer_stacks(self) -> tuple[str, ...]:
        """The parts whose layers are equal; see `models.layer_scan`."""
        return ("encoder",)

    def setup(self) -> None:
        config = self.config

        def table(num_rows: int, axis: str) -> Table:
            return Table(num_rows, config.d_model, axis, config.init_stddev)

        self.token_embedding = table(config.vocab_width, "vocab")
        self.position_embedding = table(config.max_positions, "positions")
        self.type_embedding = table(config.num_token_types, "token_types")
        self.embedding_norm = LayerNorm(config.norm_epsilon, config.dtype)
        self.embedding_dropout = Dropout(config.dropout_rate)
        self.encoder = Encoder(config.encoder)
        self.pooler = _square(config)
        self.token_prediction = TokenPrediction(config)
        self.next_sentence = Linear(
            (config.d_model,),
            (2,),
            ("d_model",),
            ("classes",),
            use_bias=True,
            init_stddev=config.init_stddev,
        )
        self.classifier_dropout = Dropout(config.dropout_rate)
        self.classifier = Linear(
            (config.d_model,),
            (config.num_classes,),
            ("d_model",),
            ("classes",),
            use_bias=True,
            init_stddev=config.init_stddev,
        )

    def __call__(
        self,
        tokens: jax.Array,
        *,
        segments: jax.Array,
        token_types: jax.Array,
        masked_places: jax.Array,
        positions: jax.Array | None = None,
        dropout: DropoutBits | None = None,
    ) -> tuple[jax.Array, jax.Array]:
        """Predict what was hidden, and whether the second sentence follows the first.

        Args:
          tokens: [batch, length] int32.
          segments: [batch, length], 0 on padding.
          token_types: [batch, length], 0 for the first sentence, 1 for the second.
          masked_places: [batch, num_places], which tokens to predict. Only these meet
            the table of all pieces.
          positions: [batch, length]; None means 0, 1, ... in each row.
          dropout: randomness with `rows` [batch].

        Returns:
          logits: [batch, num_places, vocab_width] in `config.dtype`.
          is_next: logits float32 [batch, 2]; 0 stands for a sentence that follows.
        """
        x = self.encode(
            tokens,
            segments=segments,
            token_types=token_types,
            positions=positions,
            dropout=dropout,
        )
        table = self.token_embedding.embedding
        logits = self.token_prediction(take(x, masked_places), table)
        return logits, self.next_sentence(self.pool(x))

    def classify(
        self,
        tokens: jax.Array,
        *,
        segments: jax.Array,
        token_types: jax.Array,
        dropout: DropoutBits | None = None,
    ) -> jax.Array:
        """Score the classes of each row (Section 4, Figure 4a and b).

        Args:
          tokens: [batch, length] int32.
          segments: [batch, length], 0 on padding.
          token_types: [batch, length], 0 for the first sentence, 1 for the second.
          dropout: randomness with `rows` [batch].

        Returns:
          Logits [batch, 1, num_classes].
        """
        x = self.encode(
            tokens, segments=segments, token_types=token_types, dropout=dropout
        )
        return self.classifier(self.classifier_dropout(self.pool(x), dropout))[:, None]

    def tag(
        self,
        tokens: jax.Array,
        *,
        segments: jax.Array,
        token_types: jax.Array,
        dropout: DropoutBits | None = None,
    ) -> jax.Array:
        """Score the classes of each position (Section 4, Figure 4d).

        Returns:
          Logits [batch, length, num_classes].
        """
        x = self.encode(
            tokens, segments=segments, token_types=token_types, dropout=dropout
        )
        return self.classifier(self.classifier_dropout(x, dropout))

    def encode(
        self,
        tokens: jax.Array,
        *,
        segments: jax.Array,
        token_types: jax.Array,
        positions: jax.Array | None = None,
        dropout: DropoutBits | None = None,
    ) -> jax.Array:
        """Return a vector for each position; arguments as those of a call.

        Returns:
          [batch, length, d_model].
        """
        if positions is None:
            positions = jnp.arange(tokens.shape[1])[None]
        x = (
            self.token_embedding(tokens)
            + self.type_embedding(token_types)
            + self.position_embedding(positions)
        )
        x = self.embedding_dropout(self.embedding_norm(x), dropout)
        return self.encoder(x, Visibility(segments, segments), dropout)

    def pool(self, x: jax.Array) -> jax.Array:
        """Turn [batch, length, d_model] into a vector for the row: [batch, d_model].

        It is made of the row's first position.
        """
        return jnp.tanh(self.pooler(x[:, 0]))

    @nn.nowrap
    def forward_flops(self, length: float, num_predictions: float) -> float:
        """Count the matrix products of a row; see `models.operations`.

        The pooler, and the prediction of the next sentence, are left out.

        Args:
          length: of the row.
          num_predictions: places in it that are predicted.
        """
        config = self.config
        width = config.num_classes or config.d_model + config.vocab_width
        head = 2 * num_predictions * config.d_model * width
        return encoder_flops(config.encoder, length) + head


def _square(config: BertConfig) -> Linear:
    """Return a map from d_model to d_model."""
    return Linear(
        (config.d_model,),
        (config.d_model,),
        ("d_model",),
        ("d_transformed",),
        use_bias=True,
        dtype=config.dtype,
        init_stddev=config.init_stddev,
    )
