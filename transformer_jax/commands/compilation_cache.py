"""Compiled programs kept between runs, so that a restart does not compile again."""

import logging
import os
import pathlib

import jax

from transformer_jax.files import as_path

DIRECTORY_VARIABLE = "TRANSFORMER_JAX_COMPILATION_CACHE"
OFF = "off"
_LOGGER = logging.getLogger(__name__)


def use_compilation_cache() -> None:
    """Let JAX keep what it compiles, in a directory of the user's.

    JAX_COMPILATION_CACHE_DIR, if it is set, has the last word, as in every program that
    uses JAX. Otherwise TRANSFORMER_JAX_COMPILATION_CACHE names the directory, or says
    "off"; the default is transformer_jax/compiled in the user's cache directory
    (XDG_CACHE_HOME, or ~/.cache). Several processes may share it: JAX writes each
    program under another name first. A directory that cannot be written is done
    without, and said.
    """
    named = os.environ.get(DIRECTORY_VARIABLE, "")
    # JAX's own variable has been read into this value.
    if named == OFF or jax.config.values["jax_compilation_cache_dir"] is not None:
        return
    directory = as_path(named) if named else _default_directory()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        is_writable = os.access(directory, os.W_OK | os.X_OK)
    except OSError:
        is_writable = False
    if not is_writable:
        _LOGGER.warning(
            "Compiled programs cannot be kept in %s, so each start compiles again. "
            "Set %s to a directory that can be written, or to %s.",
            directory,
            DIRECTORY_VARIABLE,
            OFF,
        )
        return
    jax.config.update("jax_compilation_cache_dir", str(directory))
    # Programs that compile faster are not worth a file.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)


def _default_directory() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "transformer_jax" / "compiled"
