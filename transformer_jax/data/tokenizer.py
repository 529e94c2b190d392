"""Sub-word tokens: a sentencepiece BPE model, trained, loaded and used (Section 5.1).

The paper shares one vocabulary of byte-pair encodings between source and target. Byte
fallback is not in the paper: characters outside the vocabulary become the bytes of
their UTF-8 form, so no input is ever lost to the unknown token.
"""

import hashlib
import io
import os
import pathlib
import random
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import sentencepiece

from transformer_jax.data.lines import describe_dead_link, is_blank
from transformer_jax.data.text_source import TextSource
from transformer_jax.errors import UserError
from transformer_jax.files import as_path, write_atomically

# sentencepiece's rules, and one of our own: its case folding turns the German sharp s
# into ss.
_LOWERCASE = "lowercase"
NORMALIZERS = ("identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf", _LOWERCASE)

# What hides a token, where a vocabulary has it.
MASK_PIECE = "<mask>"

# Tokens that a trained vocabulary has whatever the text is.
NUM_BYTES_AND_SPECIALS = 256 + 4

# sentencepiece writes a space as U+2581, so a literal U+2581 would come back as a
# space. It travels as its three bytes instead, by way of a character the text lacks.
_SPACE_MARK = "\u2581"
_NONCHARACTERS = [chr(code) for code in range(0xFDD0, 0xFDF0)]

# sentencepiece learns nothing, without a word, from a sentence of more bytes than this,
# nor from one with the character that it writes for unknown ones.
_MAX_BYTES = 4192
_UNKNOWN_MARK = "\u2585"
_MAX_PART = _MAX_BYTES // 4  # Characters; UTF-8 takes at most four bytes for one.

# Texts that are read together for a sample.
_TEXTS_AT_ONCE = 4096


class SpecialIds(NamedTuple):
    """Ids with a meaning of their own, read from the tokenizer.

    Attributes:
      pad: stands for nothing.
      bos: opens a sentence.
      eos: closes a sentence.
      mask: hides a piece; None: there is none.
      first_text: pieces from here on are text.
      vocab_size: number of pieces.
    """

    pad: int
    bos: int
    eos: int
    mask: int | None = None
    first_text: int = 0
    vocab_size: int = 0


def sample_sentences(
    source: TextSource,
    tokenizer_sentences: int,
    seed: int = 0,
    num_sentences: int | None = None,
) -> Iterator[str]:
    """Yield some texts' sentences, all of each, in the order of the source.

    Args:
      source: of the texts.
      tokenizer_sentences: how many at most, those of all texts together.
      seed: of the choice.
      num_sentences: of a text, without its labels; None: all that it has.
    """
    num_texts = tokenizer_sentences // len(source[0][:num_sentences])
    indices: Sequence[int] = range(len(source))
    if len(source) > num_texts:
        indices = sorted(random.Random(seed).sample(range(len(source)), num_texts))
    for start in range(0, len(indices), _TEXTS_AT_ONCE):
        for text in source.gather(indices[start : start + _TEXTS_AT_ONCE]):
            yield from text[:num_sentences]


