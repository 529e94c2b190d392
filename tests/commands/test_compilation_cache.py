import os
import subprocess
import sys

_PROGRAM = """
import logging, jax, jax.numpy as jnp
logging.basicConfig(format="%(message)s")
from transformer_jax.commands.compilation_cache import use_compilation_cache
use_compilation_cache()
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
events = []
jax.monitoring.register_event_listener(lambda name, **_: events.append(name))
print(float(jax.jit(lambda x: jnp.sin(x) @ x)(jnp.ones((3, 3))).sum()))
print(events.count("/jax/compilation_cache/cache_hits"))
print(jax.config.jax_compilation_cache_dir)
"""


def run(**variables):
    """Return what the program printed, a word for each line, and its warnings."""
    names = ("TRANSFORMER_JAX_COMPILATION_CACHE", "JAX_COMPILATION_CACHE_DIR")
    environment = {k: v for k, v in os.environ.items() if k not in names}
    result = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env=environment | {k: str(v) for k, v in variables.items()},
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout.split(), result.stderr


def test_a_second_start_finds_what_the_first_compiled(tmp_path):
    first, _ = run(XDG_CACHE_HOME=tmp_path)
    second, _ = run(XDG_CACHE_HOME=tmp_path)
    assert first[2] == str(tmp_path / "transformer_jax" / "compiled")
    assert first[0] == second[0]
    assert (int(first[1]), int(second[1]) > 0) == (0, True)


def test_the_directory_can_be_named_or_switched_off(tmp_path):
    ours, jaxs = tmp_path / "ours", tmp_path / "jax"
    assert run(TRANSFORMER_JAX_COMPILATION_CACHE=ours)[0][2] == str(ours)
    assert run(TRANSFORMER_JAX_COMPILATION_CACHE="off")[0][2] == "None"
    both = {
        "TRANSFORMER_JAX_COMPILATION_CACHE": ours,
        "JAX_COMPILATION_CACHE_DIR": jaxs,
    }
    assert run(**both)[0][2] == str(jaxs)


def test_a_directory_that_cannot_be_made_is_said_and_done_without(tmp_path):
    (tmp_path / "file").write_text("")
    inside = tmp_path / "file" / "cache"
    printed, warned = run(TRANSFORMER_JAX_COMPILATION_CACHE=inside)
    assert printed[2] == "None"
    assert str(inside) in warned and "TRANSFORMER_JAX_COMPILATION_CACHE" in warned
