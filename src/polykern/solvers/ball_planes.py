"""The cutting-plane model over a ball of group sums: composite kernel learning, groups with 1/2 < q < 1.

The weights of GroupedNorm are then the convex set  b >= 0, |(s_j)_j|_e <= 1  with  s_j = sum of b over group j  and
e = q / (1 - q), described by tangents that are added where the model's points lie outside. (As a saddle problem in
shares and scales, like q >= 1, it takes more machines, and near q = 1, where the ball is nearly a box and the scales
have hardly any curvature, it stalls.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polykern.problems.mkl import MKLProblem
from polykern.regularizers import GroupedNorm
from polykern.regularizers.least_distance import nearest_point
from polykern.regularizers.power import norm_of
from polykern.regularizers.simplices import Orthant
from polykern.solvers.cuts import CuttingPlanes

Array = NDArray[np.float64]

ROUND = 1e-9  # how far outside of the ball a point of the model may lie


class BallPlanes(CuttingPlanes):
    """Planes of the objective and tangents of the ball as rows of one program."""

    most_rounds = 12

    def __init__(self, problem: MKLProblem, scale: float) -> None:
        assert isinstance(problem.regularizer, GroupedNorm)
        q = float(problem.regularizer.q)
        super().__init__(problem.bank.n_kernels, scale, Orthant(np.inf))
        self._exponent = q / (1.0 - q)
        self._group_of = problem.regularizer.group_of(problem.bank.n_kernels)
        self._tangents: list[Array] = []
        n_groups = int(self._group_of.max()) + 1
        for sums in (*np.eye(n_groups), np.ones(n_groups)):
            self._add_tangent(sums)

    def inside(self, point: Array) -> Array:
        return np.maximum(point, 0.0)

    def weights_at(self, point: Array, gap: float, multipliers: Array) -> Array:
        """On the sphere: larger weights are never worse."""
        size = norm_of(self._sums(point), self._exponent)
        return point / size if size > 0 else point

    def nearest_below(self, center: Array, level: float, multipliers: Array) -> tuple[Array, Array]:
        slopes, limits = self.below(level)
        tangents = np.array(self._tangents)
        rows, bounds = np.vstack([slopes, tangents]), np.append(limits, np.ones(len(tangents)))
        return nearest_point(center, rows, bounds, sums_to_one=False), multipliers

    def refine(self, point: Array, ceiling: float) -> bool:
        sums = self._sums(point)
        if norm_of(sums, self._exponent) <= 1.0 + ROUND:
            return False
        self._add_tangent(sums)
        return True

    def _sums(self, point: Array) -> Array:
        return np.asarray(np.bincount(self._group_of, weights=point), dtype=np.float64)

    def _add_tangent(self, sums: Array) -> None:
        """t . b <= 1 for all b of the ball, with equality where the groups sum to these, scaled to norm 1."""
        slopes = (sums / norm_of(sums, self._exponent)) ** (self._exponent - 1.0)
        tangent = np.asarray(slopes[self._group_of])
        columns = np.arange(self._n_kernels, dtype=np.int32)
        self._lp.addRow(-self._infinity, 1.0, len(tangent), columns, tangent)
        self._tangents.append(tangent)