def train_tokenizer(
    sentences: Iterable[str],
    path: str | os.PathLike[str],
    *,
    vocab_size: int,
    normalizer: str = "identity",
    control_pieces: Sequence[str] = (),
    character_coverage: float = 0.9999,
) -> None:
    """Train a joint BPE model and write it to `path`, whole or not at all.

    The same sentences always give the same file. Under every normaliser outer spaces go
    and runs of spaces (U+0020 alone) become one, so that a stray space at the end of a
    line does not change a translation; "identity" changes nothing else.

    Args:
      sentences: text of both languages, one sentence each.
      path: where the model goes.
      vocab_size: number of tokens, the four special ones and 256 bytes included.
      normalizer: one of `NORMALIZERS`; "lowercase" makes each letter small and leaves
        all else. It goes into the model, and so acts wherever the model is used.
      control_pieces: pieces that no text becomes, such as `MASK_PIECE`.
      character_coverage: share of the text's characters that get a token of their own;
        the rare rest is written in bytes.

    Raises:
      UserError: if the text is empty, or too small or too varied for `vocab_size`.
    """
    if normalizer not in NORMALIZERS:
        raise UserError(
            f"Unknown normalizer {normalizer!r}. Choose one of "
            f"{', '.join(NORMALIZERS)}."
        )
    model = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        if normalizer == _LOWERCASE:
            rules = pathlib.Path(folder) / "lowercase.tsv"
            rules.write_text("".join(_lowercase_rules()), encoding="ascii")
            rule: dict[str, Any] = {"normalization_rule_tsv": str(rules)}
        else:
            rule = {"normalization_rule_name": normalizer}
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=_learnable(sentences),
                model_writer=model,
                model_type="bpe",
                vocab_size=vocab_size,
                character_coverage=character_coverage,
                byte_fallback=True,
                pad_id=0,
                bos_id=1,
                eos_id=2,
                unk_id=3,
                control_symbols=list(control_pieces),
                minloglevel=2,
                **rule,
            )
        except RuntimeError as error:
            raise _explain_training_error(str(error), vocab_size) from error
    with write_atomically(path) as file:
        file.write(model.getvalue())


def _learnable(sentences: Iterable[str]) -> Iterator[str]:
    """Yield sentences that sentencepiece passes over in parts, all others as they are.

    Parts end at spaces where there are any; no piece reaches over one anyway.
    """
    for sentence in sentences:
        sentence = sentence.replace(_UNKNOWN_MARK, " ")
        if len(sentence) <= _MAX_PART or len(sentence.encode()) <= _MAX_BYTES:
            yield sentence
            continue
        start = 0
        while start < len(sentence):
            stop = start + _MAX_PART
            space = sentence.rfind(" ", start + 1, stop)
            if space > 0 and stop < len(sentence):
                stop = space
            yield sentence[start:stop]
            start = stop


def _lowercase_rules() -> Iterator[str]:
    """Yield a line for each letter with a small form: code points in hexadecimal."""
    for code in range(sys.maxunicode + 1):
        letter = chr(code)
        if (small := letter.lower()) != letter:
            yield f"{code:X}\t{' '.join(f'{ord(part):X}' for part in small)}\n"


def _explain_training_error(message: str, vocab_size: int) -> Exception:
    """Turn sentencepiece's account of a failed training into advice."""
    if match := re.search(r"Vocabulary size too high.*value <= (\d+)", message):
        return UserError(
            f"The text is too small for a vocabulary of {vocab_size} tokens. The "
            f"largest possible is {match[1]}: set vocab_size to {match[1]} or less, or "
            "give more text."
        )
    if match := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return UserError(
            f"A vocabulary of {vocab_size} tokens cannot hold the 256 bytes, the "
            f"special tokens and every character of the text: that takes {match[1]}. "
            f"Set vocab_size to more than {match[1]}."
        )
    if "!sentences_.empty()" in message:
        return UserError(
            "There is no text to train a tokenizer on: every sentence is empty. Check "
            "the training files."
        )
    return RuntimeError(message)


