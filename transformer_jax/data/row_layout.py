"""Where the tokens of several sentences go in the rows of a batch."""

import numpy as np


class RowLayout:
    """Where each token of one side goes: one sentence after the other in its row.

    A sentence of n tokens takes n + 1 places, for EOS or BOS.

    Attributes:
      segments: [places] number of the sentence in its row, from 1.
      positions: [places] number of the place in its sentence, from 0.
    """

    def __init__(
        self, lengths: np.ndarray, rows: np.ndarray, shape: tuple[int, int]
    ) -> None:
        counts = lengths + 1
        stops = np.cumsum(counts)
        starts = stops - counts
        first_of_row = np.searchsorted(rows, rows)
        self.segments = np.repeat(np.arange(len(rows)) - first_of_row + 1, counts)
        self.positions = np.arange(counts.sum()) - np.repeat(starts, counts)
        columns = np.arange(counts.sum()) - np.repeat(starts[first_of_row], counts)
        self._places = np.repeat(rows, counts) * shape[1] + columns
        self._is_first = self.positions == 0
        self._is_last = np.zeros(len(columns), bool)
        self._is_last[stops - 1] = True
        self._shape = shape

    def place(self, values: np.ndarray, padding: int = 0) -> np.ndarray:
        """Return [rows, length] int32 with one value in each place."""
        flat = np.full(self._shape[0] * self._shape[1], padding, np.int32)
        flat[self._places] = values
        return flat.reshape(self._shape)

    def place_tokens(self, ids: np.ndarray, eos: int, pad: int) -> np.ndarray:
        """Place each sentence followed by EOS."""
        values = np.full(len(self._places), eos, np.int32)
        values[~self._is_last] = ids
        return self.place(values, pad)

    def place_shifted(self, ids: np.ndarray, bos: int, pad: int) -> np.ndarray:
        """Place BOS followed by each sentence (Section 3.1)."""
        values = np.full(len(self._places), bos, np.int32)
        values[~self._is_first] = ids
        return self.place(values, pad)
