"""WordPiece: the vocabulary of a BERT, as its vocab.txt lists it."""

import hashlib
import os
from collections.abc import Sequence
from typing import Any

from transformer_jax.data.tokenizer import SpecialIds
from transformer_jax.errors import UserError
from transformer_jax.files import as_path

_PAD, _UNK, _OPEN, _CLOSE, _MASK = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"


class WordPieces:
    """Splits text as BERT does, by the package tokenizers; used as a `Tokenizer` is.

    A vocabulary without a capital letter makes letters small and drops accents.

    Attributes:
      path: of the vocabulary.
      vocab_size: number of pieces.
      fingerprint: sha256 of the file.
      pad_id, bos_id, eos_id, unk_id: of [PAD], [CLS], [SEP] and [UNK].
      has_byte_fallback: False; what the pieces cannot spell is unknown.
    """

    has_byte_fallback = False

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Read a vocabulary.

        Raises:
          UserError: if it is none, or the package is missing.
        """
        self.path = str(path)
        content = as_path(path).read_bytes()
        try:
            pieces = content.decode().split("\n")
        except UnicodeDecodeError as error:
            raise UserError(f"{path} is no vocab.txt: it is not UTF-8.") from error
        pieces = [piece.rstrip("\r") for piece in pieces]
        while pieces and not pieces[-1]:
            pieces.pop()
        numbers = {piece: number for number, piece in enumerate(pieces)}
        wanted = (_PAD, _UNK, _OPEN, _CLOSE, _MASK)
        if missing := [piece for piece in wanted if piece not in numbers]:
            raise UserError(
                f"{path} is no vocab.txt of a BERT: it lacks {', '.join(missing)}."
            )
        if len(numbers) != len(pieces):
            raise UserError(f"{path} has pieces that stand there twice.")
        self.fingerprint = hashlib.sha256(content).hexdigest()
        self.vocab_size = len(pieces)
        self.pad_id, self.unk_id = numbers[_PAD], numbers[_UNK]
        self.bos_id, self.eos_id = numbers[_OPEN], numbers[_CLOSE]
        self._pieces = pieces
        reserved = [
            number
            for piece, number in numbers.items()
            if piece in wanted or piece.startswith("[unused")
        ]
        self.specials = SpecialIds(
            pad=self.pad_id,
            bos=self.bos_id,
            eos=self.eos_id,
            mask=numbers[_MASK],
            first_text=max(reserved) + 1,
            vocab_size=self.vocab_size,
        )
        is_lowercase = all(
            piece == piece.lower() for piece in pieces if not piece.startswith("[")
        )
        self._tokenizer = _make_tokenizer(numbers, is_lowercase)

    def encode(self, sentences: Sequence[str], num_threads: int = 1) -> list[list[int]]:
        """Return the ids of each sentence, without special tokens.

        Raises:
          TypeError: if a string is given in place of a list of them.
        """
        if isinstance(sentences, str):
            raise TypeError(f"expected a list of sentences, got {sentences!r}")
        found = self._tokenizer.encode_batch_fast(
            list(sentences), add_special_tokens=False
        )
        return [encoding.ids for encoding in found]

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each sequence, as far as pieces keep it."""
        return [self._tokenizer.decode(list(sequence)) for sequence in ids]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return what stands for each id in the vocabulary."""
        return [self._pieces[number] for number in ids]


def _make_tokenizer(numbers: dict[str, int], is_lowercase: bool) -> Any:
    try:
        import tokenizers
    except ImportError as error:
        raise UserError(
            "A vocab.txt needs the package tokenizers. Install it: pip install "
            "'transformer-jax[huggingface]'."
        ) from error
    model = tokenizers.models.WordPiece(
        numbers, unk_token=_UNK, max_input_chars_per_word=100
    )
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=is_lowercase)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = tokenizers.decoders.WordPiece()
    return tokenizer
