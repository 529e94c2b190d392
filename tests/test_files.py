import os
import pathlib
import platform
import subprocess
import sys

import pytest

from transformer_jax.errors import UserError
from transformer_jax.files import (
    as_path,
    read_checked_json,
    remove_partials,
    with_checksum,
    without_checksum,
    write_atomically,
    write_json,
)

VALUE = {"a": 1, "b": [0.1, None, "ü"], "c": {"d": True}}


def test_what_killed_processes_left_of_their_writes_goes_and_nothing_else(tmp_path):
    finished = subprocess.Popen([sys.executable, "-c", ""])
    finished.wait()
    host = platform.node()
    gone = [f"a.json.{finished.pid}@{host}.partial", f"b.{os.getpid()}@{host}.partial"]
    kept = [
        f"c.{os.getppid()}@{host}.partial",
        "d.1@elsewhere.partial",
        "e.1.partial",
        "thesis.partial",
        "notes.txt",
    ]
    old = ["f.1@elsewhere.partial", "g.1.partial"]
    (tmp_path / "text").mkdir()
    for name in (*gone, *kept, *old):
        (tmp_path / "text" / name).write_text("1")
    for name in old:
        os.utime(tmp_path / "text" / name, (0, 0))
    os.utime(tmp_path / "text/thesis.partial", (0, 0))
    remove_partials(tmp_path)
    assert {path.name for path in (tmp_path / "text").iterdir()} == set(kept)


def test_a_killed_writer_leaves_what_is_removed(tmp_path):
    program = (
        "import os, sys\n"
        "from transformer_jax.files import write_atomically\n"
        "with write_atomically(sys.argv[1]) as file:\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path / "a"], check=False)
    (left,) = tmp_path.iterdir()
    assert left.name.endswith(".partial")
    remove_partials(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_checked_object_comes_back_and_any_change_of_it_does_not(tmp_path):
    path = tmp_path / "value.json"
    write_json(path, with_checksum(VALUE))
    assert read_checked_json(path) == VALUE
    content = path.read_bytes()
    for place in range(len(content)):
        for changed in (
            content[:place],
            content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :],
        ):
            path.write_bytes(changed)
            # A change of spaces, or of the checksum's own name, changes no value.
            found = read_checked_json(path)
            assert found is None or found == VALUE or VALUE.items() <= found.items()


@pytest.mark.parametrize("value", [None, [], 3, "text"])
def test_what_is_no_object_is_none(value):
    assert without_checksum(value) is None


def test_an_object_from_before_there_were_checksums_is_taken_as_it_is():
    assert without_checksum(VALUE) == VALUE


def test_two_hosts_write_under_different_names(tmp_path, monkeypatch):
    monkeypatch.setattr(platform, "node", lambda: "here")
    with write_atomically(tmp_path / "a"):
        (partial,) = tmp_path.iterdir()
        assert partial.name == f"a.{os.getpid()}@here.partial"


def test_the_home_directory_is_meant_by_its_sign(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert (
        as_path("~/runs/a") == as_path(pathlib.Path("~/runs/a")) == tmp_path / "runs/a"
    )
    assert as_path("~") == tmp_path
    assert as_path("runs/~") == pathlib.Path("runs/~")
    with write_atomically("~/new/file") as file:
        file.write(b"text")
    assert (tmp_path / "new/file").read_bytes() == b"text"


def test_what_is_in_the_way_of_a_file_is_to_be_moved_away(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("text")
    for path in ("folder", "file/a"):
        with (
            pytest.raises(UserError, match=f"write .*{path}: .*Move away"),
            write_atomically(tmp_path / path),
        ):
            pass


def test_an_empty_path_is_not_the_current_directory():
    with pytest.raises(UserError, match="path is empty.*variable.*current directory"):
        as_path("")


def test_a_home_that_there_is_not_is_refused():
    with pytest.raises(UserError, match="no home directory ~nobody_here.*whole path"):
        as_path("~nobody_here/runs")


def test_a_name_that_is_not_utf8_is_refused():
    with pytest.raises(UserError, match=r"'/data/\\udcdcbung'.*not UTF-8.*Rename"):
        as_path(os.fsdecode(b"/data/\xdcbung"))
