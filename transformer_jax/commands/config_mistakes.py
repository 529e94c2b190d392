"""What is said about a config file, or a field, that cannot be used."""

import os
import pathlib
import re
import traceback
from collections.abc import Iterator, Sequence

from transformer_jax.commands.parser import PROGRAM
from transformer_jax.config.names import nearest_field
from transformer_jax.config.tree import all_paths, models_with
from transformer_jax.config.versions import RENAMED
from transformer_jax.models import MODELS

ALL_FIELDS = f"`{PROGRAM} report fields` lists them all."


def find_bare_field(arguments: Sequence[str]) -> str | None:
    """Return what to say of a field without --config. before it, if there is one."""
    known = list(all_paths())
    for argument in arguments:
        name = argument.partition("=")[0]
        # A run may be called seed=3.
        match = re.match(r"config\.([\w.-]+)$|--?(?!config\.)([\w.-]+)$", name)
        if match is None:
            continue
        path = (match[1] or match[2]).replace("-", "_")
        meant = [f"--config.{f}" for f in known if f".{f}".endswith(f".{path}")]
        if meant:
            return f"there is no {name}. Did you mean {' or '.join(meant)}?"
    return None


def in_words(message: str) -> str:
    """Say what a number has to be without the names of Python's functions."""
    number = r"invalid literal for int\(\).*|(could not convert string to float).*"
    return re.sub(
        number, lambda m: f"expected a {'' if m[1] else 'whole '}number", message
    )


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, and what it came from, back to what it began with."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def find_cause(error: BaseException, file: pathlib.Path) -> tuple[BaseException, str]:
    """Return what an error began with, and where in the config's file, or "".

    What the file itself met counts, not what its libraries met and took for another.
    """
    found, line = error, ""
    for cause in causes(error):
        numbers = [
            frame.lineno
            for frame in traceback.extract_tb(cause.__traceback__)
            if _is_same_file(frame.filename, file)
        ]
        if isinstance(cause, SyntaxError) and _is_same_file(cause.filename or "", file):
            numbers.append(cause.lineno)
        if numbers or not line:
            found = cause
        if numbers:
            line = f" In {file}, line {numbers[-1]}."
    return found, line


def _is_same_file(path: str, file: pathlib.Path) -> bool:
    return os.path.abspath(path) == os.path.abspath(file)


def missing_field(error: BaseException, arguments: Sequence[str]) -> str:
    """Return the field that a config has not; "" if the error is another.

    Args:
      error: of a locked config; it names the last part of the field alone.
      arguments: of the command line, which has the whole of it if it was given there.
    """
    if not isinstance(error, AttributeError | KeyError) or not error.args:
        return ""
    known = set(all_paths())
    given = [argument.lstrip("-").partition("=")[0] for argument in arguments]
    paths = [path.removeprefix("config.") for path in given if "config." in path]
    for path in paths:
        if path not in known:
            return path
    text = str(error.args[0])
    missing = r'\W*Key "([\w.]+)" (?:does not exist|cannot be set)'
    found = re.match(missing + r"|\W+(\w+)\W*(?:\n|\\n|$)", text)
    name = (found[1] or found[2]) if found else ""
    # A bare word may be the key of anything, unless it was given as a field.
    last = name or text
    return next((path for path in paths if path.rpartition(".")[2] == last), name)


def model_in(error: BaseException) -> str | None:
    """Return the model whose fields an error lists, if it does."""
    found = re.search(r"'name': '(\w+)'", str(error).replace("\\", ""))
    return found[1] if found and found[1] in MODELS else None


def explain_file(error: BaseException, file: pathlib.Path) -> str:
    """Say why the file of --config gave no config."""
    if isinstance(error, ImportError) and "default" in str(error):
        advice = " Say: from transformer_jax.config import default."
    elif isinstance(error, AttributeError) and "'get_config'" in str(error):
        return (
            f"--config={file} cannot be loaded: it has no function get_config. Write "
            "one that returns what default.get_config() gives, with your changes."
        )
    elif isinstance(error, TypeError) and "get_config() takes 0" in str(error):
        advice = " It takes nothing behind a colon: leave that out."
    else:
        advice = ""
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return (
        f"--config={file} cannot be loaded: {type(error).__name__}: {message}.{advice}"
    )


def explain_field(path: str, model: str | None = None) -> str:
    """Say that there is no such field, and which was meant.

    Args:
      path: of the field, or the last part of it.
      model: whose config it is, if that is known.
    """
    known = list(all_paths(model))
    if "." in path and (having := models_with(path)):
        text = (
            f"the config has no field {path}: it is one of another model or task than "
            "those that the config is made for."
        )
        if len(having) == len(MODELS):  # A task's, whatever the model is.
            return text
        verb = "has" if len(having) == 1 else "have"
        return (
            f"{text} {' and '.join(having)} {verb} it: --config.model.name chooses the "
            "model."
        )
    renamed = [
        f"config.{new}"
        for old, new in RENAMED.items()
        if path in (old, old.rpartition(".")[2])
    ]
    if renamed:
        names = " or ".join(renamed)
        return f"the config has no field {path}; it is called {names} now."
    sections = {field.rpartition(".")[0] for field in known} - {""}
    nearest = nearest_field(path, [*known, *sorted(sections)])
    hint = f"Did you mean config.{nearest}?" if nearest else ALL_FIELDS
    return f"the config has no field {path}. {hint}"
