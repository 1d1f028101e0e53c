"""Where given matrices lie in memory: one compiled call goes through many of them, and duplicates are told by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polykern.parallel import spans


class Location(NamedTuple):
    """The memory of one array: equal for arrays that are the same memory, read in the same way."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]


def locate(array: NDArray[Any]) -> Location:
    """Where the entries of an array are."""
    return Location(array.__array_interface__["data"][0], array.shape, array.strides, array.dtype)


@dataclass(frozen=True)
class Alike:
    """Square matrices of one size and type with contiguous rows: their addresses, and entries from row to row."""

    where: NDArray[np.intp]  # positions among the matrices that were given
    addresses: NDArray[np.int64]
    size: int
    stride: int
    like: NDArray[Any]  # an empty array of their type, from which compiled code knows it

    def pieces(self, entries: int) -> list[Alike]:
        """The same in parts of about so many entries: work for one thread at a time."""
        some = spans(len(self.where), max(1, entries // self.size**2))
        return [Alike(self.where[s], self.addresses[s], self.size, self.stride, self.like) for s in some]

    @property
    def place(self) -> tuple[NDArray[np.int64], NDArray[Any], int, int]:
        """What compiled code wants to know."""
        return self.addresses, self.like, self.size, self.stride


def alike(matrices: Sequence[Location]) -> list[Alike]:
    """Symmetric matrices by size and type, those in column order transposed.

    What compiled code cannot read is left out. The arrays have to live as long as what is returned.
    """
    groups: dict[Any, list[int]] = {}
    for k, one in enumerate(matrices):
        groups.setdefault(one[1:], []).append(k)
    found = []
    for (shape, strides, dtype), members in groups.items():
        row, entry = max(strides), min(strides)
        addresses = np.array([matrices[k].address for k in members], dtype=np.int64)
        if _is_readable(shape, row, entry, dtype) and not np.any(addresses % dtype.itemsize):
            like = np.empty(0, dtype=dtype)
            found.append(Alike(np.array(members), addresses, shape[0], row // entry, like))
    return found


def _is_readable(shape: tuple[int, ...], row: int, entry: int, dtype: np.dtype[Any]) -> bool:
    """Square, of machine floats, entries of a row side by side, rows one after the other."""
    if len(shape) != 2 or shape[0] != shape[1] or not shape[0] or dtype not in (np.float32, np.float64):
        return False
    return entry == dtype.itemsize and row % entry == 0 and row >= entry * shape[0]
