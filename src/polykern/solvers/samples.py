"""A problem as algorithms see it that visit sample after sample: the state they leave, and one epoch of visits."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern import losses
from polykern.bank.by_sample import BySample, Entries
from polykern.losses import Loss
from polykern.problems.mkl import MKLProblem, Point
from polykern.regularizers.power import dual_exponent
from polykern.solvers import sample_steps as steps
from polykern.solvers.sample_steps import Block, Model, Rule

Array = NDArray[np.float64]

# Samples whose scores are gathered at once. In memory, as many as will bring about so many steps: each step changes the
# scores of those behind it one by one. Where rows have to be computed, matrix products want them by the hundred.
STEPS_PER_BLOCK, LEAST_BLOCK, MOST_BLOCK, BLOCK_COMPUTED = 24, 32, 256, 512
# Common factors of all coefficients are multiplied out when they leave this range.
LEAST_SCALE, MOST_SCALE = 1e-3, 1e3
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)

LOSSES: dict[type[Loss], tuple[int, str | None]] = {
    losses.MulticlassHinge: (steps.MULTICLASS, None),
    losses.Hinge: (steps.HINGE, None),
    losses.SquaredHinge: (steps.SQUARED_HINGE, None),
    losses.SmoothHinge: (steps.SMOOTH_HINGE, "sigma"),
    losses.Logistic: (steps.LOGISTIC, None),
    losses.EpsilonInsensitive: (steps.EPSILON_INSENSITIVE, "epsilon"),
    losses.Squared: (steps.SQUARED, None),
}


@dataclass
class State:
    """Where a solve stands: with the problem and the solver's parameters it says how the solve goes on, bit for bit."""

    coef: Array  # (n, T), over numbers[SCALE]; so are the products
    products: Array  # (F, T, n) K_k a
    forms: Array  # (F,) S_k
    weights: Array  # (F,) b_k
    numbers: Array
    generator: np.random.Generator
    stage: int = 0
    n_epochs: int = 0  # of this stage
    order: NDArray[np.intp] | None = None  # of the samples in the epoch that is going on, and how far it is
    position: int = 0
    block_size: int = 2 * LEAST_BLOCK
    radius: float = np.inf
    least: float = 0.0  # part of the gap below which samples are passed over
    updates: dict[str, int] = field(default_factory=dict)  # by stage; so are the epochs
    epochs: dict[str, int] = field(default_factory=dict)
    reached: Any = None  # the best bounds when the solve ended
    problem: bytes = b""  # what problem this is about, see `fingerprint`

    @property
    def scale(self) -> float:
        """The common factor of coefficients and products."""
        return float(self.numbers[steps.SCALE])

    def restart_steps(self, proximal: float) -> None:
        """Count steps from 0 again."""
        self.numbers[steps.STEPS], self.numbers[steps.PROXIMAL] = 0.0, proximal

    def multiply(self, factor: float) -> None:
        """The same function, `factor` times as large."""
        self.numbers[steps.SCALE] *= factor
        self.numbers[steps.SIZE] *= factor
        self.forms *= factor**2

    def fold(self) -> None:
        """Multiply the common factor out."""
        self.coef *= self.scale
        self.products *= self.scale
        self.numbers[steps.SCALE] = 1.0


