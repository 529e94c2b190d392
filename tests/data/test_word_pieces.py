import numpy as np
import pytest

from transformer_jax.data.marked_words import MarkedWords, unmark
from transformer_jax.data.tokenizer_file import read_tokenizer
from transformer_jax.data.word_pieces import WordPieces
from transformer_jax.errors import UserError

pytest.importorskip("tokenizers", reason="needs the extra huggingface")
PIECES = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES += ["the", "dog", "sleep", "##s", ".", "u", "s"]


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    return path


def test_pieces_worked_out_by_hand(vocabulary):
    pieces = read_tokenizer(vocabulary)
    assert isinstance(pieces, WordPieces)
    assert pieces.encode(["The dóg sleeps.", "", "The zebra"]) == [
        [6, 7, 8, 9, 10],
        [],
        [6, 2],
    ]
    assert pieces.pieces([8, 9]) == ["sleep", "##s"]
    assert pieces.decode([[6, 7, 8, 9]]) == ["the dog sleeps"]
    assert (pieces.vocab_size, pieces.unk_id) == (13, 2)
    specials = pieces.specials
    assert (specials.pad, specials.bos, specials.eos, specials.mask) == (0, 3, 4, 5)
    assert specials.first_text == 6


def test_a_vocabulary_with_capitals_keeps_them(vocabulary):
    vocabulary.write_text("\n".join([*PIECES, "The"]), encoding="utf-8")
    assert read_tokenizer(vocabulary).encode(["The the"]) == [[13, 6]]


def test_words_begin_where_spaces_part_them_not_where_pieces_do(vocabulary):
    marked = MarkedWords(read_tokenizer(vocabulary))
    (numbers,) = marked.encode(["U.S. sleeps \u200b the"])
    pieces, is_first = unmark(np.array(numbers))
    # u . s . | sleep ##s | a word without any piece | the
    assert pieces.tolist() == [11, 10, 12, 10, 8, 9, 2, 6]
    assert is_first.tolist() == [1, 0, 0, 0, 1, 0, 1, 1]
    assert max(numbers) < marked.vocab_size


def test_what_is_no_vocabulary_is_refused(vocabulary):
    vocabulary.write_text("[PAD]\n[UNK]\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"lacks \[CLS\], \[SEP\], \[MASK\]"):
        read_tokenizer(vocabulary)
    vocabulary.write_text("\n".join([*PIECES, "dog"]), encoding="utf-8")
    with pytest.raises(UserError, match="twice"):
        read_tokenizer(vocabulary)
    vocabulary.write_bytes(b"[PAD]\n\xff\n")
    with pytest.raises(UserError, match="not UTF-8"):
        read_tokenizer(vocabulary)
