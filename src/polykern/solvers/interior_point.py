"""Interior point: weights and dual variables together, by Newton's method; a few passes over the kernels to any gap.

Problem   min_{a in A, t}  conj(a) + t / 2   subject to  S_k(a) = a' K_k a <= t  for every kernel k.
Symbols   b_k the multiplier of kernel k, which is its weight (sum b = 1); s_k = t - S_k its slack; z the multipliers of
          the bounds of a; mu what all products b_k s_k and z * room are brought down to.
Given     the simplex; any loss whose conjugate can be differentiated; few samples, as one step factors a matrix of the
          size of a.
Step      linearise the conditions  conj'(a) + K_b a + bias - z = 0,  sum b = 1,  sum a = bias_sum  and the products.
          Eliminating db and dz leaves

              (K_b + D + 2 G' diag(b / s) G) da = ...        G = (K_k a)_k,  D from the bounds and conj''

          bordered by t and the biases. Mehrotra's predictor and corrector share one Cholesky factor. One pass over the
          kernels makes K_b and G together, and only the kernels that still matter take part: those whose slack stays
          far from zero are left out, and looked at again before the gap is believed.
Stop      the certified gap: every iterate is a dual point (a is inside its bounds) and a primal one (its weights).
Output    weights, those headed for zero put there, and the coefficients of the machine at these weights.

S. Mehrotra: On the implementation of a primal-dual interior point method, SIAM J. Optimization 2, 1992; the
quadratically constrained form of multiple kernel learning: Lanckriet et al., JMLR 5, 2004.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern.problems.machine import spread_residue
from polykern.problems.mkl import MKLProblem
from polykern.problems.result import MKLResult
from polykern.problems.support import Requirements
from polykern.solvers.base import Solver, best_length, constant_output_partner
from polykern.solvers.interior_box import DualBox, longest
from polykern.solvers.run import INNER_SHARE, Evaluation, Run

Array = NDArray[np.float64]

INSIDE = 0.05  # of its range: how far from its bounds every variable starts
MARGIN = 1.2  # t is at least this times the largest S_k where kernels come in
LEAST_SHARE = 0.01  # of the products of the bounds: what the products of the kernels start with at least
LEAST_MULTIPLIER = 0.1  # of the mean force on the variables: what the multipliers of bounds start with
TO_THE_BORDER = 0.95  # of the way to the border is gone at most
FIRST_KERNELS = 64  # at most so many say how long the first coefficients are
FEW_KERNELS, MANY_KERNELS = 24, 64  # so many always take part; above so many at most half leave in one step
FAR = 0.3  # of t: a kernel with more slack than this ...
LIGHT = 0.1  # ... and less weight than this share of the mean one is left out
REVIEWS = (5e-2, 5e-3)  # gaps at which those left out are looked at again, besides the end
NEAR = 0.05  # of t: what counts as just below
ROUNDING = 2e-15  # of the largest diagonal entry: no more than rounding, and the factor exists
TINY_STEP = 1e-8  # steps that are no steps
SHORT_STEP, MOST_SHORT_STEPS = 0.1, 4  # so many such steps in a row lead nowhere while kernels are left out


class InteriorPoint(Solver):
    """Primal-dual interior point method on the kernels that matter: the default for few samples.

    Examples
    --------
    >>> from polykern.solvers import InteriorPoint
    >>> InteriorPoint().requires.describe_norms()
    'p = 1 (the simplex)'
    """

    requires = Requirements(most_weight_norm=1.0, most_variables=5000, in_memory=True, joint_loss=False)

    def init(self, problem: MKLProblem, run: Run, start: MKLResult | None) -> _Iterate | None:
        live = ~problem.bank.null
        if live.sum() < 2 or not constant_output_partner(problem).any():
            # One machine is all there is to do: a single kernel, or a constant that nothing can improve.
            weights = live / live.sum() if live.any() else problem.regularizer.start(len(live))
            run.evaluate(weights, tol=INNER_SHARE * run.tol)
            return None
        iterate = _Iterate(problem, start)
        iterate.look(run)
        return iterate

    def step(self, problem: MKLProblem, run: Run, state: _Iterate | None) -> _Iterate | None:
        if state is None or run.gap <= run.tol:  # the start may be good enough
            return state
        length = state.move()
        if state.with_all:
            run.stuck = not length > TINY_STEP
        elif not state.gets_on(length):
            # Kernels that came back far above t have put the others out of reach of Newton's method: all from now on.
            state = _Iterate(problem, run.best, with_all=True)
        state.look(run)
        if run.stuck:
            state.finish(run)
        return state


class _Layout:
    """Coefficients (n, T) as one vector of those that have a cost, output by output."""

    def __init__(self, problem: MKLProblem) -> None:
        self.shape = problem.targets.shape
        costs = problem.costs.T.ravel()
        self.at = np.flatnonzero(costs > 0)
        self.rows, self.column = self.at % self.shape[0], self.at // self.shape[0]
        self.costs, self.targets = costs[self.at], self.flat(problem.targets)
        self.ones = np.eye(self.shape[1])[self.column]
        self.is_whole = self.shape[1] == 1 and len(self.at) == self.shape[0]

    def flat(self, columns: Array) -> Array:
        """(size,) from (n, T)."""
        return np.asarray(columns.T.ravel()[self.at])

    def columns(self, flat: Array) -> Array:
        """(n, T) from (size,), zero where there is no cost."""
        full = np.zeros(self.shape[0] * self.shape[1])
        full[self.at] = flat
        return full.reshape(self.shape[::-1]).T

    def system(self, combined: NDArray[Any], diagonal: Array) -> Array:
        """The combined kernel for every output, and a diagonal: (size, size), for LAPACK to overwrite."""
        if self.is_whole:
            matrix = combined.astype(np.float64, order="F")
        else:
            same_output = self.column[:, np.newaxis] == self.column
            matrix = np.asfortranarray(np.where(same_output, combined[np.ix_(self.rows, self.rows)], 0.0))
        matrix[np.diag_indices_from(matrix)] += diagonal
        return matrix


@dataclass(frozen=True)
class _Newton:
    """The linear system of one iterate, factored; solved for (da, dt, dbias) with changing right-hand sides."""

    factor: Any
    border: Array  # (size, 1 + T) columns: -sum_k (b_k / s_k) g_k for t, the indicator of each output for its bias
    solved_border: Array
    sum_of_ratios: float

    @classmethod
    def of(cls, matrix: Array, forces: Array, ratios: Array, ones: Array) -> _Newton:
        """`matrix` is K_b + D, overwritten; `forces` (m, size) the rows of G; `ratios` b / s."""
        from scipy.linalg import cho_factor, cho_solve
        from scipy.linalg.blas import dsyrk

        scaled = np.sqrt(2.0 * ratios)[:, np.newaxis] * forces
        upper = dsyrk(1.0, scaled.T, beta=1.0, c=matrix, overwrite_c=True)
        places = np.diag_indices_from(upper)
        upper[places] += ROUNDING * float(upper[places].max())
        factor = cho_factor(upper, lower=False, overwrite_a=True, check_finite=False)
        border = np.column_stack([-(ratios @ forces), ones])
        return cls(factor, border, cho_solve(factor, border, check_finite=False), float(ratios.sum()))

    def solve(self, right: Array, t_right: float, bias_right: Array) -> tuple[Array, float, Array]:
        """M da + border (dt, dbias) = right;  -2 border_0' da - sum(ratios) dt = t_right;  ones' da = bias_right."""
        from scipy.linalg import cho_solve

        alone = cho_solve(self.factor, right, check_finite=False)
        signs = np.append(2.0, -np.ones(len(bias_right)))
        small = signs[:, np.newaxis] * (self.border.T @ self.solved_border)
        small[0, 0] -= self.sum_of_ratios
        small_right = np.append(t_right, bias_right) + signs * (self.border.T @ alone)
        t_and_bias = np.linalg.solve(small, small_right)
        return alone - self.solved_border @ t_and_bias, float(t_and_bias[0]), t_and_bias[1:]


class _Iterate:
    """All variables of the method, and what the last pass over the kernels said of them."""

    def __init__(self, problem: MKLProblem, start: MKLResult | Evaluation | None, with_all: bool = False) -> None:
        self.problem, self.bank, self.with_all = problem, problem.bank, with_all
        self.scratch: NDArray[Any] | None = None
        self.layout = layout = _Layout(problem)
        self.ones = layout.ones if problem.fit_intercept else np.empty((len(layout.at), 0))
        first = self._first_point() if start is None else start.coef
        self.box = DualBox(problem.loss, layout.targets, layout.costs, layout.flat(first), INSIDE)
        self.kernels = np.flatnonzero(~self.bank.null)
        self.n_live = len(self.kernels)
        self.weights = np.full(self.n_live, 1.0 / self.n_live)
        if start is not None:
            self.weights = 0.5 * self.weights + 0.5 * start.weights[self.kernels]
        self.settled, self.reviews, self.short_steps = False, list(REVIEWS), 0
        self._pass()
        outputs = self.weights @ self.forces
        off = layout.targets - outputs
        medians = [np.median(off[layout.column == c]) for c in range(self.ones.shape[1])]
        self.bias = np.array(medians, dtype=np.float64)
        self.box.start_multipliers(outputs + self.ones @ self.bias, LEAST_MULTIPLIER)
        box_product = self.box.complementarity() / max(self.box.n_bounds, 1)
        self.t = max(MARGIN * float(self.forms.max()), LEAST_SHARE * box_product * self.n_live)
        self.slacks = self.t - self.forms

    def _first_point(self) -> Array:
        """Where the dual objective is largest on the ray to the partner of the best constant output."""
        partner = constant_output_partner(self.problem)
        live = np.flatnonzero(~self.bank.null)
        some = live[:: -(-len(live) // FIRST_KERNELS)]  # a start only: t is above the forms of all kernels anyway
        return best_length(self.problem, partner, 0.5 * float(self._forms_of(some, partner).max())) * partner

    def _forms_of(self, kernels: NDArray[np.intp], coef: Array) -> Array:
        """S of some kernels."""
        if coef.shape[1] > 1:
            return self.problem.forms(coef)[kernels]
        _, scores = self.bank.sweep(np.zeros(self.bank.n_kernels), coef[:, 0], kernels=kernels, out=self.scratch)
        return np.asarray(scores @ coef[:, 0])

    # -- one pass over the kernels that take part --------------------------------------------------------------

    def _pass(self) -> None:
        """K_b and G at the weights and coefficients of now, and S."""
        self.combined, self.forces = self._products(self.layout.columns(self.box.coef))
        self.forms = np.maximum(self.forces @ self.box.coef, 0.0)

    def _products(self, coef: Array) -> tuple[NDArray[Any], Array]:
        weights = self._of_all(self.weights)
        if coef.shape[1] == 1:
            self.scratch, scores = self.bank.sweep(weights, coef[:, 0], kernels=self.kernels, out=self.scratch)
            scores = scores[:, :, np.newaxis]
        else:
            self.scratch, scores = self.bank.combine(weights, out=self.scratch), self.bank.scores(coef)[self.kernels]
        return self.scratch, scores.transpose(0, 2, 1).reshape(len(self.kernels), -1)[:, self.layout.at]

    def _of_all(self, values: Array) -> Array:
        """Values of the kernels that take part, 0 for the others."""
        every = np.zeros(self.bank.n_kernels)
        every[self.kernels] = values
        return every

    # -- bounds ------------------------------------------------------------------------------------------------

    def look(self, run: Run) -> None:
        """The bounds here. Kernels that have become irrelevant leave, and come back where they are missed."""
        coef = self.layout.columns(self.box.coef)
        shares = self.weights / self.weights.sum()
        outputs = self.layout.columns(shares @ self.forces)
        run.offer(self._of_all(shares), coef, outputs, self._of_all(self.forms))
        if run.hoped_gap <= run.tol:
            self._confirm(run)
        elif self.reviews and run.hoped_gap <= self.reviews[0]:
            self.reviews.pop(0)
            self._take_in(self.problem.forms(coef))
        elif len(self.reviews) == len(REVIEWS):
            self._leave_out()

    def _confirm(self, run: Run) -> None:
        """The bounds with the forms of all kernels; a machine at the weights, for an answer with exact zeros."""
        coef = self.problem.feasible(self.layout.columns(self.box.coef))
        forms = self.problem.forms(coef)
        run.offer_dual(coef, forms)
        if run.gap <= run.tol:
            self.finish(run)
        else:
            self._take_in(forms)

    def finish(self, run: Run) -> None:
        """The machine at the weights, those headed for zero put there: an answer with exact zeros."""
        headed_for_zero = self.weights / self.weights.max() < self.slacks / self.t
        weights = self._of_all(np.where(headed_for_zero, 0.0, self.weights))
        used = np.flatnonzero(weights)

        def forms_in_use(coef: Array) -> Array:
            forms = np.zeros(len(weights))
            forms[used] = self._forms_of(used, coef)
            return forms

        run.prefer(run.evaluate(weights / weights.sum(), near=self._near(run), forms_of=forms_in_use))

    def _near(self, run: Run) -> Evaluation | None:
        """Where the last machine starts: variables on the bounds that they are headed for, so that zeros stay zeros."""
        coef = self.layout.columns(self.box.snapped())
        if self.problem.fit_intercept:
            for c, column in enumerate(self.problem.columns()):
                coef[:, c] = spread_residue(coef[:, c], *column.bounds(), self.problem.loss.bias_sum)
        return None if run.best is None else replace(run.best, coef=coef)

    def _leave_out(self) -> None:
        """Kernels far below t leave, at most half of them at a time: the coefficients still move."""
        order = np.argsort(self.slacks, kind="stable")
        stay = (self.slacks <= FAR * self.t) | (self.weights > LIGHT * self.weights.mean())
        stay[order[max(MANY_KERNELS, len(order) // 2) :]] = False
        stay[order[:FEW_KERNELS]] = True
        if self.settled and not self.with_all and not stay.all():
            # Those that stay get the weight of those that leave: a sum far from 1 would send t far up and down again.
            weights = self.weights[stay] * (self.weights.sum() / self.weights[stay].sum())
            self.kernels, self.weights, self.slacks = self.kernels[stay], weights, self.slacks[stay]
            self.forces, self.forms = self.forces[stay], self.forms[stay]
        self.settled = True

    def _take_in(self, forms: Array) -> None:
        """Kernels among all whose form is above, or just below, those that take part."""
        outside = np.setdiff1d(np.flatnonzero(forms > (1.0 - NEAR) * self.t), self.kernels)
        if not len(outside):
            return
        mu, missed = self._mu(), forms[outside]
        rise = 1.5 * max(0.0, float(missed.max()) - self.t)
        self.t, self.slacks = self.t + rise, np.append(self.slacks + rise, self.t + rise - missed)
        self.kernels = np.append(self.kernels, outside)
        self.weights = np.append(self.weights, mu / (self.t - missed))
        self._pass()

    def gets_on(self, length: float) -> bool:
        """The last steps, this one of `length` among them, were worth their while."""
        self.short_steps = self.short_steps + 1 if length < SHORT_STEP else 0
        return length > TINY_STEP and self.short_steps < MOST_SHORT_STEPS

    # -- one Newton step ---------------------------------------------------------------------------------------

    def _mu(self, length: float = 0.0, d_weights: Array | float = 0.0, d_slacks: Array | float = 0.0) -> float:
        """Mean of all products, after a step of this length."""
        products = float((self.weights + length * d_weights) @ (self.slacks + length * d_slacks))
        return (products + self.box.complementarity(length)) / (self.box.n_bounds + len(self.kernels))

    def move(self) -> float:
        """Predictor, corrector, step; returns its length, 0 where there is none."""
        if not self.box.has_room:  # the numbers have left the range of floating point
            return 0.0
        outputs = self.weights @ self.forces + self.ones @ self.bias
        stiffness, pull = self.box.linearise(outputs, 0.0, corrected=False)
        matrix = self.layout.system(self.combined, stiffness)
        try:
            newton = _Newton.of(matrix, self.forces, self.weights / self.slacks, self.ones)
        except np.linalg.LinAlgError:  # they have here, too
            return 0.0
        none = np.zeros_like(self.weights)
        _, d_weights, d_slacks, _ = self._direction(newton, stiffness, pull, 0.0, none)
        length = min(1.0, self._longest(d_weights, d_slacks))
        mu = self._mu()
        target = mu * (self._mu(length, d_weights, d_slacks) / mu) ** 3
        _, pull = self.box.linearise(outputs, target, corrected=True)
        d_t, d_weights, d_slacks, d_bias = self._direction(newton, stiffness, pull, target, d_weights * d_slacks)
        length = min(1.0, TO_THE_BORDER * self._longest(d_weights, d_slacks))
        self.box.move(length)
        self.t += length * d_t
        self.bias = self.bias + length * d_bias
        self.weights = self.weights + length * d_weights
        expected = self.slacks + length * d_slacks
        self._pass()
        actual = self.t - self.forms
        self.slacks = np.where(actual > 0.1 * expected, actual, expected)
        return length

    def _direction(
        self, newton: _Newton, stiffness: Array, pull: Array, target: float, second_order: Array
    ) -> tuple[float, Array, Array, Array]:
        """Changes of t, b, s and the biases; those of the coefficients are left in the box."""
        off = self.t - self.forms - self.slacks
        moved = (target - second_order - self.weights * (self.slacks + off)) / self.slacks
        coef = self.box.coef
        sums = self.problem.loss.bias_sum - self.ones.T @ coef
        d_coef, d_t, d_bias = newton.solve(pull - moved @ self.forces, 1.0 - self.weights.sum() - moved.sum(), sums)
        d_slacks = d_t - 2.0 * (self.forces @ d_coef) + off
        d_weights = moved + self.weights * (off - d_slacks) / self.slacks
        self.box.set_step(pull - stiffness * d_coef)
        return d_t, d_weights, d_slacks, d_bias

    def _longest(self, d_weights: Array, d_slacks: Array) -> float:
        return min(self.box.longest_step(), longest(self.weights, d_weights), longest(self.slacks, d_slacks))
