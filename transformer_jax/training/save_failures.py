"""What to say, and what to wait for, when a checkpoint cannot be written."""

import contextlib
import errno
import functools
import gc
import logging
import pathlib
import sys

import tensorstore as ts

from transformer_jax.errors import UserError

_DISK_ERRORS = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EROFS, errno.EACCES)
_DISK_WORDS = ("No space left", "File too large", "quota exceeded", "Permission denied")

_SECONDS_FOR_A_WRITE = 60.0


def explain(error: BaseException, step: int, directory: pathlib.Path) -> BaseException:
    """Turn an error of the disk into one that a person can act on; leave any other."""
    reason = _disk_reason(error)
    if reason is None:
        return error
    return UserError(
        f"Step {step} could not be saved to {directory}: {reason}. Earlier checkpoints "
        "are untouched. Make room, or keep fewer of them, and start the same command "
        "again; it goes on from the last one."
    )


def _disk_reason(error: BaseException | None) -> str | None:
    """Look for a fault of the disk in an error and its causes."""
    while error is not None:
        for words in _DISK_WORDS:
            if words in str(error):
                return words
        if isinstance(error, OSError) and error.errno in _DISK_ERRORS:
            return str(error)
        error = error.__cause__ or error.__context__
    return None


def wait_for_other_writes() -> None:
    """Block until the writes have ended that were under way when another failed.

    Orbax raises at the first that fails and forgets the others. TensorStore still puts
    their files into the folder, and makes it anew if it is gone. The garbage collector
    knows each of them as long as it lasts, because it will report its end.
    """
    writes = [thing for thing in gc.get_objects() if type(thing) is ts.Future]
    for write in writes:
        # How it ends is of no interest any more.
        with contextlib.suppress(Exception):
            write.result(timeout=_SECONDS_FOR_A_WRITE)


@functools.cache
def quiet_background() -> None:
    """Keep tracebacks of failed saves off the screen from now on; all are raised.

    Orbax logs what it raises as well; and writes that end after the first one that
    failed find nobody to report to, at any later time.
    """
    logging.getLogger("absl").addFilter(_is_no_save_traceback)
    logging.getLogger("asyncio").addFilter(_is_no_lost_failure)
    shown_before = sys.unraisablehook

    def show(unraisable: "sys.UnraisableHookArgs") -> None:
        if str(unraisable.exc_value) != "Event loop is closed":
            shown_before(unraisable)

    sys.unraisablehook = show


def _is_no_save_traceback(record: logging.LogRecord) -> bool:
    return not (record.exc_info and "orbax" in record.pathname)


def _is_no_lost_failure(record: logging.LogRecord) -> bool:
    return "exception was never retrieved" not in record.getMessage()
