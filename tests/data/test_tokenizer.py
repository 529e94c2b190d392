import pytest
import sentencepiece

from transformer_jax.data.tokenizer import (
    Tokenizer,
    sample_sentences,
    train_tokenizer,
)
from transformer_jax.errors import UserError

TEXT = [
    f"the {size} {colour} {animal} sees a {thing} , and it is {size} ."
    for size in ("small", "large", "tiny")
    for colour in ("red", "green", "black", "white")
    for animal in ("dog", "cat", "horse", "mouse", "bird")
    for thing in ("house", "river", "street", "tree")
]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("tokenizer") / "joint.model"
    train_tokenizer(TEXT, path, vocab_size=350)
    assert [file.name for file in path.parent.iterdir()] == ["joint.model"]
    return Tokenizer(path)


def test_special_ids_are_fixed_and_text_uses_none_of_them(tokenizer):
    assert (tokenizer.pad_id, tokenizer.bos_id) == (0, 1)
    assert (tokenizer.eos_id, tokenizer.unk_id) == (2, 3)
    specials = tokenizer.specials
    assert (specials.pad, specials.bos, specials.eos, specials.mask) == (0, 1, 2, None)
    assert (specials.first_text, specials.vocab_size) == (4 + 256, tokenizer.vocab_size)
    assert tokenizer.vocab_size == 350
    nasty = ["<s>", "</s> <unk>", "<pad>", "<0x41>", "⁇", "\u2581", "∑ \u2047", "\0"]
    assert all(i > 3 for ids in tokenizer.encode(nasty) for i in ids)


@pytest.mark.parametrize(
    "text",
    [
        "the small red dog sees a house .",
        "",
        "unseen: 漢字 नमस्ते Ωμέγα 👩‍👩‍👧 é e\u0301 ﬁ …",
        "<s> </s> <unk> <pad> <0x41>",
        "\u2581",
        "a\u2581b \u2581 c\u2581\u2581",
        "\ufdd0\u2581\ufdd1",
        "tab\there, nul\0, bell\a, return\r, escape\x1b",
        "\u2028\u2029\x85\v\f\xa0\u3000\u200b\ufeffx",
        "\U0010ffff\ufffd",
        "long " * 3000 + "end",
    ],
)
def test_identity_brings_text_back_unchanged(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode([text])) == [text]


def test_outer_and_repeated_spaces_change_no_token(tokenizer):
    plain, spaced = tokenizer.encode(["the dog .", "  the   dog . "])
    assert plain == spaced
    assert tokenizer.encode(["   "]) == [[]]


@pytest.mark.parametrize("line", ["\u200b", "\xad\ufeff", "\t\0\u2060 ", "\u3164"])
def test_a_line_of_invisible_characters_alone_has_no_tokens(tokenizer, line):
    assert tokenizer.encode([line, f"{line}a"])[0] == []
    assert tokenizer.encode([f"{line}a"])[0]


def test_a_list_keeps_its_order_with_threads(tokenizer):
    one_by_one = [tokenizer.encode([text])[0] for text in TEXT]
    assert tokenizer.encode(TEXT, num_threads=3) == one_by_one
    assert tokenizer.encode([]) == []
    assert tokenizer.decode([]) == []


def test_decoding_hides_special_tokens_and_never_breaks_a_line(tokenizer):
    (ids,) = tokenizer.encode(["the dog"])
    assert tokenizer.decode([[1, *ids, 2, 0, 0]]) == ["the dog"]
    newline = tokenizer.encode(["a\nb"])
    assert tokenizer.decode(newline) == ["a b"]
    half = tokenizer.encode(["é"])[0][:-1]
    assert tokenizer.decode([half]) in (["\ufffd"], [""])


def test_pieces_are_written_as_in_the_vocabulary(tokenizer):
    assert tokenizer.pieces([0, 1, 2, 3]) == ["<pad>", "<s>", "</s>", "<unk>"]
    assert "".join(tokenizer.pieces(tokenizer.encode(["the dog"])[0])) == "▁the▁dog"


def test_training_is_deterministic_and_follows_the_text(tokenizer, tmp_path):
    train_tokenizer(iter(TEXT), tmp_path / "again", vocab_size=350)
    train_tokenizer(TEXT[1:], tmp_path / "other", vocab_size=350)
    assert Tokenizer(tmp_path / "again").fingerprint == tokenizer.fingerprint
    assert Tokenizer(tmp_path / "other").fingerprint != tokenizer.fingerprint


def test_a_normalizer_can_be_chosen(tokenizer, tmp_path):
    train_tokenizer(TEXT, tmp_path / "model", vocab_size=350, normalizer="nmt_nfkc_cf")
    folding = Tokenizer(tmp_path / "model")
    assert folding.decode(folding.encode(["Ｔｈｅ Dog…"])) == ["the dog..."]
    assert tokenizer.decode(tokenizer.encode(["Ｔｈｅ Dog…"])) == ["Ｔｈｅ Dog…"]
    with pytest.raises(UserError, match="Unknown normalizer 'nfd'. Choose one of"):
        train_tokenizer(TEXT, tmp_path / "model", vocab_size=350, normalizer="nfd")


