"""EasyMKL: kernels weigh as much as they contribute to the distance between the classes in the sum of all kernels.

Problem   min_g  (1 - L) g'Y (sum_k K_k) Y g + L |g|^2,   g >= 0 of sum 1 within each of two classes
Symbols   Y = diag(y), y = +1 / -1; L = `lam`, 0 < L <= 1: the nearest points of the classes' hulls for L -> 0, and the
          means of the classes, whatever the kernels, for L = 1.
Given     the kernels on one scale: trace n, as in the paper's code, is normalize="mean-diagonal".
Step      one problem on the plain sum of the kernels (`hulls`), whose ridge is L / (1 - L).
Stop      certified relative gap <= tol
Output    b_k = g'Y K_k Y g, scaled to sum 1

More classes: one problem for each class against the others, and the mean over the classes of their weights, each set
of sum 1. (The paper is about two classes; its authors' code trains one machine per class, each on weights of its own.)

Aiolli, Donini: EasyMKL: a scalable multiple kernel learning algorithm, Neurocomputing 169, 2015.
"""

from __future__ import annotations

import warnings
from numbers import Real

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from polykern.bank import KernelBank
from polykern.bank.callers import users_line
from polykern.machines.matrix import CombinedMatrix
from polykern.parallel import one_blas_thread, run_blocks, spans
from polykern.regularizers.kernel_margin import checked_classes
from polykern.weighting.base import Array, Weighting
from polykern.weighting.hulls import nearest_points
from polykern.weighting.scale import to_weights

_SCORES_AT_ONCE = 1 << 24  # numbers


class EasyMKL(Weighting):
    """Weights in proportion to the distances, in each kernel, between the points where two classes come nearest.

    The cost is one combined matrix and one quadratic program per class (one for two classes), whatever the number of
    kernels.

    Parameters
    ----------
    lam : float, default=0.1
        0 < lam <= 1: near 0 the samples at the border between the classes decide, for 1 all samples alike.
    tol : float, default=1e-4
        Relative gap of the quadratic programs.

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import bank, kernels, weighting
    >>> X, y = np.array([[0.0, 3.0], [1.0, -3.0], [8.0, -3.0], [9.0, 3.0]]), np.array([0, 0, 1, 1])
    >>> columns = [kernels.OnColumns(kernels.Linear(), [k]) for k in range(2)]
    >>> weighting.EasyMKL().weights(bank.build_bank(columns, X), y, np.random.RandomState(0)).round(2).tolist()
    [1.0, 0.0]
    """

    def __init__(self, lam: float = 0.1, tol: float = 1e-4) -> None:
        self.lam = lam
        self.tol = tol

    def weights(self, bank: KernelBank, y: NDArray[np.generic], random_state: np.random.RandomState) -> Array:
        self._check()
        coef = self._nearest_points(bank, _one_against_others(checked_classes(y, bank.n_samples)))
        forms = np.maximum(_quadratic_forms(bank, coef), 0.0)
        sums = forms.sum(axis=0)
        shares = np.divide(forms, sums, out=np.zeros_like(forms), where=sums > 0)
        return to_weights(shares.mean(axis=1), bank.null)

    def _nearest_points(self, bank: KernelBank, signs: Array) -> Array:
        """(n, T) Y g of every problem."""
        if self.lam == 1.0:
            return np.where(signs > 0, 1.0 / (signs > 0).sum(axis=0), -1.0 / (signs < 0).sum(axis=0))
        matrix = CombinedMatrix(bank, np.ones(bank.n_kernels))
        ridge = self.lam / (1.0 - self.lam)
        with one_blas_thread():
            found = run_blocks(lambda one: nearest_points(matrix, one, ridge, self.tol), list(signs.T), bank.n_jobs)
        worst = max(one.gap for one in found)
        if worst > self.tol:
            warnings.warn(
                f"EasyMKL ends at a relative gap of {worst:.2g}, short of tol={self.tol:g}; a larger lam is easier.",
                ConvergenceWarning,
                stacklevel=users_line(),
            )
        return np.column_stack([one.coef for one in found])

    def _check(self) -> None:
        if not isinstance(self.lam, Real) or not 0 < self.lam <= 1:
            raise ValueError(
                f"lam of EasyMKL is {self.lam!r}, expected a number above 0 and at most 1; "
                "1e-3 is as good as 0, where the problem has no unique solution."
            )
        if not isinstance(self.tol, Real) or not self.tol > 0:
            raise ValueError(f"tol of EasyMKL is {self.tol!r}, expected a positive number, such as 1e-4.")


def _one_against_others(classes: NDArray[np.intp]) -> Array:
    """(n, T) columns of +1 / -1: one for two classes, otherwise one per class."""
    n_classes = int(classes.max()) + 1
    positive = np.arange(1, 2) if n_classes == 2 else np.arange(n_classes)
    return np.where(classes[:, np.newaxis] == positive, 1.0, -1.0)


def _quadratic_forms(bank: KernelBank, coef: Array) -> Array:
    """(F, T): a' K_k a for every kernel and every column a."""
    at_once = max(1, _SCORES_AT_ONCE // (bank.n_kernels * bank.n_samples))
    pieces = [coef[:, piece] for piece in spans(coef.shape[1], at_once)]
    return np.hstack([np.einsum("knt,nt->kt", bank.scores(piece), piece) for piece in pieces])
