"""A product of simplices: every kernel belongs to one of them, the weights of each sum to one."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from polykern.regularizers.power import norm_of, project_on_simplex

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


class Domain(Protocol):
    """Where the points of a model lie: easy to project on."""

    @property
    def members(self) -> list[Indices]:
        """Positions of the kernels whose weights sum to one, a list for each such sum."""

    def normalised(self, point: Array) -> Array:
        """`point` >= 0 scaled to be inside."""

    def project(self, point: Array) -> Array:
        """The nearest point."""

    def centred(self, rows: Array, columns: NDArray[np.bool_]) -> Array:
        """The chosen columns of `rows`, less what does not move inside the domain."""


class Orthant:
    """b >= 0; points are scaled to |b|_q <= 1, which planes have to see to."""

    members: list[Indices] = []

    def __init__(self, q: float) -> None:
        self.q = q

    def normalised(self, point: Array) -> Array:
        return point / max(1.0, norm_of(point, self.q))

    def project(self, point: Array) -> Array:
        return np.maximum(point, 0.0)

    def centred(self, rows: Array, columns: NDArray[np.bool_]) -> Array:
        return rows[:, columns]


class Simplices:
    """`simplex_of[k]` is the number of the simplex of kernel k: 0, 1, .., none of them empty."""

    def __init__(self, simplex_of: Indices) -> None:
        self.simplex_of = simplex_of
        self.n_simplices = int(simplex_of.max()) + 1

    @classmethod
    def one(cls, n_kernels: int) -> Simplices:
        """The simplex."""
        return cls(np.zeros(n_kernels, dtype=np.intp))

    @cached_property
    def members(self) -> list[Indices]:
        """Positions of the kernels of each simplex."""
        order = np.argsort(self.simplex_of, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.simplex_of))[:-1])

    @property
    def largest_size(self) -> int:
        """n_max: kernels in the largest simplex."""
        return int(np.bincount(self.simplex_of).max())

    def sums(self, values: Array) -> Array:
        """Sum of the values over each simplex."""
        return np.asarray(np.bincount(self.simplex_of, weights=values), dtype=np.float64)

    def center(self) -> Array:
        """Equal shares within each simplex."""
        return np.asarray(1.0 / np.bincount(self.simplex_of)[self.simplex_of])

    def normalised(self, point: Array) -> Array:
        """`point` >= 0 scaled to sum to one over each simplex; equal shares where all are zero."""
        sums = self.sums(point)
        if not sums.all():
            point = np.where(sums[self.simplex_of] > 0, point, 1.0)
            sums = self.sums(point)
        return point / sums[self.simplex_of]

    def project(self, point: Array) -> Array:
        """The nearest point of the product."""
        if self.n_simplices == 1:
            return project_on_simplex(point)
        projected = np.empty_like(point)
        for members in self.members:
            projected[members] = project_on_simplex(point[members])
        return projected

    def centred(self, rows: Array, columns: NDArray[np.bool_]) -> Array:
        """The chosen columns of `rows`, less their mean over each simplex: what moves inside the product."""
        used = rows[:, columns]
        if self.n_simplices == 1:
            return np.asarray(used - used.mean(axis=1, keepdims=True))
        simplex_of = self.simplex_of[columns]
        sums = np.zeros((self.n_simplices, len(rows)))
        np.add.at(sums, simplex_of, used.T)
        counts = np.maximum(np.bincount(simplex_of, minlength=self.n_simplices), 1)
        return np.asarray(used - (sums / counts[:, np.newaxis])[simplex_of].T)

    def exponential_step(self, point: Array, step: Array, least: float) -> Array:
        """point * exp(step), normalised: the mirror step of the entropy. Below `least` shares are zero."""
        logarithms = np.log(np.maximum(point, least)) + step
        largest = np.full(self.n_simplices, -np.inf)
        np.maximum.at(largest, self.simplex_of, logarithms)
        moved = self.normalised(np.exp(logarithms - largest[self.simplex_of]))
        return self.normalised(np.where(moved < least, 0.0, moved))
