"""The few directions of a kernel that couple all samples, taken out of the way of methods that move one at a time.

A kernel with a large mean, or with wide views, has eigenvalues of the order of n: one sample's step moves the outputs
of all, and n samples undo each other's steps for a long time. With the leading eigenvectors V and eigenvalues L,

    1/2 a' K a = 1/2 a' K_0 a + max_u  u . V'a - 1/2 u' L^-1 u,        K_0 = K - V L V',

so u stands for what they add to the outputs, V u. Held near its last value by a proximal term, u and a are solved for
together: that is the same problem with the kernel K' = K - V (L - l) V', whose leading eigenvalues are only l, and
outputs shifted by V (1 - l / L) u. The steps meet a kernel without large eigenvalues, and u <- l V'a + (1 - l / L) u
leads to the solution for K itself: there u = L V'a.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern.machines.matrix import CombinedMatrix

Array = NDArray[np.float64]

MOST_DIRECTIONS = 16
FEW_SAMPLES = 256  # all eigenvectors are as quick as some
# Eigenvalues are brought to this level, in units of the mean diagonal: what about so many coupled samples add up to.
LEVEL = 0.3
# Of the eigenvalues; and what is left of the largest at least, so that K' stays positive although V is not exact.
ACCURACY, LEAST_SHARE = 1e-3, 4e-3


class Leading:
    """V, L and l for one matrix; u (r, c) is kept by the caller.

    Parameters
    ----------
    matrix : CombinedMatrix
        Where it is not in memory nothing is taken out: its eigenvectors would cost as much as the solution.
    sharing : float
        How many outputs share the samples: the more there are, the fewer samples move in each.
    """

    def __init__(self, matrix: CombinedMatrix, sharing: float) -> None:
        n = matrix.n_samples
        level = LEVEL * float(matrix.diag().mean()) * max(1.0, sharing)
        values, vectors = np.zeros(0), np.zeros((n, 0))
        if matrix.dense is not None and level > 0.0:
            values, vectors = _largest(matrix.dense)
        kept = values > 2.0 * level
        values, self.vectors = values[kept], np.ascontiguousarray(vectors[:, kept])
        self.remaining = np.maximum(level, LEAST_SHARE * values)
        self.removed = values - self.remaining
        self.share = self.removed / values

    def reduced(self, block: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[Any]:
        """K' on some samples, from K there: in place."""
        if len(self.removed):
            some = self.vectors[rows]
            block -= ((some * self.removed) @ some.T).astype(block.dtype)
        return block

    def shift(self, coef: Array, state: Array) -> Array:
        """(c, n) what the outputs K a are more than those of the reduced and shifted problem."""
        moved = self.removed[:, None] * (self.vectors.T @ coef) - self.share[:, None] * state
        return np.asarray(moved.T @ self.vectors.T)

    def following(self, coef: Array, state: Array) -> Array:
        """The next u."""
        return np.asarray(self.remaining[:, None] * (self.vectors.T @ coef) + self.share[:, None] * state)


def _largest(dense: NDArray[Any]) -> tuple[Array, Array]:
    """Leading eigenvalues and eigenvectors, to a few digits."""
    if len(dense) <= FEW_SAMPLES:
        every = np.linalg.eigh(dense.astype(np.float64))
        return every[0][-MOST_DIRECTIONS:], every[1][:, -MOST_DIRECTIONS:]
    from scipy.sparse.linalg import ArpackError, eigsh

    start = np.random.default_rng(0).random(len(dense)) + 1.0
    try:
        vectors = eigsh(dense, k=MOST_DIRECTIONS, tol=ACCURACY, v0=start.astype(dense.dtype))[1]
    except ArpackError:  # no directions: slower, and right all the same
        return np.zeros(0), np.zeros((len(dense), 0))
    orthonormal = np.linalg.qr(vectors.astype(np.float64))[0]
    return np.asarray(np.sum(orthonormal * (dense @ orthonormal.astype(dense.dtype)), axis=0)), orthonormal
