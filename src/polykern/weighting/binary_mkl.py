"""BinaryMKL: which kernels are large for two samples of one class and small for others, by a linear SVM on pairs.

Problem   min_{b >= 0}  1/2 |b|^2 + C sum_ij w_ij max(0, 1 - t_ij b . z_ij)
Symbols   z_ij = (K_1(x_i, x_j), .., K_F(x_i, x_j)), t_ij = +1 if y_i = y_j, otherwise -1; w_ij > 0 of sum 1 (`pairs`).
          Dual: max over 0 <= a_ij <= C w_ij of  sum a_ij - 1/2 |(sum a_ij t_ij z_ij)_+|^2,  b the vector inside.
Given     the pairs, read in blocks; kernels of one scale, K_k(x, x) = 1 (normalize="diagonal" or "center-diagonal").
Step      The hinge is rounded off over 1 - h .. 1 + h. Newton on the rounded problem: one pass over the pairs gives
          value, slope and curvature (a sum of z z' over the pairs in the round part), a nonnegative least squares
          problem in F variables the next b. The slopes of the rounded hinge are a dual point, so the same pass bounds
          the hinge problem from below, whatever h; h shrinks where it is what is left of the gap. Where not all pairs
          fit into memory, those of a random part of the samples are solved first: a few passes over all do the rest.
Stop      (primal - dual) / primal <= tol, both of the hinge problem
Output    b / sum b

The paper has (1 / C)/2 |b|^2 and the mean of the hinge over pairs that are drawn to have as many of both labels
(2 sum_j m_j^2 pairs (i, j) for classes of m_j samples), solved by stochastic gradients: balanced="subsample". The
default balanced=True takes all n^2 pairs and makes up for their numbers by weights: nothing is left to chance.

Kumar, Niculescu-Mizil, Kavukcuoglu, Daume: A binary classification framework for two-stage multiple kernel learning,
ICML 2012.
"""

from __future__ import annotations

import warnings
from functools import partial
from math import isqrt
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from polykern.bank import KernelBank
from polykern.bank.callers import users_line
from polykern.regularizers.kernel_margin import checked_classes
from polykern.weighting.base import Array, Weighting
from polykern.weighting.pairs import Chunk, Pairs
from polykern.weighting.scale import to_weights

_MOST_PASSES = 300
_LEAST_SHARE = 1e-6  # of a Newton step: where not even this much of it helps, rounding errors are all that is left
_FIRST_WIDTH, _SHRINK = 2.0, 0.25  # at b = 0 all pairs are in the round part: the first step is one of least squares
_PART_NUMBERS = 1 << 23  # of all kernels: the pairs that are solved first, where not all fit


