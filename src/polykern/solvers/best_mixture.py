"""The best mixture of dual points that are already there, and the kernel weights that belong to it.

    max over theta >= 0, sum theta = 1  of   gains . theta - 1/2 max_k theta' P_k theta

P_k is the (m, m) matrix of a_s' K_k a_t for the m points, `gains` their -conj(a). The dual objective is concave, so
that the value is a lower bound of the whole problem; the multipliers of  theta' P_k theta <= t  are weights on the
simplex. A handful of points, any number of kernels: a primal-dual interior point method (Mehrotra's predictor and
corrector) whose systems are (m, m), compiled, since it is solved once for every machine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polykern._jit import jit

Array = NDArray[np.float64]

_MOST_STEPS = 60
_TO_THE_BORDER = 0.98  # of the way to the border is gone at most
_ROUNDING = 1e-15  # of the largest diagonal entry: what may be added to it so that a factor exists


class Mixture(NamedTuple):
    """Shares of the points (sum 1), kernel weights (sum 1, exact zeros), and the bound that the mixture proves."""

    shares: Array
    weights: Array
    bound: float


def best_mixture(products: Array, gains: Array, start: Array, tol: float) -> Mixture:
    """The best mixture for `products` (F, m, m) and `gains` (m,), of order one; `start` is near the best shares."""
    n_kernels, m = products.shape[:2]
    shares = 0.9 * start + 0.1 / m
    weights = np.full(n_kernels, 1.0 / n_kernels)
    slacks = np.empty(n_kernels)
    _solve(np.ascontiguousarray(products), gains, shares, weights, slacks, tol)
    shares /= shares.sum()
    forms = np.einsum("kst,s,t->k", products, shares, shares, optimize=True)
    largest = float(forms.max())
    # Of a weight and its slack one goes to zero: the smaller one, each in its own unit.
    weights[weights / weights.max() < slacks / max(largest, 1e-300)] = 0.0
    return Mixture(shares, weights / weights.sum(), float(gains @ shares) - 0.5 * largest)


@jit
def _factor(matrix):
    """Cholesky in place, in the lower triangle; pivots that rounding has eaten get what keeps their variable still."""
    m = matrix.shape[0]
    largest = 0.0
    for i in range(m):
        largest = max(largest, matrix[i, i])
    for j in range(m):
        for i in range(j, m):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            if i == j:
                matrix[j, j] = np.sqrt(total) if total > _ROUNDING * largest else 1e150
            else:
                matrix[i, j] = total / matrix[j, j]


@jit
def _back_substitute(factor, right):
    """right = (L L')^-1 right, in place."""
    m = factor.shape[0]
    for i in range(m):
        for k in range(i):
            right[i] -= factor[i, k] * right[k]
        right[i] /= factor[i, i]
    for i in range(m - 1, -1, -1):
        for k in range(i + 1, m):
            right[i] -= factor[k, i] * right[k]
        right[i] /= factor[i, i]


@jit
def _longest(values, steps, length):
    """Largest step up to `length` that leaves all values positive."""
    for i in range(values.size):
        if steps[i] < 0.0:
            length = min(length, -values[i] / steps[i])
    return length


@jit
def _look(products, shares, forces, forms):
    """forces = P_k theta (F, m), forms = theta' P_k theta (F,)."""
    m = shares.size
    for k in range(forms.size):
        total = 0.0
        for i in range(m):
            force = 0.0
            for j in range(m):
                force += products[k, i, j] * shares[j]
            forces[k, i] = force
            total += force * shares[i]
        forms[k] = total


@jit
def _system(products, weights, ratios, forces, stiffness, matrix):
    """matrix = P_b + 2 G' diag(b / s) G + diag(stiffness), its lower triangle."""
    m = stiffness.size
    matrix[:] = 0.0
    for k in range(weights.size):
        for i in range(m):
            force = 2.0 * ratios[k] * forces[k, i]
            for j in range(i + 1):
                matrix[i, j] += weights[k] * products[k, i, j] + force * forces[k, j]
    for i in range(m):
        matrix[i, i] += stiffness[i]


@jit
def _direction(factor, border, forces, forms, state, aims, right, steps):
    """One Newton direction; `aims` are what b s and theta z are to become, second-order terms subtracted.

    Bordered system:  M dtheta + border_t dt + 1 dnu = right;  -2 border_t . dtheta - sum(ratios) dt = t_right;
    sum dtheta = 0, with border_t = -G' (b / s).
    """
    shares, weights, slacks, duals, t, nu, gains = state
    aim_weights, aim_duals = aims
    m, n_kernels = shares.size, weights.size
    d_shares, d_weights, d_slacks, d_duals = steps
    ratio_sum, t_right = 0.0, 1.0
    moved = np.empty(n_kernels)
    off = np.empty(n_kernels)
    for i in range(m):
        right[i, 0] = gains[i] - nu + aim_duals[i] / shares[i]
    for k in range(n_kernels):
        off[k] = t - forms[k] - slacks[k]
        moved[k] = (aim_weights[k] - weights[k] * (slacks[k] + off[k])) / slacks[k]
        ratio_sum += weights[k] / slacks[k]
        t_right -= weights[k] + moved[k]
        both = weights[k] + moved[k]
        for i in range(m):
            right[i, 0] -= both * forces[k, i]
    total = 0.0
    for i in range(m):
        total += shares[i]
    alone, by_t, by_nu = right[:, 0], right[:, 1], right[:, 2]
    for i in range(m):
        by_t[i], by_nu[i] = border[i], 1.0
    _back_substitute(factor, alone)
    _back_substitute(factor, by_t)
    _back_substitute(factor, by_nu)
    tt, tn, nn, t_alone, n_alone = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(m):
        tt += border[i] * by_t[i]
        tn += border[i] * by_nu[i]
        nn += by_nu[i]
        t_alone += border[i] * alone[i]
        n_alone += alone[i]
    # 2 tt - ratio_sum, 2 tn | -tn, -nn   times (dt, dnu)
    a11, a12, r1 = 2.0 * tt - ratio_sum, 2.0 * tn, t_right + 2.0 * t_alone
    a21, a22, r2 = -tn, -nn, (1.0 - total) - n_alone
    det = a11 * a22 - a12 * a21
    d_t = (r1 * a22 - a12 * r2) / det
    d_nu = (a11 * r2 - a21 * r1) / det
    for i in range(m):
        d_shares[i] = alone[i] - by_t[i] * d_t - by_nu[i] * d_nu
        d_duals[i] = (aim_duals[i] - duals[i] * d_shares[i]) / shares[i] - duals[i]
    for k in range(n_kernels):
        along = 0.0
        for i in range(m):
            along += forces[k, i] * d_shares[i]
        d_slacks[k] = d_t - 2.0 * along + off[k]
        d_weights[k] = moved[k] + weights[k] * (off[k] - d_slacks[k]) / slacks[k]
    return d_t, d_nu


@jit
def _solve(products, gains, shares, weights, slacks, tol):
    """Shares, weights and slacks of the best mixture, in place."""
    n_kernels, m = weights.size, shares.size
    forces, forms = np.empty((n_kernels, m)), np.empty(n_kernels)
    _look(products, shares, forces, forms)
    t = 1.2 * forms.max() + 1e-6
    slacks[:] = t - forms
    pulls = weights @ forces - gains
    nu = -pulls.mean()
    duals = np.maximum(np.abs(pulls + nu), 0.1 * np.abs(pulls).mean() + 1e-6)
    matrix, border, right = np.empty((m, m)), np.empty(m), np.empty((m, 3))
    steps = (np.empty(m), np.empty(n_kernels), np.empty(n_kernels), np.empty(m))
    d_shares, d_weights, d_slacks, d_duals = steps
    count = n_kernels + m
    for _ in range(_MOST_STEPS):
        mu = (weights @ slacks + shares @ duals) / count
        off = np.abs(1.0 - weights.sum()) * t + np.abs(weights @ forces - gains - duals + nu).max()
        if mu * count <= tol and off <= tol and np.abs(t - forms - slacks).max() <= tol:
            break
        ratios = weights / slacks
        _system(products, weights, ratios, forces, duals / shares, matrix)
        _factor(matrix)
        border[:] = -(ratios @ forces)
        state = (shares, weights, slacks, duals, t, nu, gains)
        _direction(matrix, border, forces, forms, state, (np.zeros(n_kernels), np.zeros(m)), right, steps)
        length = _longest(shares, d_shares, 1.0)
        length = _longest(weights, d_weights, length)
        length = _longest(slacks, d_slacks, length)
        length = _longest(duals, d_duals, length)
        after = (weights + length * d_weights) @ (slacks + length * d_slacks)
        after += (shares + length * d_shares) @ (duals + length * d_duals)
        aim = max(mu * (after / (mu * count)) ** 3, 0.5 * tol / count)
        aims = (aim - d_weights * d_slacks, aim - d_shares * d_duals)
        d_t, d_nu = _direction(matrix, border, forces, forms, state, aims, right, steps)
        length = _longest(shares, d_shares, 1.0 / _TO_THE_BORDER)
        length = _longest(weights, d_weights, length)
        length = _longest(slacks, d_slacks, length)
        length = _TO_THE_BORDER * _longest(duals, d_duals, length)
        if not length > 1e-10:
            break
        shares += length * d_shares
        weights += length * d_weights
        duals += length * d_duals
        slacks += length * d_slacks
        t += length * d_t
        nu += length * d_nu
        _look(products, shares, forces, forms)
        for k in range(n_kernels):
            actual = t - forms[k]
            if actual > 0.1 * slacks[k]:
                slacks[k] = actual
