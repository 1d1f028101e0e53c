"""Dual points with the products between them: what a curved model of the objective is made of.

Of the points a_1 .. a_m it keeps  gains_s = -conj(a_s)  and  P_k[s, t] = a_s' K_k a_t. For weights b the model is

    F_m(b) = max over theta >= 0, sum theta = 1  of   gains . theta - 1/2 sum_k b_k theta' P_k theta   <=  F(b)

Everything here is divided by the size of the first objective, for numbers near one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polykern.problems.mkl import MKLProblem
from polykern.solvers.best_mixture import Mixture, best_mixture
from polykern.solvers.run import Evaluation

Array = NDArray[np.float64]

MOST_POINTS = 40


class Plane(NamedTuple):
    """height + slope . b is at most F(b)."""

    height: float
    slope: Array


class DualPoints:
    """The points, their gains and products; one pass over the kernels for each point that is added."""

    def __init__(self, problem: MKLProblem, scale: float) -> None:
        self.problem, self.scale = problem, max(abs(scale), 1e-12)
        self.coefs: list[Array] = []
        self.gains = np.empty(0)
        self.products = np.empty((problem.bank.n_kernels, 0, 0))
        self.shares = np.empty(0)
        self.planes: list[Plane] = []

    def add(self, evaluation: Evaluation) -> None:
        """One more point; where there are too many, the one that the mixture uses least leaves."""
        if len(self.coefs) >= MOST_POINTS:
            self._drop(int(np.argmin(self.shares)))
        # A new list: who was told how to mix the points keeps the old one.
        self.coefs = [*self.coefs, evaluation.coef]
        given = evaluation.scores
        scores = self.problem.bank.scores(evaluation.coef) if given is None else given
        scores = scores.reshape(len(self.products), -1)
        row = scores @ np.column_stack([coef.ravel() for coef in self.coefs]) / self.scale
        m = len(self.coefs)
        larger = np.empty((len(row), m, m))
        larger[:, :-1, :-1], larger[:, -1, :], larger[:, :, -1] = self.products, row, row
        self.products = larger
        self.gains = np.append(self.gains, -evaluation.conjugate / self.scale)
        self.shares = np.append(self.shares, 1.0 if m == 1 else 0.0)

    def _drop(self, place: int) -> None:
        """Forget a point. The planes hold for F all the same, but may be above all that is known without it: no b would
        be below a level that the others set, and its search long and in vain."""
        keep = np.delete(np.arange(len(self.coefs)), place)
        self.coefs = [self.coefs[i] for i in keep]
        self.gains, self.shares = self.gains[keep], self.shares[keep] / max(self.shares[keep].sum(), 1e-300)
        self.products = self.products[:, keep][:, :, keep]
        self.planes = []

    def mix(self, tol: float) -> Mixture:
        """The best mixture for the weights that are worst for it: where the model is least, and how low that is."""
        found = best_mixture(self.products, self.gains, self.shares, tol)
        self.shares = found.shares
        return found

    def mix_at(self, weights: Array, tol: float) -> Mixture:
        """The best mixture at these weights; its bound is the model's value there."""
        combined = np.tensordot(weights, self.products, 1)[np.newaxis]
        return best_mixture(combined, self.gains, self.shares, tol)

    def plane(self, shares: Array) -> Plane:
        """The plane that a mixture proves."""
        forms = (self.products @ shares) @ shares
        return Plane(float(self.gains @ shares), -0.5 * forms)

    def coef(self, shares: Array) -> Callable[[], Array]:
        """What makes the mixed dual point (n, T): of the points of now, whatever leaves or comes later."""
        coefs = self.coefs
        return lambda: np.asarray(sum(share * coef for share, coef in zip(shares, coefs, strict=True)))
