"""Widths read off the data: the rules behind gamma="scale", "mean" and "median"."""

from __future__ import annotations

import numpy as np

from polykern.kernels.pairwise import base_block

_MAX_ROWS = 2000  # pairs are taken among this many rows at most
_SEED = 0  # the same data give the same width, always


def gamma_from(rule: str, X: np.ndarray, base: str) -> float:
    """1 / (typical distance of the rows of X) by `rule`; 1 where all rows are equal."""
    typical = {"scale": _total_variance, "mean": _mean, "median": _median}[rule](X, base)
    return 1.0 / typical if typical > 0 else 1.0


def _total_variance(X: np.ndarray, base: str) -> float:
    """d * variance of all entries of X, as scikit-learn has it."""
    return float(X.shape[1] * X.var(dtype=np.float64)) if X.size else 0.0


def _mean(X: np.ndarray, base: str) -> float:
    """Mean distance over pairs i < j: in closed form where there is one, otherwise over a sample of rows."""
    if len(X) < 2:
        return 0.0
    if base == "squared_distance":
        return float(2.0 * X.var(axis=0, ddof=1, dtype=np.float64).sum())
    if base == "l1_distance":
        return _mean_l1(X)
    return float(_pairs(X, base).mean())


def _mean_l1(X: np.ndarray) -> float:
    """sum_{i<j} |x_i - x_j| = sum_k (2k - n + 1) x_(k) over the sorted values of each feature."""
    n = len(X)
    signs = 2.0 * np.arange(n) - n + 1.0
    return float((signs @ np.sort(X, axis=0)).sum() / (0.5 * n * (n - 1)))


def _median(X: np.ndarray, base: str) -> float:
    """Median distance over pairs i < j; over the pairs that differ where more than half of all pairs are equal."""
    if len(X) < 2:
        return 0.0
    distances = _pairs(X, base)
    median = float(np.median(distances))
    differing = distances[distances > 0]
    return median if median > 0 or differing.size == 0 else float(np.median(differing))


def _pairs(X: np.ndarray, base: str) -> np.ndarray:
    if len(X) > _MAX_ROWS:
        X = X[np.sort(np.random.default_rng(_SEED).choice(len(X), _MAX_ROWS, replace=False))]
    return base_block(base, X, X)[np.triu_indices(len(X), 1)]
