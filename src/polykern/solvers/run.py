"""One solve as it goes: clock, limits, the best bounds so far and how they were reached."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern.machines import CombinedMatrix, machine_for
from polykern.problems.machine import TINY, relative_gap
from polykern.problems.mkl import MKLProblem, Point
from polykern.problems.result import MKLResult, Record, Status

Array = NDArray[np.float64]
Callback = Callable[[Record, Array], bool | None]

# The inner machine is solved this much finer than the gap that is left, within these limits.
INNER_SHARE = 0.1
COARSEST_INNER_TOL = 1e-2
# Sums of float32 kernels are taken in float64 once their rounding may be this share of the tolerance, and the gap is
# within so many times the tolerance or the rounding.
ROUNDING_SHARE, NEAR = 0.1, 10.0
# Iterations without any progress of the certified gap after which a solve is called stalled.
PATIENCE = 50


@dataclass(frozen=True)
class Evaluation:
    """The machine solved at one weight vector: value, gradient and a cut of F(b) = max_a -conj(a) - 1/2 b . S(a).

    F is at least `lower` = -conj - 1/2 b . S, the machine's dual value; the gradient of F is -1/2 S.
    """

    weights: Array
    coef: Array
    intercept: Array
    outputs: Array
    forms: Array
    conjugate: float
    primal: float
    dual: float
    scores: Array | None = None  # (F, n, T) K_k a, where the run keeps them

    @property
    def lower(self) -> float:
        """F(b) is at least this."""
        return -self.conjugate - 0.5 * float(self.weights @ self.forms)

    @property
    def gradient(self) -> Array:
        """Gradient of F at the weights."""
        return -0.5 * self.forms

    @property
    def point(self) -> Point:
        """The primal point."""
        return Point(self.coef, self.weights, self.intercept)


@dataclass(frozen=True)
class Hint:
    """A lower bound that a solver knows cheaply, and how to make the dual point that proves it."""

    value: float
    make_coef: Callable[[], Array]


class Run:
    """Everything about one solve that is not the algorithm."""

    def __init__(
        self,
        problem: MKLProblem,
        *,
        tol: float,
        max_iter: int,
        time_limit: float | None,
        callbacks: Sequence[Callback],
    ) -> None:
        self.problem = problem
        self.tol = tol
        self.max_iter = max_iter
        self.callbacks = callbacks
        self.started = time.monotonic()
        self.deadline = None if time_limit is None else self.started + time_limit
        self.history: list[Record] = []
        self.best: Evaluation | None = None
        self.bound = -np.inf
        self.bound_coef: Array | None = None
        self.hint: Hint | None = None
        self.stuck = False  # set by a solver whose steps lead nowhere any more
        self.done = False  # set by a solver that stops after so many epochs
        self.patient = False  # set by a solver whose gap may stand still for long: it is never called stalled
        self.details: dict[str, Any] = {}
        self.state: Any = None  # from where a later solve can go on, set by solvers that can
        self.double = False  # low precision first: machines read sums of float32 kernels as float32
        self.keeps_scores = False  # set by a solver that needs K_k a: the forms come of them, in the same pass
        self.n_machines = 0
        self._machine = machine_for(problem.loss)
        self._scratch: NDArray[Any] | None = None  # the combined kernel of the last machine, its memory for the next
        self._spent_before = self._spent_in_all()

    # -- the oracle ------------------------------------------------------------------------------------------

    def evaluate(
        self,
        weights: Array,
        near: Evaluation | None = None,
        tol: float | None = None,
        forms_of: Callable[[Array], Array] | None = None,
    ) -> Evaluation:
        """Solve the machine at `weights`, starting from the solution at nearby ones.

        `forms_of` gives the forms where those of the kernels with weight are enough: a primal value, no lower bound.
        """
        matrix = CombinedMatrix(self.problem.bank, weights, self.double, out=self._scratch)
        self._scratch = matrix.dense
        tol = self.inner_tol if tol is None else tol
        solutions = [
            self._machine.solve(
                matrix,
                part,
                coef=None if near is None else near.coef[:, at],
                intercept=0.0 if near is None else near.intercept[at],
                tol=tol,
                deadline=self.deadline,
            )
            for at, part in self.problem.parts()
        ]
        self.n_machines += len(solutions)
        coef = np.column_stack([s.coef for s in solutions])
        outputs = np.column_stack([s.outputs for s in solutions])
        intercept = np.hstack([s.intercept for s in solutions])
        if forms_of is not None:
            evaluation = replace(self._bounds_at(weights, coef, outputs, intercept, forms_of(coef)), dual=-np.inf)
            self._offer(evaluation)
            return evaluation
        scores = self.problem.bank.scores(coef) if self.keeps_scores else None
        forms = self.problem.forms(coef) if scores is None else np.einsum("knt,nt->k", scores, coef)
        evaluation = replace(self._bounds_at(weights, coef, outputs, intercept, forms), scores=scores)
        self._offer(evaluation)
        return evaluation

    def _bounds_at(self, weights: Array, coef: Array, outputs: Array, intercept: Array, forms: Array) -> Evaluation:
        primal = self.problem.primal(Point(coef, weights, intercept), outputs=outputs, forms=forms)
        conjugate = self.problem.conjugate_sum(coef)
        dual = -conjugate - self.problem.regularizer.conjugate(np.sqrt(np.maximum(forms, 0.0)))
        return Evaluation(weights, coef, intercept, outputs, forms, conjugate, primal, dual)

    @property
    def inner_tol(self) -> float:
        """How finely machines are to be solved now: finer than the gap that is left."""
        left = min(self.hoped_gap, COARSEST_INNER_TOL / INNER_SHARE)
        return INNER_SHARE * max(left, self.tol)

    def offer(self, weights: Array, coef: Array, outputs: Array, forms: Array) -> None:
        """What a solver that makes its own machines has reached: outputs = K_b coef, forms = S(coef).

        The forms may be those of some kernels only, all that have weight among them, and the sum of coef may be off by
        rounding: the lower bound counts once it is proved.
        """
        evaluation = self._bounds_at(weights, coef, outputs, self.problem.best_intercept(outputs), forms)
        self.suggest(evaluation.dual, lambda: coef)
        self._offer(replace(evaluation, dual=-np.inf))

    def offer_primal(self, point: Point, outputs: Array, forms: Array) -> Evaluation:
        """A primal point with the forms of all kernels with weight, and nothing said of a lower bound."""
        primal = self.problem.primal(point, outputs=outputs, forms=forms)
        evaluation = Evaluation(
            point.weights, point.coef, point.intercept, outputs, forms, conjugate=np.nan, primal=primal, dual=-np.inf
        )
        self._offer(evaluation)
        return evaluation

    def prefer(self, evaluation: Evaluation) -> None:
        """Take this point as the answer where it is within the tolerance, although another one may be lower."""
        if relative_gap(evaluation.primal, self.bound) <= self.tol:
            self.best = evaluation

    def offer_dual(self, coef: Array, forms: Array) -> None:
        """A dual-feasible point with the forms of all kernels: a lower bound that is proved."""
        self.hint = None
        conjugate = self.problem.regularizer.conjugate(np.sqrt(np.maximum(forms, 0.0)))
        self._offer_dual(coef, -self.problem.conjugate_sum(coef) - conjugate)

    # -- bounds ----------------------------------------------------------------------------------------------

    def _offer(self, evaluation: Evaluation) -> None:
        if not np.isfinite(evaluation.primal):
            raise FloatingPointError(
                "The objective is not finite: check the kernels for huge values (normalize='mean-diagonal' scales "
                "them) and C for its order of magnitude."
            )
        if self.best is None or evaluation.primal < self.best.primal:
            self.best = evaluation
        self._offer_dual(evaluation.coef, evaluation.dual)

    def _offer_dual(self, coef: Array, value: float) -> None:
        if value > self.bound:
            self.bound, self.bound_coef = value, coef

    def suggest(self, value: float, make_coef: Callable[[], Array]) -> None:
        """Note a lower bound that `make_coef()` would prove; it counts once it is proved."""
        if self.hint is None or value > self.hint.value:
            self.hint = Hint(value, make_coef)

    def prove_hint(self) -> None:
        """Evaluate the dual at the suggested point, one pass over the kernels, if it promises more than is proved."""
        if self.hint is not None and self.hint.value > self.bound:
            coef = self.problem.feasible(self.hint.make_coef())
            self._offer_dual(coef, self.problem.dual(coef))
        self.hint = None

    @property
    def gap(self) -> float:
        """Relative gap between the best proved bounds."""
        return np.inf if self.best is None else relative_gap(self.best.primal, self.bound)

    @property
    def upper(self) -> float:
        """The best primal value."""
        return self._require_best().primal

    @property
    def hoped_bound(self) -> float:
        """The lower bound if the suggested one holds."""
        return self.bound if self.hint is None else max(self.bound, self.hint.value)

    @property
    def hoped_gap(self) -> float:
        """The gap if the suggested bound holds."""
        return np.inf if self.best is None else relative_gap(self.best.primal, self.hoped_bound)

    # -- after each step -------------------------------------------------------------------------------------

    def after_step(self) -> Status | None:
        """Record the iteration; the status that ends the solve, or None to go on."""
        if self.hoped_gap <= self.tol < self.gap:
            self.prove_hint()
        if not self.double and self._rounding_matters():
            self.double = True
            self._measure_best()
        elif self.gap <= self.tol and self._still_rounded():
            self._measure_best()
        record = self._record()
        self.history.append(record)
        best = self._require_best()
        wants_stop = [bool(callback(record, best.weights)) for callback in self.callbacks]
        if self.gap <= self.tol:
            return Status.CONVERGED
        if any(wants_stop):
            return Status.STOPPED
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return Status.TIME_LIMIT
        if len(self.history) >= self.max_iter:
            return Status.MAX_ITER
        if self.done:
            return Status.EPOCHS
        return Status.STALLED if self.stuck or self._stalled() else None

    def _record(self) -> Record:
        best = self._require_best()
        gap = self.hoped_gap
        return Record(
            iteration=len(self.history) + 1,
            primal=best.primal,
            dual=best.primal - gap * abs(best.primal),
            gap=gap,
            n_active=int(np.count_nonzero(best.weights)),
            seconds=self.seconds,
            n_kernel_products=self.spent()[0],
            n_machines=self.n_machines,
        )

    def _rounding_matters(self) -> bool:
        """Sums in float32 are too rough for the tolerance, here where it is about to be reached; or nothing moves."""
        if self.problem.bank.dtype != np.float32:
            return False
        rounding = self._rounding()
        near = self.hoped_gap <= NEAR * max(self.tol, rounding)
        return (near and rounding > ROUNDING_SHARE * self.tol) or self._stalled(PATIENCE // 2)

    def _rounding(self) -> float:
        """What the primal value is off by, relatively, where the combined kernel is rounded to float32.

        Errors of its entries are random and at most half a unit in the last place, so that those of  a' K a  add up to
        about the unit times |a|^2; on squared losses, large costs and small sets this was within a factor of three.
        """
        best = self._require_best()
        largest = float(self.problem.bank.diag(best.weights).max())
        size = max(abs(best.primal), TINY)
        return 0.5 * float(np.finfo(np.float32).eps) * largest * float(np.sum(best.coef**2)) / size

    def _still_rounded(self) -> bool:
        """Machines should read sums in float64, and had to go on in float32: no such matrix fits."""
        return self.double and not self.problem.bank.fits_combined_double

    def _measure_best(self) -> None:
        """The best point so far, taken anew with all sums in float64."""
        best = self._require_best()
        outputs, forms = self.problem.outputs(best.point), self.problem.forms(best.coef)
        self.best = self._bounds_at(best.weights, best.coef, outputs, best.intercept, forms)

    def _stalled(self, patience: int = PATIENCE) -> bool:
        if self.patient or len(self.history) <= patience:
            return False
        return self.history[-1].gap >= self.history[-1 - patience].gap * (1.0 - 1e-9)

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.monotonic() - self.started

    def spent(self) -> tuple[int, int]:
        """Kernel-vector products and bytes moved since the start."""
        products, moved = self._spent_in_all()
        return products - self._spent_before[0], moved - self._spent_before[1]

    def _spent_in_all(self) -> tuple[int, int]:
        counts = self.problem.bank.counts
        return counts.n_kernel_products, counts.bytes_moved

    def _require_best(self) -> Evaluation:
        if self.best is None:
            raise RuntimeError("a solver's step must evaluate at least one weight vector")
        return self.best

    def result(self, status: Status, solver: str) -> MKLResult:
        """The best primal point and the best proved bound."""
        if self._still_rounded():
            self._measure_best()
        self.prove_hint()
        best = self._require_best()
        n_kernel_products, bytes_moved = self.spent()
        if abs(self.gap) <= self.tol:
            status = Status.CONVERGED
        elif status is Status.CONVERGED:
            status = Status.STALLED
        return MKLResult(
            coef=best.coef,
            weights=np.where(self.problem.bank.null, 0.0, best.weights),
            intercept=best.intercept,
            primal=best.primal,
            dual=self.bound,
            gap=abs(self.gap),  # rounding may put the bounds on the wrong side of each other; then this is its size
            dual_coef=best.coef if self.bound_coef is None else self.bound_coef,
            status=status,
            n_iter=len(self.history),
            n_machines=self.n_machines,
            n_kernel_products=n_kernel_products,
            bytes_moved=bytes_moved,
            seconds=self.seconds,
            solver=solver,
            history=tuple(self.history),
            details=self.details | self.problem.regularizer.details(best.weights),
            state=self.state,
        )
