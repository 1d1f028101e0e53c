"""The linear programs of LP-beta and LP-B: kernel weights from the scores of one machine per kernel.

Problem   min_{B, rho, xi >= 0}   -rho + sum_i p_i xi_i
          sum_k B_ky f_ky(x_i) - sum_k B_kc f_kc(x_i) + xi_i >= rho    for all i and all classes c other than y = y_i
          B >= 0, every column of B sums to 1; LP-beta: all columns are the same one
Symbols   F kernels, N samples, C classes; f_kc(x) score of class c by kernel k; B (F, C) weights; rho the margin that
          is asked for, xi what a sample misses of it; p_i = w_i / (nu sum_j w_j), w_i the importance of sample i.
          At the best rho, minus the objective is the mean of the smallest margins, those of a share nu of all samples.
Given     scores (F, N, C) of samples that the machines have not seen, their classes, nu in (0, 1]
Step      1. solve the program with the rows written so far
          2. measure its B on all rows: the objective there is an upper bound; the multipliers of the rows, made
             feasible, prove a lower one:  -sum_c max_k G_kc  (LP-beta: -max_k sum_c G_kc), G being the scores times
             the multipliers, with a plus for the own class and a minus for the other one
          3. write for every sample that misses rho by more than its xi the row of its strongest wrong class
Stop      upper - lower bound <= tol * max(|upper bound|, mean |margin|): an optimum near 0 is no obstacle
Output    B, rho, both bounds

Of the N (C - 1) rows few matter: one or two per sample, and none for samples beyond the margin.

P. Gehler, S. Nowozin, "On feature combination for multiclass object classification", ICCV 2009, section 3.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polykern.problems.result import Status

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_LP_TOLERANCE = 1e-9
_VIOLATED = 1e-8  # in units of the mean size of a score: what is missed by less is the tolerance of the program
_NEGLIGIBLE = 1e-10  # weights below this are rounding
_FIRST_PRICES = 1.5  # the first rows are those of the samples of least margin, until their p sum to this


@dataclass(frozen=True)
class ScoreWeights:
    """Weights of kernels for scores, with the bounds that prove how good they are.

    Attributes
    ----------
    weights : (F,) array, or (C, F) where every class has its own
        Not negative, of sum 1 in every row.
    margin : float
        rho, what the scores of the right class are asked to be ahead.
    primal, dual, gap : float
        Upper and lower bound of the objective; their difference relative to the objective, or to the mean size of the
        margins where that is larger.
    status : Status
    n_rounds, n_rows : int
        Programs solved, rows of the last one.
    seconds : float
    """

    weights: Array
    margin: float
    primal: float
    dual: float
    gap: float
    status: Status
    n_rounds: int
    n_rows: int
    seconds: float

    def __repr__(self) -> str:
        kept = int(np.count_nonzero(np.atleast_2d(self.weights).any(axis=0)))
        return (
            f"ScoreWeights({self.status.name}, gap={self.gap:.2g}, primal={self.primal:.6g}, "
            f"{kept} of {self.weights.shape[-1]} kernels, {self.n_rows} rows, {self.seconds:.3g} s)"
        )


def best_weights(
    scores: Array,
    codes: Indices,
    nu: float,
    *,
    shared: bool = True,
    importance: Array | None = None,
    tol: float = 1e-6,
    max_rounds: int = 100,
) -> ScoreWeights:
    """The weights of LP-beta (shared) or LP-B for scores (F, N, C) of samples of the classes `codes`.

    Parameters
    ----------
    scores : (F, N, C) array
        Score of each class by each kernel; the largest is the kernel's answer.
    codes : (N,) array
        The right classes, 0 .. C - 1.
    nu : float
        In (0, 1]: the share of the samples whose margins count, the smallest ones.
    shared : bool
        One weight per kernel for all classes; False gives every class its own.
    importance : (N,) array, optional
        Above 0; 2 is the sample twice. None: 1.
    tol : float
        Relative gap to reach.
    max_rounds : int
        Programs to solve at most.
    """
    began = time.perf_counter()
    problem = _Problem(scores, codes, nu, shared, importance)
    best = _Best(problem)
    program = _Program(problem, best.first_rows())
    n_rounds = 0
    while n_rounds < max_rounds and best.gap > tol:
        n_rounds += 1
        point = program.solve()
        if point is None:
            break
        missed = best.look_at(point)
        if best.gap <= tol or not len(missed):
            break
        program.add(missed, best.rivals[missed])
    status = Status.CONVERGED if best.gap <= tol else Status.MAX_ITER if n_rounds == max_rounds else Status.STALLED
    return ScoreWeights(
        problem.as_given(best.weights),
        best.rho * problem.unit,
        best.primal * problem.unit,
        best.dual * problem.unit,
        best.gap,
        status,
        n_rounds,
        len(program.samples),
        time.perf_counter() - began,
    )


class _Problem:
    """The program itself, in units of the mean size of a score: both bounds for given weights and multipliers."""

    def __init__(self, scores: Array, codes: Indices, nu: float, shared: bool, importance: Array | None) -> None:
        self.unit = max(float(np.abs(scores).mean()), 1e-300)
        self.scores, self.codes, self.shared = scores / self.unit, codes, shared
        self.n_kernels, self.n_samples, self.n_classes = scores.shape
        self.n_columns = 1 if shared else self.n_classes
        given = np.ones(self.n_samples) if importance is None else importance
        self.prices = given / (nu * given.sum())
        self.every = np.arange(self.n_samples)

    def margins(self, weights: Array) -> tuple[Array, Indices]:
        """(N,) by how much the right class is ahead, and the strongest wrong class; weights (columns, F)."""
        if self.shared:
            totals = np.tensordot(weights[0], self.scores, axes=1)
        else:
            totals = np.einsum("cf,fnc->nc", weights, self.scores, optimize=True)
        own = totals[self.every, self.codes]
        totals[self.every, self.codes] = -np.inf
        rivals = totals.argmax(axis=1)
        return own - totals[self.every, rivals], rivals

    def primal(self, margins: Array) -> tuple[float, float]:
        """The objective at its best rho, and that rho: the margin at which the prices of the samples below reach 1."""
        order = np.argsort(margins, kind="stable")
        paid = np.cumsum(self.prices[order])
        rho = float(margins[order[min(int(np.searchsorted(paid, 1.0 - 1e-12)), self.n_samples - 1)]])
        return -rho + float(self.prices @ np.maximum(rho - margins, 0.0)), rho

    def dual(self, samples: Indices, others: Indices, multipliers: Array, rivals: Indices) -> float:
        """The lower bound that the multipliers of rows (sample, other class) prove, made feasible first."""
        paid = np.bincount(samples, multipliers, minlength=self.n_samples)
        cut = np.minimum(1.0, self.prices / np.maximum(paid, 1e-300))
        signed = np.zeros((self.n_samples, self.n_classes))
        np.subtract.at(signed, (samples, others), multipliers * cut[samples])
        total = -float(signed.sum())
        if total >= 1.0:
            signed /= total
        else:  # what is missing of the sum goes to the samples with room, on their strongest wrong classes
            room = np.maximum(self.prices - paid * cut, 0.0)
            signed[self.every, rivals] -= room * ((1.0 - total) / max(float(room.sum()), 1e-300))
        signed[self.every, self.codes] = -signed.sum(axis=1)
        if self.shared:
            return -float((self.scores.reshape(self.n_kernels, -1) @ signed.ravel()).max())
        return -float(np.einsum("fnc,nc->fc", self.scores, signed, optimize=True).max(axis=0).sum())

    def row_entries(self, samples: Indices, others: Indices) -> tuple[Array, Indices]:
        """Values and columns of the rows' weights, (rows, F) for shared weights and otherwise (rows, 2 F)."""
        own, other = self.scores[:, samples, self.codes[samples]].T, self.scores[:, samples, others].T
        kernels = np.arange(self.n_kernels)
        if self.shared:
            return own - other, np.broadcast_to(kernels, own.shape)
        first, second = (column[:, None] * self.n_kernels + kernels for column in (self.codes[samples], others))
        return np.hstack([own, -other]), np.hstack([first, second])

    def as_given(self, weights: Array) -> Array:
        """(F,), or (C, F) where every class has its own."""
        return weights[0] if self.shared else weights


