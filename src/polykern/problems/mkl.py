"""Primal, dual and gap of multiple kernel learning, written once for every loss and every regularizer.

    min_{f_1..f_F, bias}  Omega(|f_1|, .., |f_F|) + sum_i C_i loss(sum_k f_k(x_i) + bias, y_i) + bias_sum * bias
    max_a                 -conj(a) - Omega^*(sqrt(S)),   S_k = trace(a' K_k a),   sum a = bias_sum where there is a bias

with f_k = b_k K_k a. Several outputs that share the kernel weights (one-vs-rest) are columns of `targets`, and of a;
so are the classes of a joint loss, which looks at all columns of a sample together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polykern.losses import Loss
from polykern.problems.joint_machine import JointMachineProblem
from polykern.problems.machine import MachineProblem, relative_gap
from polykern.regularizers import Regularizer

if TYPE_CHECKING:
    from polykern.bank import KernelBank

Array = NDArray[np.float64]


class Point(NamedTuple):
    """A primal point f_k = b_k K_k a with its bias; `coef` alone is a dual point too, when it is feasible."""

    coef: Array
    weights: Array
    intercept: Array


class Certificate(NamedTuple):
    """Upper bound, lower bound and relative gap: how far at most a solution is from the optimum."""

    primal: float
    dual: float
    gap: float


@dataclass(frozen=True)
class MKLProblem:
    """One MKL problem: kernels, targets (n, T), loss, regularizer, costs (n, T), bias or none."""

    bank: KernelBank
    targets: Array
    loss: Loss
    regularizer: Regularizer
    costs: Array
    fit_intercept: bool

    def __post_init__(self) -> None:
        shape = (self.bank.n_samples, self.n_outputs)
        for name, values in (("targets", self.targets), ("costs", self.costs)):
            if values.shape != shape:
                raise ValueError(f"{name} has shape {values.shape}, expected (samples, outputs) = {shape}.")
        if self.loss.needs_intercept and not self.fit_intercept:
            raise ValueError(f"fit_intercept is False, but {type(self.loss).__name__} needs a bias: leave it True.")
        if self.loss.joint and self.fit_intercept:
            raise ValueError(f"fit_intercept is True, but {type(self.loss).__name__} has no bias: leave it False.")

    @property
    def n_outputs(self) -> int:
        """T: how many outputs share the kernel weights."""
        return self.targets.shape[1]

    def column(self, output: int) -> MachineProblem:
        """Output number `output` with the weights fixed."""
        return MachineProblem(self.loss, self.targets[:, output], self.costs[:, output], self.fit_intercept)

    def columns(self) -> list[MachineProblem]:
        """Every output with the weights fixed."""
        return [self.column(output) for output in range(self.n_outputs)]

    def parts(self) -> list[tuple[Any, Any]]:
        """(columns, machine problem) of what is solved on its own at fixed weights: every output, or all if joint.

        `columns` is an index of the second axis: a number, for problems on (n,) arrays, or a slice, for (n, c) ones.
        """
        if self.loss.joint:
            return [(slice(None), JointMachineProblem(self.loss, self.targets, self.costs[:, 0]))]
        return list(enumerate(self.columns()))

    # -- the two objectives ----------------------------------------------------------------------------------

    def primal(self, point: Point, *, outputs: Array | None = None, forms: Array | None = None) -> float:
        """Omega(|f_k|) + the losses: an upper bound of the optimum. |f_k|^2 = b_k^2 S_k."""
        outputs = self.outputs(point) if outputs is None else outputs
        norms = point.weights * np.sqrt(np.maximum(self.forms(point.coef) if forms is None else forms, 0.0))
        losses = (part.loss_sum(outputs[:, at], point.intercept[at]) for at, part in self.parts())
        return self.regularizer.value_at(norms, point.weights) + float(sum(losses))

    def dual(self, coef: Array, *, forms: Array | None = None) -> float:
        """-conj(a) - Omega^*(sqrt(S)): a lower bound of the optimum for every feasible a."""
        forms = self.forms(coef) if forms is None else forms
        return -self.conjugate_sum(coef) - self.regularizer.conjugate(np.sqrt(np.maximum(forms, 0.0)))

    def conjugate_sum(self, coef: Array) -> float:
        """conj(a) over all outputs."""
        return float(sum(part.conjugate_sum(coef[:, at]) for at, part in self.parts()))

    def certificate(self, point: Point, dual_coef: Array | None = None) -> Certificate:
        """Bounds at `point`; the lower one from `dual_coef` where another dual point is better than the point's own."""
        primal = self.primal(point)
        dual = self.dual(self.feasible(point.coef if dual_coef is None else dual_coef))
        return Certificate(primal, dual, relative_gap(primal, dual))

    # -- what they are made of -------------------------------------------------------------------------------

    def forms(self, coef: Array) -> Array:
        """S_k = trace(a' K_k a) for every kernel."""
        return self.bank.quad_forms(coef)

    def outputs(self, point: Point) -> Array:
        """(n, T) sum_k b_k K_k a, without the bias."""
        return np.tensordot(point.weights, self.bank.scores(point.coef), 1).reshape(self.targets.shape)

    def feasible(self, coef: Array) -> Array:
        """Dual-feasible point nearest to `coef`, output by output."""
        return np.column_stack([part.feasible(coef[:, at]) for at, part in self.parts()])

    def best_intercept(self, outputs: Array) -> Array:
        """(T,) biases that minimise the losses."""
        return np.hstack([part.best_intercept(outputs[:, at]) for at, part in self.parts()])

    # -- optimality, condition by condition ------------------------------------------------------------------

    def kkt(self, point: Point) -> dict[str, float]:
        """Residuals of the optimality conditions, all >= 0, relative to the primal value; all 0 exactly at an optimum.

        loss      sum of Fenchel-Young residuals: a_i is minus a slope of C_i loss at the output
        weights   Omega(t) + Omega^*(sqrt(S)) - t . sqrt(S), Fenchel-Young too: sqrt(S) is a slope of Omega at the
                  block norms t_k = |f_k| = b_k sqrt(S_k)
        bounds    distance of a from its bounds
        intercept distance of sum a from what a bias demands

        As t . sqrt(S) = b . S is the product of a with the outputs, loss and weights together are the relative gap
        between this point's primal and dual value, where a is feasible.
        """
        outputs, forms = self.outputs(point), self.forms(point.coef)
        scale = max(abs(self.primal(point, outputs=outputs, forms=forms)), 1e-12)
        feasible = self.feasible(point.coef)
        sums = point.coef.sum(axis=0) - self.loss.bias_sum
        return {
            "loss": self._fenchel_young(feasible, outputs + point.intercept) / scale,
            "weights": self._off_slope(point.weights, forms) / scale,
            "bounds": float(np.abs(point.coef - feasible).max()),
            "intercept": float(np.abs(sums).max()) if self.fit_intercept else 0.0,
        }

    def _off_slope(self, weights: Array, forms: Array) -> float:
        """Omega(t) + Omega^*(sqrt(S)) - t . sqrt(S) >= 0, zero where sqrt(S) is a slope of Omega at t."""
        duals = np.sqrt(np.maximum(forms, 0.0))
        norms = weights * duals
        penalty = self.regularizer.value_at(norms, weights)
        return max(0.0, penalty + self.regularizer.conjugate(duals) - float(norms @ duals))

    def _fenchel_young(self, coef: Array, outputs: Array) -> float:
        """sum_i C loss(z_i) + (C loss)^*(-a_i) + a_i z_i >= 0, zero where a_i matches the slope at z_i."""
        zero = np.zeros(self.n_outputs)
        losses = sum(part.losses(outputs[:, at], zero[at]).sum() for at, part in self.parts())
        return max(0.0, float(losses + self.conjugate_sum(coef) + np.vdot(coef, outputs)))


def as_columns(values: Any) -> Array:
    """(n,) or (n, T) values as (n, T)."""
    array = np.asarray(values, dtype=np.float64)
    return array[:, np.newaxis] if array.ndim == 1 else array


__all__ = ["Certificate", "MKLProblem", "Point", "as_columns"]
