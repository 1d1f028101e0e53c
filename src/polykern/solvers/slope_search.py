"""Search on a segment of weights for the minimum of F, led by the slope that every machine tells for nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polykern.solvers.cuts import CuttingPlanes
from polykern.solvers.run import Evaluation, Run

Array = NDArray[np.float64]

# Machines are solved this much finer than for cutting planes: their values and slopes are compared with each other.
PRECISION = 0.1


class SlopeSearch:
    """Moves along a direction; every machine solved on the way adds a plane."""

    def __init__(self, run: Run, planes: CuttingPlanes, precision: float) -> None:
        self.run = run
        self.planes = planes
        self.precision = precision

    def visit(self, weights: Array, near: Evaluation) -> Evaluation:
        """Solve the machine at `weights`."""
        inside = np.maximum(weights, 0.0)
        evaluation = self.run.evaluate(inside / inside.sum(), near, tol=self.precision * self.run.inner_tol)
        self.planes.add(evaluation)
        return evaluation

    def along(
        self, start: Evaluation, direction: Array, reach: float, *, first: float, most: int, slope_share: float
    ) -> Evaluation:
        """Minimum of F on the segment to start + reach * direction: safeguarded secant (Illinois) on the slope.

        The first look is at the share `first` of the way; `most` machines are solved at most, and the search ends
        where the slope has fallen to `slope_share` of what it was.
        """
        low, high = 0.0, reach
        slope_low = first_slope = float(start.gradient @ direction)
        best, slope_high = start, None
        step = first * reach
        for _ in range(most):
            trial = self.visit(start.weights + step * direction, near=best)
            slope = float(trial.gradient @ direction)
            best = trial if trial.lower < best.lower else best
            ends = slope <= 0 and step >= reach
            if ends or abs(slope) <= slope_share * abs(first_slope) or high - low <= 1e-12 * reach:
                break
            if slope < 0:
                low, slope_low = step, slope
                slope_high = None if slope_high is None else 0.5 * slope_high
            else:
                high, slope_high = step, slope
                slope_low *= 0.5 if low > 0 else 1.0
            step = _between(low, high, slope_low, slope_high)
        return best


def _between(low: float, high: float, slope_low: float, slope_high: float | None) -> float:
    """Where the slope should vanish; in the middle where only one end is known."""
    if slope_high is None or slope_high <= 0 or slope_low >= 0:
        return 0.5 * (low + high)
    secant = low - slope_low * (high - low) / (slope_high - slope_low)
    margin = 0.05 * (high - low)
    return float(np.clip(secant, low + margin, high - margin))