@dataclass(frozen=True)
class _Point:
    """A solution of the program with the rows so far."""

    weights: Array  # (columns, F)
    rho: float
    slacks: Array  # (N,)
    samples: Indices  # of the rows
    others: Indices  # of the rows
    multipliers: Array  # of the rows


class _Best:
    """The best upper and the best lower bound seen, beginning with equal weights."""

    def __init__(self, problem: _Problem) -> None:
        self.problem = problem
        self.weights = np.full((problem.n_columns, problem.n_kernels), 1.0 / problem.n_kernels)
        self.margins, self.rivals = problem.margins(self.weights)
        self.primal, self.rho = problem.primal(self.margins)
        nothing = np.empty(0, dtype=np.intp)
        self.dual = min(self.primal, problem.dual(nothing, nothing, np.empty(0), self.rivals))
        self.size = float(np.abs(self.margins).mean())

    @property
    def gap(self) -> float:
        return (self.primal - self.dual) / max(abs(self.primal), self.size, 1e-12)

    def first_rows(self) -> tuple[Indices, Indices]:
        """The samples of least margin, enough of them to bound rho, with their strongest wrong classes."""
        order = np.argsort(self.margins, kind="stable")
        enough = int(np.searchsorted(np.cumsum(self.problem.prices[order]), _FIRST_PRICES)) + 1
        return order[:enough], self.rivals[order[:enough]]

    def look_at(self, point: _Point) -> Indices:
        """Measure a solution on all rows; the samples that miss rho by more than the program knew."""
        margins, self.rivals = self.problem.margins(point.weights)
        primal, rho = self.problem.primal(margins)
        dual = self.problem.dual(point.samples, point.others, point.multipliers, self.rivals)
        if primal < self.primal:
            self.primal, self.rho, self.weights = primal, rho, point.weights
            self.size = float(np.abs(margins).mean())
        self.dual = min(max(self.dual, dual), self.primal)  # above it by rounding alone
        return np.flatnonzero(point.rho - point.slacks - margins > _VIOLATED)


