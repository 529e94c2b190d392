"""What this machine is, told without asking JAX, which would take hold of it."""

import glob
import os
from typing import Any

from transformer_jax.runs.hardware_record import processor_name


def has_cuda() -> bool:
    return bool(glob.glob("/dev/nvidia[0-9]*"))


def host() -> dict[str, Any]:
    """Return the host's processor, cores that this process may use, and memory."""
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": processor_name(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(pages / 2**30, 1),
        "load_average": round(os.getloadavg()[0], 2),
    }
