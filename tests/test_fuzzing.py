"""Whatever bytes a file holds, its reader returns, or raises one error for people."""

import json
import pathlib
import shutil
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tiny_run import train_one_step
from transformer_jax.config.versions import read_fields
from transformer_jax.data.line_index import LineIndex
from transformer_jax.data.lines import read_lines
from transformer_jax.data.token_cache import TokenCache
from transformer_jax.data.tokenizer import Tokenizer
from transformer_jax.errors import UserError
from transformer_jax.runs.directory import RunDirectory
from transformer_jax.runs.hardware_record import read_hardware
from transformer_jax.runs.repetition_record import read_repetitions
from transformer_jax.runs.run_evaluation import read_aligned
from transformer_jax.training.metrics_file import read_rows

FUZZED = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return train_one_step(tmp_path_factory.mktemp("fuzzed"))


@st.composite
def changes(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """Return a way to spoil bytes: cut them, or put others in a few places."""
    places = st.floats(0, 1, exclude_max=True)
    patches = draw(st.lists(st.tuples(places, st.binary(max_size=4)), max_size=4))
    end = draw(st.one_of(st.none(), places))

    def change(content: bytes) -> bytes:
        for place, patch in patches:
            start = int(place * len(content))
            content = content[:start] + patch + content[start + len(patch) :]
        return content if end is None else content[: int(end * len(content))]

    return change


def _quietly(read: Callable[[], object]) -> None:
    """Let a reader return, or say what is wrong; anything else is a fault."""
    try:
        read()
    except UserError as error:
        assert str(error)


def _lines(index: LineIndex) -> list[str]:
    return [index[number] for number in range(len(index))]


def _tokenise(path: pathlib.Path) -> None:
    tokenizer = Tokenizer(path)
    ids = tokenizer.encode(["The dog sleeps.", "\u2581\u6f22 \u00fc"])
    tokenizer.decode([*ids, list(range(tokenizer.vocab_size))])
    tokenizer.pieces(range(tokenizer.vocab_size))


@FUZZED
@given(change=changes())
@pytest.mark.parametrize("name", ["config.json", "data.json", "manifest.json"])
def test_a_runs_small_files(run, tmp_path, name, change):
    for file in ("config.json", "data.json", "manifest.json"):
        shutil.copy(run / file, tmp_path / file)
    path = tmp_path / name
    path.write_bytes(change(path.read_bytes()))
    directory = RunDirectory(tmp_path)
    _quietly(directory.read_config)
    _quietly(directory.read_fingerprints)


@FUZZED
@given(change=changes())
@pytest.mark.parametrize(
    ("name", "read"),
    [("hardware.json", read_hardware), ("repetitions.json", read_repetitions)],
)
def test_a_runs_records_that_no_manifest_guards(run, tmp_path, name, read, change):
    (tmp_path / name).write_bytes(change((run / name).read_bytes()))
    _quietly(lambda: read(RunDirectory(tmp_path)))


@FUZZED
@given(
    fields=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=5,
    ),
    section=st.sampled_from(["model", "data", "optimizer", "task", "seed"]),
)
def test_fields_of_a_config(run, fields, section):
    config = json.loads((run / "config.json").read_text())
    config[section] = fields
    _quietly(lambda: read_fields(config))


@FUZZED
@given(change=changes())
def test_a_tokenizer(run, tmp_path, change):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(change((run / "tokenizer.model").read_bytes()))
    _quietly(lambda: _tokenise(path))


@FUZZED
@given(change=changes())
def test_metrics(run, tmp_path, change):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(change((run / "metrics.jsonl").read_bytes()))
    for row in read_rows(path):
        assert isinstance(row["step"], int)


@FUZZED
@given(change=changes())
@pytest.mark.parametrize("name", ["manifest.json", "shard-00000.bin"])
def test_a_token_cache(run, tmp_path, name, change):
    (cache,) = (run / "tokens").glob("train-*")
    folder = shutil.copytree(cache, tmp_path / "cache", dirs_exist_ok=True)
    before = TokenCache(folder).lengths
    path = folder / name
    path.write_bytes(change(path.read_bytes()))
    found = []
    _quietly(lambda: found.append(TokenCache(folder).lengths))
    assert all((lengths == before).all() for lengths in found)


@FUZZED
@given(change=changes())
@pytest.mark.parametrize("suffix", [".json", ".offsets"])
def test_an_index_of_lines(tmp_path, suffix, change):
    text = tmp_path / "text"
    if not text.exists():  # Written again, it would have another index.
        text.write_bytes("One.\nZw\u00f6lf.\n\nThree.\n".encode())
    LineIndex(text, tmp_path / "lines")
    (path,) = (tmp_path / "lines").glob(f"*{suffix}")
    path.write_bytes(change(path.read_bytes()))
    index = LineIndex(text, tmp_path / "lines")
    assert _lines(index) == ["One.", "Zw\u00f6lf.", "", "Three."]


@FUZZED
@given(source=st.binary(max_size=60), change=changes())
def test_hypotheses_and_references(tmp_path, source, change):
    paths = [tmp_path / name for name in ("hypothesis", "reference")]
    for path, content in zip(paths, (source, change(source)), strict=True):
        path.write_bytes(content)
        _quietly(lambda path=path: read_lines(path))
    _quietly(lambda: read_aligned(*map(str, paths)))


@FUZZED
@given(content=st.binary(max_size=80))
def test_training_text(tmp_path, content):
    path = tmp_path / "text"
    path.write_bytes(content)
    for has_columns in (False, True):
        index: list[LineIndex] = []
        _quietly(
            lambda has_columns=has_columns, index=index: index.append(
                LineIndex(path, tmp_path / "lines", has_columns=has_columns)
            )
        )
        for lines in index:
            assert len(_lines(lines)) == len(lines)
