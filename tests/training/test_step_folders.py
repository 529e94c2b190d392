import os
import types

import pytest

from transformer_jax.training import step_folders


@pytest.fixture
def folder(tmp_path):
    """What a save has begun: two folders, one in the other, with a file each."""
    folder = tmp_path / "2.orbax-checkpoint-tmp"
    (folder / "d").mkdir(parents=True)
    (folder / "manifest").write_text("1")
    (folder / "d" / "early").write_text("2")
    return folder


@pytest.fixture
def pauses(monkeypatch):
    """Record the pauses between tries instead of making them."""
    pauses = []
    monkeypatch.setattr(
        step_folders, "time", types.SimpleNamespace(sleep=pauses.append)
    )
    return pauses


def write_before_rmdir(monkeypatch, write):
    """Let `write(number)` end between the last file's removal and its folder's."""
    rmdir, calls = os.rmdir, []

    def late(*arguments, **keywords):
        calls.append(arguments)
        write(len(calls))
        rmdir(*arguments, **keywords)

    monkeypatch.setattr(os, "rmdir", late)


def test_a_folder_into_which_writes_still_end_is_removed(folder, pauses, monkeypatch):
    def write(number):
        if number <= 2:
            (folder / "d").mkdir(parents=True, exist_ok=True)
            (folder / "d" / f"late {number}").write_text("3")

    write_before_rmdir(monkeypatch, write)
    step_folders.remove(folder)
    assert not folder.exists()
    assert pauses


def test_a_folder_that_cannot_be_removed_is_named_in_a_warning_after_so_many_tries(
    folder, pauses, monkeypatch, caplog
):
    write_before_rmdir(
        monkeypatch, lambda number: (folder / "d" / f"late {number}").touch()
    )
    step_folders.remove(folder)
    (warning,) = [record.getMessage() for record in caplog.records]
    assert warning.startswith(f"{folder} is of no more use")
    assert "Directory not empty" in warning
    assert sum(pauses) == pytest.approx(5.11)


def test_a_folder_that_is_protected_is_named_too(tmp_path, pauses, monkeypatch, caplog):
    def deny(*arguments, **keywords):
        raise PermissionError(13, "Permission denied")

    folder = tmp_path / "5"
    folder.mkdir()
    (folder / "checksums.json").write_text("{}")
    monkeypatch.setattr(os, "unlink", deny)
    step_folders.remove(folder)
    assert "could not be removed" in caplog.text
    assert step_folders.finished_steps(tmp_path) == []


def test_a_folder_that_goes_at_once_costs_no_pause(folder, pauses, caplog):
    step_folders.remove(folder)
    step_folders.remove(folder)
    assert not folder.exists()
    assert not pauses and not caplog.records


def test_saves_are_told_from_what_else_lies_there(tmp_path):
    ours = {"7": 7, "12": 12, "12.orbax-checkpoint-tmp": 12}
    ours |= {"3.orbax-checkpoint-tmp-1700000000": 3}
    others = ("12.backup", "best", "x7", "7x", ".orbax-checkpoint-tmp", "007", "9")
    for name in (*ours, *others):
        (tmp_path / name).mkdir()
    for name in ("7", "007"):
        (tmp_path / name / "step.json").write_text("{}")
    (tmp_path / "12" / "_METADATA").write_text("{}")
    (tmp_path / "8").write_text("a file")
    saves = step_folders.saves_in(tmp_path)
    assert {path.name: step for path, step in saves.items()} == ours
    assert step_folders.saves_in(tmp_path / "missing") == {}