class _Program:
    """One HiGHS model that grows by rows: the last basis stays dual feasible, a few simplex steps repair it.

    Variables: the weights column by column, rho, xi. The objective is divided by the mean of the p_i, so that the
    multipliers are numbers near 1 whatever the number of samples.
    """

    def __init__(self, problem: _Problem, first: tuple[Indices, Indices]) -> None:
        import highspy

        self._problem = problem
        self._n_weights = problem.n_columns * problem.n_kernels
        self._price_unit = float(problem.prices.mean())
        self.samples = self.others = np.empty(0, dtype=np.intp)
        self._optimal, self._infinity = highspy.HighsModelStatus.kOptimal, highspy.kHighsInf
        self._lp = highspy.Highs()
        self._lp.setOptionValue("output_flag", False)
        for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self._lp.setOptionValue(option, _LP_TOLERANCE)
        self._add_variables()
        self.add(*first)

    def _add_variables(self) -> None:
        problem, n_weights, n = self._problem, self._n_weights, self._problem.n_samples
        most = 2.0 * float(np.abs(problem.scores).max())
        costs = np.concatenate([np.zeros(n_weights), [-1.0], problem.prices]) / self._price_unit
        lower = np.concatenate([np.zeros(n_weights), [-most], np.zeros(n)])
        upper = np.concatenate([np.ones(n_weights), [most], np.full(n, self._infinity)])
        self._lp.addVars(len(costs), lower, upper)
        self._lp.changeColsCost(len(costs), np.arange(len(costs), dtype=np.int32), costs)
        for first in range(0, n_weights, problem.n_kernels):
            members = np.arange(first, first + problem.n_kernels, dtype=np.int32)
            self._lp.addRow(1.0, 1.0, len(members), members, np.ones(len(members)))

    def add(self, samples: Indices, others: Indices) -> None:
        """Write the rows of these samples, one wrong class each."""
        values, columns = self._problem.row_entries(samples, others)
        n, ones = len(samples), np.ones((len(samples), 1))
        ends = np.column_stack([np.full(n, self._n_weights), self._n_weights + 1 + samples])
        values, columns = np.hstack([values, -ones, ones]), np.hstack([columns, ends])
        starts = np.arange(n) * values.shape[1]
        self._lp.addRows(
            n,
            np.zeros(n),
            np.full(n, self._infinity),
            values.size,
            starts.astype(np.int32),
            columns.ravel().astype(np.int32),
            values.ravel(),
        )
        self.samples = np.concatenate([self.samples, samples])
        self.others = np.concatenate([self.others, others])

    def solve(self) -> _Point | None:
        """The optimum with the rows so far; None where HiGHS does not get there."""
        self._lp.run()
        if self._lp.getModelStatus() != self._optimal:
            return None
        problem, solution = self._problem, self._lp.getSolution()
        values = np.asarray(solution.col_value)
        weights = values[: self._n_weights].reshape(problem.n_columns, problem.n_kernels)
        weights = np.where(weights < _NEGLIGIBLE, 0.0, weights)
        multipliers = np.asarray(solution.row_dual)[problem.n_columns :]
        return _Point(
            weights / weights.sum(axis=1, keepdims=True),
            float(values[self._n_weights]),
            values[self._n_weights + 1 :],
            self.samples,
            self.others,
            np.maximum(multipliers, 0.0) * self._price_unit,
        )