class Tokenizer:
    """A sentencepiece model read from a file.

    Attributes:
      path: the file.
      fingerprint: sha256 of the file.
      vocab_size: number of tokens.
      pad_id, bos_id, eos_id, unk_id: ids of the special tokens, as the model says.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Read the model.

        Raises:
          UserError: if there is no such model, or its special tokens are not four
            different ones.
        """
        path = as_path(path)
        self.path = str(path)
        try:
            model = path.read_bytes()
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
            self.vocab_size: int = self._processor.vocab_size()
            # A damaged model may have pieces that are no text, and show it only here.
            self._processor.id_to_piece(list(range(self.vocab_size)))
        except OSError as error:
            reason = describe_dead_link(path) or error.strerror
            raise UserError(
                f"Cannot read the tokenizer {path}: {reason}. Name a sentencepiece "
                "model file."
            ) from error
        except (RuntimeError, UnicodeDecodeError) as error:
            raise UserError(
                f"{path} is not a sentencepiece model, or a damaged one. Name a file "
                "that sentencepiece wrote, usually called *.model."
            ) from error
        self.fingerprint = hashlib.sha256(model).hexdigest()
        self.pad_id: int = self._processor.pad_id()
        self.bos_id: int = self._processor.bos_id()
        self.eos_id: int = self._processor.eos_id()
        self.unk_id: int = self._processor.unk_id()
        self._check_special_ids()
        self._specials = self._find_specials()
        self._space_mark_ids = [
            self._processor.piece_to_id(f"<0x{byte:02X}>")
            for byte in _SPACE_MARK.encode()
        ]

    @property
    def has_byte_fallback(self) -> bool:
        """Whether characters outside the vocabulary become bytes, not unknown."""
        return self.unk_id not in self._space_mark_ids

    @property
    def specials(self) -> SpecialIds:
        """The ids that batches need."""
        return self._specials

    def encode(self, sentences: Sequence[str], num_threads: int = 1) -> list[list[int]]:
        """Return the ids of each sentence, without special tokens.

        Text never turns into a control token: "<s>" is encoded as three characters. A
        line that shows nothing is an empty one, whatever invisible characters it has.

        Raises:
          TypeError: if a string is given in place of a list of them.
        """
        if isinstance(sentences, str):
            raise TypeError(
                f"expected a list of sentences, got the single string {sentences!r}"
            )
        ids = self._processor.encode(list(sentences), num_threads=num_threads)
        for i, sentence in enumerate(sentences):
            if is_blank(sentence):
                ids[i] = []
            elif _SPACE_MARK in sentence:
                ids[i] = self._encode_with_space_mark(sentence)
        return ids

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        r"""Return the text of each sequence; padding, BOS and EOS leave no trace.

        A sentence is one line: should a model ever emit the byte of "\n", it becomes a
        space. Bytes that are not UTF-8 become U+FFFD.
        """
        plain = [[int(i) for i in sentence] for sentence in ids]
        return [text.replace("\n", " ") for text in self._processor.decode(plain)]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return each id as it is written in the vocabulary."""
        return [self._processor.id_to_piece(int(i)) for i in ids]

    def _encode_with_space_mark(self, sentence: str) -> list[int]:
        """Encode a sentence in which U+2581 stands for itself, not for a space."""
        stand_in = next((c for c in _NONCHARACTERS if c not in sentence), None)
        if stand_in is None or not self.has_byte_fallback:
            return self._processor.encode(sentence)
        marked = self._processor.encode(sentence.replace(_SPACE_MARK, stand_in))
        stand_in_ids = [
            self._processor.piece_to_id(f"<0x{byte:02X}>") for byte in stand_in.encode()
        ]
        ids: list[int] = []
        for token in marked:
            ids.append(token)
            if ids[-3:] == stand_in_ids:
                ids[-3:] = self._space_mark_ids
        return ids

    def _find_specials(self) -> SpecialIds:
        processor = self._processor
        mask = processor.piece_to_id(MASK_PIECE)
        reserved = [
            i
            for i in range(self.vocab_size)
            if processor.is_control(i)
            or processor.is_unknown(i)
            or processor.is_byte(i)
            or processor.is_unused(i)
        ]
        return SpecialIds(
            pad=self.pad_id,
            bos=self.bos_id,
            eos=self.eos_id,
            mask=mask if processor.is_control(mask) else None,
            first_text=max(reserved) + 1,
            vocab_size=self.vocab_size,
        )

    def _check_special_ids(self) -> None:
        ids = {
            "pad": self.pad_id,
            "bos": self.bos_id,
            "eos": self.eos_id,
            "unk": self.unk_id,
        }
        missing = [name for name, i in ids.items() if i < 0]
        if missing or len(set(ids.values())) < len(ids):
            fault = f"lacks {' and '.join(missing)}" if missing else "shares an id"
            raise UserError(
                f"The tokenizer {self.path} {fault} among its special tokens: {ids}. "
                "Four different ids are needed. Train it with --pad_id=0 --bos_id=1 "
                "--eos_id=2 --unk_id=3."
            )
