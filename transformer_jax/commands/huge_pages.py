"""Large arrays on huge pages: on a CPU a training step takes a quarter less time.

glibc reads the setting when a process starts, so the program starts itself anew with
it; nothing heavy is imported before. `transformer_jax` does so by itself on Linux where
no accelerator is found; TRANSFORMER_JAX_HUGE_PAGES=off leaves it be.
"""

import glob
import os
import platform
import sys
from collections.abc import Callable, Mapping

VARIABLE = "TRANSFORMER_JAX_HUGE_PAGES"
_TUNABLES = "GLIBC_TUNABLES"
_HUGE_PAGES = "glibc.malloc.hugetlb"
_ACCELERATORS = ("/dev/nvidia[0-9]*", "/dev/kfd", "/dev/accel*", "/dev/vfio/[0-9]*")


def restart_with_huge_pages() -> None:
    """Replace this process by itself with huge pages, where that makes sense.

    The number of the process, its files and its directory stay the same. To be called
    first of all, by a program's entry point alone.
    """
    environment = with_huge_pages(os.environ, platform.libc_ver()[0], has_accelerator)
    if environment is not None:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


def with_huge_pages(
    environment: Mapping[str, str], libc: str, has_accelerator: Callable[[], bool]
) -> dict[str, str] | None:
    """Return the environment to start with, or None where this one should do.

    Args:
      environment: the process's.
      libc: name of the C library.
      has_accelerator: () -> whether this machine has one.
    """
    tunables = environment.get(_TUNABLES, "")
    is_set = _HUGE_PAGES in tunables or environment.get(VARIABLE) == "off"
    if libc != "glibc" or is_set:
        return None
    if environment.get("JAX_PLATFORMS") != "cpu" and has_accelerator():
        return None
    ours = f"{_HUGE_PAGES}=1"
    return {**environment, _TUNABLES: f"{tunables}:{ours}" if tunables else ours}


def has_accelerator() -> bool:
    """Whether Linux shows a device that JAX may find, told without asking JAX."""
    return any(glob.glob(pattern) for pattern in _ACCELERATORS)
