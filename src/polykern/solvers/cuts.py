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

from polykern.regularizers.level_set import project_on_level_set
from polykern.regularizers.simplices import Domain, Simplices
from polykern.solvers.run import Evaluation, Run

Array = NDArray[np.float64]

LP_TOLERANCE = 1e-9
# Weights below this are rounding of the projection, not kernels in use.
NEGLIGIBLE = 1e-10


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

    For groups of kernels (`group_planes`) b is a point of a product of simplices, not yet the weights, and what an a
    says is more than one plane: `refine` adds what is missing where it matters.
    """

    most_rounds = 4  # of `refine` per machine

    def __init__(self, n_kernels: int, scale: float, domain: Domain | None = None) -> None:
        import highspy

        self.scale = max(abs(scale), 1e-12)
        self.domain: Domain = Simplices.one(n_kernels) if domain is None else domain
        self._evaluations: list[Evaluation] = []
        self._slopes: list[Array] = []
        self._heights: list[float] = []
        self._n_kernels = n_kernels
        self._lp = highspy.Highs()
        self._lp.setOptionValue("output_flag", False)
        for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self._lp.setOptionValue(option, LP_TOLERANCE)
        infinity = self._infinity = highspy.kHighsInf
        self._lp.addVars(n_kernels, np.zeros(n_kernels), np.full(n_kernels, infinity))
        self._lp.addVar(-infinity, infinity)
        self._lp.changeColCost(n_kernels, 1.0)
        for members in self.domain.members:
            self._lp.addRow(1.0, 1.0, len(members), members.astype(np.int32), np.ones(len(members)))
        self._rows: list[int] = []  # of the planes among all rows of the program

    # -- where the points of the model are -------------------------------------------------------------------

    def start_at(self, evaluation: Evaluation) -> Array:
        """Add the first plane; the point that it belongs to."""
        self.add(evaluation)
        return evaluation.weights

    def weights_at(self, point: Array, gap: float, multipliers: Array) -> Array:
        """The kernel weights to look at, for a point of the model: this gap is left, the planes there are so mixed."""
        return point

    def inside(self, point: Array) -> Array:
        """`point` without the rounding of a projection."""
        return self.domain.normalised(np.where(point < NEGLIGIBLE, 0.0, point))

    def refine(self, point: Array, ceiling: float) -> bool:
        """Add planes where the visited a are known to say more than `ceiling` at `point`; whether there were any."""
        return False

    # -- the planes ------------------------------------------------------------------------------------------

    def add(self, evaluation: Evaluation) -> None:
        """Add the plane of an evaluation."""
        self._add_plane(evaluation, evaluation.forms)

    def _add_plane(self, evaluation: Evaluation, forms: Array) -> None:
        """theta >= -conj - 1/2 point . forms."""
        values = np.append(0.5 * forms, self.scale) / self.scale
        height = -evaluation.conjugate
        columns = np.arange(self._n_kernels + 1, dtype=np.int32)
        self._rows.append(self._lp.getNumRow())
        self._lp.addRow(height / self.scale, self._infinity, len(values), columns, values)
        self._evaluations.append(evaluation)
        self._slopes.append(-0.5 * forms)
        self._heights.append(height)

    def below(self, level: float) -> tuple[Array, Array]:
        """(slopes, limits) of the set slopes . point <= limits where no plane is above `level`."""
        return np.array(self._slopes), level - np.array(self._heights)

    def nearest_below(self, center: Array, level: float, multipliers: Array) -> tuple[Array, Array]:
        """The point nearest to `center` where the model is below `level`, and multipliers of the planes for a start."""
        return project_on_level_set(center, *self.below(level), multipliers, self.domain)

    def minimum(self) -> Model:
        """Solve the linear program, from the last basis."""
        self._lp.run()
        solution = self._lp.getSolution()
        weights = np.maximum(np.asarray(solution.col_value[: self._n_kernels]), 0.0)
        multipliers = np.maximum(np.asarray(solution.row_dual)[self._rows], 0.0)
        bound = self.scale * float(self._lp.getInfo().objective_function_value)
        return Model(self.domain.normalised(weights), bound, multipliers / max(float(multipliers.sum()), 1e-300))

    def suggest(self, run: Run) -> Model:
        """Tell the run the model's lower bound; return the model."""
        model, evaluations = self.minimum(), self._evaluations
        run.suggest(model.bound, lambda: mix(model, evaluations))
        return model

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Forget the other planes."""
        gone = np.flatnonzero(~kept)
        if gone.size:
            rows = np.array(self._rows, dtype=np.int32)
            self._lp.deleteRows(gone.size, rows[gone])
            self._rows = (rows[kept] - np.searchsorted(rows[gone], rows[kept])).tolist()
            # New lists: a bound that was suggested may still ask for planes of the old ones.
            self._evaluations = [self._evaluations[t] for t in np.flatnonzero(kept)]
            self._slopes = [self._slopes[t] for t in np.flatnonzero(kept)]
            self._heights = [self._heights[t] for t in np.flatnonzero(kept)]


def mix(model: Model, evaluations: list[Evaluation]) -> Array:
    """The dual point sum_t mu_t a_t that proves the model's bound."""
    used = [(share, at.coef) for share, at in zip(model.multipliers, evaluations, strict=False) if share]
    return np.asarray(sum(share * coef for share, coef in used))
