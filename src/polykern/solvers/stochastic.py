"""What solvers share that go from sample to sample: stages of epochs, stopping, going on, the certificate at the end.

After every epoch the point is measured: the scores of all samples are at hand, so its objective costs no look at the
kernels. Coefficients of subgradient steps are averages of slopes of the loss, so they are dual points too, or close to
some: made feasible and as long as is best they give the lower bound that the result is certified with.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern.problems.mkl import MKLProblem, Point
from polykern.problems.result import MKLResult, Status
from polykern.problems.support import Requirements
from polykern.solvers.base import Solver
from polykern.solvers.run import Run
from polykern.solvers.sample_steps import MISSING, STEPS, UPDATES, Rule
from polykern.solvers.samples import Samples, State

Array = NDArray[np.float64]

# Dual steps pass over samples whose part of the gap was below this share of the average in the epoch before.
PASSED_OVER = 0.5
ROUNDING = 1e-12  # of the largest coefficient: further from the feasible ones than rounding takes a sum


class Stage:
    """Epochs of one kind: how it begins, what one epoch is, when it is over, and what it leaves."""

    name = ""
    is_dual = False

    def __init__(self, n_epochs: float) -> None:
        self.n_epochs = n_epochs

    def enter(self, samples: Samples, state: State) -> None:
        """Before its first epoch."""

    def visit(self, samples: Samples, state: State, shuffle: bool, deadline: float | None) -> bool:
        """An epoch, or what is left of it; whether its end was reached."""
        raise NotImplementedError

    def over(self, state: State) -> bool:
        """After an epoch: whether this was the last one."""
        return state.n_epochs >= self.n_epochs

    def leave(self, samples: Samples, state: State) -> None:
        """After its last epoch."""


class SubgradientStage(Stage):
    """Steps along subgradients by one rule."""

    def rule(self, samples: Samples, state: State) -> Rule:
        """How far the steps go."""
        raise NotImplementedError

    def visit(self, samples: Samples, state: State, shuffle: bool, deadline: float | None) -> bool:
        return samples.descend(state, self.rule(samples, state), shuffle=shuffle, deadline=deadline)


class DualStage(Stage):
    """Every sample's own coefficients are set to their best, the others being held: the dual value only rises.

    A subgradient step lets all coefficients shrink a little, and adds n times as much to those of one sample; here that
    sample alone gives way. In expectation it is the same, but at the optimum nothing moves any more, so that no steps
    have to become small: the gap closes. S. Shalev-Shwartz, T. Zhang: Stochastic dual coordinate ascent methods for
    regularized loss minimization, JMLR 14, 2013; here with the (2, p) norm, whose weights turn with every step: the
    step is that of the curvature at hand, cut back where the dual value would fall.
    """

    name = "dual"
    is_dual = True

    def enter(self, samples: Samples, state: State) -> None:
        state.fold()
        samples.place(state, samples.problem.feasible(state.coef))

    def visit(self, samples: Samples, state: State, shuffle: bool, deadline: float | None) -> bool:
        if state.order is None:
            state.numbers[MISSING] = 0.0
        whole = samples.ascend(state, shuffle=shuffle, deadline=deadline)
        if whole:
            state.least = PASSED_OVER * max(float(state.numbers[MISSING]), 0.0) / len(samples.paid)
        return whole


@dataclass(frozen=True)
class Walk:
    """A solve that is under way."""

    samples: Samples
    state: State
    stages: list[Stage]

    @property
    def stage(self) -> Stage:
        """The stage that is going on."""
        return self.stages[self.state.stage]


class StochasticSolver(Solver):
    """A solver that visits sample after sample; subclasses say in which stages.

    Subclasses have the parameters `epochs`, `check_gap`, `shuffle` and `random_state`.
    """

    requires = Requirements(open_below=True, bias=False, exact=False)

    epochs: int
    check_gap: bool
    shuffle: bool
    random_state: int | None

    def plan(self) -> list[Stage]:
        """What is to be done, in order."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise for parameters that make no sense."""
        if not isinstance(self.epochs, Integral) or isinstance(self.epochs, bool) or self.epochs < 1:
            raise ValueError(f"epochs of {type(self).__name__} is {self.epochs!r}, expected a whole number from 1.")
        seed = self.random_state
        if seed is not None and (not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0):
            raise ValueError(
                f"random_state of {type(self).__name__} is {seed!r}, expected a whole number from 0, or None."
            )
        for name in ("check_gap", "shuffle"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise TypeError(f"{name} of {type(self).__name__} is {getattr(self, name)!r}, expected True or False.")

    def init(self, problem: MKLProblem, run: Run, start: MKLResult | None) -> Walk:
        self.check()
        run.patient = True
        samples, stages = Samples(problem), self.plan()
        walk = Walk(samples, samples.fresh(self.random_state), stages)
        if start is not None:
            walk = self._from(start, walk, run)
        run.state = walk
        if walk.state.n_epochs == 0 and walk.state.order is None:
            walk.stage.enter(samples, walk.state)
        self._tell(run, walk)
        return walk

    def _from(self, start: MKLResult, walk: Walk, run: Run) -> Walk:
        """Where an earlier solve was stopped; or, from any other result, its coefficients without an online stage."""
        samples, fresh = walk.samples, walk.state
        if start.weights.shape != fresh.weights.shape:
            raise ValueError(
                f"start has weights of shape {start.weights.shape}, expected {fresh.weights.shape} for these kernels."
            )
        earlier = start.state
        if (
            start.solver == type(self).__name__
            and isinstance(earlier, State)
            and earlier.problem == fresh.problem
            and earlier.stage < len(walk.stages)
        ):
            state = deepcopy(earlier)
            run.best, run.bound, run.bound_coef = state.reached
            return Walk(samples, state, walk.stages)
        if start.coef.shape == fresh.coef.shape:
            samples.place(fresh, samples.problem.feasible(start.dual_coef))
            fresh.numbers[STEPS] = len(samples.paid)  # as if these were the work of one epoch
            fresh.stage = 1 if len(walk.stages) > 1 and walk.stage.name == "online" else 0
        return walk

    def step(self, problem: MKLProblem, run: Run, walk: Walk) -> Walk:
        samples, state, stage = walk.samples, walk.state, walk.stage
        before = state.numbers[UPDATES]
        try:
            whole = stage.visit(samples, state, self.shuffle, run.deadline)
        finally:
            made = int(state.numbers[UPDATES] - before)
            state.updates[stage.name] = state.updates.get(stage.name, 0) + made
        samples.refresh(state)
        self._tell(run, walk)
        if whole:
            state.n_epochs += 1
            state.epochs[stage.name] = state.epochs.get(stage.name, 0) + 1
            if stage.over(state):
                self._next_stage(run, walk)
        return walk

    def _next_stage(self, run: Run, walk: Walk) -> None:
        samples, state = walk.samples, walk.state
        walk.stage.leave(samples, state)
        if state.stage + 1 == len(walk.stages):
            run.done = True
        else:
            state.stage, state.n_epochs = state.stage + 1, 0
            walk.stage.enter(samples, state)
        self._tell(run, walk)

    def _tell(self, run: Run, walk: Walk) -> None:
        """Measure where the walk is."""
        point, outputs = walk.samples.point(walk.state)
        run.offer_primal(point, outputs, walk.state.forms.copy())
        if walk.stage.is_dual:
            run.offer_dual(point.coef, walk.state.forms)
        elif self.check_gap and not any(stage.is_dual for stage in walk.stages):
            offer_dual_point(run, walk.samples, point.coef, walk.state.forms)

    # -- the end -------------------------------------------------------------------------------------------------------

    def _loop(self, problem: MKLProblem, run: Run, start: MKLResult | None) -> Status:
        status = super()._loop(problem, run, start)
        if run.state is not None:
            self._finish(run, run.state)
        return status

    def _finish(self, run: Run, walk: Walk) -> None:
        """Certify: the best point as long as is best, and the lower bound that the last coefficients give."""
        samples, state = walk.samples, walk.state
        if state.order is not None:  # stopped within an epoch
            samples.refresh(state)
            self._tell(run, walk)
        state.reached = run.best, run.bound, run.bound_coef
        best = run.best
        assert best is not None
        length = samples.best_primal_length(best.weights, best.forms, best.outputs)
        longer = Point(length * best.coef, best.weights, best.intercept)
        run.offer_primal(longer, length * best.outputs, length**2 * best.forms)
        if not walk.stage.is_dual:
            offer_dual_point(run, samples, state.scale * state.coef, state.forms)
        run.details = self._details(walk, run)
        run.state = None if run.done or run.gap <= run.tol else state

    def _details(self, walk: Walk, run: Run) -> dict[str, Any]:
        best = run.best
        assert best is not None
        return {
            "n_updates": sum(walk.state.updates.values()),
            "updates": dict(walk.state.updates),
            "epochs": dict(walk.state.epochs),
            "block_norms": best.weights * np.sqrt(best.forms),
        }


def offer_dual_point(run: Run, samples: Samples, coef: Array, forms: Array) -> None:
    """The lower bound that coefficients give, made feasible and as long as is best; a pass only where they change."""
    problem = samples.problem
    feasible = problem.feasible(coef)
    if float(np.abs(feasible - coef).max(initial=0.0)) > ROUNDING * float(np.abs(coef).max(initial=0.0)):
        forms = np.maximum(problem.forms(feasible), 0.0)
    length = samples.best_dual_length(feasible, forms)
    run.offer_dual(length * feasible, length**2 * forms)
