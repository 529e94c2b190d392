import dataclasses
import json

import jax
import numpy as np
import pytest

from tests.tiny_bert import tiny_bert_config
from transformer_jax.config import default
from transformer_jax.data.batch_plan import PlannedBatch
from transformer_jax.data.batch_shapes import BatchShape
from transformer_jax.data.documents import Documents, documents_of
from transformer_jax.data.next_sentences import draw_pairs
from transformer_jax.data.tokenizer import MASK_PIECE, SpecialIds, train_tokenizer
from transformer_jax.errors import UserError
from transformer_jax.models.bert import Bert
from transformer_jax.models.bert_config import BertConfig
from transformer_jax.models.parameters import init_params
from transformer_jax.reports.card import write_card
from transformer_jax.runs import experiment
from transformer_jax.runs.trained_run import load_run
from transformer_jax.tasks.masked_language_model import (
    MaskedBatch,
    MaskedLanguageModelSettings,
    masked_language_model,
)

# Between them some that only their neighbours tell.
SENTENCES = ["The dog sleeps.", "The fox eats.", "A fox sleeps.", "A dog eats."]


def _config(tmp_path, num_steps, **data):
    for split, number in (("train", 40), ("validation", 8)):
        text = "".join(f"{line}\n" for line in SENTENCES * (number // 4))
        (tmp_path / f"{split}.en").write_text(text)
    config = tiny_bert_config(
        "masked_language_model", num_steps, every=20, max_positions=41
    )
    config.data.update(
        directory=str(tmp_path),
        train_source="train.en",
        validation_source="validation.en",
        vocab_size=284,
        max_length=40,
        batching="packed",
        **data,
    )
    config.training.log_every_steps = 1
    return config


def _rows(workdir):
    return [json.loads(line) for line in (workdir / "metrics.jsonl").open()]


class _Cache:
    """Two sentences: 11 12 13 and 21 22."""

    lengths = np.array([[3, 2]])
    ids = {0: [11, 12, 13], 1: [21, 22]}

    def gather(self, texts):
        return (np.concatenate([self.ids[text] for text in texts]),)


# Every word is hidden, so that nothing is left to chance.
def test_a_row_of_two_sentences_is_laid_out_as_worked_out_by_hand():
    task = masked_language_model(
        MaskedLanguageModelSettings(mask_rate=0.99, mask_share=1.0, random_share=0.0)
    )
    lengths = task.plan_lengths(_Cache.lengths)
    # A piece opens each sentence; what closes it is the plan's own.
    np.testing.assert_array_equal(lengths, [[4, 3], [4, 3]])
    planned = PlannedBatch(
        BatchShape(2, 10, 10), np.array([1, 0]), np.array([0, 0]), seed=(0, 3)
    )
    specials = SpecialIds(0, 1, 2, mask=4, first_text=10, vocab_size=30)
    batch = task.make_batch(_Cache(), planned, specials)
    assert batch.tokens[0].tolist() == [1, 4, 4, 2, 1, 4, 4, 4, 2, 0]
    assert batch.segments[0].tolist() == [1, 1, 1, 1, 2, 2, 2, 2, 2, 0]
    assert batch.positions[0].tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 4, 0]
    is_real = batch.loss_weights[0] > 0
    hidden = dict(
        zip(batch.masked_places[0], batch.masked_tokens[0] * is_real, strict=True)
    )
    assert {k: v for k, v in hidden.items() if v} == {1: 21, 2: 22, 5: 11, 6: 12, 7: 13}
    # A row that no sentence is in has nothing to predict.
    assert not batch.tokens[1].any() and not batch.loss_weights[1].any()


def test_whole_words_are_hidden_together():
    task = masked_language_model(
        MaskedLanguageModelSettings(
            mask_rate=0.4, mask_share=1.0, random_share=0.0, whole_words=True
        )
    )
    assert task.marks_words
    # The words 11 12, 13 and 21 22: two of five pieces are to be hidden.
    cache = _Cache()
    cache.ids = {0: [23, 24, 27], 1: [43, 44]}
    specials = SpecialIds(0, 1, 2, mask=4, first_text=10, vocab_size=30)
    found = set()
    for step in range(20):
        planned = PlannedBatch(
            BatchShape(1, 10, 10), np.array([0, 1]), np.array([0, 0]), (0, step)
        )
        (row,) = task.make_batch(cache, planned, specials).tokens.tolist()
        found.add(tuple(row))
    assert found == {
        (1, 4, 4, 13, 2, 1, 21, 22, 2, 0),
        (1, 11, 12, 13, 2, 1, 4, 4, 2, 0),
        (1, 11, 12, 4, 2, 1, 21, 22, 2, 0),
    }


def test_hidden_tokens_are_learnt_and_a_run_goes_on_bit_for_bit(tmp_path):
    experiment.train(_config(tmp_path, num_steps=60), tmp_path / "unbroken")
    experiment.train(_config(tmp_path, num_steps=20), tmp_path / "broken")
    experiment.train(_config(tmp_path, num_steps=60), tmp_path / "broken")
    unbroken, broken = _rows(tmp_path / "unbroken"), _rows(tmp_path / "broken")
    for ours, theirs in zip(broken, unbroken, strict=True):
        assert ours["train/loss"] == theirs["train/loss"]
    last = unbroken[-1]
    assert last["validation/accuracy"] > last["validation/unigram_accuracy"] + 0.2
    # Other tokens are hidden at every step.
    counts = {row["train/tokens"] for row in unbroken if "train/tokens" in row}
    losses = [row["train/loss"] for row in unbroken if "train/loss" in row]
    assert counts and losses[-1] < losses[0] - 1
    card = write_card(tmp_path / "unbroken")
    assert "task.name | masked_language_model" in open(card).read()
    with pytest.raises(UserError, match="whose runs do not translate"):
        load_run(tmp_path / "unbroken").translator()


# Documents of 3, 1 and 2 sentences; piece 10 n is sentence n's first.
class _Documents:
    ids = [[11, 12], [21], [31, 32, 33], [41, 42], [51], [61, 62]]
    of = [0, 0, 0, 1, 4, 4]
    lengths = np.array([[2, 1, 3, 2, 1, 2], [1] * 6])

    def __len__(self):
        return 6

    def gather(self, texts):
        tokens = np.concatenate([self.ids[text] for text in texts])
        return tokens, np.array([self.of[text] for text in texts])


def _pairs(openers, room):
    found = set()
    documents = documents_of(_Documents())
    for seed in range(200):
        rng = np.random.default_rng(seed)
        for pair in draw_pairs(rng, openers, _Documents.lengths[0], documents, room):
            found.add((*map(tuple, pair[:2]), pair.is_next, pair.counts))
    return found


def test_pairs_are_those_worked_out_by_hand():
    assert documents_of(_Documents()).bounds.tolist() == [0, 3, 4, 6]
    # Half of 8 pieces holds sentences 0 and 1, and the other half 2 or what else fits.
    elsewhere = {((3,), False), ((4, 5), False), ((5,), False)}
    assert _pairs([0], room=8) == {
        ((0, 1), second, is_next, True)
        for second, is_next in elsewhere | {((2,), True)}
    }
    # A document's last sentence follows the one before it, and opens nothing itself.
    assert {pair for pair in _pairs([5], room=8) if pair[2]} == {
        ((4,), (5,), True, True)
    }
    # Nothing follows the only sentence of a document.
    assert {pair[2:] for pair in _pairs([3], room=8)} == {(False, False)}
    # A sentence that no room is left for is taken all the same, and cut later.
    assert {pair[:2] for pair in _pairs([1], room=1) if pair[2]} == {((1,), (2,))}


def test_half_of_the_pairs_go_on():
    documents = documents_of(_Documents())
    rng = np.random.default_rng(0)
    pairs = draw_pairs(rng, [0, 1, 4] * 1000, _Documents.lengths[0], documents, 8)
    # Three standard deviations of 3000 throws of a coin.
    assert abs(sum(pair.is_next for pair in pairs) - 1500) < 82


def test_a_row_that_may_go_on_is_laid_out_as_worked_out_by_hand():
    settings = MaskedLanguageModelSettings(
        mask_rate=0.01,
        random_share=0.0,
        mask_share=0.0,
        next_sentence=True,
        row_length=11,
    )
    task = masked_language_model(settings)
    np.testing.assert_array_equal(task.plan_lengths(_Documents.lengths), [[10] * 6] * 2)
    specials = SpecialIds(0, 1, 2, mask=4, first_text=10, vocab_size=70)
    planned = PlannedBatch(BatchShape(3, 11, 11), np.array([0, 3]), np.array([0, 1]))
    batches = [
        task.make_batch(
            _Documents(), dataclasses.replace(planned, seed=(0, step)), specials
        )
        for step in range(20)
    ]
    batch = next(batch for batch in batches if batch.is_next[0])
    assert batch.tokens[0].tolist() == [1, 11, 12, 21, 2, 31, 32, 33, 2, 0, 0]
    assert batch.token_types[0].tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0]
    assert batch.segments[0].tolist() == [1] * 9 + [0] * 2
    assert batch.positions[0].tolist() == list(range(11))
    assert batch.pair_weights.tolist() == [1, 0, 0]
    assert not batch.tokens[2].any()
    assert {int(b.is_next[0]) for b in batches} == {0, 1}


