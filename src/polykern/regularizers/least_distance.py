"""The point of a polyhedron that is nearest to a given one, where its rows may be many and nearly parallel.

    min_b  1/2 |b - center|^2    subject to  rows b <= limits,  b >= 0,  and sum b = 1 where that is asked for

Lawson and Hanson's least distance programming: the multipliers of the rows solve a non-negative least squares problem,
by an active set method that ends after finitely many steps and takes dependent rows as they come. Which b are positive
is guessed, solved for, and read off the multipliers again, until it stays: so the least squares problem is as large as
rows and positive b. Where it does not settle, b >= 0 are rows like the others. `level_set` is faster where there are
few rows, all of them different.

C. L. Lawson, R. J. Hanson: Solving least squares problems, 1974, chapter 23.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_MOST_GUESSES = 15
_SLACK = 1e-12


def nearest_point(center: Array, rows: Array, limits: Array, sums_to_one: bool) -> Array:
    """The nearest point."""
    sizes = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
    inward, least = -rows / sizes[:, None], -limits / sizes
    positive = center > 0 if center.any() else np.ones(len(center), dtype=bool)
    for _ in range(_MOST_GUESSES):
        found = _among(center[positive], inward[:, positive], least, sums_to_one)
        if found is None:
            break
        moved, multipliers, level = found
        point = center + multipliers @ inward + level
        if np.array_equal(point > _SLACK, positive):
            result = np.zeros(len(center))
            result[positive] = center[positive] + moved
            return np.maximum(result, 0.0)
        positive = point > _SLACK
    return _all_rows(center, inward, least, sums_to_one)


def _all_rows(center: Array, inward: Array, least: Array, sums_to_one: bool) -> Array:
    """b >= 0 among the rows."""
    n = len(center)
    found = _among(center, np.vstack([inward, np.eye(n)]), np.concatenate([least, np.zeros(n)]), sums_to_one)
    return np.maximum(center if found is None else center + found[0], 0.0)


def _among(center: Array, inward: Array, least: Array, sums_to_one: bool) -> tuple[Array, Array, float] | None:
    """(move, multipliers of the rows, level) of the nearest b, of any sign; move = inward' multipliers + level."""
    n = len(center)
    if n == 0:
        return None
    level = (1.0 - float(center.sum())) / n if sums_to_one else 0.0
    flat = inward - inward.mean(axis=1, keepdims=True) if sums_to_one else inward
    multipliers = _shortest(flat, least - inward @ (center + level))
    if multipliers is None:
        return None
    if sums_to_one:
        level -= float(multipliers @ inward.mean(axis=1))
    return multipliers @ inward + level, multipliers, level


def _shortest(inward: Array, least: Array) -> Array | None:
    """Multipliers m >= 0 of the shortest z = inward' m with  inward z >= least; None where there is no such z."""
    from scipy.optimize import nnls

    scale = float(least.max(initial=0.0))
    if scale <= 0.0:
        return np.zeros(len(least))
    stacked = np.vstack([inward.T, least / scale])
    wanted = np.zeros(len(stacked))
    wanted[-1] = 1.0
    try:
        shares = nnls(stacked, wanted, maxiter=50 * stacked.shape[1])[0]
    except RuntimeError:
        return None
    missing = 1.0 - float(stacked[-1] @ shares)
    return None if missing < 1e-14 else scale * shares / missing
