import functools
import importlib
import re

import pytest

from tests.test_configs import NAMES
from transformer_jax.config import default
from transformer_jax.config.checks import check_config
from transformer_jax.config.tree import fields_of
from transformer_jax.errors import UserError


def _warnings(caplog, changes):
    config = default.get_config()
    config.update_from_flattened_dict(changes)
    check_config(config)
    return caplog.messages


@pytest.mark.parametrize("name", NAMES)
def test_no_config_that_comes_with_the_package_is_warned_of(name, caplog):
    check_config(importlib.import_module(name).get_config())
    assert not caplog.messages


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sharding.data", -3),
        ("data.tokens_per_batch", -5),
        ("training.patience", -1),
        ("training.max_skips", 0),
        ("training.label_smoothing", 1.0),
        ("optimizer.beta2", -0.1),
    ],
)
def test_a_number_out_of_its_range_is_refused_by_name(field, value):
    config = default.get_config()
    config.update_from_flattened_dict({field: value})
    with pytest.raises(UserError, match=f"config.{field}={value}: expected at least"):
        check_config(config)


_FIELDS = fields_of("transformer", "translation")


@pytest.mark.parametrize("path", _FIELDS)
def test_every_field_refuses_what_is_no_value_of_its_type_by_name(path):
    """As a notebook or a config file can set it: None, True, too much."""
    field, name = _FIELDS[path], path.rpartition(".")[2]
    wrong = {
        int: [True, 2**63],
        float: [True, float("nan"), float("inf")],
        bool: [],
        str: [],
    }
    values = wrong[field.type] + ([] if field.default is None else [None])
    assert values or path in ("data.tokenizer_path", "training.init_from")
    for value in values:
        config = default.get_config()
        with config.unlocked():
            section = functools.reduce(getattr, path.split(".")[:-1], config)
            section._fields[name] = value  # ml_collections refuses some of them.
        with pytest.raises(UserError, match=rf"config\.{path}={value!r}: expected"):
            check_config(config)


@pytest.mark.parametrize("seed", [-1, 2**32, 2**63])
def test_seeds_have_one_range_in_which_no_two_are_the_same(seed):
    config = default.get_config()
    config.seed = 2**32 - 1
    check_config(config)
    config.seed = seed
    with pytest.raises(UserError, match="seed=.* at least 0 and below 4294967296"):
        check_config(config)


@pytest.mark.parametrize("version", [1, 3, None])
def test_a_config_of_another_version_is_refused_before_a_run_is_named_by_it(version):
    config = default.get_config()
    config.version = version
    with pytest.raises(UserError, match=f"config.version={version}: expected 2"):
        check_config(config)


@pytest.mark.parametrize("path", ["model", "model.name", "task", "data.tfds", "seed"])
def test_a_config_with_a_part_taken_out_is_refused_by_name(path):
    config = default.get_config()
    *parents, name = path.split(".")
    with config.unlocked():
        del functools.reduce(getattr, parents, config)[name]
    with pytest.raises(UserError, match=rf"config\.{path}"):
        check_config(config)


@pytest.mark.parametrize(
    ("num_tokens", "advice"),
    [
        # 4000 * 25 000 = 100 million tokens of warm-up, over 12 499 and over 50 001.
        (12_499, "a lower .*a longer .*8001 updates"),
        (50_001, "a higher .*a shorter .*2000 updates"),
    ],
)
def test_a_batch_that_does_not_fit_the_papers_schedule_is_warned_of(
    num_tokens, advice, caplog
):
    (message,) = _warnings(caplog, {"data.tokens_per_batch": num_tokens})
    assert "25000 tokens an update" in message
    assert f"config.data.tokens_per_batch={num_tokens}." in message
    assert re.search(advice, message)


