"""The cutting-plane model over weights whose margin is large enough: planes of the objective, fences of the set."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polykern.problems.mkl import MKLProblem
from polykern.regularizers.least_distance import nearest_point
from polykern.regularizers.margin_simplex import MarginSimplex
from polykern.regularizers.power import norm_of
from polykern.solvers.cuts import CuttingPlanes, Model

Array = NDArray[np.float64]

_ROUND = 1e-9  # how far outside of the ball a point of the model may lie
ROUNDS_IN_BALL = 12  # a ball has no corners: it takes many tangents where the model's minimum is


class MarginPlanes(CuttingPlanes):
    """`MarginSet` as rows of the same program. Points of the model may miss the margin a little; weights do not."""

    def __init__(self, problem: MKLProblem, scale: float) -> None:
        assert isinstance(problem.regularizer, MarginSimplex)
        self._set = problem.regularizer.margin_set
        super().__init__(problem.bank.n_kernels, scale, self._set.domain)
        self._unit = max(abs(self._set.least), abs(self._set.depth), 1e-300)
        self._fenced = 0
        self._tangents: list[Array] = []
        if self._set.q > 1.0:
            self.most_rounds = ROUNDS_IN_BALL
            for point in (*np.eye(problem.bank.n_kernels), self._set.deep):
                self._add_tangent(point)

    def weights_at(self, point: Array, gap: float, multipliers: Array) -> Array:
        return self._set.pull_inside(point)

    def minimum(self) -> Model:
        self._write_fences()
        return super().minimum()

    def below(self, level: float) -> tuple[Array, Array]:
        slopes, limits = super().below(level)
        fences = np.array(self._set.fences).reshape(-1, slopes.shape[1])
        tangents = np.array(self._tangents).reshape(-1, slopes.shape[1])
        least = np.full(len(fences), -self._set.least)
        return np.vstack([slopes, -fences, tangents]), np.concatenate([limits, least, np.ones(len(tangents))])

    def nearest_below(self, center: Array, level: float, multipliers: Array) -> tuple[Array, Array]:
        return nearest_point(center, *self.below(level), self._set.q == 1.0), multipliers

    def refine(self, point: Array, ceiling: float) -> bool:
        outside = self._set.q > 1.0 and norm_of(point, self._set.q) > 1.0 + _ROUND
        if outside:
            self._add_tangent(point)
        return self._set.fence(point) or outside

    def _write_fences(self) -> None:
        """Fences that the set has learned of since the last time, whoever asked."""
        columns = np.arange(self._n_kernels, dtype=np.int32)
        for slope in self._set.fences[self._fenced :]:
            least = self._set.least / self._unit
            self._lp.addRow(least, self._infinity, len(slope), columns, slope / self._unit)
        self._fenced = len(self._set.fences)

    def _add_tangent(self, point: Array) -> None:
        tangent = self._set.tangent(point)
        columns = np.arange(self._n_kernels, dtype=np.int32)
        self._lp.addRow(-self._infinity, 1.0, len(tangent), columns, tangent)
        self._tangents.append(tangent)
