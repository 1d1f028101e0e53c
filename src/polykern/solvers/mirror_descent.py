"""Mirror descent for groups of kernels: mirrorVSKL, with the entropy of a product of simplices.

Problem   min over lambda in a product of simplices of G(lambda), the max over a in A and gamma >= 0, |gamma|_{q*} <= 1,
          of  -conj(a) - 1/2 sum_j D_j / gamma_j,   D_j = sum of lambda_k S_k(a) over group j,   q* = q / (q - 1).
Symbols   lambda shares of kernels within their groups, gamma scales of the groups, b_k = lambda_k / gamma_j weights;
          G'_k = -1/2 S_k / gamma_j; n_max kernels in the largest group; a dual variables (the paper's alpha times y).
Given     a machine for fixed weights, any loss; groups with q >= 1, or the simplex: one group.
Oracle    (Algorithm 2) by turns the machine at lambda / gamma and the gamma of Proposition 3.3, until gamma gains no
          more than the machine's tolerance.
Step      (Algorithms 1 and 3) lambda_k times exp(-s_t G'_k), normalised in every group. The paper has
          s_t = A sqrt(log n_max) / |G'|_inf / sqrt(t) and gives A no number; none is right for every problem. The
          bounds that are known here say how far to go: s_t is the step after which the plane of the last (a, gamma)
          has fallen to a level between the lower and the upper bound (Polyak's step, with a level for the optimum that
          it asks for). With step_scale = A the steps are the paper's, whose algorithms write S / gamma for -G'; the
          half cancels. Where every group is one kernel, lambda stays and only gamma moves.
Stop      the certified gap; the paper stops when the objective changes little, which proves nothing. The best visited
          point is the upper bound, and the best mix of the visited a (a linear program, as in SILP) the lower one, in
          place of the averages of the theory.
Output    weights and coefficients of the best machine.

Aflalo, Ben-Tal, Bhattacharyya, Nath, Raman: Variable sparsity kernel learning, JMLR 12, 2011, Algorithms 1 to 3;
B. T. Polyak: Minimization of unsmooth functionals, USSR Computational Mathematics and Mathematical Physics 9, 1969.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polykern.problems.mkl import MKLProblem
from polykern.problems.result import MKLResult
from polykern.problems.support import Requirements
from polykern.regularizers.simplices import Simplices
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
# Steps are doubled until the plane is below the level, so many times at most, and halved into so many parts.
MOST_DOUBLINGS, MOST_HALVINGS = 15, 15


@dataclass(frozen=True)
class _State:
    saddle: Saddle
    planes: SaddlePlanes
    shares: Array
    scales: Array
    last: Evaluation
    n_steps: int = 0


class MirrorDescent(Solver):
    """The algorithm of the variable sparsity paper: simple, any number of groups, up to twice Level's machines.

    Parameters
    ----------
    share : float, default=0.5
        Where the level that a step aims at lies between the lower (0) and the upper bound (1).
    step_scale : float, optional
        A of the paper's step sizes, which takes them in place of the level.

    Examples
    --------
    >>> from polykern.solvers import MirrorDescent
    >>> MirrorDescent(step_scale=20.0)
    MirrorDescent(step_scale=20.0)
    """

    requires = Requirements(most_weight_norm=1.0, grouped=True, least_group_q=1.0)

    def __init__(self, share: float = 0.5, step_scale: float | None = None) -> None:
        self.share = share
        self.step_scale = step_scale

    def init(self, problem: MKLProblem, run: Run, start: MKLResult | None) -> _State:
        if not 0 < self.share < 1:
            raise ValueError(f"share of MirrorDescent is {self.share!r}, expected a number between 0 and 1.")
        if self.step_scale is not None and not self.step_scale > 0:
            raise ValueError(
                f"step_scale of MirrorDescent is {self.step_scale!r}, expected a positive number such as 20.0, or None."
            )
        saddle = Saddle.of(problem)
        first = first_evaluation(problem, run, start)
        shares, scales = saddle.split(first.weights)
        return _State(saddle, SaddlePlanes(problem, first.primal), shares, scales, first)

    def step(self, problem: MKLProblem, run: Run, state: _State) -> _State:
        saddle, t = state.saddle, state.n_steps + 1
        last, scales = oracle(run, saddle, state.shares, state.scales, state.last)
        state.planes.add_at(state.shares, last)
        suggest_refined(run, state.planes)
        descent = 0.5 * saddle.scaled(last.forms, scales)
        if self.step_scale is None:
            level = run.hoped_bound + self.share * (run.upper - run.hoped_bound)
            shares = step_down_to(saddle.simplices, state.shares, descent, -last.conjugate - level)
        else:
            size = self.step_scale * np.sqrt(np.log(saddle.simplices.largest_size) / t) / _steepest(descent)
            shares = saddle.simplices.exponential_step(state.shares, size * descent, LEAST_SHARE)
        return _State(saddle, state.planes, shares, scales, last, t)


def step_down_to(simplices: Simplices, shares: Array, descent: Array, aim: float) -> Array:
    """The mirror step along `descent`, as long as it takes for descent . lambda to be `aim`; a very long one if none.

    The product grows with the step: its derivative is a variance.
    """
    if simplices.largest_size == 1:
        return shares

    def after(size: float) -> Array:
        return simplices.exponential_step(shares, size * descent, LEAST_SHARE)

    short, long = 0.0, 1.0 / _steepest(descent)
    for _ in range(MOST_DOUBLINGS):
        if descent @ after(long) >= aim:
            break
        short, long = long, 2.0 * long
    for _ in range(MOST_HALVINGS):
        middle = 0.5 * (short + long)
        short, long = (short, middle) if descent @ after(middle) >= aim else (middle, long)
    return after(long)


def _steepest(descent: Array) -> float:
    return max(float(descent.max()), 1e-300)


def oracle(run: Run, saddle: Saddle, shares: Array, scales: Array, near: Evaluation) -> tuple[Evaluation, Array]:
    """(a, gamma) that maximise the saddle function at lambda: block coordinate ascent, Algorithm 2."""
    for _ in range(MOST_MACHINES):
        near = run.evaluate(saddle.weights(shares, scales), near=near)
        best = saddle.best_scales(shares, near.forms, saddle.least_scale(run.hoped_gap))
        gain = 0.5 * float(near.forms @ (saddle.weights(shares, scales) - saddle.weights(shares, best)))
        scales = best
        if gain <= run.inner_tol * abs(run.upper):
            break
    return near, scales
