"""Mirror descent for groups of kernels: mirrorVSKL, with the entropy of a product of simplices.

Problem   min over lambda in a product of simplices of G(lambda), the max over a in A and gamma >= 0, |gamma|_{q*} <= 1,
          of  -conj(a) - 1/2 sum_j D_j / gamma_j,   D_j = sum of lambda_k S_k(a) over group j,   q* = q / (q - 1).
Symbols   lambda shares of kernels within their groups, gamma scales of the groups, b_k = lambda_k / gamma_j weights;
          G'_k = -1/2 S_k / gamma_j; n_max kernels in the largest group; a dual variables (the paper's alpha times y).
Given     a machine for fixed weights, any loss; groups with q >= 1, or the simplex: one group.
Oracle    (Algorithm 2) by turns the machine at lambda / gamma and the gamma of Proposition 3.3, until gamma gains no
          more than the machine's tolerance.
Step      (Algorithms 1 and 3) lambda_k times exp(-s_t G'_k), normalised in every group, with
          s_t = A sqrt(log n_max) / |G'|_inf / sqrt(t). The paper's algorithms write S / gamma for -G' there; the half
          cancels in the step size as it stands here. Where every group is one kernel, s_t = 0 and only gamma moves.
          The paper gives A no number, and none is right for every problem: here A is halved whenever G has risen, and
          grows by a half after every fall (adaptive=False: it stays).
Stop      the certified gap; the paper stops when the objective changes little, which proves nothing. The best visited
          point is the upper bound, and the best mix of the visited a (a linear program, as in SILP) the lower one, in
          place of the averages of the theory. Neither has a part in the steps.
Output    weights and coefficients of the best machine.

Aflalo, Ben-Tal, Bhattacharyya, Nath, Raman: Variable sparsity kernel learning, JMLR 12, 2011, Algorithms 1 to 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polykern.problems.mkl import MKLProblem
from polykern.problems.result import MKLResult
from polykern.problems.support import Requirements
from polykern.solvers.base import Solver, first_evaluation
from polykern.solvers.group_planes import SaddlePlanes
from polykern.solvers.level import suggest_refined
from polykern.solvers.run import Evaluation, Run
from polykern.solvers.saddle import Saddle

Array = NDArray[np.float64]

# Machines of one oracle: the paper counted up to four, and what is missing after these the next step goes on with.
MOST_MACHINES = 20


# Shares below this are zero, and go on from here when they grow: from further down they would not be back for long.
LEAST_SHARE = 1e-6
# A of the steps after a rise and after a fall of the objective, as shares of the A before; the smallest, of the first.
AFTER_RISE, AFTER_FALL = 0.5, 1.5
SMALLEST = 0.01


@dataclass(frozen=True)
class _State:
    saddle: Saddle
    planes: SaddlePlanes
    shares: Array
    scales: Array
    last: Evaluation
    step_scale: float
    value: float = np.inf
    n_steps: int = 0


class MirrorDescent(Solver):
    """The algorithm of the variable sparsity paper: simple, any number of groups, slow in its tail.

    Parameters
    ----------
    step_scale : float, default=20.0
        A of the step size, to begin with.
    adaptive : bool, default=True
        A shrinks after steps that were too long and grows after others; False: the paper's step sizes.

    Examples
    --------
    >>> from polykern.solvers import MirrorDescent
    >>> MirrorDescent(step_scale=3.0, adaptive=False)
    MirrorDescent(adaptive=False, step_scale=3.0)
    """

    requires = Requirements(most_weight_norm=1.0, grouped=True, least_group_q=1.0)

    def __init__(self, step_scale: float = 20.0, adaptive: bool = True) -> None:
        self.step_scale = step_scale
        self.adaptive = adaptive

    def init(self, problem: MKLProblem, run: Run, start: MKLResult | None) -> _State:
        if not self.step_scale > 0:
            raise ValueError(
                f"step_scale of MirrorDescent is {self.step_scale!r}, expected a positive number such as 20.0."
            )
        saddle = Saddle.of(problem)
        first = first_evaluation(problem, run, start)
        shares, scales = saddle.split(first.weights)
        planes = SaddlePlanes(problem, first.primal)
        return _State(saddle, planes, shares, scales, first, self.step_scale)

    def step(self, problem: MKLProblem, run: Run, state: _State) -> _State:
        saddle, t = state.saddle, state.n_steps + 1
        last, scales = oracle(run, saddle, state.shares, state.scales, state.last)
        state.planes.add_at(state.shares, last)
        suggest_refined(run, state.planes)
        descent = 0.5 * saddle.scaled(last.forms, scales)
        steepest = max(float(descent.max()), 1e-300)
        step_scale = self._next_scale(state, last.lower)
        step = step_scale * np.sqrt(np.log(saddle.simplices.largest_size) / t) / steepest
        shares = saddle.simplices.exponential_step(state.shares, step * descent, LEAST_SHARE)
        return _State(saddle, state.planes, shares, scales, last, step_scale, last.lower, t)

    def _next_scale(self, state: _State, value: float) -> float:
        if not self.adaptive or state.n_steps == 0:
            return state.step_scale
        factor = AFTER_RISE if value > state.value else AFTER_FALL
        return max(factor * state.step_scale, SMALLEST * self.step_scale)


def oracle(run: Run, saddle: Saddle, shares: Array, scales: Array, near: Evaluation) -> tuple[Evaluation, Array]:
    """(a, gamma) that maximise the saddle function at lambda: block coordinate ascent, Algorithm 2."""
    for _ in range(MOST_MACHINES):
        near = run.evaluate(saddle.weights(shares, scales), near=near)
        best = saddle.best_scales(shares, near.forms)
        gain = 0.5 * float(near.forms @ (saddle.weights(shares, scales) - saddle.weights(shares, best)))
        scales = best
        if gain <= run.inner_tol * abs(run.upper):
            break
    return near, scales
