"""The kinds of tokenizers, told apart by what is in their file."""

import os

from transformer_jax.data.tokenizer import Tokenizer
from transformer_jax.data.word_pieces import WordPieces
from transformer_jax.files import as_path

AnyTokenizer = Tokenizer | WordPieces

# What the first line of a vocab.txt is, in every BERT there is.
_FIRST_PIECE = b"[PAD]"


def read_tokenizer(path: str | os.PathLike[str]) -> AnyTokenizer:
    """Open a sentencepiece model, or a vocab.txt of word pieces.

    Raises:
      UserError: if it is neither.
    """
    return WordPieces(path) if _lists_pieces(path) else Tokenizer(path)


def _lists_pieces(path: str | os.PathLike[str]) -> bool:
    try:
        with as_path(path).open("rb") as file:
            return file.read(len(_FIRST_PIECE)) == _FIRST_PIECE
    except OSError:  # The tokenizer says it better.
        return False
