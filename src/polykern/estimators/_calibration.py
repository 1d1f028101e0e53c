"""Platt's sigmoid: decision values -> probabilities.

J. Platt, "Probabilistic outputs for support vector machines", 1999, with the Newton method of H.-T. Lin, C.-J. Lin and
R. Weng, "A note on Platt's probabilistic outputs", 2007. Given decision values f and signs s, find the
slope a and the offset b of

    P(s = 1 | f) = 1 / (1 + exp(-(a f + b)))

that minimise the weighted cross-entropy against the regularised targets (N+ + 1) / (N+ + 2) and 1 / (N- + 2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

_MAX_NEWTON_STEPS = 100
_MAX_HALVINGS = 30
_RIDGE = 1e-12  # keeps the 2 x 2 system solvable when all decision values are equal


class Sigmoid(NamedTuple):
    """P = 1 / (1 + exp(-(slope * f + intercept)))."""

    slope: float
    intercept: float

    def __call__(self, decision: np.ndarray) -> np.ndarray:
        return expit(self.slope * decision + self.intercept)


def fit_sigmoid(decision: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> Sigmoid:
    """The sigmoid of the decision values that best tells the positive samples, by damped Newton."""
    targets = _regularised_targets(positive, weight)
    # The values are brought to unit size: the answer does not depend on it, the conditioning of the Newton system does.
    size = float(np.sqrt(np.average(decision**2, weights=weight))) or 1.0
    design = np.column_stack([decision / size, np.ones_like(decision)])
    total = weight.sum()
    point = np.array([0.0, _log_odds(np.average(targets, weights=weight))])
    for _ in range(_MAX_NEWTON_STEPS):
        probability = expit(design @ point)
        gradient = design.T @ (weight * (probability - targets))
        if np.abs(gradient).max() <= 1e-10 * total:
            break
        curvature = design.T @ ((weight * probability * (1.0 - probability))[:, None] * design)
        curvature += _RIDGE * total * np.eye(2)
        point = _line_search(design, targets, weight, point, np.linalg.solve(curvature, gradient), gradient)
    return Sigmoid(float(point[0]) / size, float(point[1]))


def _regularised_targets(positive: np.ndarray, weight: np.ndarray) -> np.ndarray:
    n_positive, n_negative = weight[positive].sum(), weight[~positive].sum()
    return np.where(positive, (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (n_negative + 2.0))


def _log_odds(probability: float) -> float:
    return float(np.log(probability / (1.0 - probability)))


def _cross_entropy(design: np.ndarray, targets: np.ndarray, weight: np.ndarray, point: np.ndarray) -> float:
    scores = design @ point
    return float(weight @ (np.logaddexp(0.0, scores) - targets * scores))


def _line_search(
    design: np.ndarray,
    targets: np.ndarray,
    weight: np.ndarray,
    point: np.ndarray,
    direction: np.ndarray,
    gradient: np.ndarray,
) -> np.ndarray:
    here = _cross_entropy(design, targets, weight, point)
    slope = float(gradient @ direction)
    step = 1.0
    for _ in range(_MAX_HALVINGS):
        moved = point - step * direction
        if _cross_entropy(design, targets, weight, moved) <= here - 1e-4 * step * slope:
            return moved
        step /= 2.0
    return point