@pytest.mark.parametrize(
    "changes",
    [
        {"data.tokens_per_batch": 12_500},
        {"data.tokens_per_batch": 50_000},
        {"data.tokens_per_batch": 8_000, "optimizer.schedule": "inverse_sqrt"},
        {"data.tokens_per_batch": 8_000, "optimizer.factor": 0.5},
        {"data.tokens_per_batch": 8_000, "optimizer.warmup_steps": 12_500},
        {"data.tokens_per_batch": 200_000, "optimizer.factor": 2.0},
    ],
    ids=str,
)
def test_a_schedule_that_fits_or_was_fitted_to_its_batch_is_not(changes, caplog):
    assert not _warnings(caplog, changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"data.tokens_per_batch": 8_000, "optimizer.warmup_steps": 200},
        {"data.tokens_per_batch": 8_000, "optimizer.factor": 2.0},
        {"data.tokens_per_batch": 200_000, "optimizer.warmup_steps": 9_000},
    ],
    ids=str,
)
def test_a_schedule_changed_the_wrong_way_is_still_warned_of(changes, caplog):
    assert len(_warnings(caplog, changes)) == 1


@pytest.mark.parametrize(
    ("num_steps", "consequence"),
    [(99, "never reached"), (101, "keep its last learning rate")],
)
@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_a_schedule_that_does_not_end_with_the_training_is_warned_of(
    schedule, num_steps, consequence, caplog
):
    changes = {
        "optimizer.schedule": schedule,
        "optimizer.warmup_steps": 10,
        "optimizer.num_steps": 100,
        "evaluation.eval_every_steps": 50,
    }
    (message,) = _warnings(caplog, changes | {"training.num_steps": num_steps})
    assert f"num_steps=100, training at config.training.num_steps={num_steps}" in (
        message
    )
    assert consequence in message
    caplog.clear()
    assert not _warnings(caplog, changes | {"training.num_steps": 100})


@pytest.mark.parametrize("schedule", ["paper", "inverse_sqrt", "constant"])
def test_a_warm_up_that_outlasts_the_training_is_warned_of(schedule, caplog):
    changes = {"optimizer.schedule": schedule, "training.num_steps": 4_000}
    (message,) = _warnings(caplog, changes)
    assert "warmup_steps=4000 is not below config.training.num_steps=4000" in message


DEEP = {"model.num_encoder_layers": 12, "model.num_decoder_layers": 6}


@pytest.mark.parametrize(
    ("changes", "needed"),
    [
        (DEEP, 8_000),
        (DEEP | {"optimizer.warmup_steps": 7_999}, 8_000),
        (DEEP | {"model.num_decoder_layers": 18}, 12_000),
        (DEEP | {"optimizer.schedule": "inverse_sqrt"}, 8_000),
    ],
    ids=str,
)
def test_deep_post_norm_stacks_with_a_short_warm_up_are_warned_of(
    changes, needed, caplog
):
    (message,) = _warnings(caplog, changes)
    assert "norm_position=post" in message
    assert f"Warm up for {needed} steps" in message


@pytest.mark.parametrize(
    "changes",
    [
        DEEP | {"model.norm_position": "pre"},
        DEEP | {"optimizer.warmup_steps": 8_000},
        DEEP | {"model.num_encoder_layers": 11},
    ],
    ids=str,
)
def test_stacks_that_can_be_trained_are_not(changes, caplog):
    assert not _warnings(caplog, changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"evaluation.eval_every_steps": 301}, "only its last step is validated"),
        (
            {
                "checkpoints.save_every_steps": 301,
                "checkpoints.save_every_minutes": 0.0,
            },
            "only its last step is saved",
        ),
    ],
)
def test_what_comes_later_than_the_last_step_is_warned_of(changes, words, caplog):
    settings = {
        "training.num_steps": 300,
        "optimizer.warmup_steps": 30,
        "evaluation.eval_every_steps": 300,
        "checkpoints.save_every_steps": 300,
    }
    assert not _warnings(caplog, settings)
    (message,) = _warnings(caplog, settings | changes)
    assert words in message
    assert "=301, but training ends at config.training.num_steps=300" in message
