"""Active samples: multiple kernel learning on the samples that matter, without ever reading the whole matrices.

Problem   any whose loss is zero over a range of outputs (hinges, epsilon-insensitive, one-class): samples there have no
          coefficient, and the solution is that of the few others, found as if they were all.
Symbols   W the samples taken for active; a their coefficients, 0 for all others.
Given     a solver for the problem on W.
Step      solve it on W, ever more finely; the outputs on all samples need the rows of the support vectors only. The
          next W are the support vectors and the others with a loss, the largest losses first. Where most samples turn
          out to be support vectors, the solver goes on with all of them, from the weights found so far.
Stop      the certified gap of the whole problem: a is dual-feasible with the same forms S_k, so that the lower bound of
          W holds for all; the upper bound adds the losses of the samples outside W.
Output    weights and coefficients of the best primal point.

The working sets of T. Joachims, Making large-scale support vector machine learning practical, 1999, section 11.2,
around the learning of the weights instead of inside it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern.parallel import spans
from polykern.problems.mkl import MKLProblem
from polykern.problems.result import MKLResult, Status
from polykern.problems.support import Requirements
from polykern.solvers.base import Solver
from polykern.solvers.run import Run

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

FIRST_SHARE, FEWEST_FIRST, MOST_FIRST = 0.1, 300, 1000  # of the samples: how many come first
EACH_SIDE = 20  # of every sign of every output come first at least
CROWDED = 0.6  # share of support vectors above which working sets save nothing, once ...
SEEN = 0.12  # ... this share of all samples has been looked at
COARSEST, FINER = 1e-2, 0.1  # the first tolerance on W; the next ones as shares of the gap that is left
ROWS_AT_ONCE = 512


@dataclass(frozen=True)
class _State:
    active: Indices
    tol: float
    last: MKLResult | None  # of the whole problem, 0 outside the active samples
    whole: Any = None  # the inner solver's state once it works on all samples


class ActiveSamples(Solver):
    """Solve on working sets of samples, for losses that leave most samples without a coefficient.

    Parameters
    ----------
    solver : Solver, optional
        What solves the problem on a working set; by default what solver="auto" takes for few samples.

    Examples
    --------
    >>> from polykern.solvers import ActiveSamples, Level
    >>> ActiveSamples(Level(share=0.5))
    ActiveSamples(solver=Level(share=0.5))
    """

    requires = Requirements(flat_loss=True, grouped=True)

    def __init__(self, solver: Solver | None = None) -> None:
        self.solver = solver

    def init(self, problem: MKLProblem, run: Run, start: MKLResult | None) -> _State:
        active = first_samples(problem)
        if start is not None and start.coef.shape == problem.targets.shape:
            support = np.flatnonzero(start.coef.any(axis=1))
            active = np.union1d(active, support)
        return _State(active, max(COARSEST, 0.5 * run.tol), start)

    def step(self, problem: MKLProblem, run: Run, state: _State) -> _State:
        n = problem.bank.n_samples
        if state.whole is None and len(state.active) > CROWDED * n:
            state = self._take_all(problem, run, state)
        if state.whole is not None:
            return replace(state, whole=self._solver(problem).step(problem, run, state.whole))
        result = self._solve_on(problem, run, state)
        outside_loss = self._offer(problem, run, result)
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        support = np.flatnonzero(result.coef.any(axis=1))
        crowded = len(support) > CROWDED * len(state.active) and len(state.active) > SEEN * n
        active = state.active if crowded else _next_samples(support, state.active, outside_loss)
        tol = max(0.5 * run.tol, min(state.tol, FINER * run.gap)) if len(active) else state.tol
        following = _State(active, tol, result)
        return self._take_all(problem, run, following) if crowded and run.gap > run.tol else following

    def _take_all(self, problem: MKLProblem, run: Run, state: _State) -> _State:
        inner = self._solver(problem)
        return replace(state, whole=inner.init(problem, run, state.last))

    def _solver(self, problem: MKLProblem) -> Solver:
        from polykern.solvers.auto import choose_solver

        return choose_solver(problem, but_not=ActiveSamples) if self.solver is None else self.solver

    def _solve_on(self, problem: MKLProblem, run: Run, state: _State) -> MKLResult:
        """The problem on the active samples, its coefficients among those of all."""
        part = _part(problem, state.active)
        start = None if state.last is None else _restricted(state.last, state.active)
        left = None if run.deadline is None else max(run.deadline - time.monotonic(), 1e-3)
        result = self._solver(part).solve(part, tol=state.tol, max_iter=run.max_iter, time_limit=left, start=start)
        run.add_spent(result, (len(state.active) / problem.bank.n_samples) ** 2)
        return replace(
            result,
            coef=_spread(result.coef, state.active, problem),
            dual_coef=_spread(result.dual_coef, state.active, problem),
        )

    def _offer(self, problem: MKLProblem, run: Run, result: MKLResult) -> Array:
        """Tell the run the bounds; returns the (n,) losses at the result's outputs."""
        support = np.flatnonzero(result.coef.any(axis=1))
        outputs = np.zeros(problem.targets.shape)
        for piece in spans(len(support), ROWS_AT_ONCE):
            rows = support[piece]
            outputs += problem.bank.rows(rows, result.weights).T @ result.coef[rows]
        run.offer(result.weights, result.coef, outputs, problem.forms(result.coef))
        run.offer_bound(result.dual_coef, result.dual)
        losses = problem.costs * problem.loss.value(outputs + result.intercept, problem.targets)
        return np.asarray(losses.sum(axis=1))


def first_samples(problem: MKLProblem) -> Indices:
    """A sample of the samples, the same every time, with enough of every sign of every output."""
    n = problem.bank.n_samples
    order = np.random.default_rng(0).permutation(n)
    count = int(np.clip(FIRST_SHARE * n, FEWEST_FIRST, MOST_FIRST))
    chosen = [order[:count]]
    for column in problem.columns():
        for sign in (-1.0, 1.0):
            chosen.append(order[(column.y[order] * sign > 0) & (column.costs[order] > 0)][:EACH_SIDE])
    active = np.unique(np.concatenate(chosen))
    return _made_feasible(problem, active, order)


def _made_feasible(problem: MKLProblem, active: Indices, order: Indices) -> Indices:
    """With as many more samples as the sum of the dual variables asks for (one-class)."""
    total = problem.loss.bias_sum
    while total and len(active) < len(order):
        if all(float(column.bounds()[1][active].sum()) > total for column in problem.columns()):
            break
        active = np.union1d(active, order[: 2 * len(active)])
    return active


def _next_samples(support: Indices, active: Indices, losses: Array) -> Indices:
    """The support vectors, and as many again of the others with a loss, the largest first."""
    losses = losses.copy()
    losses[active] = 0.0
    most = max(len(support), FEWEST_FIRST)
    worst = np.argsort(-losses, kind="stable")[:most]
    return np.union1d(support, worst[losses[worst] > 0])


def _part(problem: MKLProblem, idx: Indices) -> MKLProblem:
    return replace(problem, bank=problem.bank.subset(idx), targets=problem.targets[idx], costs=problem.costs[idx])


def _restricted(result: MKLResult, idx: Indices) -> MKLResult:
    return replace(result, coef=result.coef[idx], dual_coef=result.dual_coef[idx])


def _spread(coef: Array, idx: Indices, problem: MKLProblem) -> Array:
    spread = np.zeros(problem.targets.shape)
    spread[idx] = coef
    return spread
