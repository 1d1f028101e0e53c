"""Projection on the level set of a cutting-plane model: a small quadratic program, solved in its few multipliers.

    min_b  1/2 |b - center|^2    subject to  b in the domain,  slopes_t . b <= limits_t  for every plane t

The domain is the simplex, or a product of simplices. For multipliers m >= 0 the best b is the projection of
center - slopes' m  on it, so the dual is a concave, piecewise quadratic function of as many variables as there are
planes: projected semismooth Newton, a few steps of cost planes x kernels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polykern.regularizers.simplices import Domain, Simplices

Array = NDArray[np.float64]

_MOST_STEPS = 100
_MOST_HALVINGS = 60  # from a Newton step as long as 1 / _RIDGE to one that any curvature bears
_RIDGE = 1e-13  # where the kernels in use cannot tell two planes apart; the curvature of a whole plane is 1
_SLACK = 1e-9  # violation of a plane, in units of its slope, that is taken as none


class _Place(NamedTuple):
    """Multipliers, the b that they stand for, how far each plane is above its limit there, and the dual value."""

    multipliers: Array
    point: Array
    excess: Array
    value: float

    @property
    def moving(self) -> NDArray[np.bool_]:
        """Planes whose multipliers are positive or want to be."""
        return (self.multipliers > 0) | (self.excess > _SLACK)

    @property
    def residual(self) -> float:
        """Zero exactly at the solution: planes above their limit, and used planes off it."""
        return float(np.max(np.where(self.multipliers > 0, np.abs(self.excess), self.excess)))


class _Dual(NamedTuple):
    """The projection seen from its multipliers; planes have slope 1."""

    center: Array
    planes: Array
    bounds: Array
    domain: Domain

    def at(self, multipliers: Array) -> _Place:
        point = self.domain.project(self.center - multipliers @ self.planes)
        excess = self.planes @ point - self.bounds
        value = 0.5 * float(np.sum((point - self.center) ** 2)) + float(multipliers @ excess)
        return _Place(multipliers, point, excess, value)

    def newton_step(self, here: _Place) -> _Place:
        """Along the Newton direction, cut back until the dual rises; `here` if it never does."""
        direction = np.zeros_like(here.multipliers)
        direction[here.moving] = np.linalg.solve(self._curvature(here), here.excess[here.moving])
        for halving in range(_MOST_HALVINGS):
            there = self.at(np.maximum(here.multipliers + 0.5**halving * direction, 0.0))
            promised = float(here.excess @ (there.multipliers - here.multipliers))
            if there.value - here.value >= max(1e-4 * promised, 1e-300):
                return there
        return here

    def _curvature(self, here: _Place) -> Array:
        """Minus the dual's Hessian at the moving multipliers: only kernels with weight move with them."""
        centred = self.domain.centred(self.planes[here.moving], here.point > 0)
        curvature = centred @ centred.T
        curvature[np.diag_indices(len(curvature))] += _RIDGE
        return curvature


def project_on_level_set(
    center: Array, slopes: Array, limits: Array, start: Array | None = None, domain: Domain | None = None
) -> tuple[Array, Array]:
    """The nearest point of the level set, and its multipliers: a start for the next projection, on more planes."""
    sizes = np.maximum(np.linalg.norm(slopes, axis=1), 1e-300)
    domain = Simplices.one(len(center)) if domain is None else domain
    dual = _Dual(center, slopes / sizes[:, np.newaxis], limits / sizes, domain)
    multipliers = np.zeros(len(sizes))
    if start is not None:
        multipliers[: len(start)] = start * sizes[: len(start)]
    here = dual.at(multipliers)
    for _ in range(_MOST_STEPS):
        if here.residual <= _SLACK:
            break
        there = dual.newton_step(here)
        if there is here:
            break
        here = there
    return here.point, here.multipliers / sizes