class Samples:
    """Kernels, targets and costs in the form that the compiled steps read; and what a state is worth."""

    def __init__(self, problem: MKLProblem) -> None:
        self.problem = problem
        self.bank = problem.bank
        self.by_sample = BySample(problem.bank)
        n_kernels = problem.bank.n_kernels
        regularizer: Any = problem.regularizer
        self.norm = dual_exponent(float(regularizer.block_norm)), float(getattr(regularizer, "l1", 0.0))
        self.loss = _number_of(problem.loss)
        self.targets = np.ascontiguousarray(problem.targets, dtype=np.float64)
        self.costs = np.ascontiguousarray(problem.costs, dtype=np.float64)
        self.diagonals = np.array([problem.bank.diag(one) for one in np.eye(n_kernels)])
        self.reach = _norms(np.sqrt(np.maximum(self.diagonals, 0.0)), self.norm[0])
        self.paid = np.flatnonzero(np.any(self.costs > 0, axis=1))
        self.total = float(self.costs.mean(axis=1).sum())

    # -- states ----------------------------------------------------------------------------------------------------

    def fresh(self, seed: Any) -> State:
        """The state before the first step: the function that is zero."""
        n, n_outputs = self.targets.shape
        n_kernels = self.bank.n_kernels
        numbers = np.zeros(7)
        numbers[steps.SCALE] = 1.0
        products = np.zeros((n_kernels, n_outputs, n))
        weights = np.empty(n_kernels)
        steps.weigh(np.zeros(n_kernels), self.norm, weights)
        generator = np.random.default_rng(seed)
        state = State(np.zeros((n, n_outputs)), products, np.zeros(n_kernels), weights, numbers, generator)
        state.problem = fingerprint(self.problem)
        return state

    def place(self, state: State, coef: Array) -> None:
        """Go on from these coefficients: products are made anew, from the rows that change where these are few."""
        state.fold()
        change = coef - state.coef
        moved = np.flatnonzero(change.any(axis=1))
        if 2 * len(moved) > len(coef):
            state.products[...] = np.swapaxes(self.bank.scores(coef), 1, 2)
        elif len(moved):
            self.by_sample.add_products(moved, change[moved], state.products)
        state.coef[...] = coef
        self.refresh(state)

    def refresh(self, state: State) -> None:
        """Forms and weights from the coefficients, free of what rounding added up step by step."""
        if not LEAST_SCALE <= state.scale <= MOST_SCALE:
            state.fold()
        flat = np.ascontiguousarray(state.coef.T).reshape(-1)
        forms = state.products.reshape(len(state.forms), -1) @ flat
        state.forms[...] = np.maximum(state.scale**2 * forms, 0.0)
        state.numbers[steps.SIZE] = steps.weigh(state.forms, self.norm, state.weights)

    def point(self, state: State) -> tuple[Point, Array]:
        """The primal point of a state, and its outputs (n, T)."""
        outputs = np.tensordot(state.scale * state.weights, state.products, 1).T
        point = Point(state.scale * state.coef, state.weights.copy(), np.zeros(self.targets.shape[1]))
        return point, np.ascontiguousarray(outputs)

    # -- lengths ---------------------------------------------------------------------------------------------------

    def best_primal_length(self, weights: Array, forms: Array, outputs: Array) -> float:
        """length for which length * f has the smallest objective."""
        norms = weights * np.sqrt(forms)
        if not norms.any():
            return 1.0
        loss_at = self._losses_along(outputs)

        def value(length: float) -> float:
            return self.problem.regularizer.value(length * norms) + loss_at(length)

        most = 2.0
        while most < 1e6 and value(2.0 * most) < value(most):
            most *= 2.0
        return smallest(value, 0.0, 2.0 * most)

    def _losses_along(self, outputs: Array) -> Callable[[float], float]:
        """Sum of the losses at length * outputs; of the multiclass hinge, the hinge of the margins."""
        problem = self.problem
        if isinstance(problem.loss, losses.MulticlassHinge):
            own = np.sum(outputs * self.targets, axis=1)
            margins = own - np.max(outputs - 1e300 * self.targets, axis=1, initial=-1e300)
            return lambda length: float(self.costs[:, 0] @ np.maximum(0.0, 1.0 - length * margins))
        return lambda length: float(np.sum(self.costs * problem.loss.value(length * outputs, self.targets)))

    def best_dual_length(self, coef: Array, forms: Array) -> float:
        """length for which length * coef, feasible up to 1, has the largest dual value."""
        duals = np.sqrt(forms)

        def cost(length: float) -> float:
            return self.problem.conjugate_sum(length * coef) + self.problem.regularizer.conjugate(length * duals)

        return smallest(cost, 0.0, 1.0)

    # -- one epoch -------------------------------------------------------------------------------------------------

    def rule(self, kind: int, size: float = 0.0) -> Rule:
        """A rule for subgradient steps on this problem."""
        return Rule(kind, float(size), len(self.paid), self.total)

    def descend(self, state: State, rule: Rule, *, shuffle: bool, deadline: float | None) -> bool:
        """Subgradient steps to the end of the epoch, or to the deadline; whether the end was reached."""
        model = self._model(state)
        return self._visit(state, lambda *seen: steps.descend(*seen, model, rule), shuffle, deadline)

    def ascend(self, state: State, *, shuffle: bool, deadline: float | None) -> bool:
        """Dual steps on samples whose part of the gap is above `state.least`, to the end of the epoch likewise."""
        model = self._model(state)
        return self._visit(state, lambda *seen: steps.ascend(*seen, model, state.least), shuffle, deadline)

    def _model(self, state: State) -> Model:
        moving = state.coef, state.forms, state.weights, state.numbers
        return Model(*moving, self.diagonals, self.reach, self.targets, self.costs, self.loss, self.norm)

    def _visit(
        self, state: State, step: Callable[[Block, Entries], None], shuffle: bool, deadline: float | None
    ) -> bool:
        if state.order is None:
            draw = state.generator
            state.order = draw.permutation(self.paid) if shuffle else draw.choice(self.paid, len(self.paid))
            state.position = 0
        before = state.numbers[steps.UPDATES]
        size = state.block_size if self.by_sample.in_memory is not None else BLOCK_COMPUTED
        with delayed_interrupt() as interrupted:
            while state.position < len(state.order):
                self._visit_block(state, step, state.order[state.position : state.position + size])
                state.position += size
                if interrupted or (deadline is not None and time.monotonic() >= deadline):
                    break
        if state.position < len(state.order):
            return False
        state.order = None
        made = max(1.0, float(state.numbers[steps.UPDATES] - before))
        state.block_size = int(np.clip(STEPS_PER_BLOCK * len(self.paid) / made, LEAST_BLOCK, MOST_BLOCK))
        return True

    def _visit_block(self, state: State, step: Callable[[Block, Entries], None], some: NDArray[np.intp]) -> None:
        n_kernels, n_outputs, _ = state.products.shape
        block = Block(some, np.empty((len(some), n_kernels, n_outputs)), np.zeros((len(some), n_outputs)))
        steps.gather(state.products, block)
        step(block, self.by_sample.entries(some))
        if state.numbers[steps.RESTARTED]:
            state.products[...] = 0.0
            state.numbers[steps.RESTARTED] = 0.0
        moved = np.flatnonzero(block.changes.any(axis=1))
        if moved.size:
            self.by_sample.add_products(some[moved], block.changes[moved], state.products)


