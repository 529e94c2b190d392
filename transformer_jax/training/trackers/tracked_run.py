"""What a tracker hears of a run."""

import dataclasses
import pathlib
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class TrackedRun:
    """A run, for a tracker.

    Attributes:
      name: what people call it.
      metrics: the file that has all its numbers.
      events: where TensorBoard's files go.
      folder: where the other trackers keep what they keep on this disk.
      params: the config's fields, by their dotted paths.
    """

    name: str
    metrics: pathlib.Path
    events: pathlib.Path
    folder: pathlib.Path
    params: Mapping[str, Any]
