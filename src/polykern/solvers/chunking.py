"""Chunking: kernel weights and dual variables optimised together, on working sets of samples.

Problem   min_{b in simplex} F(b),  F(b) = max_{a in A} -conj(a) - 1/2 sum_k b_k S_k(a),  S_k(a) = a' K_k a.
Symbols   b kernel weights; a dual variables (minus the paper's alpha); g_k = K_k a the output of each kernel by itself;
          W the working set; the model is the highest of the planes  -conj(a) - 1/2 b . S(a)  of all a so far.
Given     a loss whose dual is a quadratic program on a box (hinge, epsilon-insensitive, one-class); the simplex.
Step      at the current b, a few rounds of SMO, each on the W that violates optimality most: rows W of the combined
          kernel, no others. Then  g_k += K_k[:, W] (change of a)  for every k, which gives S_k = a' g_k and the outputs
          sum_k b_k g_k at any b without another look at the kernels; the plane of a; the next b from the model.
Stop      the certified gap between the best outputs and the mixed dual point of the linear program. (The paper's test,
          |1 - S_t / theta_t|, compares the newest a with the last program: no bound, and not used.)
Output    weights and coefficients of the best primal point.

Two things differ from the paper. It updates g and b after every W; here W is moved until a says something new at this b
(its plane lies well above the level, or a is a tenth as far from the best one as the bounds are from each other), and g
is brought up to date once, with the rows that moved: on letter (n = 2,000) 14 n rows of every kernel, where the paper's
way with W of 300 reads 39 n. And its next b is the lowest point of the model, a vertex far away while the model is
poor: 181 and 364 steps on ionosphere and sonar, where the nearest b below a level between the bounds (`level.py`) takes
25 and 35, and 11 n rows on letter. share=0 is the vertex.

Sonnenburg, Raetsch, Schaefer, Schoelkopf: Large Scale Multiple Kernel Learning, JMLR 7, 2006, Algorithm 2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern.bank import KernelBank
from polykern.machines.base import feasible_start, out_of_time
from polykern.machines.decomposition import Descent
from polykern.machines.matrix import CombinedMatrix, add_rows
from polykern.machines.smo_core import gap_and_bias
from polykern.problems.machine import TINY
from polykern.problems.mkl import MKLProblem
from polykern.problems.result import MKLResult
from polykern.problems.support import Requirements
from polykern.solvers.base import Solver
from polykern.solvers.cuts import CuttingPlanes, Model
from polykern.solvers.level import level_point
from polykern.solvers.run import Evaluation, Run

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

FINEST = 1e-15  # of a machine's gap: nothing below can be told from rounding
LEAST_ROWS = 128  # of the combined kernel that are kept, whatever the memory
IDLE_STEPS = 30  # steps without a multiplier after which a plane is dropped


@dataclass
class _State:
    weights: Array  # where the next step works
    coef: Array
    outputs: _OutputsByKernel
    rows: _Rows
    planes: CuttingPlanes | None = None
    multipliers: Array | None = None  # of the planes, in the last projection
    idle: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))  # steps since each plane mattered


class Chunking(Solver):
    """Chunking algorithm of the large-scale MKL paper (Algorithm 2): no machine is solved to its end.

    Reads the rows of samples that are worth moving, never whole matrices, and keeps the outputs of every kernel:
    kernels x samples x outputs numbers beside the bank's memory budget. Here to repeat the paper: with kernels in
    memory it takes the time of Level on 5,000 letters and twice that on 2,000. Rows of all kernels cost more than the
    forms S_k that Level needs, which are read on the support vectors alone, and most of all where kernels are computed
    when they are asked for.

    Parameters
    ----------
    working_set : int, default=500
        Samples moved at a time; twice the coefficients between their bounds, where these are more.
    share : float, default=0.5
        Where the level of the next weights lies between the lower (0) and the upper bound (1); 0 takes the lowest point
        of the linear program, as the paper does.

    Examples
    --------
    >>> from polykern.solvers import Chunking
    >>> Chunking(share=0)
    Chunking(share=0)
    """

    requires = Requirements(most_weight_norm=1.0, smooth_loss=False, joint_loss=False)

    def __init__(self, working_set: int = 500, share: float = 0.5) -> None:
        self.working_set = working_set
        self.share = share

    def init(self, problem: MKLProblem, run: Run, start: MKLResult | None) -> _State:
        if not 0 <= self.share < 1:
            raise ValueError(f"share of Chunking is {self.share!r}, expected a number in [0, 1), such as 0.5.")
        if not self.working_set >= 2:
            raise ValueError(f"working_set of Chunking is {self.working_set!r}, expected at least 2 samples.")
        weights, coef = _start(problem, start)
        return _State(weights, coef, _OutputsByKernel(problem.bank, coef), _Rows(problem.bank))

    def step(self, problem: MKLProblem, run: Run, state: _State) -> _State:
        coef = self._improved(problem, run, state)
        state.outputs.add(coef - state.coef)
        state.coef = coef
        forms = state.outputs.forms(coef)
        run.offer(state.weights, coef, state.outputs.combined(state.weights), forms)
        if state.planes is None:
            state.planes = CuttingPlanes(problem.bank.n_kernels, run.upper)
        state.planes.add(_plane(problem, state.weights, coef, forms))
        model = state.planes.suggest(run)
        self._choose_weights(run, state, state.planes, model)
        return state

    def _improved(self, problem: MKLProblem, run: Run, state: _State) -> Array:
        """(n, T) coefficients that say something new at these weights, from the last ones."""
        state.rows.use(state.weights)
        outputs = state.outputs.combined(state.weights)
        descents = [
            Descent(_Seen(state.rows, outputs[:, t]), column, state.coef[:, t].copy(), self.working_set)
            for t, column in enumerate(problem.columns())
        ]
        while not self._enough(run, descents):
            for descent in descents:
                descent.working_set = max(self.working_set, 2 * _n_free(descent))
                descent.descend(0.5 * descent.gap, run.deadline)
        return np.column_stack([descent.point.coef for descent in descents])

    def _enough(self, run: Run, descents: list[Descent]) -> bool:
        """The plane cuts deep into what lies between the bounds, or the machines are nearly solved."""
        value = sum(descent.dual for descent in descents)
        excess = sum(gap_and_bias(d.box, d.point, d.with_bias)[0] for d in descents)
        if run.best is not None:
            above = 0.5 * (1.0 + self.share)  # half-way from the level to the upper bound
            if value >= run.hoped_bound + above * (run.upper - run.hoped_bound):
                return True
        nothing_left = all(descent.stalled or descent.gap <= FINEST for descent in descents)
        return nothing_left or excess <= run.inner_tol * max(abs(value + excess), TINY) or out_of_time(run.deadline)

    def _choose_weights(self, run: Run, state: _State, planes: CuttingPlanes, model: Model) -> None:
        """The next weights; planes that have not mattered for long are dropped."""
        used = model.multipliers > 0
        if self.share == 0:
            state.weights = model.weights
        else:
            state.weights, state.multipliers = level_point(run, planes, state.weights, self.share, state.multipliers)
        if state.multipliers is not None:
            used |= state.multipliers > 0
        state.idle = np.where(used, 0, np.append(state.idle, 0) + 1)
        kept = state.idle <= IDLE_STEPS
        planes.keep(kept)
        state.idle = state.idle[kept]
        state.multipliers = None if state.multipliers is None else state.multipliers[kept]


class _OutputsByKernel:
    """g = K_k a for every kernel and output, (F, n, T), kept up to date from the rows that change."""

    def __init__(self, bank: KernelBank, coef: Array) -> None:
        self.bank, self.shape = bank, coef.shape
        self.flat = np.zeros((bank.n_kernels, coef.size))
        self.add(coef)

    def add(self, change: Array) -> None:
        """g += K_k change: reads the rows where change is not zero."""
        if change.any():
            self.flat += self.bank.scores(change).reshape(self.flat.shape)

    def combined(self, weights: Array) -> Array:
        """(n, T) outputs of sum_k weights_k K_k."""
        return np.asarray(weights @ self.flat).reshape(self.shape)

    def forms(self, coef: Array) -> Array:
        """S_k = trace(a' K_k a)."""
        return np.asarray(self.flat @ coef.ravel())


class _Rows:
    """Rows of the combined kernel, each fetched once for given weights; all are forgotten where memory is full."""

    def __init__(self, bank: KernelBank) -> None:
        self.bank = bank
        fitting = bank.row_cache_bytes // (bank.n_samples * bank.dtype.itemsize)
        self.capacity = min(bank.n_samples, max(int(fitting), LEAST_ROWS))
        self.kept = np.empty((0, bank.n_samples), dtype=bank.dtype)
        self._place = np.empty(bank.n_samples, dtype=np.intp)

    def use(self, weights: Array) -> None:
        """Forget the rows of other weights; their memory is used again."""
        self.weights, self.diagonal = weights, np.asarray(self.bank.diag(weights), dtype=np.float64)
        self._forget()

    def _forget(self) -> None:
        self._place[:], self._n_kept = -1, 0

    def fetch(self, idx: Indices) -> tuple[NDArray[Any], Indices]:
        """The rows that are kept, and the places of rows `idx`, at most `capacity` of them, among these."""
        new = idx[self._place[idx] < 0]
        if self._n_kept + len(new) > self.capacity:
            self._forget()
            new = idx
        if len(new):
            places = np.arange(self._n_kept, self._n_kept + len(new))
            self._make_room(places[-1] + 1)
            self.kept[self._n_kept : places[-1] + 1] = self.bank.rows(new, self.weights)
            self._place[new], self._n_kept = places, places[-1] + 1
        return self.kept, self._place[idx]

    def _make_room(self, height: int) -> None:
        if height > len(self.kept):
            higher = min(self.capacity, max(height, 2 * len(self.kept)))
            larger = np.empty((higher, self.kept.shape[1]), dtype=self.kept.dtype)
            larger[: self._n_kept] = self.kept[: self._n_kept]
            self.kept = larger


class _Seen(CombinedMatrix):
    """The combined kernel as one output's descent sees it: rows shared with the others, K a known at the start."""

    def __init__(self, shared: _Rows, outputs: Array) -> None:
        self.n_samples, self.dtype, self.dense = shared.bank.n_samples, shared.kept.dtype, None
        self.row_capacity = shared.capacity
        self._shared, self._outputs = shared, outputs

    def diag(self) -> Array:
        return self._shared.diagonal

    def rows(self, idx: Indices) -> NDArray[Any]:
        kept, places = self._shared.fetch(idx)
        return kept[places]

    def block(self, idx: Indices) -> NDArray[Any]:
        kept, places = self._shared.fetch(idx)
        out = np.empty((len(idx), len(idx)), dtype=self.dtype)
        for place, row in zip(places, out, strict=True):
            np.take(kept[place], idx, out=row, mode="clip")  # a quarter of the time of kept[np.ix_(..)]
        return out

    def add_product(self, idx: Indices, factors: Array, total: Array) -> None:
        kept, places = self._shared.fetch(idx)
        add_rows(kept, places, factors, total)

    def matvec(self, coef: Array) -> Array:
        """K a of the a that the descent starts from, which is all that it asks for."""
        return self._outputs.copy()


def _start(problem: MKLProblem, start: MKLResult | None) -> tuple[Array, Array]:
    """Weights and feasible coefficients to begin with; those of an earlier result where they fit."""
    n_kernels = problem.bank.n_kernels
    weights, given = problem.regularizer.start(n_kernels), np.zeros(problem.targets.shape)
    if start is not None:
        if start.weights.shape != (n_kernels,):
            raise ValueError(
                f"start has weights of shape {start.weights.shape}, expected {(n_kernels,)} for these kernels."
            )
        weights = problem.regularizer.project(start.weights)
        given = start.coef if start.coef.shape == given.shape else given
    return weights, np.column_stack([feasible_start(c, given[:, t]) for t, c in enumerate(problem.columns())])


def _plane(problem: MKLProblem, weights: Array, coef: Array, forms: Array) -> Evaluation:
    """What the model needs of this point."""
    nothing = np.zeros(problem.n_outputs)
    return Evaluation(weights, coef, nothing, coef, forms, problem.conjugate_sum(coef), np.inf, -np.inf)


def _n_free(descent: Descent) -> int:
    """Coefficients strictly between their bounds."""
    return int(np.count_nonzero(np.isfinite(descent.point.up_offset) & np.isfinite(descent.point.down_offset)))
