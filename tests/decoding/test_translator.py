import dataclasses

import jax
import numpy as np
import pytest

from transformer_jax.decoding import length_batches, search
from transformer_jax.decoding import translator as translate_module
from transformer_jax.decoding.beam_search import beam_search
from transformer_jax.decoding.translator import Translator
from transformer_jax.decoding.translator_settings import TranslatorSettings
from transformer_jax.errors import UserError
from transformer_jax.models.configs import TransformerConfig
from transformer_jax.models.parameters import init_params
from transformer_jax.models.transformer import Transformer


class LetterTokenizer:
    """One token for each character; some of them end a line somewhere in Unicode."""

    pad_id, bos_id, eos_id = 0, 1, 2
    letters = "abcdefg .\n\r\u2028"
    vocab_size = 3 + len(letters)

    def encode(self, sentences):
        return [[3 + self.letters.index(c) for c in text] for text in sentences]

    def decode(self, ids):
        return ["".join(self.letters[i - 3] for i in row) for row in ids]


TOKENIZER = LetterTokenizer()
MODEL = Transformer(
    TransformerConfig(
        source_vocab_size=TOKENIZER.vocab_size,
        target_vocab_size=TOKENIZER.vocab_size,
        vocab_multiple=8,
        num_encoder_layers=1,
        num_decoder_layers=2,
        d_model=16,
        d_ff=24,
        num_heads=2,
    )
)
SETTINGS = TranslatorSettings(
    beam_size=3, alpha=0.6, length_penalty="gnmt", max_extra_length=5,
    max_source_length=16, tokens_per_batch=64, block_size=32, num_best=3,
)  # fmt: skip
LINES = ["abc", "", "a", "gg gg", "   ", "dcba.", "fff", "b c", "e", "abcdefg. abcdef"]


@pytest.fixture(scope="module")
def params():
    """Random weights, larger than at the start, so that outputs differ."""
    params = init_params(MODEL, jax.random.key(0))
    return jax.tree.map(lambda leaf: leaf * 2.0 if leaf.ndim > 1 else leaf, params)


def make(params, **fields):
    settings = dataclasses.replace(SETTINGS, **fields)
    return Translator(MODEL, params, TOKENIZER, TOKENIZER, settings)


@pytest.fixture(scope="module")
def translator(params):
    return make(params)


@pytest.fixture(scope="module")
def translations(translator):
    return translator.translate(LINES)


def teacher_forced_log_probs(params, sources, targets):
    """Score targets, EOS included, in one pass over padded rows."""

    def rows(sentences):
        width = max(len(sentence) for sentence in sentences)
        padded = [[*row, *[TOKENIZER.pad_id] * (width - len(row))] for row in sentences]
        lengths = np.array([[len(row)] for row in sentences])
        return np.array(padded), (np.arange(width)[None, :] < lengths).astype(np.int32)

    source_tokens, source_segments = rows([[*s, TOKENIZER.eos_id] for s in sources])
    target_tokens, target_segments = rows(targets)
    inputs, _ = rows([[TOKENIZER.bos_id, *target[:-1]] for target in targets])
    logits = jax.jit(MODEL.apply)(
        {"params": params},
        source_tokens,
        inputs,
        source_segments=source_segments,
        target_segments=target_segments,
    )
    log_probs = np.asarray(jax.nn.log_softmax(logits))
    chosen = np.take_along_axis(log_probs, target_tokens[..., None], axis=-1)[..., 0]
    return (chosen * target_segments).sum(axis=1)


def test_one_translation_for_each_line_in_the_given_order(translator, translations):
    assert len(translations) == len(LINES)
    shuffled = [7, 3, 0, 9, 1, 4, 2, 8, 6, 5]
    again = translator.translate([LINES[i] for i in shuffled])
    for i, translation in zip(shuffled, again, strict=True):
        assert translation.text == translations[i].text
    assert translator.translate([]) == []


@pytest.mark.parametrize("line", [".", "...", " . . ", ".\u2028."])
def test_a_line_without_a_letter_or_digit_is_copied(translator, line):
    together = translator.translate(["abc", line, "a."])
    copy = " ".join(line.split())
    assert [candidate.text for candidate in together[1].candidates] == [copy]
    assert together[2] == translator.translate(["a."])[0]
    assert together[2].text != "a."


def test_empty_lines_come_out_empty(translations):
    for i in (1, 4):
        assert translations[i].text == ""
        assert [candidate.text for candidate in translations[i].candidates] == [""]


