"""Rows of the combined matrix, kept while there is room; what was used longest ago goes first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


class RowCache:
    """Least-recently-used rows of sum_k weights_k K_k, counted in bytes; for one set of weights and one thread."""

    def __init__(self, max_bytes: int) -> None:
        if max_bytes < 0:
            raise ValueError(f"max_bytes is {max_bytes}, expected a number of bytes >= 0.")
        self.max_bytes = int(max_bytes)
        self.hits = 0
        self.misses = 0
        self._rows: OrderedDict[int, NDArray[Any]] = OrderedDict()
        self._bytes = 0
        self._weights: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, index: int) -> bool:
        return index in self._rows

    @property
    def nbytes(self) -> int:
        """Bytes of the rows that are kept."""
        return self._bytes

    def clear(self) -> None:
        """Forget all rows."""
        self._rows.clear()
        self._bytes = 0

    def use_weights(self, weights: ArrayLike) -> None:
        """Forget all rows if the weights are not those they were computed with."""
        given = np.array(weights, dtype=np.float64)
        if self._weights is None or not np.array_equal(given, self._weights):
            self.clear()
            self._weights = given

    def get(self, index: int) -> NDArray[Any] | None:
        """The row, now the last to go; None where it is not kept."""
        row = self._rows.get(index)
        if row is None:
            self.misses += 1
            return None
        self.hits += 1
        self._rows.move_to_end(index)
        return row

    def put(self, index: int, row: NDArray[Any]) -> None:
        """Keep a row, in place of those used longest ago; a row larger than the whole cache is not kept."""
        old = self._rows.pop(index, None)
        self._bytes -= 0 if old is None else old.nbytes
        if row.nbytes > self.max_bytes:
            return
        while self._bytes + row.nbytes > self.max_bytes:
            self._bytes -= self._rows.popitem(last=False)[1].nbytes
        # A row of a block would keep the whole block alive, and the count of bytes would be wrong.
        self._rows[index] = row if row.base is None else row.copy()
        self._bytes += row.nbytes

    def fetch(self, index: int, compute: Callable[[int], NDArray[Any]]) -> NDArray[Any]:
        """The row, computed where it is not kept."""
        row = self.get(index)
        if row is None:
            row = compute(index)
            self.put(index, row)
        return row
