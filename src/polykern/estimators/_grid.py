"""Grids of C and of p, and the order in which neighbours on them are solved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

# Where a grid that is given as a number of points begins and ends; kernels have mean diagonal 1 by default.
LEAST_C, MOST_C = 1e-2, 1e3


def costs_of(Cs: Any) -> np.ndarray:
    """The values of C that `Cs` asks for: so many, evenly spaced by logarithm, or those that are listed."""
    if isinstance(Cs, Integral) and not isinstance(Cs, bool):
        if int(Cs) < 1:
            raise ValueError(f"Cs is {Cs!r}, expected a number of values of at least 1, or a list of them.")
        return np.geomspace(LEAST_C, MOST_C, int(Cs)) if int(Cs) > 1 else np.ones(1)
    values = _numbers("Cs", Cs, "a number of values such as 10, or a list of them such as [0.1, 1.0, 10.0]")
    wrong = values[~((values > 0) & np.isfinite(values))]
    if len(wrong):
        raise ValueError(f"Cs holds {wrong[0]:g}, expected finite numbers above 0: they are costs of the losses.")
    return values


def norms_of(ps: Any) -> np.ndarray:
    """The norms of the kernel weights that `ps` lists."""
    values = _numbers("ps", ps, "a list of norms of the kernel weights such as (1.0, 2.0)")
    wrong = values[~(values >= 1)]
    if len(wrong):
        raise ValueError(f"ps holds {wrong[0]:g}, expected numbers >= 1: 1 keeps few kernels, inf is their plain sum.")
    return values


def _numbers(name: str, given: Any, expected: str) -> np.ndarray:
    """`given` as (n,) different numbers, at least one."""
    values = [given] if isinstance(given, Real) and not isinstance(given, bool) else given
    listed = None if isinstance(values, str) or not np.iterable(values) else list(values)
    if listed is None or not all(isinstance(value, Real) and not isinstance(value, bool) for value in listed):
        raise TypeError(f"{name} is {given!r}, expected {expected}.")
    numbers = np.array(listed, dtype=np.float64)
    if not len(numbers) or np.isnan(numbers).any() or len(np.unique(numbers)) < len(numbers):
        raise ValueError(f"{name} is {given!r}, expected {expected}: at least one number, and none twice.")
    return numbers


@dataclass(frozen=True)
class Point:
    """One C with one p."""

    C: float
    p: float


@dataclass(frozen=True)
class Step:
    """Point number `here`, solved after point number `before` (None for the first), which was its neighbour."""

    here: int
    before: int | None
    ratio: float  # of the costs


@dataclass(frozen=True)
class Grid:
    """Every C with every p, in the order of scikit-learn's ParameterGrid: p changes first."""

    costs: np.ndarray
    norms: np.ndarray

    @property
    def points(self) -> list[Point]:
        """Point i of every array of results."""
        return [Point(float(C), float(p)) for C in self.costs for p in self.norms]

    def way(self) -> Iterator[Step]:
        """From small C to large, where coefficients grow; from large p to small, where kernels drop out."""
        points = self.points
        first_of_p: int | None = None
        for column in np.argsort(-self.norms, kind="stable"):
            before = first_of_p
            for row in np.argsort(self.costs, kind="stable"):
                here = int(row * len(self.norms) + column)
                yield Step(here, before, 1.0 if before is None else points[here].C / points[before].C)
                first_of_p = here if row == np.argmin(self.costs) else first_of_p
                before = here
