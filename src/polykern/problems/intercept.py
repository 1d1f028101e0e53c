"""The bias: one convex problem in one variable, solved exactly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from polykern.losses import Loss

Array = NDArray[np.float64]


def best_intercept(loss: Loss, outputs: Array, y: Array, costs: Array) -> float:
    """argmin_b  sum_i C_i loss(outputs_i + b, y_i) + bias_sum * b.

    Where a whole interval is optimal, its middle: what a support vector machine without free support vectors reports.
    """
    return _smooth(loss, outputs, y, costs) if loss.smooth else _piecewise_linear(loss, outputs, y, costs)


def _piecewise_linear(loss: Loss, outputs: Array, y: Array, costs: Array) -> float:
    """Walk over the kinks in order: one of sample i raises the slope by C_i, the optimum is where the sign changes."""
    kinks = loss.kinks(y) - outputs
    order = np.argsort(kinks, axis=None)
    places = kinks.ravel()[order]
    rises = np.broadcast_to(costs, kinks.shape).ravel()[order]
    leftmost = float(costs @ loss.derivative(np.full_like(outputs, -np.inf), y)) + loss.bias_sum
    slopes = leftmost + np.cumsum(rises)
    negligible = 1e-12 * (float(costs.sum()) + abs(loss.bias_sum))
    first = int(np.argmax(slopes >= -negligible)) if slopes[-1] >= -negligible else len(slopes) - 1
    flat_until = int(np.argmax(slopes > negligible)) if slopes[-1] > negligible else first
    return float(0.5 * (places[first] + places[flat_until]))


def _smooth(loss: Loss, outputs: Array, y: Array, costs: Array) -> float:
    """Newton on the monotone derivative, kept inside a shrinking bracket."""

    def slope(b: float) -> float:
        return float(costs @ loss.derivative(outputs + b, y)) + loss.bias_sum

    low, high = _bracket(slope)
    b = 0.5 * (low + high)
    resolution = 1e-15 * float(costs.sum())
    for _ in range(200):
        value = slope(b)
        if abs(value) <= resolution or not low < high:
            break
        low, high = (b, high) if value < 0 else (low, b)
        curvature = float(costs @ loss.second_derivative(outputs + b, y))
        newton = b - value / curvature if curvature > 0 else low
        following = newton if low < newton < high else 0.5 * (low + high)
        if following == b:
            break
        b = following
    return b


def _bracket(slope: Callable[[float], float], limit: float = 1e12) -> tuple[float, float]:
    """An interval over which an increasing function changes sign (or stays flat up to `limit`)."""
    low, high = -1.0, 1.0
    while slope(low) > 0 and low > -limit:
        low, high = 2.0 * low, low
    while slope(high) < 0 and high < limit:
        low, high = high, 2.0 * high
    return low, high
