"""MarginLP: the mixture of kernels with the largest multi-class margin.

Problem   max margin(b)  subject to  b >= 0, |b|_q = 1                                                     (5)
Symbols   margin(b) the mean over the samples of min over y != y_i of b . eta(x_i, y_i, y), or the least of the minima.
Given     the classes' mean columns of the kernels, one pass over them.
Step      cutting planes of the concave margin (`regularizers.margin_range`).
Stop      bound - best value <= tol * |best value|
Output    the best b visited.

Where no mixture has a positive margin, the problem for q > 1 is one of maximising a convex function (the scale of b
matters, and |b|_q >= 1 is no convex set); the solution for q = 1, scaled to |b|_q = 1, is given then, with a warning.
For q = 1 nothing changes.

Cortes, Mohri, Rostamizadeh: Multi-class classification with maximum margin multiple kernel, ICML 2013, section 4.1.
"""

from __future__ import annotations

import warnings
from numbers import Real

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from polykern.bank import KernelBank
from polykern.bank.callers import users_line
from polykern.regularizers.kernel_margin import KernelMargin
from polykern.regularizers.margin_range import cut_of, largest_on_sphere, margin_range
from polykern.regularizers.power import norm_of
from polykern.weighting.base import Array, Weighting

OBJECTIVES = ("mean", "minimum")


class MarginLP(Weighting):
    """Weights for which samples are nearer to their own class than to the closest other one, by the largest margin.

    Kernels on one scale, such as normalize="center-diagonal" (as in the paper) or "diagonal", compete on equal terms.

    Parameters
    ----------
    q : float, default=1.0
        Norm of the weights, 1 <= q < inf: sparse weights for 1, the more even the larger it is.
    objective : {"mean", "minimum"}, default="mean"
        The mean margin over the samples, or the smallest one, which the paper found to do poorly.
    tol : float, default=1e-6
        Relative gap between the margin of the weights and the largest one.

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import bank, kernels, weighting
    >>> X, y = np.array([[0.0, 3.0], [1.0, -3.0], [8.0, -3.0], [9.0, 3.0]]), np.array([0, 0, 1, 1])
    >>> columns = [kernels.OnColumns(kernels.Linear(), [k]) for k in range(2)]
    >>> found = bank.build_bank(columns, X, normalize="center")
    >>> weighting.MarginLP().weights(found, y, np.random.RandomState(0)).round(3).tolist()
    [1.0, 0.0]
    """

    def __init__(self, q: float = 1.0, objective: str = "mean", tol: float = 1e-6) -> None:
        self.q = q
        self.objective = objective
        self.tol = tol

    def weights(self, bank: KernelBank, y: NDArray[np.generic], random_state: np.random.RandomState) -> Array:
        self._check()
        margin = KernelMargin(bank, y)
        found = margin_range(margin, self.objective, self.tol)
        self._warn_of_gap(found.gap)
        scaled = np.asarray(found.weights / norm_of(found.weights, self.q))
        if self.q == 1.0 or margin.null.all():
            return scaled
        if found.highest <= 0.0:
            warnings.warn(
                f"no mixture of these kernels has a positive {self.objective} margin (the largest is "
                f"{found.highest:.3g}): the weights of MarginLP(q={self.q}) are those of q=1, scaled. "
                'Centred kernels (normalize="center-diagonal") have larger margins.',
                UserWarning,
                stacklevel=users_line(),
            )
            return scaled
        best, bound = largest_on_sphere(cut_of(margin, self.objective), self.q, found.weights, self.tol)
        self._warn_of_gap(bound / cut_of(margin, self.objective)(best)[0] - 1.0)
        return best

    def _check(self) -> None:
        if not isinstance(self.q, Real) or not 1 <= self.q < np.inf:
            raise ValueError(
                f"q of MarginLP is {self.q!r}, expected a number from 1 to below infinity, such as 1 or 2."
            )
        if self.objective not in OBJECTIVES:
            raise ValueError(f'objective of MarginLP is {self.objective!r}, expected "mean" or "minimum".')
        if not isinstance(self.tol, Real) or not self.tol > 0:
            raise ValueError(f"tol of MarginLP is {self.tol!r}, expected a positive number, such as 1e-6.")

    def _warn_of_gap(self, gap: float) -> None:
        if gap > 2.0 * self.tol:
            warnings.warn(
                f"MarginLP ends at a relative gap of {gap:.2g}, short of tol={self.tol:g}; its weights are feasible. A "
                "larger tol is reached sooner.",
                ConvergenceWarning,
                stacklevel=users_line(),
            )
