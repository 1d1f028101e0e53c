"""Second derivatives of F(b) = max_{a in A} -conj(a) - 1/2 sum_k b_k a' K_k a in the kernel weights.

At the maximiser the variables strictly inside their bounds (and away from a kink of conj) are free, and

    conj'(a) + K_b a + bias = 0  on the free ones,   sum a = bias_sum where there is a bias.

Let b_l change: with D = conj''(a), the free a and the bias change by

    (D + K_b) da + 1 dbias = -K_l a,   1' da = 0,

so that  d2F / db_k db_l = -(K_k a)' da_l = G_k' M^-1 G_l  with G_k = K_k a on the free variables and M^-1 the block of
a in the inverse of the bordered matrix. That is one formula for every loss: a piecewise linear one has D = 0 and only
its free support vectors count; with a smooth one all samples with curvature do, and D is the inverse of the curvature
in the primal.
Outputs that share the weights add up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polykern.problems.machine import MachineProblem
from polykern.problems.mkl import MKLProblem
from polykern.solvers.run import Evaluation

if TYPE_CHECKING:
    from polykern.bank import KernelBank

Array = NDArray[np.float64]

AT_BOUND = 1e-9  # of its cost: a variable this near to a bound is on it
STIFFEST = 1e12  # of the mean diagonal of K: variables with more of conj'' do not move
RIDGES = (1e-10, 1e-7, 1e-4, 1e-1)  # of the mean diagonal of K, the first that makes M positive definite


def curvature_root(problem: MKLProblem, at: Evaluation, kernels: NDArray[np.intp]) -> Array:
    """(r, len(kernels)) R with R' R the second derivatives of F at an evaluation, for these kernels."""
    scores = problem.bank.scores(at.coef)[kernels]
    parts = [
        _root_of(problem.bank, at.weights, column, at.coef[:, t], scores[:, :, t])
        for t, column in enumerate(problem.columns())
    ]
    return np.concatenate(parts)


def _root_of(bank: KernelBank, weights: Array, column: MachineProblem, coef: Array, scores: Array) -> Array:
    """The root for one output; `scores` are (F, n) K_k a."""
    from scipy.linalg import solve_triangular

    free, stiffness = free_variables(column, coef)
    size = float(bank.diag(weights).mean())
    soft = stiffness <= STIFFEST * size
    free, stiffness = free[soft], stiffness[soft]
    if not len(free):
        return np.zeros((0, len(scores)))
    factor = _cholesky(bank.rows(free, weights)[:, free].astype(np.float64), stiffness, size)
    right = np.column_stack([scores[:, free].T, np.ones(len(free))])
    solved = solve_triangular(factor, right, lower=True, check_finite=False)
    root, ones = solved[:, :-1], solved[:, -1]
    return root - np.outer(ones, ones @ root) / float(ones @ ones) if column.fit_intercept else root


def free_variables(column: MachineProblem, coef: Array) -> tuple[NDArray[np.intp], Array]:
    """Positions of the variables that move with the weights, and conj'' there."""
    lower, upper = column.bounds()
    margin = AT_BOUND * column.costs
    inside = (coef > lower + margin) & (coef < upper - margin)
    if not column.loss.smooth and column.loss.linear_form(column.y)[1]:
        inside &= np.abs(coef) > margin
    free = np.flatnonzero(inside)
    costs = column.costs[free]
    return free, column.loss.conjugate_curvature(-coef[free] / costs, column.y[free]) / costs


def _cholesky(matrix: Array, stiffness: Array, size: float) -> Array:
    """Lower factor of matrix + diag(stiffness), with the smallest ridge that it needs."""
    from scipy.linalg import LinAlgError, cholesky

    diagonal = np.diagonal(matrix) + stiffness
    for ridge in RIDGES:
        matrix[np.diag_indices_from(matrix)] = diagonal + ridge * size
        try:
            return np.asarray(cholesky(matrix, lower=True, check_finite=False))
        except LinAlgError:
            continue
    return np.diag(np.sqrt(diagonal + size))