class BinaryMKL(Weighting):
    """Weights that separate pairs of samples of one class from pairs of two, by a linear SVM without intercept.

    Parameters
    ----------
    C : float, default=100.0
        Cost of the mean hinge loss against 1/2 |b|^2. For small C the weights are proportional to the differences
        between the kernels' mean values on pairs of one class and on pairs of two.
    balanced : bool or "subsample", default=True
        True: pairs of one class and of two have the same weight in sum. False: all pairs have the same weight.
        "subsample": as in the paper, as many pairs of both labels, those of the larger kind drawn at random.
    n_pairs : int, optional
        With "subsample", at most so many pairs (i, j), half of them of each label.
    tol : float, default=1e-3
        Relative duality gap to reach.

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import bank, kernels, weighting
    >>> X, y = np.array([[0.0, 3.0], [1.0, -3.0], [8.0, -3.0], [9.0, 3.0]]), np.array([0, 0, 1, 1])
    >>> columns = [kernels.OnColumns(kernels.RBF(gamma=0.1), [k]) for k in range(2)]
    >>> found = bank.build_bank(columns, X)
    >>> weighting.BinaryMKL().weights(found, y, np.random.RandomState(0)).round(3).tolist()
    [1.0, 0.0]
    """

    def __init__(
        self, C: float = 100.0, balanced: bool | str = True, n_pairs: int | None = None, tol: float = 1e-3
    ) -> None:
        self.C = C
        self.balanced = balanced
        self.n_pairs = n_pairs
        self.tol = tol

    def weights(self, bank: KernelBank, y: NDArray[np.generic], random_state: np.random.RandomState) -> Array:
        self._check()
        classes = checked_classes(y, bank.n_samples)
        seed = int(random_state.randint(2**31 - 1))
        n_draws = self._n_draws(np.bincount(classes))
        take = partial(Pairs, bank, classes, balanced=bool(self.balanced), n_draws=n_draws, seed=seed)
        pairs = take()
        start, width = np.zeros(bank.n_kernels), _FIRST_WIDTH
        if not pairs.fits:
            part = random_state.permutation(bank.n_samples)[: max(2, isqrt(2 * _PART_NUMBERS // bank.n_kernels))]
            some = minimise(take(samples=np.sort(part)), self.C, self.tol, start)
            start, width = some.weights, some.width
        return to_weights(minimise(pairs, self.C, self.tol, start, width).weights, bank.null)

    def _n_draws(self, sizes: NDArray[np.intp]) -> int | None:
        """Pairs (i, j), i <= j, to draw of each label; None for all."""
        if self.balanced != "subsample":
            return None
        n, within = int(sizes.sum()), int(np.sum(sizes**2))
        fewer = min((within + n) // 2, (n * n - within) // 2)
        return fewer if self.n_pairs is None else min(fewer, max(1, self.n_pairs // 4))

    def _check(self) -> None:
        if not isinstance(self.C, Real) or not 0 < self.C < np.inf:
            raise ValueError(f"C of BinaryMKL is {self.C!r}, expected a positive number, such as 100.")
        if not (isinstance(self.balanced, bool | np.bool_) or self.balanced == "subsample"):
            raise ValueError(f'balanced of BinaryMKL is {self.balanced!r}, expected True, False or "subsample".')
        if self.n_pairs is not None and self.balanced != "subsample":
            raise ValueError(
                f"n_pairs of BinaryMKL is {self.n_pairs!r} with balanced={self.balanced!r}, which takes all pairs; "
                'leave it out, or draw pairs with balanced="subsample".'
            )
        if self.n_pairs is not None and not (isinstance(self.n_pairs, Integral) and self.n_pairs >= 4):
            raise ValueError(f"n_pairs of BinaryMKL is {self.n_pairs!r}, expected a whole number of pairs, 4 or more.")
        if not isinstance(self.tol, Real) or not self.tol > 0:
            raise ValueError(f"tol of BinaryMKL is {self.tol!r}, expected a positive number, such as 1e-3.")


class Solution(NamedTuple):
    """b, the half width h that was reached, and the bounds of the hinge problem."""

    weights: Array
    width: float
    primal: float
    dual: float
    n_passes: int


class _Point(NamedTuple):
    """What one pass tells about b: bounds of the hinge problem and of the rounded one, slope and curvature of it."""

    weights: Array
    primal: float
    dual: float
    rounded_primal: float
    rounded_dual: float
    slope: Array
    curvature: Array


def minimise(pairs: Pairs, C: float, tol: float, start: Array, width: float = _FIRST_WIDTH) -> Solution:
    """Solve the hinge problem on these pairs to a relative duality gap of `tol`, from b = `start`."""
    comparable, n_passes = True, 1
    here = _measure(pairs, C, start, width)
    best, dual = here, here.dual
    while best.primal - dual > tol * best.primal and n_passes < _MOST_PASSES:
        if here.rounded_primal - here.rounded_dual <= 0.5 * (here.primal - here.dual):
            width, comparable = _SHRINK * width, False
        goal, share = _newton(here), 1.0
        while True:
            there = _measure(pairs, C, here.weights + share * (goal - here.weights), width)
            n_passes += 1
            best, dual = min(best, there, key=lambda point: point.primal), max(dual, there.dual)
            falls = there.rounded_primal <= here.rounded_primal or not comparable
            if falls or best.primal - dual <= tol * best.primal or share < _LEAST_SHARE:
                break
            share *= 0.5
        if not falls:
            break
        here, comparable = there, True
    gap = (best.primal - dual) / best.primal
    if gap > tol:
        warnings.warn(
            f"BinaryMKL stopped after {n_passes} passes over the pairs at a relative gap of {gap:.2g}, short of "
            f"tol={tol:g}. A smaller C or a larger tol is reached sooner.",
            ConvergenceWarning,
            stacklevel=users_line(),
        )
    return Solution(best.weights, width, best.primal, dual, n_passes)


def _measure(pairs: Pairs, C: float, weights: Array, width: float) -> _Point:
    """One pass over the pairs."""
    sums = pairs.each(partial(_sums, weights=weights, width=width))
    hinge, lifted, shares, bent = np.sum([one[0] for one in sums], axis=0)
    pull = C * np.sum([one[1] for one in sums], axis=0)
    curvature = np.eye(len(weights)) + C * np.sum([one[2] for one in sums], axis=0)
    size, dual_size = 0.5 * float(weights @ weights), 0.5 * float(np.sum(np.maximum(pull, 0.0) ** 2))
    return _Point(
        weights,
        size + C * hinge,
        C * shares - dual_size,
        size + C * lifted,
        C * (shares + bent) - dual_size,
        weights - pull,
        curvature,
    )


def _sums(chunk: Chunk, weights: Array, width: float) -> tuple[Array, Array, Array]:
    """Over some pairs: [hinge, rounded hinge, shares s, h s (1 - s)], s t z, and z z' / (2 h) over the round part.

    s = minus the slope of the rounded hinge, 0 above 1 + h and 1 below 1 - h; the rounded hinge is h s^2 between them.
    """
    points, labels, counted = chunk
    margins = labels * (weights.astype(points.dtype) @ points)
    shares = np.clip((1.0 + width - margins) / (2.0 * width), 0.0, 1.0)
    hinge = np.maximum(1.0 - margins, 0.0)
    inside = np.flatnonzero((shares > 0.0) & (shares < 1.0))
    rounded = np.where(shares < 1.0, width * shares**2, hinge)
    values = np.array([counted @ of for of in (hinge, rounded, shares, width * shares * (1.0 - shares))])
    pull = points @ (counted * shares * labels).astype(points.dtype)
    some = points[:, inside]
    curvature = (some * (counted[inside] / (2.0 * width)).astype(points.dtype)) @ some.T
    return values, pull.astype(np.float64), curvature.astype(np.float64)


def _newton(point: _Point) -> Array:
    """The least b >= 0 of the quadratic that has value, slope and curvature of the rounded problem at `point`."""
    from scipy.linalg import solve_triangular
    from scipy.optimize import nnls

    factor = np.linalg.cholesky(point.curvature)
    target = solve_triangular(factor, point.curvature @ point.weights - point.slope, lower=True)
    return np.asarray(nnls(factor.T, target, maxiter=30 * len(target))[0])
