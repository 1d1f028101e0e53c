"""Diagonals of all kernels, and which kernels are constant; of given matrices, many in one compiled call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern._jit import array_at, jit
from polykern.bank.computed import Member
from polykern.bank.terms import has_terms
from polykern.kernels.layout import Alike, Location, alike
from polykern.kernels.matrix_checks import MANY
from polykern.kernels.normalizers import Normalization
from polykern.kernels.precomputed import Precomputed
from polykern.parallel import run_compiled

# Differences of kernel values below this are rounding: such a kernel says the same of all samples.
CONSTANT = 1e-10
# Diagonal entries that one thread reads at a time.
PIECE_ENTRIES = 1 << 14


@dataclass(frozen=True)
class Diagonals:
    """K_k(x, x) of every kernel as it is given, (F, n), and what has come to light of constant ones."""

    values: NDArray[np.float64]
    constant: NDArray[np.bool_]  # (F,) of the kernels that are `settled`
    settled: NDArray[np.bool_]  # (F,)


def read_diagonals(
    members: Sequence[Member], prints: Sequence[Any], views: Sequence[NDArray[Any]], n_jobs: int | None
) -> Diagonals:
    """The diagonal of every kernel on its view; the fingerprints of given matrices are their locations."""
    shape = (len(members), len(views[members[0].view]))
    found = Diagonals(np.empty(shape), np.zeros(shape[0], dtype=bool), np.zeros(shape[0], dtype=bool))
    given: dict[int, list[int]] = {}
    for k, one in enumerate(members):
        if isinstance(one.kernel, Precomputed):
            given.setdefault(one.view, []).append(k)
    for view, some in given.items() if len(members) >= MANY else ():
        _read_given([prints[k] for k in some], np.array(some), views[view], found, n_jobs)
    for k in np.flatnonzero(~found.settled).tolist():
        diag = np.asarray(members[k].kernel.diag(views[members[k].view]), dtype=np.float64)
        if diag.shape != shape[1:]:
            raise ValueError(f"{members[k].name}: its diagonal has shape {diag.shape}, expected {shape[1:]}.")
        found.values[k] = diag
    return found


def _read_given(
    matrices: Sequence[Location],
    places: NDArray[np.intp],
    index: NDArray[np.intp],
    found: Diagonals,
    n_jobs: int | None,
) -> None:
    pieces = [piece for group in alike(matrices) for piece in group.pieces(PIECE_ENTRIES * group.size**2 // len(index))]

    def read(piece: Alike) -> None:
        here = places[piece.where]
        values, constant = np.empty((len(here), len(index))), np.empty(len(here), dtype=np.bool_)
        _read_diagonals(piece.place, index, CONSTANT, values, constant)
        found.values[here], found.constant[here], found.settled[here] = values, constant, True

    run_compiled(read, pieces, n_jobs)


def normalized_diagonals(terms: Sequence[Normalization], diagonals: NDArray[np.float64]) -> NDArray[np.float64]:
    """(F, n) diagonals of the normalized kernels."""
    if any(map(has_terms, terms)):
        return np.array([one.diag(diag) for one, diag in zip(terms, diagonals, strict=True)])
    return np.array([one.scale for one in terms])[:, np.newaxis] * diagonals


def is_constant(member: Member, view: NDArray[Any], diag: NDArray[np.float64]) -> bool:
    """Whether all entries are equal.

    One row and the diagonal say it: K(x, x) = K(x, z) = K(z, z) means that x and z are one point to the kernel.
    """
    if len(diag) == 1:
        return False
    size = CONSTANT * abs(diag[0])
    if np.any(np.abs(diag - diag[0]) > size):
        return False
    return bool(np.all(np.abs(member.kernel.block(view[:1], view, np.float64) - diag[0]) <= size))


@jit
def _read_diagonals(place, index, resolution, values, constant):
    """values[k, i] = K_k[x_i, x_i]; constant[k] = whether these and the row of x_0 are all equal."""
    addresses, like, n, stride = place
    first = index[0]
    for k in range(addresses.size):
        K = array_at(addresses[k], like, n, stride)
        start = np.float64(K[first, first])
        size, same = resolution * abs(start), index.size > 1
        for i in range(index.size):
            here = index[i]
            values[k, i] = K[here, here]
            same = same and abs(values[k, i] - start) <= size and abs(K[first, here] - start) <= size
        constant[k] = same
