from transformer_jax.config import default
from transformer_jax.runs.directory import RunDirectory


def test_what_was_prepared_and_never_trained_with_is_made_anew(tmp_path):
    """The text of any split that a source had, and of no other file's name."""
    directory = RunDirectory(tmp_path)
    sides = ("source", "target")
    directory.claim(default.get_config(), sides)
    directory.write_split("dev2", [("old", "alt")], sides)
    directory.write_split("test", [("old", "alt")], sides)
    (tmp_path / "text/notes.txt").write_text("mine")
    directory.claim(default.get_config(), sides)
    assert [path.name for path in directory.text.iterdir()] == ["notes.txt"]
    directory.write_split("dev2", [("new", "neu"), ("", "leer")], sides)
    assert directory.read_split("dev2") == (["new", ""], ["neu", "leer"])
