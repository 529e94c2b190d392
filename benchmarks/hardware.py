"""What this machine is, told without asking JAX, which would take hold of it."""

import glob
import os
import pathlib
import platform
from typing import Any


def has_cuda() -> bool:
    return bool(glob.glob("/dev/nvidia[0-9]*"))


def has_accelerator() -> bool:
    return has_cuda() or bool(glob.glob("/dev/accel*") + glob.glob("/dev/vfio/[0-9]*"))


def host() -> dict[str, Any]:
    """Return the host's processor, cores that this process may use, and memory."""
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(pages / 2**30, 1),
        "load_average": round(os.getloadavg()[0], 2),
    }


def _processor() -> str:
    path = pathlib.Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
