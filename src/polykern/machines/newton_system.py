"""The linear system of a Newton step: p + W K p = r, and s + W K s = W 1 for the bias.

Where W > 0 it is solved for u in p = S u, S = sqrt(W):

    B u = r / S - S K_. p_.        B = I + S K S, whose eigenvalues are at least 1 however large the costs are

with p_. = r_. at the other samples, which do not enter B (squared hinge: those beyond the margin). Cholesky where the
samples with W > 0 are few and the matrix is in memory, otherwise conjugate gradients preconditioned with I + S L L'
S, where L (n, r) is a partial Cholesky factor of K with random pivots, computed once for all steps.

Reference: Y. Chen, E. N. Epperly, J. A. Tropp, R. J. Webber, "Randomly pivoted Cholesky", 2022.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from polykern.machines.matrix import CombinedMatrix

Array = NDArray[np.float64]

_NEGLIGIBLE_CURVATURE = 1e-12  # of the largest: below it a sample is taken as linear
_RANK = 200  # columns of the preconditioner
_MOST_CG_STEPS = 1000
_CG_ACCURACY = 1e-8  # relative residual


class NewtonSystem:
    """Solves the system for changing W and r, one fixed K."""

    def __init__(self, matrix: CombinedMatrix, most_direct: int) -> None:
        self.matrix, self.most_direct = matrix, most_direct

    def solve(self, curvature: Array, residual: Array, with_bias: bool) -> tuple[Array, Array]:
        """(p, s), both (n,); s = 0 without a bias."""
        active = np.flatnonzero(curvature > _NEGLIGIBLE_CURVATURE * curvature.max(initial=0.0))
        root = np.sqrt(curvature[active])
        p, s = residual.copy(), np.zeros_like(residual)
        p[active] = 0.0
        right = [residual[active] / root - root * self.matrix.matvec(p)[active]]
        if with_bias:
            right.append(root)
        direct = self.matrix.dense is not None and len(active) <= self.most_direct
        solved = (self._direct if direct else self._iterative)(active, root, np.column_stack(right))
        p[active] = root * solved[:, 0]
        if with_bias:
            s[active] = root * solved[:, 1]
        return p, s

    def _direct(self, active: NDArray[np.intp], root: Array, right: Array) -> Array:
        from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve

        system = self.matrix.block(active).astype(np.float64, copy=False)
        system *= root
        system *= root[:, np.newaxis]
        system[np.diag_indices_from(system)] += 1.0
        try:
            return cho_solve(cho_factor(system, lower=True), right)
        except LinAlgError:  # rounding made K indefinite by more than 1 / (C loss'')
            return solve(system, right, assume_a="sym")

    def _iterative(self, active: NDArray[np.intp], root: Array, right: Array) -> Array:
        scattered = np.zeros(self.matrix.n_samples)

        def apply(vector: Array) -> Array:
            scattered[active] = root * vector
            return vector + root * self.matrix.matvec(scattered)[active]

        precondition = _low_rank_inverse(root[:, np.newaxis] * self._factor[active])
        columns = [_conjugate_gradients(apply, precondition, side) for side in right.T]
        return np.column_stack(columns)

    @cached_property
    def _factor(self) -> Array:
        return pivoted_cholesky(self.matrix, min(_RANK, self.matrix.n_samples))


def _low_rank_inverse(factor: Array) -> Callable[[Array], Array]:
    """v -> (I + F F')^-1 v = v - F (I + F'F)^-1 F'v."""
    from scipy.linalg import cho_factor, cho_solve

    inner = cho_factor(np.eye(factor.shape[1]) + factor.T @ factor)
    return lambda vector: vector - factor @ cho_solve(inner, factor.T @ vector)


def _conjugate_gradients(
    apply: Callable[[Array], Array], precondition: Callable[[Array], Array], right: Array
) -> Array:
    """x with B x = right up to a small relative residual, from x = 0."""
    x, residual = np.zeros_like(right), right.copy()
    enough = _CG_ACCURACY * float(np.linalg.norm(right))
    search = conditioned = precondition(residual)
    product = float(residual @ conditioned)
    for _ in range(_MOST_CG_STEPS):
        if float(np.linalg.norm(residual)) <= enough:
            break
        image = apply(search)
        curvature = float(search @ image)
        if curvature <= 0.0:  # rounding made K indefinite: what is there is still a descent direction
            break
        x += (product / curvature) * search
        residual -= (product / curvature) * image
        conditioned = precondition(residual)
        product, previous = float(residual @ conditioned), product
        search = conditioned + (product / previous) * search
    return x


def pivoted_cholesky(matrix: CombinedMatrix, rank: int, seed: int = 0) -> Array:
    """(n, r) L with K close to L L', r <= rank: pivots drawn in proportion to what is left of the diagonal."""
    random = np.random.default_rng(seed)
    factor = np.zeros((matrix.n_samples, rank))
    left = matrix.diag().copy()
    negligible = 1e-12 * float(left.sum())
    for k in range(rank):
        total = float(left.sum())
        if not total > negligible:
            return factor[:, :k]
        pivot = int(random.choice(len(left), p=left / total))
        row = matrix.rows(np.array([pivot]))[0].astype(np.float64) - factor[:, :k] @ factor[pivot, :k]
        factor[:, k] = row / np.sqrt(row[pivot]) if row[pivot] > 0 else 0.0
        left = np.maximum(left - factor[:, k] ** 2, 0.0)
        left[pivot] = 0.0
    return factor
