"""The family behind "p-norm MKL": weights in a p-ball, block norms in an r-norm, r = 2p / (p + 1).

Every member is one number, the norm p of the weights (1 <= p <= inf); its classes differ in how they name it.

    Omega(t)  = 1/2 |t|_r^2                       r  = 2p / (p + 1)      (p = 1: r = 1;  p = inf: r = 2)
    Omega*(s) = 1/2 |s|_{r*}^2 = 1/2 |s^2|_{p*}   p* = p / (p - 1)
    weights   : b_k = t_k^{2/(p+1)} / (sum_j t_j^r)^{1/p},   |b|_p = 1
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from polykern.regularizers.base import Array, Regularizer


class PowerRegularizer(Regularizer):
    """Half the squared r-norm of the block norms."""

    @property
    def weight_norm(self) -> float:
        """p of the ball |b|_p <= 1 in which the kernel weights lie."""
        raise NotImplementedError

    @property
    def block_norm(self) -> float:
        """r of Omega = 1/2 |t|_r^2."""
        p = self.weight_norm
        return 2.0 if np.isinf(p) else 2.0 * p / (p + 1.0)

    def value(self, norms: ArrayLike) -> float:
        return 0.5 * norm_of(norms, self.block_norm) ** 2

    def conjugate(self, duals: ArrayLike) -> float:
        return 0.5 * norm_of(duals, dual_exponent(self.block_norm)) ** 2

    def weights(self, norms: ArrayLike) -> Array:
        t = np.abs(np.asarray(norms, dtype=np.float64))
        p = self.weight_norm
        if np.isinf(p) or not t.any():
            return _uniform(len(t), p)
        powers = (t / t.max()) ** (2.0 / (p + 1.0))
        return powers / norm_of(powers, p)

    def lmo(self, gains: ArrayLike) -> Array:
        g = np.maximum(np.asarray(gains, dtype=np.float64), 0.0)
        p = self.weight_norm
        if p == 1.0:
            return np.eye(1, len(g), int(np.argmax(gains))).ravel()
        if np.isinf(p) or not g.any():
            return _uniform(len(g), p)
        powers = (g / g.max()) ** (1.0 / (p - 1.0))
        return powers / norm_of(powers, p)

    def project(self, point: ArrayLike) -> Array:
        x = np.asarray(point, dtype=np.float64)
        p = self.weight_norm
        if p == 1.0:
            return project_on_simplex(x)
        x = np.maximum(x, 0.0)
        if np.isinf(p):
            return np.minimum(x, 1.0)
        return x if norm_of(x, p) <= 1.0 else _project_on_ball(x, p)


def project_on_simplex(point: ArrayLike) -> Array:
    """Nearest point of {b >= 0, sum b = 1}, by sorting."""
    x = np.asarray(point, dtype=np.float64)
    x = x - x.max()  # the same projection, and 1 is not lost beside large numbers
    descending = np.sort(x)[::-1]
    shifts = (np.cumsum(descending) - 1.0) / np.arange(1, len(x) + 1)
    kept = int(np.flatnonzero(descending > shifts)[-1])
    projected = np.maximum(x - shifts[kept], 0.0)
    return projected / projected.sum()


def _project_on_ball(x: Array, p: float) -> Array:
    """Nearest point with |b|_p = 1 for x >= 0 outside the ball, 1 < p < inf.

    b + m b^(p-1) = x in every coordinate for the one multiplier m > 0 that gives norm 1: bisection on log m outside,
    bisection inside, both monotone.
    """
    low, high = -60.0, 60.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        if norm_of(_shrink(x, p, float(np.exp(middle))), p) > 1.0:
            low = middle
        else:
            high = middle
    projected = _shrink(x, p, float(np.exp(high)))
    return projected / max(norm_of(projected, p), 1.0)


def _shrink(x: Array, p: float, multiplier: float) -> Array:
    """b in [0, x] with b + multiplier b^(p-1) = x, coordinate by coordinate."""
    low, high = np.zeros_like(x), x.copy()
    for _ in range(60):
        middle = 0.5 * (low + high)
        too_large = middle + multiplier * middle ** (p - 1.0) > x
        high = np.where(too_large, middle, high)
        low = np.where(too_large, low, middle)
    return 0.5 * (low + high)


def norm_of(values: ArrayLike, exponent: float) -> float:
    """|values|_exponent without overflow."""
    v = np.abs(np.asarray(values, dtype=np.float64))
    largest = float(v.max(initial=0.0))
    if largest == 0.0 or np.isinf(exponent):
        return largest
    return largest * float(np.sum((v / largest) ** exponent)) ** (1.0 / exponent)


def dual_exponent(r: float) -> float:
    """r* with 1/r + 1/r* = 1, for 1 <= r <= inf."""
    if np.isinf(r):
        return 1.0
    return np.inf if r == 1.0 else r / (r - 1.0)


def _uniform(n_kernels: int, p: float) -> Array:
    return np.full(n_kernels, 1.0 if np.isinf(p) else n_kernels ** (-1.0 / p))
