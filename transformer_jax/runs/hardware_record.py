"""RUN/hardware.json: what a run was trained on, from which step on."""

import logging
import os
import pathlib
import platform
from collections.abc import Mapping
from typing import Any

from transformer_jax.files import json_bytes, read_json
from transformer_jax.runs.directory import RunDirectory

_LOGGER = logging.getLogger(__name__)


def record_hardware(
    directory: RunDirectory, step: int, hardware: Mapping[str, Any]
) -> None:
    """Write down what the run is trained on from `step` on.

    Args:
      directory: the run.
      step: updates done.
      hardware: from `sharding.mesh.describe_devices`; this host's processor is added.
    """
    hardware = {
        **hardware,
        "processor": processor_name(),
        "num_logical_cores": os.cpu_count(),
    }
    kept = [entry for entry in read_hardware(directory) if entry["from_step"] < step]
    if not kept or kept[-1] != {"from_step": kept[-1]["from_step"], **hardware}:
        kept.append({"from_step": step, **hardware})
    directory.manifest.write(_path(directory), json_bytes(kept))


def read_hardware(directory: RunDirectory) -> list[Mapping[str, Any]]:
    """Return what the run was trained on, in order; nothing if it is not known."""
    path = _path(directory)
    damage = directory.manifest.damage(path)
    if damage is None and not path.exists():
        return []
    entries = read_json(path)
    if damage is None and _is_record(entries):
        return entries
    _LOGGER.warning(
        "%s %s: what the run was trained on is left out.", path, damage or "is damaged"
    )
    return []


def _path(directory: RunDirectory) -> pathlib.Path:
    return directory.root / "hardware.json"


def _is_record(found: object) -> bool:
    return isinstance(found, list) and all(
        isinstance(entry, dict) and isinstance(entry.get("from_step"), int)
        for entry in found
    )


def processor_name() -> str:
    """Name the host's processor as Linux does, elsewhere its architecture."""
    path = pathlib.Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