def test_lowercase_makes_letters_small_and_leaves_all_else(tmp_path):
    train_tokenizer(TEXT, tmp_path / "model", vocab_size=350, normalizer="lowercase")
    small = Tokenizer(tmp_path / "model")
    # Not case folding, which would write strasse; not NFKC, which would write 1/2.
    (text,) = small.decode(small.encode(["DIE Straße, Ärger ΣΙ İ ½ \u00a0X"]))
    assert text == "die straße, ärger σι i\u0307 ½ \u00a0x"


def test_a_vocabulary_too_large_for_the_text_names_the_largest_possible(tmp_path):
    path = tmp_path / "model"
    with pytest.raises(UserError, match="largest possible is") as error:
        train_tokenizer(["a b c d", "a b"], path, vocab_size=1000)
    assert not path.exists()
    largest = int(str(error.value).split("largest possible is ")[1].split(":")[0])
    train_tokenizer(["a b c d", "a b"], path, vocab_size=largest)
    assert Tokenizer(path).vocab_size == largest


def test_a_vocabulary_too_small_for_the_bytes_is_refused(tmp_path):
    with pytest.raises(UserError, match="vocabulary of 100 tokens cannot hold"):
        train_tokenizer(TEXT, tmp_path / "model", vocab_size=100)


@pytest.mark.parametrize("sentences", [[], ["", ""]])
def test_training_on_no_text_is_refused(tmp_path, sentences):
    with pytest.raises(UserError, match="no text to train a tokenizer on"):
        train_tokenizer(sentences, tmp_path / "model", vocab_size=300)


@pytest.mark.parametrize("word", ["Katzenklappe", "漢字仮名"])
@pytest.mark.parametrize("separator", [" ", ""])
def test_lines_of_any_length_are_learnt_from(tmp_path, word, separator):
    long = separator.join([word] * 2000)
    train_tokenizer([*TEXT, long], tmp_path / "model", vocab_size=370)
    learnt = Tokenizer(tmp_path / "model")
    assert len(learnt.encode([word])[0]) <= len(word) // 2
    train_tokenizer([long], tmp_path / "alone", vocab_size=270)


def test_a_sentence_with_a_block_element_is_learnt_from(tmp_path):
    train_tokenizer(TEXT, tmp_path / "plain", vocab_size=350)
    marked = [sentence.replace(" ", " \u2585 ", 1) for sentence in TEXT]
    train_tokenizer(marked, tmp_path / "marked", vocab_size=350)
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "marked").read_bytes()


def test_odd_training_text_does_no_harm(tmp_path):
    odd = ["nul\0inside", "x" * 50_000, "\u2581 \u2028", *TEXT]
    train_tokenizer(odd, tmp_path / "model", vocab_size=350)
    odd = Tokenizer(tmp_path / "model")
    assert odd.decode(odd.encode(["the dog", "a\u2581b"])) == ["the dog", "a\u2581b"]


def test_models_without_four_different_special_ids_are_refused(tmp_path):
    for name, ids in [
        ("no_pad", dict(pad_id=-1)),
        ("no_bounds", dict(pad_id=3, bos_id=-1, eos_id=-1)),
    ]:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXT),
            model_prefix=str(tmp_path / name),
            vocab_size=40,
            minloglevel=2,
            **ids,
        )
        with pytest.raises(UserError, match=f"{name}.model lacks .*Train it with"):
            Tokenizer(tmp_path / f"{name}.model")


def test_a_file_that_is_no_model_is_refused(tmp_path):
    (tmp_path / "text").write_text("not a model")
    with pytest.raises(UserError, match="text is not a sentencepiece model"):
        Tokenizer(tmp_path / "text")
    with pytest.raises(UserError, match="Cannot read the tokenizer .*absent"):
        Tokenizer(tmp_path / "absent")
    (tmp_path / "link").symlink_to("gone")
    with pytest.raises(UserError, match="link is a link to gone, which does not exist"):
        Tokenizer(tmp_path / "link")


class _Numbers:
    drops: dict[str, int] = {}

    def __len__(self):
        return 50

    def __getitem__(self, index):
        return f"s{index}", f"t{index}"

    def gather(self, indices):
        return [self[index] for index in indices]

    def fingerprint(self):
        return "numbers"


def test_a_sample_has_both_sides_of_distinct_pairs_and_is_deterministic():
    everything = list(sample_sentences(_Numbers(), 100))
    assert everything == [f"{side}{i}" for i in range(50) for side in "st"]
    some = list(sample_sentences(_Numbers(), 15, seed=1))
    assert len(set(some)) == 14
    assert [text[1:] for text in some[::2]] == [text[1:] for text in some[1::2]]
    assert some == list(sample_sentences(_Numbers(), 15, seed=1))
    assert some != list(sample_sentences(_Numbers(), 15, seed=2))


def test_a_string_in_place_of_a_list_is_refused(tokenizer):
    with pytest.raises(TypeError, match="list of sentences, got the single string 'a"):
        tokenizer.encode("a dog")
