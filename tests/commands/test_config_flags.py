"""What is said about a config file, or a field, that cannot be used."""

import pathlib
import sys

import pytest

from transformer_jax.commands.config_flags import parse_config
from transformer_jax.commands.parser import CommandParser
from transformer_jax.config import default
from transformer_jax.errors import UserError
from transformer_jax.runs.directory import RunDirectory

_BEGIN = """
import ml_collections
from transformer_jax.config import default

def get_config():
    config = default.get_config()
"""


@pytest.fixture
def parse(monkeypatch, tmp_path):
    """Parse a command line in this process, as often as wanted."""

    def parse_line(*arguments: str):
        monkeypatch.setattr(sys, "argv", ["train.py", *arguments, "--workdir=run"])
        monkeypatch.chdir(tmp_path)
        parser = CommandParser(takes_fields=True)
        parser.add_argument("--workdir")
        try:
            config, options = parse_config(parser)
        finally:
            sys.modules.pop("config_config", None)  # The file, as it is loaded.
        assert options.workdir == "run"
        return config

    return parse_line


def _write(directory: pathlib.Path, text: str) -> str:
    (directory / "my.py").write_text(text)
    return "--config=my.py"


def test_a_file_and_the_fields_beside_it_make_the_config(parse, tmp_path):
    file = _write(tmp_path, _BEGIN + "    config.seed = 3\n    return config\n")
    config = parse(file, "--config.model.d_k=7")
    assert (config.seed, config.model.d_k) == (3, 7)
    # With another value between the flags.
    assert parse("--config", "my.py").seed == 3


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("config.model.num_layer = 3", "no field num_layer.*num_encoder_layers"),
        ("config.model.update(num_layer=3)", "no field num_layer.*num_encoder_layers"),
        ("config.trainig.num_steps = 3", r"no field trainig.*config\.training\?"),
        ("config['modle'] = 3", r"no field modle.*config\.model\?"),
        (
            "config.update_from_flattened_dict({'modell.d_ff': 3})",
            r"no field modell.d_ff.*config\.model\.d_ff\?",
        ),
        ("config.optimizer.final_share = 0.5", "config.optimizer.final_fraction now"),
        (
            "config.checkpoints.update(every_steps=3)",
            "called config.evaluation.eval_every_steps or "
            "config.checkpoints.save_every_steps now",
        ),
        ("config.training.num_steps = 'ten'", "'num_steps'.*ten.*int"),
        ("config.training.num_steps = 3.5", "'num_steps'.*3.5.*int"),
        ("config.model.use_logits_bias = 1", "'use_logits_bias'.*1.*bool"),
        ("config.data.tfds = 3", "'tfds'.*3"),
        ("del config.model.d_k", "locked"),
        ("config.seed = 1 / 0", "ZeroDivisionError"),
        (
            "from configs import default as old",
            "from transformer_jax.config import default",
        ),
        ("import configs.default", "from transformer_jax.config import default"),
        ("import no_such_package", "no_such_package"),
        ("{}['module']", "KeyError: 'module'"),
        ("config.seed = = 3", "SyntaxError"),
    ],
)
def test_a_fault_of_a_config_file_is_told_with_its_line(
    parse, tmp_path, statement, words
):
    file = _write(tmp_path, f"{_BEGIN}    {statement}\n    return config\n")
    with pytest.raises(UserError, match=f"(?s){words}.*In my.py, line 7") as caught:
        parse(file)
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no function get_config"),
        ("def get_config(): pass", "returns NoneType"),
        ("def get_config(): return {}", "returns dict"),
        ("def get_config(size): return size", "TypeError: .* missing .* argument"),
        ("\0", "SyntaxError: source code string cannot contain null bytes"),
    ],
)
@pytest.mark.parametrize("beside", [[], ["--config.model.d_k=7"]])
def test_a_file_that_gives_no_config_is_named(parse, tmp_path, text, words, beside):
    with pytest.raises(UserError, match=f"^--config=my.py cannot.*{words}"):
        parse(_write(tmp_path, text), *beside)


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        ("nowhere.py", "Give one of the files of configs/"),
        (".", "Give one of the files of configs/"),
        ("my", r"Did you mean my\.py\?"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(parse, tmp_path, path, advice):
    _write(tmp_path, _BEGIN)
    with pytest.raises(UserError, match=rf"--config={path}: there is no .*{advice}"):
        parse(f"--config={path}")


@pytest.mark.parametrize("flag", [["=recurrent"], [" ", "recurrent"]])
def test_another_model_takes_over_the_fields_that_it_has(parse, tmp_path, flag):
    text = "    config.model.update(d_model=24, num_heads=3, dropout_rate=0.3)\n"
    file = _write(tmp_path, _BEGIN + text + "    config.seed = 5\n    return config\n")
    name = f"--config.model.name{flag[0]}".strip()
    config = parse(file, name, *flag[1:], "--config.model.d_state=7")
    expected = default.get_config(model="recurrent")
    expected.model.update(d_model=24, dropout_rate=0.3, d_state=7)
    expected.seed = 5
    assert config.to_json() == expected.to_json()
    assert config.is_locked


def test_a_field_of_another_model_is_told_with_the_models_that_have_it(parse, tmp_path):
    file = _write(tmp_path, _BEGIN + "    return config\n")
    with pytest.raises(UserError, match="d_state.*recurrent and recurrent_attention"):
        parse(file, "--config.model.d_state=7")
    with pytest.raises(UserError, match=r"restricted_transformer has it: --config"):
        parse(file, "--config.model.window=7")
    with pytest.raises(UserError, match="num_heads.*transformer"):
        parse(file, "--config.model.name=recurrent", "--config.model.num_heads=3")
    with pytest.raises(UserError, match="Did you mean recurrent"):
        parse(file, "--config.model.name=recurent")


@pytest.mark.parametrize("path", ["run/config.json", "run", "~/run/config.json"])
def test_the_config_of_a_run_repeats_it(parse, tmp_path, monkeypatch, path):
    monkeypatch.setenv("HOME", str(tmp_path))
    config = default.get_config()
    config.model.d_model = 24
    RunDirectory(tmp_path / "run").claim(config, ("source", "target"))
    assert parse(f"--config={path}").to_json() == config.to_json()
    fields = ("--config.seed=3", "--config.training.init_from=run")
    changed = parse(f"--config={path}", *fields)
    assert (changed.model.d_model, changed.seed) == (24, 3)
    assert changed.training.init_from == "run"
    with pytest.raises(UserError, match="no field model.d_modell.*d_model"):
        parse(f"--config={path}", "--config.model.d_modell=3")


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("trainig.num_steps", r"config\.training\.num_steps\?"),
        ("model.num_heads.x", "no field model.num_heads.x"),
        ("checkpoints.every_steps", "config.checkpoints.save_every_steps now"),
        ("foo.bar", "report fields"),
        ("data-directory", r"no field data_directory.*config\.data\.directory\?"),
        ("", "no field . "),
        (".seed", r"no field .seed. Did you mean config\.seed\?"),
        ("data.train_source[0]", r"config\.data\.train_source\?"),
        ("seed ", r"config\.seed\?"),
    ],
)
def test_a_field_that_there_is_not_is_told_with_the_nearest_one(
    parse, tmp_path, field, words
):
    file = _write(tmp_path, _BEGIN + "    return config\n")
    with pytest.raises(UserError, match=words) as caught:
        parse(file, f"--config.{field}=3")
    assert "line" not in str(caught.value)


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("data.tfds=3", "sets a section. Set its fields, one by one, as --config.data"),
        ("model=", "sets a section. Set its fields, one by one, as --config.model."),
        ("seed=x", "expected a whole number."),
        ("seed=1.5", "expected a whole number."),
        ("decoding.alpha=0,6", "expected a number."),
    ],
)
def test_a_value_of_another_type_is_a_mistake_of_usage(
    parse, tmp_path, flag, words, capsys
):
    file = _write(tmp_path, _BEGIN + "    return config\n")
    with pytest.raises(SystemExit, match="2"):
        parse(file, f"--config.{flag}")
    (line,) = capsys.readouterr().err.splitlines()
    assert f"--config.{flag}" in line
    assert words in line


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("--seed=3", "there is no --seed. Did you mean --config.seed?"),
        ("config.seed=3", "there is no config.seed. Did you mean --config.seed?"),
        ("--training.num-steps", "Did you mean --config.training.num_steps?"),
        ("--num_steps", "optimizer.num_steps or --config.training.num_steps?"),
    ],
)
def test_a_field_without_its_prefix_is_told_how_to_be_given(
    parse, tmp_path, argument, words, capsys
):
    file = _write(tmp_path, _BEGIN + "    return config\n")
    with pytest.raises(SystemExit, match="2"):
        parse(file, argument)
    assert words in capsys.readouterr().err


