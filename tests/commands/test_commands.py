"""Commands as a person runs them: output, messages, exit codes."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from tests.tiny_run import train_one_step
from transformer_jax.commands import evaluate

ROOT = pathlib.Path(__file__).resolve().parents[2]
_FILES = ("--hypothesis=h", "--reference=r", "--target_language=de")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return train_one_step(tmp_path_factory.mktemp("commands"), "Übung")


def _run(
    *arguments: object, stdin: bytes = b"", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        cwd=ROOT,
        env=os.environ | {"XLA_FLAGS": ""} | environment,
    )


def _error(result: subprocess.CompletedProcess[bytes], code: int = 1) -> str:
    """Return what a failed command says, after making sure it says it well."""
    message = result.stderr.decode()
    assert result.returncode == code, message
    assert "Traceback" not in message
    assert result.stdout == b""
    return message


def test_translate_writes_one_line_for_each_line_whatever_it_holds(run):
    lines = [
        b"The dog sleeps.",
        b"",
        b"   ",
        "one\u2028line\u0085still".encode(),
        b"carriage return\r",
        b"a\x00b",
        "Grüße, 世界 🙂".encode(),
        b"word " * 200,
        b"no end of line",
    ]
    result = _run(
        "-m", "transformer_jax", "translate", "--workdir", run, stdin=b"\n".join(lines)
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.count(b"\n") == len(lines)
    assert (
        b"standard input: carriage returns stripped: 1, "
        b"other separators kept inside lines: 2" in result.stderr
    )
    translations = result.stdout.decode().split("\n")
    assert translations[1] == translations[2] == ""
    assert "line 8" in result.stderr.decode()


def test_a_locale_that_is_not_utf8_changes_nothing(run, tmp_path):
    not_utf8 = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    evaluate = ("evaluate.py", "--workdir", run, "--examples", 2)
    result = _run(*evaluate, **not_utf8)
    assert result.returncode == 0, result.stderr
    assert "ä" in result.stdout.decode()
    assert result.stdout == _run(*evaluate).stdout
    output = tmp_path / "Größe.svg"
    plot = ("-m", "transformer_jax", "plot", "positions", "--output", output)
    assert _run(*plot, **not_utf8).stdout.decode() == f"Wrote {output}\n"
    assert output.is_file()


def test_evaluating_a_run_prints_one_object_and_keeps_it(run):
    result = _run("evaluate.py", "--workdir", run, "--format", "json")
    assert result.returncode == 0, result.stderr
    printed = json.loads(result.stdout)
    assert printed["num_sentences"] == 7
    assert printed["test_set"] == "test.en (7 lines)"
    (path,) = (run / "evaluation").glob("test.step-1.beam2.gnmt0.6.json")
    kept = json.loads(path.read_text())
    assert kept.items() >= printed.items()
    assert kept["produced_by"]["checkpoint_steps"] == [1]
    assert kept["produced_by"]["beam_size"] == 2
    assert kept["produced_by"]["alpha"] == 0.6
    assert len(path.with_suffix(".txt").read_text().splitlines()) == 7


def test_scores_are_printed_when_a_run_cannot_be_written(run, tmp_path):
    locked = shutil.copytree(run, tmp_path / "run")
    shutil.rmtree(locked / "evaluation", ignore_errors=True)
    (locked / "evaluation").write_text("in the place of a folder")
    command = (
        "evaluate.py",
        "--workdir",
        locked,
        "--format=json",
        "--split=validation",
    )
    result = _run(*command)
    assert json.loads(result.stdout)["num_sentences"] == 8
    (message,) = [
        line for line in result.stderr.decode().splitlines() if "error" in line
    ]
    assert result.returncode == 1
    assert "printed, but not kept" in message and "--output_directory" in message

    kept = _run(*command, "--output-directory", tmp_path / "a" / "b")
    assert (kept.returncode, kept.stdout) == (0, result.stdout), kept.stderr
    names = {path.name for path in (tmp_path / "a" / "b").iterdir()}
    name = "validation.step-1.beam2.gnmt0.6"
    assert names == {f"{name}.json", f"{name}.txt"}


def test_a_place_for_scores_that_is_none_is_said_before_any_work(tmp_path):
    (tmp_path / "file").touch()
    for folder, fault in (
        (tmp_path / "file", "File exists"),
        ("~nobody_here/scores", "no home directory ~nobody_here"),
    ):
        command = ("evaluate.py", "--workdir", "x", f"--output_directory={folder}")
        assert fault in _error(_run(*command))


def test_several_references_are_used_together(tmp_path, test_data):
    reference = (test_data / "bleu/reference.de").read_text(encoding="utf-8")
    other = tmp_path / "other"
    other.write_text(reference.replace("der", "die"), encoding="utf-8")
    command = (
        *("evaluate.py", "--format=json", "--target_language=deu"),
        *("--hypothesis", test_data / "bleu/hypothesis.de"),
        *("--reference", test_data / "bleu/reference.de"),
    )
    results = [_run(*command, *more) for more in (["--reference", other], [other])]
    assert results[0].stdout == results[1].stdout
    found = json.loads(results[0].stdout)
    assert found["sacrebleu_signature"].startswith("nrefs:2|")
    assert found["sacrebleu"] > json.loads(_run(*command).stdout)["sacrebleu"]


@pytest.mark.parametrize("target", [("--target", "Der Hund schläft."), ()])
def test_attention_is_drawn_of_the_given_target_or_the_models_own(
    run, tmp_path, target
):
    picture = tmp_path / "attention.png"
    sentence = ("--source", "The dog sleeps.", *target)
    command = ("-m", "transformer_jax", "plot", "attention", "--workdir", run)
    result = _run(*command, *sentence, "--kind", "encoder", "--output", picture)
    assert result.returncode == 0, result.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert (b"translation:" in result.stdout) == (not target)


def test_a_head_that_does_not_exist_ends_with_one(run, tmp_path):
    sentence = ("--source", "a", "--target", "b", "--head", 4)
    output = ("--output", tmp_path / "attention.png")
    command = ("-m", "transformer_jax", "plot", "attention", "--workdir", run)
    assert "There is no head 4" in _error(_run(*command, *sentence, *output))


def test_other_text_is_scored_with_an_average_and_examples_are_shown(run, tmp_path):
    for name, line in (("s", "The cat sleeps."), ("r", "Die Katze schläft.")):
        (tmp_path / name).write_text(line + "\n", encoding="utf-8")
    text = ("--source", tmp_path / "s", "--reference", tmp_path / "r")
    more = ("--average", 1, "--examples", 1, "--beam-size", 1)
    result = _run("evaluate.py", "--workdir", run, *text, *more)
    assert result.returncode == 0, result.stderr
    printed = result.stdout.decode()
    assert "sacreBLEU" in printed and "reference   Die Katze schläft." in printed


def test_the_best_candidates_are_numbered_and_scored(run):
    command = ("-m", "transformer_jax", "translate", "--workdir", run, "--num-best", 2)
    result = _run(*command, stdin=b"The dog sleeps.\nA cat.\n")
    assert result.returncode == 0, result.stderr
    rows = [line.split(" ||| ") for line in result.stdout.decode().splitlines()]
    assert {row[0] for row in rows} == {"1", "2"}
    scores = [float(row[2]) for row in rows if row[0] == "1"]
    assert scores == sorted(scores, reverse=True)


def test_finished_translations_are_scored_without_a_model(test_data):
    expected = json.loads((test_data / "bleu/expected.json").read_text())
    arguments = (
        *("evaluate.py", "--format", "json", "--target_language", "de"),
        *("--hypothesis", test_data / "bleu/hypothesis.de"),
        *("--reference", test_data / "bleu/reference.de"),
    )
    scores = json.loads(_run(*arguments).stdout)
    for key in ("sacrebleu", "chrf", "paper_bleu", "tokenised_lowercase_bleu"):
        assert scores[key] == pytest.approx(expected[key], abs=0.01)
    assert scores["num_sentences"] == expected["num_sentences"]
    assert scores["sacrebleu_signature"].startswith(expected["sacrebleu_signature"])


def _score_files(directory, *more, **texts):
    """Write each text to a file of its name and run evaluate.py on them."""
    arguments = []
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8")
        arguments += [f"--{name}", directory / name]
    return _run("evaluate.py", *arguments, "--target_language", "de", *more)


def test_suspicious_text_is_scored_with_a_warning_for_each_sign(tmp_path):
    texts = {
        "hypothesis": "Ein Hun@@ d .\nEine Katze ist da .\nThe bird.\n",
        "reference": "Ein Hund.\nEine Katze ist da.\nDer Vogel.\n",
        "source": "Ein Hun@@ d .\nEine Katze ist da .\nThe bird.\n",
    }
    result = _score_files(tmp_path, **texts)
    assert result.returncode == 0, result.stderr
    notes = [
        line for line in result.stdout.decode().splitlines() if line.startswith("note:")
    ]
    assert len(notes) == 3
    assert "hypothesis looks tokenised already" in notes[0]
    assert "sub-word marks" in notes[1]
    assert "3 of 3 hypothesis lines equal their source" in notes[2]


def test_two_systems_are_compared_in_print_and_in_json(tmp_path):
    texts = {
        "hypothesis": "Ein Hund.\nEine Katze.\nDer Vogel.\n",
        "baseline": "Ein Hut.\nEine Tasse.\nDer Vogel.\n",
        "reference": "Ein Hund.\nEine Katze.\nEin Vogel.\n",
    }
    printed = _score_files(tmp_path, "--bootstrap-samples", 20, **texts)
    assert printed.stderr == b""
    assert b"20 samples, seed 12345" in printed.stdout
    assert b"sentences: 3, reference\n" in printed.stdout
    as_json = _score_files(tmp_path, "--format=json", **texts)
    scores = json.loads(as_json.stdout)["scores"]
    assert [score["metric"] for score in scores] == ["sacreBLEU"] * 2 + ["chrF2"] * 2
    assert "bs:1000|seed:12345" in scores[0]["signature"]


def test_a_comet_model_that_is_not_there_ends_with_one(tmp_path):
    texts = {name: "Ein Satz.\n" for name in ("hypothesis", "reference", "source")}
    message = _error(_score_files(tmp_path, "--comet", tmp_path / "model", **texts))
    assert "There is no COMET model" in message and "nothing is downloaded" in message


@pytest.mark.parametrize("longer", ["reference", "source"])
def test_files_of_unequal_length_are_not_scored(tmp_path, longer):
    texts = {name: "Ein Satz.\n" for name in ("hypothesis", "reference", "source")}
    texts[longer] += "Noch einer.\n"
    message = _error(_score_files(tmp_path, **texts))
    assert f"1 hypothesis lines and 2 {longer} lines" in message


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["--config.model.d_modell=3"], ["no field model.d_modell", "model.d_model?"]),
        (["--config.model.num_layer=3"], ["config.model.num_encoder_layers?"]),
        (["--config.model.warmup_steps=3"], ["config.optimizer.warmup_steps?"]),
        (["--config.optimizer.decay_steps=3"], ["config.optimizer.num_steps now"]),
        (["--config=configs/grammar_tini.py"], ["Did you mean grammar_tiny.py?"]),
        (["--config.data.directory=/nowhere"], ["/nowhere/train.en"]),
    ],
)
def test_a_config_that_cannot_be_used_ends_with_a_message(tmp_path, changes, words):
    if not changes[0].startswith("--config="):
        changes = ["--config=configs/own_text.py", *changes]
    message = _error(_run("train.py", f"--workdir={tmp_path / 'run'}", *changes))
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    "arguments",
    [
        ["train.py"],
        ["train.py", "--config=configs/own_text.py", "--wrkdir=x"],
        [
            "train.py",
            "--config=configs/own_text.py",
            "--workdir=x",
            "surplus",
        ],
        ["train.py", "--config=configs/own_text.py", "--config.seed=one"],
        ["evaluate.py"],
        ["-m", "transformer_jax", "score"],
        ["evaluate.py", "--hypothesis", "h"],
        ["evaluate.py", "--workdir", "x", "--baseline", "b"],
        ["evaluate.py", "--workdir", "x", "--target_language", "de"],
        ["evaluate.py", *_FILES, "--beam_size", "3"],
        ["evaluate.py", *_FILES, "--hypothesis", "-", "--source", "/dev/stdin"],
        ["evaluate.py", *_FILES, "--bootstrap_samples", "9"],
        ["evaluate.py", *_FILES, "--comet", "m"],
        ["evaluate.py", *_FILES, "--source", "s", "--comet", "m", "--baseline", "b"],
        ["evaluate.py", *_FILES, "--source", "s", "--comet", "m", "--reference", "r"],
        ["evaluate.py", *_FILES, "--hypothesis", "other"],
        ["evaluate.py", *_FILES, "--output_directory", "o"],
        ["evaluate.py", *_FILES, "--tokenizer", "words"],
        ["-m", "transformer_jax", "translate", "--workdir", "a", "--workdir", "b"],
        ["train.py", "--config=configs/own_text.py", "--workdir=a", "--workdir=b"],
        ["-m", "transformer_jax", "translate"],
        ["-m", "transformer_jax", "prepare"],
        ["-m", "transformer_jax"],
        ["-m", "transformer_jax", "trian"],
        ["-m", "transformer_jax", "train"],
        ["-m", "transformer_jax", "evaluate"],
    ],
)
def test_wrong_usage_exits_with_2_and_says_where_to_look(arguments):
    assert "--help" in _error(_run(*arguments), code=2)


def test_fewer_examples_than_none_are_a_mistake_of_usage(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["evaluate.py", "--workdir=run", "--examples=-3"])
    with pytest.raises(SystemExit, match="2"):
        evaluate.main()
    assert "--examples=-3: expected at least 0" in capsys.readouterr().err
