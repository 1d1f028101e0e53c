"""Groups of kernels as a saddle problem: lambda and gamma, and the best gamma in closed form.

    min over lambda in a product of simplices, max over a in A and gamma >= 0 with |gamma|_e <= 1, of

        -conj(a) - 1/2 sum_j D_j / gamma_j,     D_j = sum of lambda_k S_k(a) over the kernels k of group j

with the weights b_k = lambda_k / gamma_j. It is convex in lambda and jointly concave in (a, gamma), and for given a and
lambda

    the best gamma is  gamma_j = D_j^{1/(e+1)} / (sum_i D_i^{e/(e+1)})^{1/e},   sum_j D_j / gamma_j = |D|_{e/(e+1)}.

VSKL_q, q >= 1   one simplex per group, e = q / (q - 1), the paper's q*: its problem (D)
Simplex          one simplex, one group: gamma = 1, as at q = 1

CKL, q < 1, is no problem of this kind for us: its weights are a convex set of their own (`ball_planes`).

Aflalo, Ben-Tal, Bhattacharyya, Nath, Raman: Variable sparsity kernel learning, JMLR 12, 2011: Theorem 2.4, Proposition
3.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polykern.problems.mkl import MKLProblem
from polykern.regularizers import GroupedNorm
from polykern.regularizers.power import dual_exponent, norm_of
from polykern.regularizers.simplices import Simplices

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# Smallest gamma in units of the largest: a group whose kernels say nothing yet has a finite weight all the same.
LEAST_SCALE = 1e-8


@dataclass(frozen=True)
class Saddle:
    """lambda are called `shares`, gamma `scales`."""

    simplices: Simplices
    group_of: Indices
    exponent: float

    @classmethod
    def of(cls, problem: MKLProblem) -> Saddle:
        """The saddle form of a problem with groups, or on the simplex."""
        n_kernels, regularizer = problem.bank.n_kernels, problem.regularizer
        one = Simplices.one(n_kernels)
        if not isinstance(regularizer, GroupedNorm):
            return cls(one, one.simplex_of, np.inf)
        group_of, q = regularizer.group_of(n_kernels), float(regularizer.q)
        return cls(Simplices(group_of), group_of, dual_exponent(q))

    @property
    def n_groups(self) -> int:
        """How many gammas there are."""
        return int(self.group_of.max()) + 1

    @property
    def has_scales(self) -> bool:
        """gamma is not simply 1."""
        return not np.isinf(self.exponent) and self.n_groups > 1

    def weights(self, shares: Array, scales: Array) -> Array:
        """b = lambda / gamma."""
        return np.asarray(shares / scales[self.group_of])

    def start(self) -> tuple[Array, Array]:
        """Equal shares within each simplex, equal scales."""
        return self.simplices.center(), self.in_ball(np.ones(self.n_groups))

    def split(self, weights: Array) -> tuple[Array, Array]:
        """(shares, scales) of weights on the scale of the regularizer."""
        sums = self.sums(weights)
        scales = self.in_ball(1.0 / sums) if self.has_scales and sums.all() else self.start()[1]
        return self.simplices.normalised(weights * scales[self.group_of]), scales

    def sums(self, values: Array) -> Array:
        """Sum of the values over each group."""
        return np.asarray(np.bincount(self.group_of, weights=values), dtype=np.float64)

    def best_scales(self, shares: Array, forms: Array, least: float = LEAST_SCALE) -> Array:
        """gamma in closed form for these lambda and S (Proposition 3.3), none below `least` of the largest."""
        if not self.has_scales:
            return np.ones(self.n_groups)
        together = self.sums(shares * np.maximum(forms, 0.0))
        largest = float(together.max())
        if largest <= 0.0:
            return self.start()[1]
        return self.in_ball((together / largest) ** (1.0 / (self.exponent + 1.0)), least)

    def least_scale(self, gap: float) -> float:
        """How small gamma may be while so large a relative gap is left.

        At q = inf the best gamma of a group of low rank may be zero: its weight is infinite, and no machine is exact
        enough for |f| = S / gamma. A gamma of this size costs a share of Omega that the gap does not show.
        """
        return min(max(gap / self.n_groups, LEAST_SCALE), 0.1)

    def scaled(self, forms: Array, scales: Array) -> Array:
        """S / gamma: minus twice the gradient in lambda."""
        return np.asarray(forms / scales[self.group_of])

    def quadratic_parts(self, shares: Array, forms: Array) -> Array:
        """1/2 sum_j D_j / gamma_j at the best gamma, for every row of (t, F) forms."""
        together = np.array([self.sums(shares * row) for row in np.maximum(forms, 0.0)])
        power = 1.0 if not self.has_scales else self.exponent / (self.exponent + 1.0)
        return np.array([0.5 * norm_of(row, power) for row in together])

    def in_ball(self, scales: Array, least: float = LEAST_SCALE) -> Array:
        """`scales` times the number that gives them norm 1, none of them negligible."""
        if not self.has_scales:
            return np.ones(len(scales))
        kept = np.maximum(scales / scales.max(), least)
        return kept / norm_of(kept, self.exponent)
