"""Eight virtual CPU devices, strict shapes, and where the outside data lies."""

import os
import pathlib
import signal
import tempfile

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
)
# Tests, and the commands that they start, build the same small programs again and
# again: each is compiled once. Nothing is left in the user's directories.
if "PYTEST_XDIST_WORKER" not in os.environ:
    _CACHE = tempfile.TemporaryDirectory(prefix="xla_cache_")
    os.environ["JAX_COMPILATION_CACHE_DIR"] = _CACHE.name
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.2"

# Under nohup, or in the background of a script, signals are ignored, which the program
# respects. Tests send them.
for number, handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGTERM, signal.SIG_DFL),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, handler)

import jax  # noqa: E402 (the flags above must be set first)
import pytest  # noqa: E402

jax.config.update("jax_numpy_rank_promotion", "raise")

_ROOT = pathlib.Path(__file__).resolve().parent.parent


# The files that take longest begin: else one processor waits for them at the end.
_FIRST = ("test_learning.py", "test_docs_sessions.py", "test_docs_blocks.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first; all other tests stay in their order."""
    order = {name: place for place, name in enumerate(_FIRST)}
    items.sort(key=lambda item: order.get(item.path.name, len(_FIRST)))


def _find_test_data() -> pathlib.Path | None:
    """Return the folder of data that is not part of the project, if there is one."""
    named = os.environ.get("TRANSFORMER_JAX_TEST_DATA")
    places = [named] if named else [_ROOT / "shared/data", _ROOT.parent / "shared/data"]
    return next(
        (path for place in places if (path := pathlib.Path(place)).is_dir()), None
    )


@pytest.fixture(scope="session")
def test_data() -> pathlib.Path:
    """The folder with Multi30k, scores and foreign outputs, or a skip."""
    folder = _find_test_data()
    if folder is None:
        pytest.skip("needs outside data: set TRANSFORMER_JAX_TEST_DATA to its folder")
    return folder
