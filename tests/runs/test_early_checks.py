"""What cannot work is refused at the start, and says what to change."""

import pytest

from tests.tiny_run import tiny_config
from transformer_jax.errors import UserError
from transformer_jax.runs import experiment


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model.name": "transfomer"}, "Did you mean transformer"),
        ({"model.num_heads": 5}, "d_k"),
        ({"data.source": "web"}, "expected one of distances, files"),
        ({"data.vocab_size": 30_000}, "30000"),
        ({"data.train_source": "train.fr"}, "no file"),
        ({"data.train_source": ""}, "train_source is empty"),
        ({"optimizer.schedule": "cosinus"}, "schedule"),
        ({"sharding.data": 9}, "there are 8 devices"),
        ({"sharding.data": 3}, "config.data.row_multiple=8 cannot be split over 3"),
        ({"training.num_micro_batches": 16}, "cannot be split over 1 devices"),
        ({"training.label_smoothing": 1.0}, "below 1"),
        ({"training.label_smoothing_formula": "other"}, "uniform, others"),
        ({"model.dtype": "bf16"}, "one of float32, bfloat16"),
        ({"model.positions": "learned", "model.max_positions": 8}, "room for 8 pieces"),
        ({"data.target_language": "ja"}, "japanese"),
        ({"training.trackers": "mlflow, wandbb"}, "any of .* Did you mean wandb?"),
    ],
)
def test_a_config_that_cannot_work_says_what_to_change(
    text, tmp_path, changes, message
):
    config = tiny_config(text)
    for name, value in changes.items():
        config.update_from_flattened_dict({name: value})
    with pytest.raises(UserError, match=message):
        experiment.train(config, tmp_path / "run")


@pytest.mark.parametrize(
    "changes",
    [
        {"model.dropout_rate": 1.5},
        {"model.num_heads": 0},
        {"model.num_heads": 5},
        {"model.dtype": "float16"},
        {"model.positions": "learned", "model.max_positions": 8},
        {"optimizer.schedule": "cos"},
        {"optimizer.schedule": "cosine", "optimizer.num_steps": 2},
        {"optimizer.warmup_steps": 0},
        {"optimizer.clip_norm": float("nan")},
        {"decoding.length_penalty": "gmnt"},
        {"data.normalizer": "nfc"},
        {"data.target_language": "german"},
        {"data.max_length": 1},
        {"data.vocab_size": 260},
        {"decoding.beam_size": 331},
        {"evaluation.beam_size": 331},
        {"data.train_source": ""},
        {"data.validation_source": " , "},
        {"data.test_source": "test.en,more.en"},
        {"data.tokenizer_path": "no.model"},
        {"training.init_from": "no_run"},
        {"training.init_from": ""},
    ],
    ids=str,
)
def test_what_needs_no_text_is_checked_before_anything_is_written(tmp_path, changes):
    config = tiny_config(tmp_path / "no_text")
    config.update_from_flattened_dict(changes)
    section = next(iter(changes)).partition(".")[0]
    with pytest.raises(UserError, match=f"config.{section}"):
        experiment.train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()
