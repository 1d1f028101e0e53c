"""SMO on working sets: the same path for a matrix in memory and for one whose rows are computed when asked.

    min_a  1/2 a'Ka - linear'a + kink'|a|      lower <= a <= upper,  sum a = bias_sum where there is a bias

One round: choose the variables worth moving (those that violate optimality, and the free ones), copy their square
block of K, run the compiled steps of `smo_core` on it until its own gap is a fraction of what it was, and carry the
change over to the gradient of all n variables with the rows that changed. A block of a thousand variables lives in
the processor's cache, where a step costs a fraction of a step on the whole matrix. Variables at their bounds are left
alone until the gradient says otherwise, so this is shrinking as well, with an unshrunk check every round. Where most
variables are worth moving and the matrix is in memory, the block is the matrix itself.

References: T. Joachims, "Making large-scale SVM learning practical", 1998 (working sets); `smo_core` for the steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern.machines.base import out_of_time
from polykern.machines.matrix import CombinedMatrix
from polykern.machines.smo_core import Box, Point, fill_offsets, gap_and_bias, pair_steps, single_steps
from polykern.problems.machine import TINY, MachineProblem

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_WHOLE_FROM = 0.6  # share of the variables from which copying a block saves nothing
_BLOCK_GAP = 0.1  # a block is solved until its own gap is this share of what it was
_LEAST_CHUNK, _MOST_CHUNKS = 200, 50  # steps between two looks at the gap; looks at one block
_PATIENCE = 100  # passes over all variables without progress of the dual objective or the gap
_STRETCH = 500  # passes over all variables after which progress must have shown
_PROGRESS = 4e-15  # relative gain of the dual objective below which a round may be nothing but rounding
_REFRESH_AFTER = 20  # times n steps on the whole matrix: then rounding in the gradient is cleared


class Descent:
    """The state of one solve: variables, gradient, bias, and the estimated gap."""

    def __init__(self, matrix: CombinedMatrix, problem: MachineProblem, coef: Array, working_set: int) -> None:
        n = matrix.n_samples
        self.matrix, self.working_set, self.with_bias = matrix, working_set, problem.fit_intercept
        self.linear, kink = (_per_sample(values, n) for values in problem.loss.linear_form(problem.y))
        lower, upper = (_per_sample(values, n) for values in problem.bounds())
        self.box = Box(matrix.diag(), lower, upper, kink)
        self.point = Point(coef, matrix.matvec(coef) - self.linear, np.empty(n), np.empty(n))
        fill_offsets(coef, self.box, self.point.up_offset, self.point.down_offset)
        self.n_steps = self._since_refresh = self._idle_rounds = 0
        self.stalled = False
        self._least_gap = np.inf
        self._measure()
        self._stretch, self._mark = 0, (self.dual, self._least_gap)

    @property
    def outputs(self) -> Array:
        """K a."""
        return self.point.gradient + self.linear

    def descend(self, goal: float, deadline: float | None) -> None:
        """Rounds until the estimated relative gap is at most `goal`, progress ends, or time is up."""
        while not (self.gap <= goal or self.stalled or out_of_time(deadline)):
            self._round(goal, deadline)

    def refresh(self) -> None:
        """Recompute the gradient from K where rounding may have added up."""
        if self._since_refresh > _REFRESH_AFTER * self.matrix.n_samples:
            self.point.gradient[:] = self.matrix.matvec(self.point.coef) - self.linear
            self._since_refresh = 0

    def _round(self, goal: float, deadline: float | None) -> None:
        dual, gap = self.dual, self._least_gap
        chosen = self._choose()
        if chosen is None:
            self._move_all()
        else:
            self._move(chosen, goal, deadline)
        self._measure()
        progress = self.gap < 0.99 * gap or self.dual - dual > self._rounding()
        self._idle_rounds = 0 if progress else self._idle_rounds + 1
        self.stalled |= self._passes(self._idle_rounds) >= _PATIENCE or self._hopeless()

    def _passes(self, rounds: int) -> float:
        """Rounds in units of all variables."""
        return rounds * self._largest_set() / self.matrix.n_samples

    def _hopeless(self) -> bool:
        """A long stretch earned next to nothing of what is missing: K is indefinite, or too ill-conditioned."""
        self._stretch += 1
        if self._passes(self._stretch) < _STRETCH:
            return False
        missing = self.gap * max(abs(self.dual), TINY)
        little = self.dual - self._mark[0] < 0.01 * missing and self._least_gap > 0.9 * self._mark[1]
        self._stretch, self._mark = 0, (self.dual, self._least_gap)
        return little

    def _rounding(self) -> float:
        """A gain of the dual objective that may be nothing but rounding, in it or in the gradient."""
        size = np.abs(self.point.coef)
        terms = float(size.sum()) * float(size.max()) * float(self.box.diagonal.max())
        return _PROGRESS * max(abs(self.dual), TINY) + 1e-17 * terms

    def _measure(self) -> None:
        """The dual objective, the gap and the bias that makes it smallest."""
        coef, gradient = self.point.coef, self.point.gradient
        self.dual = 0.5 * float(coef @ (self.linear - gradient)) - float(self.box.kink @ np.abs(coef))
        excess, self.bias = gap_and_bias(self.box, self.point, self.with_bias)
        self.gap = excess / max(abs(self.dual + excess), TINY)
        self._least_gap = min(self._least_gap, self.gap)

    def _choose(self) -> Indices | None:
        """The variables to move in this round; None for all of them."""
        dense, most = self.matrix.dense is not None, self._largest_set()
        if dense and most >= _WHOLE_FROM * self.matrix.n_samples:
            return None
        chosen = choose_working_set(self.point, self.bias, most, keep_all_free=dense)
        return None if dense and len(chosen) >= _WHOLE_FROM * self.matrix.n_samples else chosen

    def _largest_set(self) -> int:
        return max(2, min(self.working_set, self.matrix.row_capacity))

    def _move_all(self) -> None:
        chunk = max(_LEAST_CHUNK, self.matrix.n_samples // 2)
        taken = self._steps(self.matrix.dense, self.box, self.point, chunk)
        self._since_refresh += taken
        self.stalled |= taken < chunk

    def _move(self, chosen: Indices, goal: float, deadline: float | None) -> None:
        """Solve on the chosen variables, then carry the change over to all."""
        box, point = Box(*(v[chosen] for v in self.box)), Point(*(v[chosen] for v in self.point))
        self._solve_block(self.matrix.block(chosen), box, point, goal, deadline)
        change = point.coef - self.point.coef[chosen]
        moved = np.flatnonzero(change)
        self.matrix.add_product(chosen[moved], change[moved], self.point.gradient)
        for whole, part in ((0, 0), (2, 2), (3, 3)):  # all but the gradient, which all variables share
            self.point[whole][chosen] = point[part]

    def _solve_block(self, block: Any, box: Box, point: Point, goal: float, deadline: float | None) -> None:
        before, _ = gap_and_bias(box, point, self.with_bias)
        target = max(_BLOCK_GAP * before, 0.5 * goal * abs(self.dual))
        chunk = max(_LEAST_CHUNK, len(point.coef) // 2)
        for _ in range(_MOST_CHUNKS):
            taken = self._steps(block, box, point, chunk)
            gap, _ = gap_and_bias(box, point, self.with_bias)
            if taken < chunk or gap <= target or out_of_time(deadline):
                return

    def _steps(self, block: Any, box: Box, point: Point, n_steps: int) -> int:
        steps = pair_steps if self.with_bias else single_steps
        taken = int(steps(block, box, point, n_steps))
        self.n_steps += taken
        return taken


def choose_working_set(point: Point, bias: float, most: int, *, keep_all_free: bool) -> Indices:
    """Sorted indices of the variables most worth moving.

    First the extremes of either direction (a step needs one variable that rises and one that falls, whatever the bias
    says), then the free ones, then the others in the order of their violation at this bias. With keep_all_free there
    are more than `most` where more are free; without it (`most` is what memory holds) the free ones compete by
    violation.
    """
    upward, downward = -(point.gradient + point.up_offset + bias), point.gradient + point.down_offset + bias
    violation = np.maximum(upward, downward)
    free = np.isfinite(point.up_offset) & np.isfinite(point.down_offset)
    n_free = int(np.count_nonzero(free))
    if keep_all_free:
        most = max(most, n_free + n_free // 2)
    wanted = violation > 0
    priority = violation * (1.0 + 1e-3 * _shuffle(len(violation)))  # equal violations: take them from everywhere
    if n_free <= most // 2 or keep_all_free:
        wanted |= free
        priority[free] = np.finfo(np.float64).max
    for slopes in (upward, downward):
        extremes = _largest(slopes + 1e-9 * _shuffle(len(slopes)), max(1, most // 8))
        extremes = extremes[np.isfinite(slopes[extremes])]
        wanted[extremes], priority[extremes] = True, np.inf
    priority[~wanted] = -np.inf
    return np.sort(_largest(priority, min(most, int(np.count_nonzero(wanted)))))


def _largest(values: Array, count: int) -> Indices:
    """Positions of the `count` largest values, in no order."""
    if count >= len(values):
        return np.arange(len(values))
    return np.argpartition(values, len(values) - count)[len(values) - count :]


def _shuffle(n: int) -> Array:
    """(n,) well-spread numbers in [0, 1), the same every time: multiples of the golden ratio."""
    return np.asarray(np.arange(n) * 0.6180339887498949 % 1.0, dtype=np.float64)


def _per_sample(values: Any, n: int) -> Array:
    return np.array(np.broadcast_to(np.asarray(values, dtype=np.float64), (n,)))
