"""What every solver returns: one frozen result, certified."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Status(Enum):
    """How a solve ended; the value is what the user reads."""

    CONVERGED = "converged: the certified gap is within tol"
    MAX_ITER = "stopped at max_iter before the certified gap was within tol: raise max_iter, or accept the gap"
    TIME_LIMIT = "stopped at time_limit before the certified gap was within tol: allow more time, or accept the gap"
    STALLED = "stopped where no step makes progress in floating point: raise tol, or use float64 kernels"
    INTERRUPTED = "interrupted: this is the best solution reached, with its gap"
    STOPPED = "stopped by a callback: this is the best solution reached, with its gap"
    EPOCHS = "did the epochs that were asked for: the gap says how far at most the solution is from the optimum"

    @property
    def converged(self) -> bool:
        """The tolerance was reached."""
        return self is Status.CONVERGED

    @property
    def as_asked(self) -> bool:
        """The solve ended where it was asked to: at the tolerance, or after so many epochs."""
        return self in (Status.CONVERGED, Status.EPOCHS)


@dataclass(frozen=True)
class Record:
    """One line of a solver's history."""

    iteration: int
    primal: float
    dual: float
    gap: float
    n_active: int
    seconds: float
    n_kernel_products: int
    n_machines: int


@dataclass(frozen=True)
class MKLResult:
    """Solution, bounds and cost of one solve, in the units of Omega + C * sum of losses.

    Attributes
    ----------
    coef : (n, T) array
        Coefficients a of the solution f = sum_k weights_k K_k a + intercept.
    weights : (F,) array
        Kernel weights, on the scale of the regularizer's weight set; (T, F) where every output has its own.
    intercept : (T,) array
    primal, dual, gap : float
        Upper bound, lower bound, and (primal - dual) / |primal|: the solution is at most this far from the optimum.
    dual_coef : (n, T) array
        The dual point that proves the lower bound; often, but not always, `coef` itself.
    status : Status
    n_machines : int
        Machines solved on the way, those of all outputs counted.
    parts : tuple of MKLResult
        The results behind this one where every output was solved on its own.
    details : dict
        What this solver alone has to tell: `Obscure`, `Pegasos` and `UFO` their updates and epochs, Obscure its R.
    state : object or None
        Where a solver that goes from sample to sample was stopped, if it can go on from there: `solve(start=result)`.
    """

    coef: Array
    weights: Array
    intercept: Array
    primal: float
    dual: float
    gap: float
    dual_coef: Array
    status: Status
    n_iter: int
    n_machines: int
    n_kernel_products: int
    bytes_moved: int
    seconds: float
    solver: str
    history: tuple[Record, ...] = field(default=(), repr=False)
    parts: tuple[MKLResult, ...] = field(default=(), repr=False)
    details: dict[str, Any] = field(default_factory=dict, repr=False)
    state: Any = field(default=None, repr=False)

    def __repr__(self) -> str:
        kept = int(np.count_nonzero(np.any(np.atleast_2d(self.weights) > 0, axis=0)))
        return (
            f"MKLResult({self.status.name}, gap={self.gap:.2g}, primal={self.primal:.6g}, "
            f"{kept} of {self.weights.shape[-1]} kernels, {self.n_iter} iterations, {self.seconds:.3g} s, "
            f"{self.solver})"
        )


__all__ = ["MKLResult", "Record", "Status"]
