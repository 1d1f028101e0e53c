"""The best mixture of dual points that are already there, and the kernel weights that belong to it.

    max over theta >= 0, sum theta = 1  of   gains . theta - 1/2 max_k theta' P_k theta

P_k is the (m, m) matrix of a_s' K_k a_t for the m points, `gains` their -conj(a). The dual objective is concave, so
that the value at any theta is a lower bound of the whole problem. With t the largest form, b the multipliers of
theta' P_k theta + s_k = t  (weights on the simplex) and z those of theta >= 0, the best mixture has

    P_b theta + level - gains = z,    sum b = 1,    b_k s_k = mu -> 0,    theta_i z_i = mu -> 0

A primal-dual interior point method (Mehrotra's predictor and corrector). A handful of points, any number of kernels:
the steps of most kernels are eliminated. Not those of the kernels in use: their b_k / s_k is so large that what the
other points say would be lost beside it. There are no more of them than points, but for ties, so they stay in the
system, which is factored as it is, indefinite.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polykern.solvers.interior_box import longest

Array = NDArray[np.float64]

_MOST_STEPS = 60
_TO_THE_BORDER = 0.98  # of the way to the border is gone at most
_SHORTEST = 1e-10  # steps below this lead nowhere any more
_FINEST = 1e-14  # of the numbers in it: the rounding of a residual


class Mixture(NamedTuple):
    """Shares of the points (sum 1), kernel weights (sum 1, exact zeros), and the bound that the mixture proves."""

    shares: Array
    weights: Array
    bound: float


def best_mixture(products: Array, gains: Array, start: Array, tol: float) -> Mixture:
    """The best mixture for `products` (F, m, m) and `gains` (m,), of order one; `start` is near the best shares.

    Its bound is never below that of `start`, whatever becomes of the steps.
    """
    products, start = np.ascontiguousarray(products), start / start.sum()
    with np.errstate(all="ignore"):  # a step that is not finite is not taken
        last = _solve(products, gains, _first(products, gains, start), tol)
    shares = last.shares / last.shares.sum()
    bound, before = _value(products, gains, shares), _value(products, gains, start)
    weights = _without_zeros(last)
    return Mixture(shares, weights, bound) if bound >= before else Mixture(start, weights, before)


class _Place(NamedTuple):
    """theta, b, s, z, half of t, and the level; or a step of all of them."""

    shares: Array
    weights: Array
    slacks: Array
    duals: Array
    half: Any
    level: Any

    def moved(self, step: _Place, length: float) -> _Place:
        return _Place(*(value + length * change for value, change in zip(self, step, strict=True)))

    def reach(self, step: _Place) -> float:
        """How far the step may go until a share, weight, slack or multiplier is zero."""
        return min(longest(value, change) for value, change in zip(self[:4], step[:4], strict=True))

    @property
    def complementarity(self) -> float:
        return float(self.weights @ self.slacks + self.shares @ self.duals)

    @property
    def is_finite(self) -> bool:
        return all(np.isfinite(value).all() for value in self)


class _Look(NamedTuple):
    """What the kernels say at a place: P_k theta (F, m), and by how much forms and pulls are off."""

    forces: Array
    off: Array
    pulls: Array
    residual: float


def _look(products: Array, gains: Array, here: _Place) -> tuple[_Place, _Look]:
    """What the kernels say; and the place with slacks that are what the forms leave of t, where this is not much less
    than they were: it makes up for the curvature that a step cannot see."""
    forces, forms = _forces(products, here.shares)
    left = 2.0 * here.half - forms
    here = here._replace(slacks=np.where(left > 0.1 * here.slacks, left, here.slacks))
    off = left - here.slacks
    pulls = here.weights @ forces - gains - here.duals + here.level
    too_many = abs(1.0 - float(here.weights.sum())) * 2.0 * here.half
    return here, _Look(forces, off, pulls, max(too_many, float(np.abs(off).max()), float(np.abs(pulls).max())))


def _first(products: Array, gains: Array, start: Array) -> _Place:
    """A place well inside: near the given shares, every weight the same."""
    n_kernels, m = products.shape[:2]
    shares, weights = 0.9 * start + 0.1 / m, np.full(n_kernels, 1.0 / n_kernels)
    forces, forms = _forces(products, shares)
    top = 1.2 * float(forms.max()) + 1e-6
    pulls = weights @ forces - gains
    level = -float(pulls.mean())
    duals = np.maximum(np.abs(pulls + level), 0.1 * np.abs(pulls).mean() + 1e-6)
    return _Place(shares, weights, top - forms, duals, 0.5 * top, level)


def _solve(products: Array, gains: Array, here: _Place, tol: float) -> _Place:
    """The place where mixture and weights are best to within `tol`, or the last one that rounding lets it reach."""
    count = sum(products.shape[:2])
    for _ in range(_MOST_STEPS):
        here, look = _look(products, gains, here)
        rounding = _FINEST * max(2.0 * here.half, float(np.abs(gains).max()))
        if here.complementarity <= tol and look.residual <= max(tol, rounding):
            break
        step = _step(products, look, here, 0.5 * tol / count)
        length = min(1.0, _TO_THE_BORDER * here.reach(step)) if step.is_finite else 0.0
        if length < _SHORTEST:
            break
        here = here.moved(step, length)
    return here


def _step(products: Array, look: _Look, here: _Place, least: float) -> _Place:
    """Predictor and corrector; `least` is the smallest mean product that is aimed at."""
    newton = _Newton(products, look, here)
    straight = newton.step(0.0, 0.0)
    if not straight.is_finite:
        return straight
    now = here.complementarity
    after = here.moved(straight, min(1.0, here.reach(straight))).complementarity
    aim = max(now / sum(look.forces.shape) * (after / now) ** 3, least)
    return newton.step(aim - straight.weights * straight.slacks, aim - straight.shares * straight.duals)


class _Newton:
    """The linear system of one place, factored once for two right-hand sides.

    P_b dtheta + G' db - dz + dlevel = -pulls,   sum db = 1 - sum b,   sum dtheta = 1 - sum theta,
    G dtheta - db / ratio - dhalf = limit,  ratio = 2 b / s,   theta dz + z dtheta = aim - theta z,

    where dz and, but for the kernels in use, db are eliminated: unknown are dtheta, db of those, dlevel, dhalf.
    """

    def __init__(self, products: Array, look: _Look, here: _Place) -> None:
        self.look, self.here = look, here
        self.m = m = len(here.shares)
        ratios = 2.0 * here.weights / here.slacks
        self.used = np.argsort(-ratios)[:m]
        self.ratios = ratios.copy()
        self.ratios[self.used] = 0.0
        self.factor = _factored(self._system(products, 1.0 / ratios[self.used]))

    def _system(self, products: Array, inverse_ratios: Array) -> Array:
        here, forces, m, n_used = self.here, self.look.forces, self.m, len(self.used)
        system = np.zeros((m + n_used + 2, m + n_used + 2))
        mixed = (here.weights @ products.reshape(len(products), -1)).reshape(m, m)
        system[:m, :m] = mixed + (forces.T * self.ratios) @ forces + np.diag(here.duals / here.shares)
        system[:m, m:-2] = forces[self.used].T
        system[:m, -2] = 1.0
        system[:m, -1] = -(self.ratios @ forces)
        system[m:-2, m:-2] = -np.diag(inverse_ratios)
        system[m:-2, -1] = -1.0
        system[-1, -1] = self.ratios.sum()
        return np.asarray(np.triu(system) + np.triu(system, 1).T)

    def step(self, aim_weights: Array | float, aim_duals: Array | float) -> _Place:
        """The step; `aim` is what b s and theta z are to become, second-order terms subtracted."""
        here, forces, m = self.here, self.look.forces, self.m
        limits = 0.5 * (here.slacks + self.look.off - aim_weights / here.weights)
        free = self.ratios * limits
        force = aim_duals / here.shares - here.duals - self.look.pulls + free @ forces
        sums = [1.0 - here.shares.sum(), here.weights.sum() - 1.0 - free.sum()]
        found = _solved(self.factor, np.concatenate([force, limits[self.used], sums]))
        d_shares, d_level, d_half = found[:m], found[-2], found[-1]
        along = forces @ d_shares - d_half
        d_weights = self.ratios * (along - limits)
        d_weights[self.used] = found[m:-2]
        d_duals = (aim_duals - here.duals * d_shares) / here.shares - here.duals
        return _Place(d_shares, d_weights, self.look.off - 2.0 * along, d_duals, d_half, d_level)


def _factored(system: Array) -> tuple[Array, Array] | None:
    """LU factors; None where the system is singular to the last bit."""
    from scipy.linalg.lapack import dgetrf

    factor, pivots, info = dgetrf(system)
    return None if info else (factor, pivots)


def _solved(factor: tuple[Array, Array] | None, right: Array) -> Array:
    from scipy.linalg.lapack import dgetrs

    return np.full_like(right, np.nan) if factor is None else np.asarray(dgetrs(*factor, right)[0])


def _forces(products: Array, shares: Array) -> tuple[Array, Array]:
    """P_k theta (F, m), and theta' P_k theta (F,)."""
    n_kernels, m = products.shape[:2]
    forces = (products.reshape(n_kernels * m, m) @ shares).reshape(n_kernels, m)
    return forces, forces @ shares


def _value(products: Array, gains: Array, shares: Array) -> float:
    """What the mixture proves."""
    return float(gains @ shares) - 0.5 * float(_forces(products, shares)[1].max())


def _without_zeros(last: _Place) -> Array:
    """The weights, zero where they are headed for it: of a weight and its slack one goes to zero, the smaller one, each
    in its own unit. The largest weight stays."""
    weights = last.weights
    headed = weights * (2.0 * last.half) < last.slacks * weights.max()
    headed[np.argmax(weights)] = False
    weights = np.where(headed, 0.0, weights)
    return np.asarray(weights / weights.sum())
