"""The largest multi-class margin of a mixture of kernels, by cutting planes: on the simplex, and for other norms.

Problem   max margin(b)  subject to  b >= 0, |b|_q = 1
Symbols   margin(b) the mean over the samples of min over y != y_i of b . eta(x_i, y_i, y), or the least of these minima
          (`kernel_margin`); s_t the slope of the cut at the t-th b visited, margin(b) <= s_t . b everywhere.
Given     the classes' mean columns of the kernels, one pass over them.
Step      q = 1: the model  max theta, theta <= s_t . b  is a linear program on the simplex, whose value is an upper
          bound. The next b is the point nearest to the last one where the model is above a level between best value
          and bound (level method); for the least margin, whose cuts are the rows of the program themselves, it is the
          solution of the model.
          q > 1: for every mix m of the cuts, margin(b) <= |(sum_t m_t s_t)_+|_q* on the ball. The m of the lowest
          bound solves a smooth problem in few variables (L-BFGS-B), the next b is where that bound is attained.
Stop      bound - best value <= tol * |best value|
Output    the best b visited, the bound, and the cuts.

With two classes there is one other class only: margin(b) is linear in b. The best mixture is then the best single
kernel for q = 1, and b_k ~ margin(e_k)_+^(1 / (q - 1)) for q > 1.

Cortes, Mohri, Rostamizadeh: Multi-class classification with maximum margin multiple kernel, ICML 2013, section 4.1;
Lemarechal, Nemirovskii, Nesterov: New variants of bundle methods, Mathematical Programming 69, 1995.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polykern.parallel import one_blas_thread
from polykern.regularizers.kernel_margin import KernelMargin
from polykern.regularizers.level_set import project_on_level_set
from polykern.regularizers.power import dual_exponent, norm_of

Array = NDArray[np.float64]
Cut = Callable[[Array], tuple[float, Array]]

_MOST_CUTS = 2000
_LEVEL = 0.5  # between the best value (0) and the bound (1)
_LP_TOLERANCE = 1e-9
_NEGLIGIBLE = 1e-10  # weights below this are rounding
_SMALL = 1e-3  # of the size of the kernels' margins: below that the gap is relative to this instead of the best margin


@dataclass(frozen=True)
class MarginRange:
    """What margins there are on the simplex of kernel weights.

    Attributes
    ----------
    lowest : float
        The smallest margin. It belongs to a single kernel, as the margin is concave.
    highest : float
        The largest margin found, that of `weights`.
    bound : float
        No weights have a larger margin than this.
    gap : float
        bound - highest, relative to the largest margin or, where that is near 0, to the size of the margins.
    weights : (F,) array
    slopes : (T, F) array
        Of the cuts on the way: margin(b) <= slopes @ b, for every row and all b >= 0.
    """

    lowest: float
    highest: float
    bound: float
    gap: float
    weights: Array
    slopes: Array

    def at(self, share: float) -> float:
        """The margin that lies this share of the way from the lowest to the highest one."""
        return self.lowest + share * (self.highest - self.lowest)


def margin_range(margin: KernelMargin, objective: str = "mean", tol: float = 1e-6) -> MarginRange:
    """The largest and the smallest margin over the simplex of kernel weights; null kernels take no part."""
    live = np.flatnonzero(~margin.null)
    if not live.size:
        return MarginRange(
            0.0, 0.0, 0.0, 0.0, np.full(margin.n_kernels, 1.0 / margin.n_kernels), np.empty((0, margin.n_kernels))
        )
    cut = cut_of(margin, objective)
    singles = np.array([cut(single)[0] for single in np.eye(margin.n_kernels)[live]])
    planes = _Planes(margin.n_kernels, live, float(np.abs(singles).max()))
    center = np.where(margin.null, 0.0, 1.0 / live.size)
    planes.visit(cut, center)
    point, bound = planes.maximum()
    planes.visit(cut, point)  # the end of the way where the margin is linear
    near = center
    while len(planes.slopes) < _MOST_CUTS:
        point, bound = planes.maximum()
        if bound - planes.best <= tol * planes.unit:
            break
        if objective == "mean":
            point = near = planes.nearest_above(planes.best + _LEVEL * (bound - planes.best), near)
        planes.visit(cut, point)
    gap = (bound - planes.best) / planes.unit
    return MarginRange(float(singles.min()), planes.best, bound, gap, planes.weights, np.array(planes.slopes))


def cut_of(margin: KernelMargin, objective: str) -> Cut:
    """What gives value and slope of the margin that the objective names."""
    return margin.cut if objective == "mean" else margin.minimum


class _Planes:
    """All cuts as one linear program on the simplex (HiGHS, rows are added to it), and the best point visited.

    Rows are divided by `size`, for numbers near one.
    """

    def __init__(self, n_kernels: int, live: NDArray[np.intp], size: float) -> None:
        import highspy

        self.live, self.n_kernels = live, n_kernels
        self.size = max(size, 1e-300)
        self.slopes: list[Array] = []
        self.best, self.weights = -np.inf, np.zeros(n_kernels)
        self._multipliers = np.zeros(0)  # of the cuts, in the last projection
        self._infinity = highspy.kHighsInf
        self._lp = highspy.Highs()
        self._lp.setOptionValue("output_flag", False)
        for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self._lp.setOptionValue(option, _LP_TOLERANCE)
        self._lp.addVars(len(live), np.zeros(len(live)), np.full(len(live), self._infinity))
        self._lp.addVar(-self._infinity, self._infinity)
        self._lp.changeColCost(len(live), -1.0)
        self._lp.addRow(1.0, 1.0, len(live), np.arange(len(live), dtype=np.int32), np.ones(len(live)))

    @property
    def unit(self) -> float:
        """What the gap is relative to."""
        return max(abs(self.best), _SMALL * self.size)

    def visit(self, cut: Cut, weights: Array) -> None:
        """Add the cut at these weights."""
        value, slope = cut(weights)
        if value > self.best:
            self.best, self.weights = value, weights
        columns = np.arange(len(self.live) + 1, dtype=np.int32)
        row = np.append(slope[self.live] / self.size, -1.0)
        self._lp.addRow(0.0, self._infinity, len(row), columns, row)
        self.slopes.append(slope)
        self._multipliers = np.append(self._multipliers, 0.0)

    def maximum(self) -> tuple[Array, float]:
        """The highest point of the model, and how high it is: an upper bound of the margin."""
        self._lp.run()
        point = np.asarray(self._lp.getSolution().col_value)[: len(self.live)]
        return self._inside(point), -self.size * float(self._lp.getInfo().objective_function_value)

    def nearest_above(self, level: float, center: Array) -> Array:
        """The point nearest to `center` where none of the cuts that matter is below the level.

        These hold up the maximum or held the last such point, or are new; of hundreds of cuts they are a few dozen.
        """
        holding = np.abs(np.asarray(self._lp.getSolution().row_dual)[1:]) > _NEGLIGIBLE
        chosen = np.flatnonzero((self._multipliers > 0) | holding | (np.arange(len(holding)) == len(holding) - 1))
        slopes = -np.array([self.slopes[t] for t in chosen])[:, self.live] / self.size
        limits = np.full(len(chosen), -level / self.size)
        with one_blas_thread():
            point, found = project_on_level_set(center[self.live], slopes, limits, self._multipliers[chosen])
        self._multipliers[:] = 0.0
        self._multipliers[chosen] = found
        return self._inside(point)

    def _inside(self, point: Array) -> Array:
        weights = np.zeros(self.n_kernels)
        weights[self.live] = np.where(point < _NEGLIGIBLE, 0.0, point)
        return weights / weights.sum()


def largest_on_sphere(cut: Cut, q: float, start: Array, tol: float) -> tuple[Array, float]:
    """The weights of the largest margin for q > 1 and a bound on it, from weights of a positive margin."""
    slopes: list[Array] = []
    mix = np.zeros(0)
    best, bound, weights, point = -np.inf, np.inf, start, start / norm_of(start, q)
    while len(slopes) < _MOST_CUTS:
        value, slope = cut(point)
        if value > best:
            best, weights = value, point
        if bound - best <= tol * best:
            break
        slopes.append(slope)
        mix = _lowest_bound(np.array(slopes), q, np.append(mix, mix.mean() if mix.size else 1.0))
        mixed = np.maximum(mix @ np.array(slopes), 0.0)
        bound = min(bound, norm_of(mixed, dual_exponent(q)))
        point = attained(mixed, q)
    return weights, bound


def _lowest_bound(slopes: Array, q: float, start: Array) -> Array:
    """The mix m of the slopes, of sum 1, with the smallest |(sum_t m_t slope_t)_+|_q*.

    Without the condition on the sum: min over m >= 0 of 1/2 |(sum_t m_t slope_t)_+|_q*^2 - sum_t m_t, the dual of the
    shortest b whose cuts are all above 1.
    """
    from scipy.optimize import minimize

    dual = dual_exponent(q)
    unit = norm_of(np.maximum(start @ slopes, 0.0), dual) / start.sum()
    scaled = slopes / unit

    def objective(mix: Array) -> tuple[float, Array]:
        mixed = np.maximum(mix @ scaled, 0.0)
        size = norm_of(mixed, dual)
        return 0.5 * size**2 - float(mix.sum()), size * (scaled @ attained(mixed, q)) - 1.0

    options = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-16, "gtol": 1e-12, "maxcor": 30}
    bounds = [(0.0, None)] * len(slopes)
    with one_blas_thread():
        found = minimize(objective, start / start.sum(), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(found.x / found.x.sum())


def attained(mixed: Array, q: float) -> Array:
    """The b of |b|_q = 1 with the largest  mixed . b, for mixed >= 0."""
    powers = (mixed / max(float(mixed.max()), 1e-300)) ** (1.0 / (q - 1.0))
    return np.asarray(powers / max(norm_of(powers, q), 1e-300))
