"""Newton's method in the dual variables for p-norm multiple kernel learning, p > 1.

Problem   max_{a in A}  -conj(a) - Phi(a),   Phi(a) = 1/2 |S(a)|_{p*},  S_k(a) = a' K_k a,  p* = p / (p - 1).
Symbols   tau = |S|_{p*}; b_k = (S_k / tau)^{1/(p-1)} the weights that belong to a; g_k = K_k a; h = sum_k b_k g_k.
Given     a machine for fixed weights, any loss; one output.
Step      Phi is smooth, with gradient h and Hessian

              H = K_b + 2 / (p - 1) * ( sum_k b_k / S_k g_k g_k' - h h' / tau ),

          so its second-order model at a plus the loss is a machine with the matrix H and an offset of the outputs: that
          machine is the Newton step, bounds and all. The exact line search is free, because S is quadratic along it. One
          pass over the kernels makes g_k at the new a and K_b at the weights that the model predicts for it.
Stop      the certified gap between the dual value at a and the primal value of a with its weights.
Output    weights and coefficients.

The closed-form alternation (`lp_analytic`) shrinks the gap by a constant factor per machine, close to 1 as p falls to 1;
here the gap is squared once it is small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern.machines import CombinedMatrix, machine_for
from polykern.parallel import spans
from polykern.problems.mkl import MKLProblem
from polykern.problems.result import MKLResult
from polykern.problems.support import Requirements
from polykern.solvers.base import Solver, best_length, constant_output_partner
from polykern.solvers.run import Run

Array = NDArray[np.float64]

NEARLY_ALL = 0.98  # a step is taken whole unless the objective has begun to fall by then
LINE_STEPS = 9
MOST_CHANGE = np.e  # of a form in one step, as far as the predicted weights go
SMALLEST_FORM = 1e-12  # of the largest: below it a kernel is as good as unused
PANEL_ROWS = 512


@dataclass(frozen=True)
class _Point:
    """Coefficients, with what one pass says of them."""

    coef: Array
    forces: Array  # (F, n) K_k a
    forms: Array  # (F,) S

    def towards(self, other: _Point, length: float) -> _Point:
        """The point at `length` of the way; nothing needs to be read again."""
        if length == 1.0:
            return other
        coef = self.coef + length * (other.coef - self.coef)
        forces = self.forces + length * (other.forces - self.forces)
        return _Point(coef, forces, forces @ coef)


class LpNewton(Solver):
    """Newton's method for p-norm weights: a handful of passes over the kernels, for any p > 1.

    Examples
    --------
    >>> from polykern.solvers import LpNewton
    >>> LpNewton().requires.describe_norms()
    '1 < p < inf'
    """

    requires = Requirements(open_below=True, most_weight_norm=1e6, one_output=True, dense=True)

    def init(self, problem: MKLProblem, run: Run, start: MKLResult | None) -> _Search:
        return _Search(problem, run, start)

    def step(self, problem: MKLProblem, run: Run, state: _Search) -> _Search:
        state.newton_step()
        return state


class _Search:
    """The best point reached, and the combined kernel at the weights that were predicted for it."""

    def __init__(self, problem: MKLProblem, run: Run, start: MKLResult | None) -> None:
        self.problem, self.run, self.column = problem, run, problem.column(0)
        self.machine = machine_for(problem.loss)
        self.scratch: NDArray[Any] | None = None
        self.weights = problem.regularizer.start(problem.bank.n_kernels) if start is None else start.weights
        first = constant_output_partner(problem) if start is None else problem.feasible(start.coef)
        here = self._pass(first[:, 0])
        length = best_length(problem, first, problem.regularizer.conjugate(np.sqrt(here.forms)))
        self.here = _Point(length * here.coef, length * here.forces, length**2 * here.forms)
        self._offer(self.weights)

    def _pass(self, coef: Array) -> _Point:
        self.scratch, forces = self.problem.bank.sweep(self.weights, coef, out=self.scratch)
        return _Point(coef, forces, np.maximum(forces @ coef, 0.0))

    def _offer(self, weights: Array) -> None:
        here = self.here
        self.run.offer(weights, here.coef[:, None], (weights @ here.forces)[:, None], here.forms, complete=True)

    def newton_step(self) -> None:
        """The machine of the second-order model, the line search, and the bounds at the point reached."""
        here, weights = self.here, self.problem.regularizer.lmo(self.here.forms)
        matrix = self._hessian(weights)
        offset = weights @ here.forces - matrix.matvec(here.coef)
        model = replace(self.column, offset=offset)
        solution = self.machine.solve(
            matrix, model, coef=here.coef, tol=self.run.inner_tol, deadline=self.run.deadline
        )
        self.run.n_machines += 1
        self.weights = self._predicted(solution.coef)
        there = self._pass(solution.coef)
        self.here = here.towards(there, self._line_search(there))
        self._offer(self.weights)
        self._offer(self.problem.regularizer.lmo(self.here.forms))

    def _hessian(self, weights: Array) -> CombinedMatrix:
        """H, written over the combined kernel."""
        here, matrix = self.here, self.scratch
        p, tau = self.problem.regularizer.weight_norm, 2.0 * self.problem.regularizer.conjugate(np.sqrt(here.forms))
        forms = np.maximum(here.forms, SMALLEST_FORM * here.forms.max())
        scaled = (np.sqrt(2.0 / (p - 1.0) * weights / forms)[:, None] * here.forces).astype(matrix.dtype)
        mean = (np.sqrt(2.0 / ((p - 1.0) * tau)) * (weights @ here.forces)).astype(matrix.dtype)
        for rows in spans(len(matrix), PANEL_ROWS):
            matrix[rows] += scaled[:, rows].T @ scaled
            matrix[rows] -= mean[rows, None] * mean
        return CombinedMatrix.from_array(matrix)

    def _predicted(self, coef: Array) -> Array:
        """Weights at `coef` if the forms change as they begin to."""
        forms = self.here.forms
        change = 2.0 * (self.here.forces @ (coef - self.here.coef))
        return self.problem.regularizer.lmo(np.clip(forms + change, forms / MOST_CHANGE, forms * MOST_CHANGE))

    def _line_search(self, there: _Point) -> float:
        """Where the dual objective is largest on the way to `there`: the end, mostly."""
        here = self.here
        slope = 2.0 * (here.forces @ (there.coef - here.coef))
        bend = there.forms - here.forms - slope

        def value(length: float) -> float:
            forms = np.maximum(here.forms + length * slope + length**2 * bend, 0.0)
            coef = here.coef + length * (there.coef - here.coef)
            return -self.column.conjugate_sum(coef) - self.problem.regularizer.conjugate(np.sqrt(forms))

        if value(1.0) >= value(NEARLY_ALL):
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(LINE_STEPS):
            left, right = low + 0.382 * (high - low), low + 0.618 * (high - low)
            low, high = (low, right) if value(left) > value(right) else (left, high)
        return 0.5 * (low + high)
