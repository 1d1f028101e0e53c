"""What every machine is: a solver of the problem with fixed kernel weights, certified by its duality gap."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polykern.machines.matrix import CombinedMatrix
from polykern.problems.joint_machine import JointMachineProblem
from polykern.problems.machine import MachineProblem, relative_gap

Array = NDArray[np.float64]

_SUM_SLACK = 1e-13  # of sum |a|: a start that misses its sum by no more is taken as it is


@dataclass(frozen=True)
class MachineSolution:
    """One dual-feasible a with its primal partner f = K a + intercept, and the bounds they prove.

    Attributes
    ----------
    coef : (n,) array
        Dual-feasible coefficients.
    intercept : float
        The best bias for `outputs`; 0 where the problem has none.
    outputs : (n,) array
        K @ coef, without the intercept.
    primal, dual, gap : float
        Upper bound, lower bound, and (primal - dual) / |primal|.
    n_iter : int
        Steps of the machine (SMO steps, Newton steps).
    """

    coef: Array
    intercept: float
    outputs: Array
    primal: float
    dual: float
    gap: float
    n_iter: int


class Machine(ABC):
    """Solves min_{a, bias} 1/2 a'Ka + sum_i C_i loss((Ka)_i + bias, y_i) for one fixed matrix K."""

    @abstractmethod
    def solve(
        self,
        matrix: CombinedMatrix,
        problem: MachineProblem,
        *,
        coef: ArrayLike | None = None,
        intercept: float = 0.0,
        tol: float = 1e-4,
        deadline: float | None = None,
    ) -> MachineSolution:
        """Coefficients whose relative duality gap is at most `tol`, or the best that floating point or time allowed.

        Parameters
        ----------
        matrix : CombinedMatrix
        problem : MachineProblem
        coef : (n,) array, optional
            Where to start; made dual-feasible first, never modified.
        intercept : float
            Bias to start from.
        tol : float
            Relative duality gap to reach. 0 asks for all that floating point can give.
        deadline : float, optional
            Reading of `time.monotonic()` after which the solution reached so far is returned.
        """


def certify(problem: MachineProblem, coef: Array, outputs: Array, n_iter: int) -> MachineSolution:
    """The solution with coefficients `coef`, `outputs` = K coef, and the bounds it proves."""
    intercept = problem.best_intercept(outputs)
    primal, dual = problem.primal(coef, outputs, intercept), problem.dual(coef, outputs)
    return MachineSolution(coef, intercept, outputs, primal, dual, relative_gap(primal, dual), n_iter)


def feasible_start(problem: MachineProblem, coef: ArrayLike | None) -> Array:
    """A dual-feasible copy of `coef` (None: of zero), equal to it where it is feasible already."""
    start = np.zeros(len(problem.y)) if coef is None else np.array(coef, dtype=np.float64)
    if start.shape != problem.y.shape:
        raise ValueError(f"coef has shape {start.shape}, expected one number per sample, {problem.y.shape}.")
    if not np.isfinite(start).all():
        raise ValueError("coef holds NaN or infinite numbers; start from finite coefficients, or from coef=None.")
    lower, upper = problem.bounds()
    if np.all(start >= lower) and np.all(start <= upper) and _sums_right(problem, start):
        return start
    return np.clip(problem.feasible(start), lower, upper)


def _sums_right(problem: MachineProblem, coef: Array) -> bool:
    missing = abs(float(coef.sum()) - problem.loss.bias_sum)
    return not problem.fit_intercept or missing <= _SUM_SLACK * float(np.abs(coef).sum())


def check_sizes(matrix: CombinedMatrix, problem: MachineProblem | JointMachineProblem, tol: float) -> None:
    """Raise where the matrix and the problem are about different numbers of samples, or tol is no tolerance."""
    if len(problem.y) != matrix.n_samples:
        raise ValueError(
            f"problem has {len(problem.y)} targets but matrix is for {matrix.n_samples} samples; "
            "build both from the same training samples."
        )
    if not tol >= 0:
        raise ValueError(f"tol is {tol!r}, expected a relative duality gap >= 0, such as 1e-4.")


def out_of_time(deadline: float | None) -> bool:
    """The deadline has passed."""
    return deadline is not None and time.monotonic() >= deadline