def test_words_of_a_field_are_joined_either_way(parse, tmp_path):
    file = _write(tmp_path, _BEGIN + "    return config\n")
    assert parse(file, "--config.training.num-steps=7").training.num_steps == 7


def test_a_value_may_look_like_a_field(parse, tmp_path):
    file = _write(tmp_path, _BEGIN + "    return config\n")
    field = "--config.training.init_from"
    assert parse(file, field, "seed=3").training.init_from == "seed=3"


def test_what_a_config_is_handed_is_explained(parse, tmp_path):
    body = "    return config\n"
    file = _write(tmp_path, _BEGIN + body)
    with pytest.raises(UserError, match="takes nothing behind a colon"):
        parse(f"{file}:fr-en")
    languages = _BEGIN.replace("get_config()", "get_config(languages)", 1)
    update = "    config.data.update(**default.files_by_language(languages))\n"
    file = _write(tmp_path, languages + update + body)
    assert parse(f"{file}:pt_BR-en").data.test_source == "test.pt_BR"
    for wrong in ("", "fren", "fr_en", "en-US-de", "fr-", "-en", "de-de"):
        with pytest.raises(UserError, match="my.py:.*: expected the codes of two"):
            parse(f"{file}:{wrong}")
    with pytest.raises(UserError, match="'french' is no code of a language"):
        parse(f"{file}:french-en")


