"""Before the imports: huge pages, UTF-8, and what Ctrl-C does."""

import os
import subprocess
import sys

import pytest

from transformer_jax.commands.start import with_utf8

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="starts anew on Linux")
_NOT_UTF8 = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}


def _run(program: str, *arguments: str, before=(), **options):
    return subprocess.run(
        [*before, sys.executable, "-c", program, *arguments],
        capture_output=True,
        timeout=100,
        **options,
    )


def test_a_program_starts_anew_with_its_arguments_and_input():
    program = (
        "import os, sys;"
        "from transformer_jax.commands.start import restart;"
        "restart();"
        "print(os.environ['GLIBC_TUNABLES'], os.environ['PYTHONUTF8']);"
        "print(sys.getfilesystemencoding(), ascii(sys.argv[1:]));"
        "print(sys.stdin.read())"
    )
    environment = {k: v for k, v in os.environ.items() if k != "GLIBC_TUNABLES"}
    environment |= {"JAX_PLATFORMS": "cpu", **_NOT_UTF8}
    result = _run(program, "--ä b", "c", env=environment, input=b"some text")
    assert result.stderr == b""
    assert result.stdout.decode().splitlines() == [
        "glibc.malloc.hugetlb=1 1",
        r"utf-8 ['--\xe4 b', 'c']",
        "some text",
    ]


def test_python_is_asked_for_utf8_only_where_it_has_another():
    assert with_utf8({"HOME": "/home"}, "utf-8") == {"HOME": "/home"}
    changed = {"HOME": "/home", "PYTHONUTF8": "1"}
    assert with_utf8({"HOME": "/home"}, "iso8859-1") == changed
    # Where Python does not listen, it is not asked for ever.
    assert with_utf8(changed, "ascii") == changed


_INTERRUPTED_IMPORT = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "jax":
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except BaseException:  # As some packages do around an import.
                pass
sys.meta_path.insert(0, Interrupting())
from transformer_jax.commands.start import start
sys.argv[1:] = []
start(COMMAND)
"""


@pytest.mark.parametrize("command", ["train", "evaluate", "translate"])
def test_ctrl_c_during_the_imports_ends_in_one_line(command):
    result = _run(_INTERRUPTED_IMPORT.replace("COMMAND", repr(command)))
    assert result.returncode == 130
    assert result.stdout == b""
    assert result.stderr.decode() == f"{command}: interrupted\n"


def test_a_ctrl_c_that_is_ignored_at_the_start_stays_ignored():
    program = _INTERRUPTED_IMPORT.replace("COMMAND", "'translate'")
    ignoring = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
    result = _run(program, before=ignoring)
    assert result.returncode == 2  # No --workdir.
    assert b"required: --workdir" in result.stderr