def test_scores_are_the_models_own_teacher_forced_log_probabilities(params):
    """Through the tokens themselves, which a text does not always tell."""
    decoded = []

    class Recorder(LetterTokenizer):
        def decode(self, ids):
            decoded.extend(ids)
            return [str(len(decoded) - len(ids) + i) for i in range(len(ids))]

    translator = Translator(MODEL, params, TOKENIZER, Recorder(), SETTINGS)
    lines = [line for line in LINES if line.strip()]
    candidates, sources, targets = [], [], []
    for line, translation in zip(lines, translator.translate(lines), strict=True):
        for candidate in translation.candidates:
            candidates.append(candidate)
            sources.append(TOKENIZER.encode([line])[0])
            targets.append([*decoded[int(candidate.text)], TOKENIZER.eos_id])
            assert len(targets[-1]) <= len(sources[-1]) + SETTINGS.max_extra_length
    assert len(candidates) >= 20
    expected = teacher_forced_log_probs(params, sources, targets)
    log_probs = [candidate.log_prob for candidate in candidates]
    np.testing.assert_allclose(log_probs, expected, atol=1e-4)
    penalties = [((5 + len(target)) / 6) ** 0.6 for target in targets]
    scores = [candidate.score for candidate in candidates]
    np.testing.assert_allclose(scores, expected / penalties, atol=1e-4)


def test_candidates_are_sorted_and_distinct(translations):
    for translation in translations:
        scores = [candidate.score for candidate in translation.candidates]
        texts = [candidate.text for candidate in translation.candidates]
        assert scores == sorted(scores, reverse=True)
        assert len(set(texts)) == len(texts) and translation.text == texts[0]


def test_batches_and_cache_growth_change_nothing(params, translations):
    for fields in ({"tokens_per_batch": 16}, {"block_size": 8}):
        again = make(params, **fields).translate(LINES)
        for one, other in zip(translations, again, strict=True):
            assert one.text == other.text
            scores = [candidate.score for candidate in one.candidates]
            again_scores = [candidate.score for candidate in other.candidates]
            np.testing.assert_allclose(scores, again_scores, atol=1e-5)


class IdsTokenizer(LetterTokenizer):
    """Decodes to the numbers themselves, so that texts agree only where ids do."""

    def decode(self, ids):
        return [" ".join(map(str, row)) for row in ids]