@pytest.mark.parametrize("starts", [[0], [0, 1, 2, 3, 4]])
def test_documents_of_which_all_or_nothing_follows_are_refused(starts):
    documents = Documents(starts, 5)
    with pytest.raises(UserError, match="next sentence cannot be predicted"):
        draw_pairs(np.random.default_rng(0), [0], np.ones(5, int), documents, 8)


def test_rows_that_may_go_on_lose_long_ends_and_hide_whole_words():
    class Marked(_Documents):  # Each sentence is one word.
        ids = [[2 * i + (n == 0) for n, i in enumerate(s)] for s in _Documents.ids]

    settings = MaskedLanguageModelSettings(
        mask_rate=0.4,
        mask_share=1.0,
        random_share=0.0,
        whole_words=True,
        next_sentence=True,
        row_length=8,
    )
    task = masked_language_model(settings)
    specials = SpecialIds(0, 1, 2, mask=9, first_text=10, vocab_size=70)
    found = set()
    for step in range(40):
        planned = PlannedBatch(
            BatchShape(1, 8, 8), np.array([1]), np.array([0]), (0, step)
        )
        batch = task.make_batch(Marked(), planned, specials)
        if batch.is_next[0]:
            found.add(tuple(batch.tokens[0].tolist()))
    # Two of four are to be hidden: one word alone, be it shorter or longer.
    assert found == {(1, 9, 2, 31, 32, 33, 2, 0), (1, 21, 2, 9, 9, 9, 2, 0)}


