"""The cutting-plane model of F(b) = max_a -conj(a) - 1/2 b . S(a) on the simplex, as a linear program.

Every dual-feasible a gives a plane below F. The lowest point of the model is the next place to look (SILP), its value
is a lower bound of the optimum, and its multipliers mix the visited a into one dual point that proves at least that:
S and conj are convex, so  dual(sum_t mu_t a_t) >= sum_t mu_t (-conj_t) - 1/2 max_k sum_t mu_t S_tk. This is what keeps
the certificate from stalling where the solution a of the machine is not unique.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polykern.solvers.run import Evaluation, Run

Array = NDArray[np.float64]

LP_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Model:
    """Minimum of the model: where, how low, and the mix of cuts that proves it."""

    weights: Array
    bound: float
    multipliers: Array


class CuttingPlanes:
    """min_{b in simplex, theta} theta  subject to  theta >= -conj_t - 1/2 b . S_t  for every visited a_t.

    One HiGHS model is kept: adding a row leaves the last basis dual feasible, so that each solve takes a few dual
    simplex steps from the one before. All is divided by the size of the first objective, for numbers near one.
    """

    def __init__(self, n_kernels: int, scale: float) -> None:
        import highspy

        self.scale = max(abs(scale), 1e-12)
        self._evaluations: list[Evaluation] = []
        self._n_kernels = n_kernels
        self._lp = highspy.Highs()
        self._lp.setOptionValue("output_flag", False)
        for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self._lp.setOptionValue(option, LP_TOLERANCE)
        infinity = self._infinity = highspy.kHighsInf
        self._lp.addVars(n_kernels, np.zeros(n_kernels), np.full(n_kernels, infinity))
        self._lp.addVar(-infinity, infinity)
        self._lp.changeColCost(n_kernels, 1.0)
        self._lp.addRow(1.0, 1.0, n_kernels, np.arange(n_kernels, dtype=np.int32), np.ones(n_kernels))

    def add(self, evaluation: Evaluation) -> None:
        """Add the plane of an evaluation."""
        values = np.append(0.5 * evaluation.forms, self.scale) / self.scale
        height = -evaluation.conjugate / self.scale
        columns = np.arange(self._n_kernels + 1, dtype=np.int32)
        self._lp.addRow(height, self._infinity, len(values), columns, values)
        self._evaluations.append(evaluation)

    @property
    def slopes(self) -> Array:
        """(t, F) gradients of the planes, -1/2 S_t."""
        return np.array([evaluation.gradient for evaluation in self._evaluations])

    @property
    def heights(self) -> Array:
        """(t,) values of the planes at b = 0, -conj_t."""
        return np.array([-evaluation.conjugate for evaluation in self._evaluations])

    def minimum(self) -> Model:
        """Solve the linear program, from the last basis."""
        self._lp.run()
        solution = self._lp.getSolution()
        weights = np.maximum(np.asarray(solution.col_value[: self._n_kernels]), 0.0)
        multipliers = np.maximum(np.asarray(solution.row_dual[1:]), 0.0)
        bound = self.scale * float(self._lp.getInfo().objective_function_value)
        return Model(weights / weights.sum(), bound, multipliers / max(float(multipliers.sum()), 1e-300))

    def suggest(self, run: Run) -> Model:
        """Tell the run the model's lower bound; return the model."""
        model, evaluations = self.minimum(), self._evaluations
        run.suggest(model.bound, lambda: mix(model, evaluations))
        return model

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Forget the other planes."""
        gone = np.flatnonzero(~kept)
        if gone.size:
            self._lp.deleteRows(gone.size, (gone + 1).astype(np.int32))
            # A new list: a bound that was suggested may still ask for planes of the old one.
            self._evaluations = [self._evaluations[t] for t in np.flatnonzero(kept)]


def mix(model: Model, evaluations: list[Evaluation]) -> Array:
    """The dual point sum_t mu_t a_t that proves the model's bound."""
    used = np.flatnonzero(model.multipliers > 0)
    return np.asarray(sum(model.multipliers[t] * evaluations[t].coef for t in used))