def _assert_same_ids(translations, expected):
    for one, other in zip(translations, expected, strict=True):
        texts = [candidate.text for candidate in other.candidates]
        assert [candidate.text for candidate in one.candidates] == texts
        scores = [candidate.score for candidate in other.candidates]
        ours = [candidate.score for candidate in one.candidates]
        # Relative too: a score adds up a dozen float32 log-probabilities.
        np.testing.assert_allclose(ours, scores, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_ids_depend_on_neither_batch_size_nor_order_nor_padding(
    params, beam_size, monkeypatch
):
    num_best = beam_size
    settings = dataclasses.replace(SETTINGS, beam_size=beam_size, num_best=num_best)

    def translate(lines, **fields):
        changed = dataclasses.replace(settings, **fields)
        tokenizer = IdsTokenizer()
        return Translator(MODEL, params, TOKENIZER, tokenizer, changed).translate(lines)

    expected = translate(LINES)
    for rows in (1, 7):
        _assert_same_ids(translate(LINES, tokens_per_batch=16 * rows), expected)
    _assert_same_ids(translate(LINES[::-1])[::-1], expected)
    alone = [translation for line in LINES for translation in translate([line])]
    _assert_same_ids(alone, expected)
    monkeypatch.setattr(length_batches, "_SHORTEST_SHAPE", 48)
    _assert_same_ids(translate(LINES, max_source_length=48), expected)


def test_a_beam_of_one_is_greedy_search(params, monkeypatch):
    settings = dataclasses.replace(SETTINGS, beam_size=1, num_best=1)
    translator = Translator(MODEL, params, TOKENIZER, IdsTokenizer(), settings)
    greedy = translator.translate(LINES[:6])
    beams = []

    def searched_by_beam(*arguments):
        beams.append(beam_search(*arguments))
        return beams[-1]

    monkeypatch.setattr(translate_module, "greedy_search", searched_by_beam)
    _assert_same_ids(translator.translate(LINES[:6]), greedy)
    assert beams


def test_no_text_ever_has_a_line_break(params):
    class Breaking(LetterTokenizer):
        def decode(self, ids):
            return ["one\ntwo\r\nthree\u2028four\x85five\x0bsix\n" for _ in ids]

    translator = Translator(MODEL, params, TOKENIZER, Breaking(), SETTINGS)
    for translation in translator.translate(["a", "b"]):
        assert translation.text == "one two three four five six"


def test_a_line_over_the_limit_is_translated_in_pieces_with_a_warning(translator):
    pieces = ["abc abc.", "def def def", "gggggg"]  # at most 15 tokens fit
    together, *apart = translator.translate([" ".join(pieces), *pieces])
    assert together.text == " ".join(part.text for part in apart if part.text)
    best = [part.candidates[0] for part in apart]
    assert together.candidates[0].score == pytest.approx(sum(b.score for b in best))
    assert together.num_pieces == 3 and "3 pieces" in together.warnings[0]
    assert [part.num_pieces for part in apart] == [1, 1, 1]


def test_a_character_of_too_many_tokens_is_cut_but_not_lost(params):
    class Bytes(LetterTokenizer):
        def encode(self, sentences):
            return [[3] * 9 * len(text) for text in sentences]

    settings = dataclasses.replace(SETTINGS, max_source_length=5)
    translator = Translator(MODEL, params, Bytes(), TOKENIZER, settings)
    (translation,) = translator.translate(["ab"])
    assert translation.warnings and translation.candidates


def test_other_params_need_no_new_compilation(translator, params):
    before = translator.translate(["abc"])
    count = search._run_block._cache_size()
    translator.params = jax.tree.map(lambda leaf: -leaf, params)
    try:
        assert translator.translate(["abc"]) != before
        same = Translator(MODEL, params, TOKENIZER, TOKENIZER, SETTINGS)
        assert same.translate(["abc"]) == before
    finally:
        translator.params = params
    assert search._run_block._cache_size() == count


def test_progress_counts_the_sentences_done(translator):
    done = []
    translator.translate(LINES, progress=done.append)
    assert sum(done) == 8  # the two empty lines need no search


def test_a_second_limit_bounds_every_output(params):
    lines = ["abcdefg abc", "a"]
    free = make(params, max_extra_length=0, max_output_length=None)
    assert [free._max_length(n) for n in (0, 1, 11)] == [1, 1, 11]
    bounded = make(params, max_output_length=4)
    assert [bounded._max_length(n) for n in (1, 11)] == [4, 4]
    for translation in bounded.translate(lines):
        assert len(translation.text) <= 3


def test_lines_are_yielded_in_order_as_soon_as_they_are_done(translator, translations):
    """Two batches, the short lines first: a long line holds up those behind it."""
    done = []
    lines = ["a", "b", "abcdefg abcdefg abcdefg abcdefg", "c"]
    translator = make(translator.params, max_source_length=40)
    stream = translator.stream(lines, progress=done.append)
    yielded = []
    for translation in stream:
        yielded.append((translation, sum(done)))
    assert [count for _, count in yielded] == [3, 3, 4, 4]
    assert [line for line, _ in yielded] == translator.translate(lines)


def test_a_translation_as_long_as_it_may_be_is_flagged(params):
    class Letters(LetterTokenizer):
        def decode(self, ids):
            return ["".join(chr(97 + i) for i in row) for row in ids]

    translator = Translator(MODEL, params, TOKENIZER, Letters(), SETTINGS)
    lines = [line for line in LINES if 0 < len(line.strip()) < 15]
    translations = translator.translate(lines)
    flags = [translation.candidates[0].is_cut for translation in translations]
    limits = [len(line) + SETTINGS.max_extra_length for line in lines]
    assert flags == [
        len(translation.text) + 1 == limit
        for translation, limit in zip(translations, limits, strict=True)
    ]
    assert any(flags) and not all(flags)
    for translation, flag in zip(translations, flags, strict=True):
        assert bool(translation.warnings) == flag
        assert all("cut off" in warning for warning in translation.warnings)


def test_a_text_without_words_gives_way_to_one_that_has_some(params):
    class Blank(IdsTokenizer):
        """Takes the best hypothesis of each sentence for spaces."""

        def decode(self, ids):
            return ["  " if text in best else text for text in super().decode(ids)]

    def translate(num_best):
        settings = dataclasses.replace(SETTINGS, num_best=num_best, min_length=1)
        tokenizer = Blank()
        translator = Translator(MODEL, params, TOKENIZER, tokenizer, settings)
        return translator.translate(LINES)

    best: set[str] = set()
    expected = translate(num_best=3)
    best |= {translation.text for translation in expected}
    for num_best in (1, 2, 3):
        for line, found, before in zip(
            LINES, translate(num_best), expected, strict=True
        ):
            texts = [candidate.text for candidate in before.candidates]
            worded = [text for text in texts[:num_best] if text not in best]
            # Where none of those has words, the others of the beam are asked.
            worded = worded or texts[1 : 1 + num_best] or [""]
            assert [c.text for c in found.candidates] == worded, line


def test_too_little_memory_says_what_needs_less(translator, monkeypatch):
    def exhaust(*arguments):
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory")

    monkeypatch.setattr(translate_module, "beam_search", exhaust)
    with pytest.raises(UserError, match="too little memory .* tokens_per_batch=64"):
        translator.translate(["abc"])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("abc", "list of lines, got the single string 'abc'"),
        (b"abc", "list of lines, got b'abc'"),
        (None, "list of lines, got None"),
        (7, "list of lines, got 7"),
        ([None], "list of strings, got None at index 0"),
        (["a", b"b"], "list of strings, got b'b' at index 1"),
        ([["a"]], r"list of strings, got \['a'\] at index 0"),
    ],
)
def test_anything_but_lines_of_text_is_refused(lines, message):
    translator = Translator(MODEL, None, TOKENIZER, TOKENIZER, SETTINGS)
    with pytest.raises(TypeError, match=message):
        translator.translate(lines)


@pytest.mark.parametrize(
    "fields",
    [
        {"max_source_length": 1},
        {"max_extra_length": -1},
        {"num_best": 9},
        {"min_length": -1},
    ],
)
def test_settings_that_cannot_be_are_refused(params, fields):
    with pytest.raises(ValueError, match="expected"):
        make(params, **fields)