def test_only_a_run_may_have_a_colon_in_its_name(parse, tmp_path):
    config = default.get_config()
    RunDirectory(tmp_path / "12:30").claim(config, ("source", "target"))
    assert parse("--config=12:30/config.json").to_json() == config.to_json()
    _write(tmp_path, _BEGIN)
    (tmp_path / "my.py").rename(tmp_path / "m:y.py")
    with pytest.raises(UserError, match="a colon ends a config's name.*Rename"):
        parse("--config=m:y.py")


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["--config.seed=1", "--config.seed=2"], "config.seed"),
        (["--config.seed", "1", "-config.seed=1"], "config.seed"),
        (["--config=my.py"], "config"),
        (["--workdir=other"], "workdir"),
    ],
)
def test_a_flag_given_twice_is_a_mistake_of_usage(
    parse, tmp_path, arguments, name, capsys
):
    file = _write(tmp_path, _BEGIN + "    return config\n")
    with pytest.raises(SystemExit, match="2"):
        parse(file, *arguments)
    assert f"--{name} is given twice" in capsys.readouterr().err


def test_a_value_may_occur_twice(parse, tmp_path):
    file = _write(tmp_path, _BEGIN + "    return config\n")
    values = ["--config.decoding.alpha", "-1", "--config.seed", "-1"]
    assert parse(file, *values).decoding.alpha == -1
