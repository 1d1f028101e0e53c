"""The cutting-plane model of problems with groups of kernels, q >= 1, and how gamma is chosen beside it.

In the letters of `saddle`, what an a says of G(lambda) = max over a and gamma is more than a plane: with the best gamma
for it, -conj - 1/2 |D(lambda)|_{e/(e+1)}, convex in lambda. It enters the model by its tangents, more of them where it
matters, without a machine. Each is the plane of this a with a gamma of its own, and since (a, gamma) is jointly
concave, the mixed a proves the model's bound as it does on the simplex.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polykern.problems.mkl import MKLProblem
from polykern.solvers.cuts import CuttingPlanes
from polykern.solvers.run import Evaluation
from polykern.solvers.saddle import Saddle

Array = NDArray[np.float64]

# A gamma that keeps going one way goes farther by this factor each time, up to so many times its step.
FASTER, FASTEST = 1.5, 8.0
FARTHEST = 2.0  # a step changes no log gamma by more
# gamma in the tangents of groups without a share, as a share of the largest: any is as exact, and the best one, zero,
# would make them steep without end.
FREE_SCALE = 1e-3


class SaddlePlanes(CuttingPlanes):
    """The model in lambda, and the next gamma.

    That is the best one for the last a, overshot while it keeps its direction.
    """

    def __init__(self, problem: MKLProblem, scale: float) -> None:
        self._saddle = saddle = Saddle.of(problem)
        super().__init__(problem.bank.n_kernels, scale, saddle.simplices)
        self._visited: list[Evaluation] = []
        self._shares, self._scales = saddle.start()
        self._pull = np.zeros(saddle.n_groups)
        self._reach = np.ones(saddle.n_groups)

    def start_at(self, evaluation: Evaluation) -> Array:
        self._shares, self._scales = self._saddle.split(evaluation.weights)
        self.add(evaluation)
        return self._shares

    def weights_at(self, point: Array, gap: float, multipliers: Array) -> Array:
        if self._saddle.has_scales:
            self._scales = self._next_scales(point, self._saddle.least_scale(gap))
        self._shares = point
        return self._saddle.weights(point, self._scales)

    def _next_scales(self, point: Array, least: float) -> Array:
        forms = self._visited[-1].forms
        pull = np.log(self._saddle.best_scales(self._shares, forms) / self._scales)
        same_way = pull * self._pull > 0
        self._reach = np.where(same_way, np.minimum(FASTER * self._reach, FASTEST), np.maximum(0.5 * self._reach, 1.0))
        self._pull = pull
        overshoot = np.clip(self._reach * pull, -FARTHEST, FARTHEST) - pull
        return self._saddle.in_ball(self._saddle.best_scales(point, forms) * np.exp(overshoot), least)

    def add_at(self, point: Array, evaluation: Evaluation) -> None:
        """Add what an evaluation says, exact at this point."""
        self._shares = point
        self.add(evaluation)

    def add(self, evaluation: Evaluation) -> None:
        self._visited.append(evaluation)
        self._add_tangent(evaluation, self._shares)

    def refine(self, point: Array, ceiling: float) -> bool:
        if not self._saddle.has_scales:
            return False
        conjugates = np.array([at.conjugate for at in self._visited])
        terms = self._saddle.quadratic_parts(point, np.array([at.forms for at in self._visited]))
        above = -conjugates - terms - ceiling
        for t in np.flatnonzero(above > 0.5 * max(float(above.max()), 0.0)):
            self._add_tangent(self._visited[t], point)
        return bool(above.max() > 0)

    def _add_tangent(self, evaluation: Evaluation, shares: Array) -> None:
        scales = self._saddle.best_scales(shares, evaluation.forms)
        unknown = self._saddle.sums(shares) == 0
        if unknown.any():
            scales = self._saddle.in_ball(np.where(unknown, FREE_SCALE * scales.max(), scales))
        self._add_plane(evaluation, self._saddle.scaled(evaluation.forms, scales))