def test_the_loss_is_the_mean_over_tokens_and_the_mean_over_rows(tmp_path):
    task = masked_language_model(MaskedLanguageModelSettings(next_sentence=True))
    config = BertConfig(30, num_layers=1, d_model=8, d_ff=8, num_heads=1)
    model = Bert(config)
    params = init_params(model, jax.random.key(0), task.inputs)
    rows = np.ones((2, 6), np.int32)
    batch = MaskedBatch(
        tokens=10 + np.arange(12, dtype=np.int32).reshape(2, 6),
        segments=rows,
        positions=rows * np.arange(6, dtype=np.int32),
        token_types=rows * 0,
        masked_places=np.array([[1, 2], [3, 0]], np.int32),
        masked_tokens=np.array([[12, 13], [14, 0]], np.int32),
        loss_weights=np.array([[1, 1], [1, 0]], np.float32),
        is_next=np.array([1, 0], np.int32),
        pair_weights=np.ones(2, np.float32),
    )
    loss_fn = task.make_objective(
        model, label_smoothing=0.0, label_smoothing_formula="uniform"
    )
    loss_sum, (weight_sum, _) = loss_fn(params, batch, None)
    logits, pairs = model.apply(
        {"params": params},
        batch.tokens,
        segments=rows,
        token_types=batch.token_types,
        masked_places=batch.masked_places,
    )
    log_probs = jax.nn.log_softmax(logits)
    tokens = [log_probs[0, 0, 12], log_probs[0, 1, 13], log_probs[1, 0, 14]]
    # 0 stands for what follows; the first row has two hidden tokens, the second one.
    of_pairs = jax.nn.log_softmax(pairs)
    expected = -np.mean(tokens) - (2 * of_pairs[0, 0] + of_pairs[1, 1]) / 3
    np.testing.assert_allclose(loss_sum / weight_sum, expected, rtol=1e-5)


