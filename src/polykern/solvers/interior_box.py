"""The dual variables of an interior-point method: between their bounds, with a multiplier for each bound.

    minimise conj(a) over lower <= a <= upper, seen from one Newton step of the whole problem:

    conj'(a) - z_lower + z_upper = -(outputs + bias)        z_lower (a - lower) = mu,  z_upper (upper - a) = mu

A loss with a kink at a = 0 (epsilon-insensitive) has two variables per sample, a = v_1 - v_2 with v >= 0 and cost kink
each. Whatever the loss, elimination leaves one equation per sample for the step of a,

    stiffness * da + (change of outputs + bias) = pull
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polykern.losses import Loss

Array = NDArray[np.float64]


@dataclass
class Side:
    """Variables v with a = sum of sign * v, and their bounds; infinite ones have no multiplier."""

    sign: float
    kink: float
    value: Array
    lower: Array
    upper: Array
    z_lower: Array
    z_upper: Array
    step: Array
    step_lower: Array
    step_upper: Array

    @classmethod
    def at(cls, value: Array, lower: Array, upper: Array, sign: float, kink: float) -> Side:
        nothing = np.zeros_like(value)
        return cls(sign, kink, value, lower, upper, *(nothing.copy() for _ in range(5)))

    @property
    def room_below(self) -> Array:
        return self.value - self.lower

    @property
    def room_above(self) -> Array:
        return self.upper - self.value

    def start_multipliers(self, force: Array, least: float) -> None:
        """Multipliers of which the smaller is `least` and that balance `force` = sign * (outputs + bias) + cost."""
        below, above = np.isfinite(self.lower), np.isfinite(self.upper)
        self.z_lower = np.where(below, np.maximum(force, 0.0) + least, 0.0)
        self.z_upper = np.where(above, np.maximum(-force, 0.0) + least, 0.0)

    @property
    def n_bounds(self) -> int:
        return int(np.isfinite(self.lower).sum() + np.isfinite(self.upper).sum())


class DualBox:
    """All dual variables of one problem (flat), with their multipliers and the last step computed for them."""

    def __init__(self, loss: Loss, y: Array, costs: Array, start: Array, inside: float) -> None:
        self.loss, self.y, self.costs = loss, y, costs
        lower, upper = (np.array(b, dtype=np.float64) for b in loss.dual_bounds(y, costs))
        kink = 0.0 if loss.smooth else loss.linear_form(y)[1]
        if kink:
            zero = np.zeros_like(lower)
            self.sides = [
                Side.at(_inside(np.maximum(start, 0.0), zero, upper, inside), zero, upper, 1.0, kink),
                Side.at(_inside(np.maximum(-start, 0.0), zero, -lower, inside), zero, -lower, -1.0, kink),
            ]
        else:
            self.sides = [Side.at(_inside(start, lower, upper, inside), lower, upper, 1.0, 0.0)]

    @property
    def coef(self) -> Array:
        """a."""
        return np.asarray(sum(side.sign * side.value for side in self.sides))

    @property
    def n_bounds(self) -> int:
        return sum(side.n_bounds for side in self.sides)

    @property
    def has_room(self) -> bool:
        """Every variable is strictly inside its bounds: rounding has not put one on them."""
        return all(bool(np.all(side.room_below > 0) and np.all(side.room_above > 0)) for side in self.sides)

    def complementarity(self, length: float = 0.0) -> float:
        """Sum of all products of multipliers and rooms, after a step of this length."""
        total = 0.0
        for s in self.sides:
            total += _finite_dot(s.z_lower + length * s.step_lower, s.room_below + length * s.step)
            total += _finite_dot(s.z_upper + length * s.step_upper, s.room_above - length * s.step)
        return total

    def start_multipliers(self, outputs: Array, share: float) -> None:
        """Multipliers with which the stationarity conditions hold at once."""
        forces = [self._force(side, outputs) for side in self.sides]
        least = share * max(float(np.mean(np.abs(np.concatenate(forces)))), 1e-3 * float(np.abs(self.y).max()), 1e-12)
        for side, force in zip(self.sides, forces, strict=True):
            side.start_multipliers(force, least)

    def _force(self, side: Side, outputs: Array) -> Array:
        """sign * (outputs + bias) + derivative of the cost of this side."""
        cost = -self.loss.conjugate_slope(-self.coef / self.costs, self.y) if not side.kink else -self.y
        return np.asarray(side.sign * (outputs + cost) + side.kink)

    def linearise(self, outputs: Array, target: float, corrected: bool) -> tuple[Array, Array]:
        """(stiffness, pull) at outputs + bias, for products of multipliers and rooms that go to `target`.

        `corrected` takes the second-order term of the step before (Mehrotra's predictor) into account.
        """
        curvature = self.loss.conjugate_curvature(-self.coef / self.costs, self.y) / self.costs
        softness, drive = np.zeros_like(outputs), np.zeros_like(outputs)
        self._rows = []
        for s in self.sides:
            below, above = 1.0 / s.room_below, 1.0 / s.room_above
            second_order = (s.step_lower * s.step, -s.step_upper * s.step) if corrected else (0.0, 0.0)
            c_lower = (target - second_order[0]) * below - s.z_lower
            c_upper = (target - second_order[1]) * above - s.z_upper
            stiffness = s.z_lower * below + s.z_upper * above + (0.0 if s.kink else curvature)
            residual = -(self._force(s, outputs) - s.z_lower + s.z_upper) + c_lower - c_upper
            self._rows.append((stiffness, residual, c_lower, c_upper, below, above))
            softness += 1.0 / stiffness
            drive += s.sign * residual / stiffness
        return 1.0 / softness, drive / softness

    def set_step(self, change: Array) -> None:
        """The steps of all variables where outputs + bias change by `change`."""
        for s, (stiffness, residual, c_lower, c_upper, below, above) in zip(self.sides, self._rows, strict=True):
            s.step = (residual - s.sign * change) / stiffness
            s.step_lower = c_lower - s.z_lower * s.step * below
            s.step_upper = c_upper + s.z_upper * s.step * above

    def longest_step(self) -> float:
        """How far the step may go until a room or a multiplier reaches zero."""
        pairs = [
            pair
            for s in self.sides
            for pair in (
                (s.room_below, s.step),
                (s.room_above, -s.step),
                (s.z_lower, s.step_lower),
                (s.z_upper, s.step_upper),
            )
        ]
        return min(longest(values, steps) for values, steps in pairs)

    def move(self, length: float) -> None:
        for s in self.sides:
            s.value = s.value + length * s.step
            s.z_lower = s.z_lower + length * s.step_lower
            s.z_upper = s.z_upper + length * s.step_upper

    def snapped(self) -> Array:
        """a with every variable on its bound that is headed there: its multiplier, as such go, outweighs its room."""
        coef = np.zeros_like(self.y)
        for s in self.sides:
            size = float(np.mean(s.z_lower + s.z_upper)) + 1e-300
            span = np.where(np.isfinite(s.upper - s.lower), s.upper - s.lower, np.abs(s.value) + 1e-300)
            low, high = s.room_below / span < s.z_lower / size, s.room_above / span < s.z_upper / size
            coef += s.sign * np.where(low, s.lower, np.where(high, s.upper, s.value))
        return coef


def longest(values: Array, steps: Array) -> float:
    """Largest length with values + length * steps >= 0; may be infinite."""
    falling = steps < 0
    return float(np.min(values[falling] / -steps[falling], initial=np.inf))


def _inside(value: Array, lower: Array, upper: Array, share: float) -> Array:
    """`value` moved inside the bounds by at least `share` of the way between them."""
    width = upper - lower
    margin = np.where(np.isfinite(width), share * width, share * max(float(np.abs(value).mean()), 1e-12))
    low = np.where(np.isfinite(lower), lower + margin, -np.inf)
    high = np.where(np.isfinite(upper), upper - margin, np.inf)
    return np.clip(value, low, high)


def _finite_dot(multipliers: Array, rooms: Array) -> float:
    return float(np.dot(multipliers, np.where(np.isfinite(rooms), rooms, 0.0)))
