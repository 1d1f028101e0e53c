"""A convex quadratic program on the simplex, by a primal-dual interior point method.

    min_x  slope' x + 1/2 x' H x    subject to  x >= 0,  sum x = 1,   H positive semidefinite

    slope + H x - level - z = 0,    x_k z_k = mu -> 0

Each step solves  (H + diag(z / x)) dx = ...  bordered by the sum, twice with one Cholesky factor (Mehrotra's predictor
and corrector); ten to twenty steps, whatever the rank of H.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polykern.solvers.interior_box import longest

Array = NDArray[np.float64]

_MOST_STEPS = 60
_ENOUGH = 1e-10  # mean product of x and z, in units of the objective's variation, n of them
_FLAT = 1e-13  # of its size: a gradient that varies by less is constant
_TO_THE_BORDER = 0.99


def minimize_quadratic(hessian: Array, slope: Array) -> Array:
    """argmin over the simplex; weights headed for zero are exactly zero."""
    n = len(slope)
    x = np.full(n, 1.0 / n)
    # The objective up to a constant and a factor: what is left of it does not depend on units.
    gradient = slope + hessian @ x
    size = max(float(np.ptp(gradient)), float(np.ptp(slope)), _FLAT * float(np.abs(gradient).max()), 1e-300)
    hessian, slope = hessian / size, (slope - gradient.mean()) / size
    gradient = slope + hessian @ x
    z, level = np.maximum(gradient, 0.0) + 0.1, 0.0
    for _ in range(_MOST_STEPS):
        mu = float(x @ z) / n
        residual = float(np.abs(gradient - level - z).max())
        if mu * n <= _ENOUGH and residual <= _ENOUGH:
            break
        dx, dz, d_level = _direction(hessian, gradient - level, x, z)
        reach = min(1.0, _TO_THE_BORDER * min(longest(x, dx), longest(z, dz)))
        x, z, level = x + reach * dx, z + reach * dz, level + reach * d_level
        gradient = slope + hessian @ x
        if reach < 1e-8:
            break
    x = np.where(x < z, 0.0, x)
    return x / x.sum()


def _direction(hessian: Array, force: Array, x: Array, z: Array) -> tuple[Array, Array, float]:
    """Steps of x, z and the level: `force` is the gradient minus the level."""
    from scipy.linalg import cho_factor, cho_solve

    n, mu = len(x), float(x @ z) / len(x)
    matrix = hessian.copy()
    matrix[np.diag_indices_from(matrix)] += z / x
    factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    along = cho_solve(factor, np.ones(n), check_finite=False)

    def towards(target: float, second_order: Array | float) -> tuple[Array, Array, float]:
        wanted = (target - second_order) / x  # z after the step, but for - z dx / x
        free = cho_solve(factor, wanted - force, check_finite=False)
        d_level = (1.0 - float(x.sum()) - float(free.sum())) / float(along.sum())
        dx = free + d_level * along
        return dx, wanted - z - z * dx / x, d_level

    dx, dz, _ = towards(0.0, 0.0)
    reach = min(1.0, longest(x, dx), longest(z, dz))
    reached = float((x + reach * dx) @ (z + reach * dz)) / n
    return towards(mu * (reached / mu) ** 3, dx * dz)