def test_next_sentences_are_learnt_and_a_run_goes_on_bit_for_bit(tmp_path):
    # Nearly all that sleeps goes on sleeping.
    sleeping = "".join(f"The {animal} sleeps.\n" for animal in ("dog", "fox", "cat"))
    text = f"{sleeping * 20}\n{sleeping.replace('sleeps', 'eats')}"

    def config(num_steps):
        config = _config(tmp_path, num_steps)
        for split in ("train", "validation"):
            (tmp_path / f"{split}.en").write_text(text)
        config.data.batching = "buckets"
        config.task.update(next_sentence=True, row_length=24)
        return config

    experiment.train(config(60), tmp_path / "unbroken")
    experiment.train(config(20), tmp_path / "broken")
    experiment.train(config(60), tmp_path / "broken")
    unbroken, broken = _rows(tmp_path / "unbroken"), _rows(tmp_path / "broken")
    for ours, theirs in zip(broken, unbroken, strict=True):
        assert ours["train/loss"] == theirs["train/loss"]
    assert unbroken[-1]["validation/next_sentence_accuracy"] > 0.75


def test_next_sentences_need_documents(tmp_path):
    config = _config(tmp_path, num_steps=1)
    config.task.update(next_sentence=True, row_length=24)
    with pytest.raises(UserError, match="packed puts several texts into a row"):
        experiment.train(config, tmp_path / "run")
    config.data.update(batching="buckets", source="grammar")
    with pytest.raises(UserError, match="no documents.*Sources that fit: files"):
        experiment.train(config, tmp_path / "run")


def test_a_model_and_a_task_that_do_not_fit_are_refused(tmp_path):
    config = default.get_config(task="masked_language_model")
    with pytest.raises(UserError, match="transformer does not learn .* do: bert"):
        experiment.train(config, tmp_path / "run")


def test_a_vocabulary_without_the_piece_that_hides_is_refused(tmp_path):
    config = _config(tmp_path, num_steps=1)
    path = tmp_path / "given.model"
    train_tokenizer(SENTENCES, path, vocab_size=283)
    config.data.tokenizer_path = str(path)
    with pytest.raises(UserError, match=f"has no piece {MASK_PIECE}"):
        experiment.train(config, tmp_path / "run")
    train_tokenizer(SENTENCES, path, vocab_size=283, control_pieces=[MASK_PIECE])
    experiment.train(config, tmp_path / "other")


def test_shares_that_are_more_than_all_are_refused():
    with pytest.raises(UserError, match="0.8 and random_share=0.3 are more than 1"):
        masked_language_model(MaskedLanguageModelSettings(random_share=0.3))


def test_the_longest_sentence_has_a_position_for_the_piece_that_opens_it(tmp_path):
    config = _config(tmp_path, num_steps=1)
    config.model.max_positions = 40
    with pytest.raises(UserError, match="has room for 39 pieces"):
        experiment.train(config, tmp_path / "run")
