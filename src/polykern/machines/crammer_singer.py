"""The multiclass hinge for a fixed kernel: sequential dual steps on working sets of samples.

    max_A  sum_i a_i . y_i - 1/2 tr(A' K A)      C_i y_i - a_i >= 0,  sum_j a_ij = 0   for the row a_i of every sample

is the dual of  min_A 1/2 tr(A' K A) + sum_i C_i [ max_j (1 - y_ij + (K A)_ij) - y_i . (K A)_i ].

Given     K, and any starting point
Step      the dual in the row of one sample alone is a projection on a simplex, exact in O(c log c). Sweeps go forth and
          back over the rows of a block: the samples whose rows and outputs miss optimality most (their share of the gap
          is known), all of them where they are few. Then matrix products carry the change over to the outputs of the
          other samples. The few directions of K that couple all samples are held by a proximal term (`leading`), and
          move between the sweeps: a hundredth of the sweeps then, for kernels that are not centred. Samples that are
          settled are passed over, so this is shrinking as well, with an unshrunk check every round.
Stop      primal - dual <= tol * |primal|, both of the problem itself, at the one A that is returned
Output    A, K A, and the two bounds

K. Crammer, Y. Singer: On the algorithmic implementation of multiclass kernel-based vector machines, JMLR 2, 2001;
S. S. Keerthi et al.: A sequential dual method for large scale multi-class linear SVMs, KDD 2008 (the steps).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polykern.machines.base import Machine, MachineSolution, check_sizes, out_of_time
from polykern.machines.crammer_singer_core import residuals, sweep
from polykern.machines.leading import Leading
from polykern.machines.matrix import CombinedMatrix
from polykern.problems.joint_machine import JointMachineProblem
from polykern.problems.machine import relative_gap

Array = NDArray[np.float64]

_SETTLED = 0.02  # of what a sample may add to the gap at the tolerance: such rows are passed over
_PATIENCE = 200  # rounds in which the gap is to fall by this share, or the dual value to rise by this share of the gap
_PROGRESS = 0.01
_COUPLED_CLASSES = 4.0  # about as many outputs of a sample move


@dataclass(frozen=True)
class CrammerSinger(Machine):
    """Sequential dual method for the multiclass hinge.

    Parameters
    ----------
    working_set : int
        Samples in a block: the square of the kernel on them is copied.
    """

    working_set: int = 2048

    def solve(  # type: ignore[override]  # one output per class: coefficients are (n, c)
        self,
        matrix: CombinedMatrix,
        problem: JointMachineProblem,
        *,
        coef: ArrayLike | None = None,
        intercept: Any = 0.0,
        tol: float = 1e-4,
        deadline: float | None = None,
    ) -> MachineSolution:
        """Coefficients whose relative duality gap is at most `tol`, or the best that floating point or time allowed."""
        check_sizes(matrix, problem, tol)
        rounds = _Rounds(matrix, problem, _feasible_start(problem, coef), self.working_set)
        while True:
            while not (rounds.gap <= tol or rounds.stalled or out_of_time(deadline)):
                rounds.improve(tol)
            rounds.refresh()
            if rounds.gap <= tol or rounds.stalled or out_of_time(deadline):
                return rounds.solution()


class _Rounds:
    """The state of one solve: coefficients (n, c), reduced and shifted outputs (c, n), parts of the gap."""

    def __init__(self, matrix: CombinedMatrix, problem: JointMachineProblem, coef: Array, working_set: int) -> None:
        self.matrix, self.problem, self.coef = matrix, problem, coef
        self.working_set = min(working_set, matrix.n_samples)
        self.labels = np.argmax(problem.y, axis=1)
        self.leading = Leading(matrix, coef.shape[1] / _COUPLED_CLASSES)
        # At the solution for K the state of the leading directions is L V'a.
        self.state = (self.leading.removed + self.leading.remaining)[:, None] * (self.leading.vectors.T @ coef)
        self._whole: NDArray[Any] | None = None
        self.n_rounds = 0
        self._least, self._highest = np.inf, -np.inf
        self._mark = (0, np.inf, -np.inf)
        self.stalled = False
        self.refresh()

    def improve(self, tol: float) -> None:
        """Sweeps over one block, what they mean for all outputs, and a step of the leading directions."""
        least = _SETTLED * tol * abs(self.primal) / len(self.coef)
        chosen, block = self._block()
        before = self.coef[chosen]
        after, outputs = before.copy(), np.ascontiguousarray(self.shifted[:, chosen])
        for backward in (False, True):
            sweep(block, self.labels[chosen], self.problem.costs[chosen], after, outputs, least, backward)
        self.coef[chosen] = after
        if len(chosen) < len(self.coef):
            self._carry_over(chosen, after - before)
        self.shifted[:, chosen] = outputs
        self._move_leading()
        self.n_rounds += 1
        self._measure()

    def _block(self) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """The samples with the largest parts of the gap, and K' on them."""
        n = len(self.coef)
        if self.working_set < n:
            chosen = np.sort(np.argpartition(-self.parts, self.working_set)[: self.working_set])
            return chosen, self.leading.reduced(self.matrix.block(chosen), chosen)
        everyone = np.arange(n)
        if self._whole is None:
            self._whole = self.leading.reduced(self.matrix.block(everyone), everyone)
        return everyone, self._whole

    def _carry_over(self, chosen: NDArray[np.intp], change: Array) -> None:
        """Outputs of all samples after a change of the chosen rows."""
        moved = np.flatnonzero(np.any(change != 0, axis=1))
        full = np.zeros_like(self.coef)
        self.matrix.add_products(chosen[moved], change[moved], full)
        leading = self.leading
        reduced = leading.removed[:, None] * (leading.vectors[chosen[moved]].T @ change[moved])
        self.shifted += full.T - reduced.T @ leading.vectors.T

    def _move_leading(self) -> None:
        leading = self.leading
        following = leading.following(self.coef, self.state)
        self.shifted += (leading.share[:, None] * (following - self.state)).T @ leading.vectors.T
        self.state = following

    def refresh(self) -> None:
        """Outputs K A anew, free of what rounding added up, and what the gap really is."""
        outputs = np.zeros_like(self.coef)
        support = np.flatnonzero(np.any(self.coef != 0, axis=1))
        self.matrix.add_products(support, self.coef[support], outputs)
        self.shifted = np.ascontiguousarray(outputs.T) - self.leading.shift(self.coef, self.state)
        self._measure()

    def _measure(self) -> None:
        self.outputs = self.shifted + self.leading.shift(self.coef, self.state)
        self.parts = residuals(self.labels, self.problem.costs, self.coef, self.outputs)
        gain = float(self.coef[np.arange(len(self.coef)), self.labels].sum())
        left = float(self.parts.sum())
        self.primal = gain - 0.5 * float(np.vdot(self.coef, self.outputs.T)) + left
        self.gap = left / max(abs(self.primal), 1e-300)
        self._least, self._highest = min(self._least, left), max(self._highest, self.primal - left)
        rounds, least, highest = self._mark
        if self.n_rounds - rounds >= _PATIENCE:
            better = self._least < (1.0 - _PROGRESS) * least
            self.stalled = not (better or self._highest - highest > _PROGRESS * self._least)
            self._mark = (self.n_rounds, self._least, self._highest)

    def solution(self) -> MachineSolution:
        """What is reached, with its bounds."""
        outputs = np.ascontiguousarray(self.outputs.T)
        intercept = self.problem.best_intercept(outputs)
        primal, dual = self.problem.primal(self.coef, outputs, intercept), self.problem.dual(self.coef, outputs)
        gap = relative_gap(primal, dual)
        return MachineSolution(self.coef, intercept, outputs, primal, dual, gap, self.n_rounds)  # type: ignore[arg-type]


def _feasible_start(problem: JointMachineProblem, coef: ArrayLike | None) -> Array:
    """A feasible copy of `coef` (None: of zero)."""
    start = np.zeros(problem.y.shape) if coef is None else np.array(coef, dtype=np.float64)
    if start.shape != problem.y.shape:
        raise ValueError(f"coef has shape {start.shape}, expected (samples, classes) = {problem.y.shape}.")
    if not np.isfinite(start).all():
        raise ValueError("coef holds NaN or infinite numbers; start from finite coefficients, or from coef=None.")
    return np.ascontiguousarray(problem.feasible(start)) if start.any() else start
