"""RUN/lock: one process trains in a run at a time; readers need no lock."""

import contextlib
import errno
import fcntl
import json
import os
import pathlib
import platform
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

import jax

from transformer_jax.errors import UserError

# The holder touches its lock so often; on another host it counts as gone after the
# second, as only there nothing else tells that its process was killed.
_TOUCH_SECONDS = 60.0
STALE_SECONDS = 600.0

# Where starters of several processes tell each of them how many there are, and its own
# number.
_COPIES = (
    ("srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
    ("mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("mpiexec", "PMI_SIZE", "PMI_RANK"),
    ("torchrun", "WORLD_SIZE", "RANK"),
)


@contextlib.contextmanager
def training_lock(root: str | os.PathLike[str]) -> Iterator[Callable[[], None]]:
    """Hold the lock of a run while the block trains in it.

    The system frees the lock when its process dies, however that happens.

    Args:
      root: the run's folder; made if it is missing.

    Yields:
      A function that raises a `UserError` if the lock is not ours any more: the run
      was moved or removed, or the lock was, and what is written now would land in
      another's run.

    Raises:
      UserError: if another process trains there, or this one is one of several copies
        that do not know of one another.
    """
    _refuse_copies(os.environ)
    if jax.process_index() != 0:
        yield lambda: None
        return
    path = pathlib.Path(root) / "lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = _open(path)
    except OSError as error:
        raise UserError(
            f"Cannot lock {path.parent} to train in it: {path}: "
            f"{error.strerror or error}. Give a --workdir that can be written."
        ) from error
    is_done = threading.Event()
    with file:
        _write_owner(file)
        threading.Thread(
            target=_touch_until, args=(is_done, path), name="lock", daemon=True
        ).start()
        try:
            yield lambda: _require_at(file, path)
        finally:
            is_done.set()
            if _is_at(file, path):
                path.unlink(missing_ok=True)


def _open(path: pathlib.Path) -> BinaryIO:
    """Return the lock's file, locked."""
    while True:
        file = open(path, "a+b")
        try:
            _lock(file, path)
            _refuse_other_host(file, path)
            # Its last holder may have removed it after it was opened here.
            if _is_at(file, path):
                return file
        except BaseException:
            file.close()
            raise
        file.close()


def _is_at(file: BinaryIO, path: pathlib.Path) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _require_at(file: BinaryIO, path: pathlib.Path) -> None:
    if not _is_at(file, path):
        raise UserError(
            f"{path.parent} was moved or removed while it was trained in, or its lock "
            "was taken away, so nothing more is saved there. What was saved before "
            "stays. Start again with the --workdir where the run is now."
        )


def _lock(file: BinaryIO, path: pathlib.Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _in_use(_owner(file), path) from None
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        # A file system without locks: what is written in the file has to do.
        if _is_alive(_owner(file)):
            raise _in_use(_owner(file), path) from None


def _refuse_other_host(file: BinaryIO, path: pathlib.Path) -> None:
    """Refuse the lock of another host, whose file system need not know of ours."""
    owner = _owner(file)
    age = time.time() - os.fstat(file.fileno()).st_mtime
    if owner.get("host") not in (None, platform.node()) and age < STALE_SECONDS:
        raise _in_use(owner, path)


def _owner(file: BinaryIO) -> dict[str, Any]:
    """Return what the lock's holder wrote; nothing if it wrote nothing whole."""
    file.seek(0)
    try:
        found = json.loads(file.read())
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _is_alive(owner: Mapping[str, Any]) -> bool:
    process = owner.get("process")
    if owner.get("host") != platform.node() or not isinstance(process, int):
        return False
    try:
        os.kill(process, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return process != os.getpid()


def _write_owner(file: BinaryIO) -> None:
    owner = {
        "host": platform.node(),
        "process": os.getpid(),
        "since": time.strftime("%Y-%m-%d %H:%M:%S %Z"),
    }
    file.truncate(0)
    file.write(json.dumps(owner).encode() + b"\n")
    file.flush()


def _touch_until(is_done: threading.Event, path: pathlib.Path) -> None:
    while not is_done.wait(_TOUCH_SECONDS):
        with contextlib.suppress(OSError):
            os.utime(path)


def _in_use(owner: Mapping[str, Any], path: pathlib.Path) -> UserError:
    who = "another process"
    if owner:
        who = "process {process} on {host}, since {since},".format_map(
            {"process": "?", "host": "?", "since": "?"} | dict(owner)
        )
    return UserError(
        f"{path.parent} is in use: {who} trains in it. Wait for it, stop it, or give "
        "another --workdir. If it is gone for certain, remove the file "
        f"{path}; a lock from another host counts for nothing once it has not been "
        f"touched for {STALE_SECONDS / 60:.0f} minutes."
    )


def _refuse_copies(environment: Mapping[str, str]) -> None:
    """Refuse to be one of several processes that would all do the same."""
    if jax.process_count() > 1:
        return
    for starter, name, rank in _COPIES:
        number = environment.get(name, "")
        if rank in environment and number.isdigit() and int(number) > 1:
            raise UserError(
                f"{starter} started {number} copies of this program ({name}={number}), "
                "and each would train the whole run. Start one process; it uses all "
                "the devices of its host."
            )