@contextmanager
def delayed_interrupt() -> Iterator[list[Any]]:
    """Ctrl-C waits until the end: what is changed inside is changed as a whole. Meanwhile the list tells of it."""
    received: list[Any] = []
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield received
        return
    signal.signal(signal.SIGINT, lambda *arguments: received.append(arguments))
    try:
        yield received
    finally:
        signal.signal(signal.SIGINT, usual)
    if received:
        usual(*received[0])


def smallest(function: Callable[[float], float], low: float, high: float, n_evaluations: int = 30) -> float:
    """Where a convex function of one number is smallest, by golden section; the best place that was looked at."""
    seen = {place: function(place) for place in (low, high)}
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    for _ in range(n_evaluations):
        for place in (left, right):
            if place not in seen:
                seen[place] = function(place)
        if seen[left] <= seen[right]:
            high, left, right = right, right - _GOLDEN * (right - low), left
        else:
            low, left, right = left, right, left + _GOLDEN * (high - left)
    return min(seen, key=lambda place: seen[place])


def _number_of(loss: Loss) -> tuple[int, float]:
    """Number and parameter of a loss in compiled code."""
    if type(loss) not in LOSSES:
        known = ", ".join(kind.__name__ for kind in LOSSES)
        raise ValueError(
            f"loss is {loss!r}, expected one of {known}: steps on single samples are written out for these."
        )
    number, parameter = LOSSES[type(loss)]
    return number, 0.0 if parameter is None else float(getattr(loss, parameter))


def _norms(columns: Array, exponent: float) -> Array:
    """|.|_exponent of every column, without overflow."""
    largest = np.maximum(columns.max(axis=0), 1e-300)
    return np.asarray(largest * np.sum((columns / largest) ** exponent, axis=0) ** (1.0 / exponent))


def fingerprint(problem: MKLProblem) -> bytes:
    """Different for different problems: costs, targets, loss, norm, and the kernels' names and diagonals."""
    diagonals = problem.bank.diag(np.sqrt(np.arange(1.0, problem.bank.n_kernels + 1.0)))
    parts = (problem.targets, problem.costs, diagonals)
    words = repr((problem.loss, problem.regularizer, problem.bank.names)).encode()
    return blake2b(words + b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).digest()
