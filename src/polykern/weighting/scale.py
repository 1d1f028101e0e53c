"""From scores of kernels to weights: the one scale that all two-stage methods share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def to_weights(scores: ArrayLike, null: NDArray[np.bool_]) -> Array:
    """(F,) scores as weights of sum 1: none below 0, and 0 for kernels that are zero (`null`).

    Where no score is above 0 nothing speaks for one kernel more than for another, and all get the same weight.
    """
    weights = np.where(null, 0.0, np.maximum(np.asarray(scores, dtype=np.float64), 0.0))
    if not weights.any():
        weights = np.ones(len(null)) if null.all() else (~null).astype(np.float64)
    return np.asarray(weights / weights.sum())
