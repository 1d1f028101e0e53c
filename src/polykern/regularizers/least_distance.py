"""The point of a polyhedron that is nearest to a given one, where its rows may be many and nearly parallel.

    min_b  1/2 |b - center|^2    subject to  rows b <= limits,  b >= 0,  and sum b = 1 where that is asked for

Lawson and Hanson's least distance programming: the multipliers solve a non-negative least squares problem, by an active
set method that ends after finitely many steps and takes dependent rows as they come. `level_set` is faster where there
are few rows, all of them different.

C. L. Lawson, R. J. Hanson: Solving least squares problems, 1974, chapter 23.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def nearest_point(center: Array, rows: Array, limits: Array, sums_to_one: bool) -> Array:
    """The nearest point; `center` itself where the rows exclude everything but for rounding."""
    n = len(center)
    origin, basis = center, np.eye(n)
    if sums_to_one:
        origin = center + (1.0 - center.sum()) / n
        basis = np.linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, 1:]]))[0][:, 1:]
    sizes = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
    inward = np.vstack([-rows / sizes[:, None], np.eye(n)])
    least = np.concatenate([-limits / sizes, np.zeros(n)]) - inward @ origin
    moved = _shortest(inward @ basis, least)
    return np.maximum(origin + basis @ moved, 0.0)


def _shortest(inward: Array, least: Array) -> Array:
    """The shortest z with  inward z >= least."""
    from scipy.optimize import nnls

    scale = max(float(least.max()), 0.0)
    if scale == 0.0:
        return np.zeros(inward.shape[1])
    stacked = np.vstack([inward.T, least / scale])
    wanted = np.zeros(len(stacked))
    wanted[-1] = 1.0
    residual = stacked @ nnls(stacked, wanted, maxiter=20 * stacked.shape[1])[0] - wanted
    return np.zeros(inward.shape[1]) if residual[-1] > -1e-14 else -scale * residual[:-1] / residual[-1]
