"""Kernel weights whose multi-class margin is large enough: the weight set of M3K, known by its fences.

    B = {b >= 0, |b|_q = 1 (q = 1) or |b|_q <= 1 (q > 1), margin(b) >= least}

The margin is concave: wherever it was asked for, at some b, there is a slope s with margin(b') <= s . b' everywhere. So
s . b' >= least holds on B; such fences are added where a point that is asked for lies outside, and never all of the
n (c - 1) rows that the paper writes down.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polykern.regularizers.kernel_margin import KernelMargin
from polykern.regularizers.least_distance import nearest_point
from polykern.regularizers.margin_range import attained
from polykern.regularizers.power import dual_exponent, norm_of
from polykern.regularizers.simplices import Domain, Orthant, Simplices

Array = NDArray[np.float64]

INSIDE = 1e-9  # of the size of the margins: a point that misses by no more is inside
_MOST_FENCES = 200  # for one question
_LP_TOLERANCE = 1e-9


class MarginSet:
    """The set, a point `deep` inside it, and the fences found so far.

    Parameters
    ----------
    margin : KernelMargin
    least : float
        The smallest margin that is admitted.
    deep : (F,) array
        Weights of norm 1 with a larger margin.
    slopes : (T, F) array
        Slopes of cuts that are known already.
    q : float
        Norm of the weights.
    """

    def __init__(self, margin: KernelMargin, least: float, deep: Array, slopes: Array, q: float) -> None:
        self.margin, self.least, self.deep, self.q = margin, least, deep, q
        self.fences = list(slopes)
        self.depth = margin.mean(deep)
        self.slack = INSIDE * max(abs(least), abs(self.depth))

    @property
    def domain(self) -> Domain:
        """What B is without the margin and, for q > 1, without the ball."""
        return Simplices.one(self.margin.n_kernels) if self.q == 1.0 else Orthant(self.q)

    def contains(self, weights: Array) -> bool:
        """The margin is large enough, and so is the norm small enough."""
        size = norm_of(weights, self.q)
        of_size = abs(size - 1.0) <= INSIDE if self.q == 1.0 else size <= 1.0 + INSIDE
        return of_size and bool(np.all(weights >= 0)) and self.margin.mean(weights) >= self.least - self.slack

    def fence(self, weights: Array) -> bool:
        """Add a fence between these weights and B; whether they were outside."""
        value, slope = self.margin.cut(weights)
        if value >= self.least - self.slack:
            return False
        self.fences.append(slope)
        return True

    def pull_inside(self, weights: Array) -> Array:
        """`weights`, moved towards the deep point as far as the concave margin asks for."""
        inside = self.domain.normalised(weights)
        missing = self.least - self.margin.mean(inside)
        if missing <= 0.0:
            return inside
        share = min(1.0, missing / max(missing + self.depth - self.least, 1e-300))
        return (1.0 - share) * inside + share * self.deep

    def maximise(self, gains: Array) -> tuple[float, Array]:
        """An upper bound of max over B of  gains . b, tight but for rounding, and where it is attained."""
        ask = self._maximum_on_simplex if self.q == 1.0 else self._maximum_in_ball
        for _ in range(_MOST_FENCES):
            value, point = ask(gains)
            if not self.fence(point):
                break
        return value, point

    def _maximum_on_simplex(self, gains: Array) -> tuple[float, Array]:
        import highspy

        scale = max(float(np.abs(gains).max()), 1e-300)
        lp = highspy.Highs()
        lp.setOptionValue("output_flag", False)
        for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            lp.setOptionValue(option, _LP_TOLERANCE)
        n = len(gains)
        columns = np.arange(n, dtype=np.int32)
        lp.addVars(n, np.zeros(n), np.ones(n))
        lp.changeColsCost(n, columns, -gains / scale)
        lp.addRow(1.0, 1.0, n, columns, np.ones(n))
        unit = max(abs(self.least), abs(self.depth), 1e-300)
        for slope in self.fences:
            lp.addRow(self.least / unit, highspy.kHighsInf, n, columns, slope / unit)
        lp.run()
        point = np.maximum(np.asarray(lp.getSolution().col_value), 0.0)
        return -scale * float(lp.getInfo().objective_function_value), point / point.sum()

    def _maximum_in_ball(self, gains: Array) -> tuple[float, Array]:
        """By its dual, min over m >= 0 of |(gains + sum_t m_t s_t)_+|_q* - least sum_t m_t: every m is a bound."""
        from scipy.optimize import minimize

        dual, slopes = dual_exponent(self.q), np.array(self.fences).reshape(-1, len(gains))
        scale = max(norm_of(np.maximum(gains, 0.0), dual), 1e-300)

        def bound(shares: Array) -> tuple[float, Array]:
            mixed = np.maximum(gains / scale + shares @ slopes, 0.0)
            point = attained(mixed, self.q)
            return norm_of(mixed, dual) - self.least * float(shares.sum()), slopes @ point - self.least

        start = np.zeros(len(slopes))
        options = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-16, "gtol": 1e-12}
        found = minimize(bound, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(start), options=options)
        return scale * float(found.fun), attained(np.maximum(gains / scale + found.x @ slopes, 0.0), self.q)

    def project(self, point: Array) -> Array:
        """The point of B nearest to `point`, found between the fences."""
        rows = [] if self.q == 1.0 else [self.tangent(self.deep)]
        nearest = point
        for _ in range(_MOST_FENCES):
            walls = np.array([*(-slope for slope in self.fences), *rows]).reshape(-1, len(point))
            limits = np.append(np.full(len(self.fences), -self.least), np.ones(len(rows)))
            nearest = nearest_point(point, walls, limits, self.q == 1.0)
            outside = self.q > 1.0 and norm_of(nearest, self.q) > 1.0 + INSIDE
            rows += [self.tangent(nearest)] if outside else []
            if not self.fence(nearest) and not outside:
                break
        return self.pull_inside(nearest)

    def tangent(self, point: Array) -> Array:
        """(F,) t with t . b <= 1 for all b of norm at most 1, q > 1; t . point is the norm of the point."""
        return np.asarray((point / max(norm_of(point, self.q), 1e-300)) ** (self.q - 1.0))
