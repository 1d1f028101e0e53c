"""Kernels computed once and kept in a file: for those that are too many for memory and too costly to compute again."""

from __future__ import annotations

import mmap
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from polykern.bank.dense import DenseStorage
from polykern.bank.indexing import Rows, length, part
from polykern.parallel import spans

# Bytes of the file that a thread reads before the pages are given back.
PASS_BYTES = 1 << 22


class MappedStorage(DenseStorage):
    """All entries in a file of a temporary directory (TMPDIR says where), which goes when the storage goes.

    Pages that were read or written count as memory of this process until they are given back to the operating system,
    which happens after every few megabytes.
    """

    kind = "memmap"
    kernels_at_once = 4
    in_memory = None

    def __init__(self, shape: tuple[int, int, int], dtype: DTypeLike, n_jobs: int | None) -> None:
        directory = tempfile.mkdtemp(prefix="polykern-")
        self._remove = weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True)
        self.path = Path(directory) / "kernels"
        self._map = np.memmap(self.path, dtype=dtype, mode="w+", shape=shape)
        super().__init__(np.asarray(self._map), n_jobs)

    @property
    def resident_bytes(self) -> int:
        return 0

    def release(self) -> None:
        """Give the pages of the file back to the operating system, which keeps of them what it has room for."""
        mapping = getattr(self._map, "_mmap", None)
        if mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
            mapping.madvise(mmap.MADV_DONTNEED)

    def add_combined(self, weights: NDArray[np.float64], rows: Rows, cols: Rows, out: NDArray[Any]) -> None:
        """One kernel after the other: the pages in hand are then one run of the file per thread.

        Several kernels row by row would hold a run of each, and the system maps up to 64 KB around every page that is
        touched: with 44 kernels that was 45 MB beyond the budget. Whole rows count, however few columns are asked for.
        """
        height = max(1, PASS_BYTES // (self.n_samples * self.dtype.itemsize))
        for k in np.flatnonzero(weights):
            alone = np.where(np.arange(self.n_kernels) == k, weights, 0.0)
            for span in spans(length(rows), height):
                super().add_combined(alone, part(rows, span), cols, out[span])
                self.release()


def free_disk_bytes() -> int:
    """Bytes free where temporary files go."""
    return shutil.disk_usage(tempfile.gettempdir()).free
