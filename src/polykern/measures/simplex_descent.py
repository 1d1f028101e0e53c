"""Nearest points of hulls and smallest balls: a quadratic program on one simplex or on two.

Problem   min_a  1/2 a'Qa - linear'a,   a >= 0, and the a of each group sum to 1
Symbols   Q_ij = s_i s_j K_ij; the groups are the samples of sign s = +1 and those of sign -1 (there may be none);
          g = Qa - linear the gradient
Given     K (n, n) float32 or float64, signs, linear, a test that says from a and g whether it is enough
Start     the same a for all samples of a group
Step      in the group of the larger violation max{g_j : a_j > 0} - min g, move a share of a from j to i:
          i of the smallest g, j of the largest gain (g_j - g_i)^2 / (Q_ii + Q_jj - 2 Q_ij) among a_j > 0, as far as
          the gradient along the way allows and a_j lasts
Stop      when the test says so, asked every n steps, or when no step makes progress in floating point
Output    a and g = Qa - linear, computed anew

B. F. Mitchell, V. F. Demyanov, V. N. Malozemov, "Finding the point of a polyhedron closest to the origin", SIAM J.
Control 12, 1974; the choice of j as in R.-E. Fan, P.-H. Chen, C.-J. Lin, JMLR 6, 2005.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern._jit import jit
from polykern.bank.products import read_only, rows_times

Array = NDArray[np.float64]

_LEAST_STEPS = 200  # between two tests
_MOST_ROUNDS = 2000  # of as many steps as there are samples
_IDLE_ROUNDS = 3  # without progress, after which there will be none


@jit
def _ends(a, gradient, signs, group):
    """(i of the smallest gradient, the smallest, the largest one of a > 0) in the group of this sign."""
    first, low, high = -1, np.inf, -np.inf
    for k in range(a.shape[0]):
        if signs[k] != group:
            continue
        if gradient[k] < low:
            first, low = k, gradient[k]
        if a[k] > 0.0 and gradient[k] > high:
            high = gradient[k]
    return first, low, high


@jit
def _steps(matrix, signs, diagonal, a, gradient, n_steps):
    """Up to n_steps pairwise steps; returns how many: fewer when no pair can move any more."""
    flat = 1e-12 * np.max(diagonal) + 1e-300
    for taken in range(n_steps):
        i, low, high = _ends(a, gradient, signs, 1.0)
        other, other_low, other_high = _ends(a, gradient, signs, -1.0)
        if other_high - other_low > high - low:
            i, low, high = other, other_low, other_high
        if not high > low:
            return taken
        row, group = matrix[i], signs[i]
        j, most = -1, 0.0
        for k in range(a.shape[0]):
            slope = gradient[k] - low
            if signs[k] == group and a[k] > 0.0 and slope > 0.0:
                gain = slope * slope / max(diagonal[k] + diagonal[i] - 2.0 * row[k], flat)
                if gain > most:
                    j, most = k, gain
        if j < 0:
            return taken
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * row[j], flat)
        step = min((gradient[j] - low) / curvature, a[j])
        a[i] += step
        a[j] = a[j] - step if step < a[j] else 0.0
        other_row = matrix[j]
        for k in range(a.shape[0]):
            gradient[k] += signs[k] * group * step * (np.float64(row[k]) - np.float64(other_row[k]))
    return n_steps


def descend(
    K: NDArray[Any], signs: Array, linear: Array, enough: Callable[[Array, Array], bool]
) -> tuple[Array, Array]:
    """(a, g) that pass the test, or the best that floating point allows."""
    matrix = read_only(np.ascontiguousarray(K))
    n = len(matrix)
    diagonal = np.diagonal(matrix).astype(np.float64)
    n_first = max(1, int(np.count_nonzero(signs > 0)))
    a = np.where(signs > 0, 1.0 / n_first, 1.0 / max(1, n - n_first))
    gradient = _gradient(matrix, signs, linear, a)
    lowest, idle = np.inf, 0
    for _ in range(_MOST_ROUNDS):
        if enough(a, gradient):
            gradient = _gradient(matrix, signs, linear, a)
            if enough(a, gradient):
                break
        n_steps = max(_LEAST_STEPS, n)
        taken = int(_steps(matrix, signs, diagonal, a, gradient, n_steps))
        value = 0.5 * float(a @ (gradient - linear))
        idle = 0 if value < lowest - 1e-15 * abs(lowest) or not np.isfinite(lowest) else idle + 1
        lowest = min(lowest, value)
        if idle >= _IDLE_ROUNDS or taken < n_steps:
            gradient = _gradient(matrix, signs, linear, a)
            if idle >= _IDLE_ROUNDS or enough(a, gradient):
                break
            idle += 1
    return a, _gradient(matrix, signs, linear, a)


def _gradient(matrix: NDArray[Any], signs: Array, linear: Array, a: Array) -> Array:
    whole = slice(0, len(matrix))
    return signs * rows_times(matrix, whole, whole, (signs * a)[:, None])[:, 0] - linear
