"""Base matrices: what kernels of one family share, computed once and turned into many kernels.

Every base is `(X, Z, dtype) -> block` with X (n, d) and Z (m, d) float arrays and block (n, m). They are
single-threaded and safe to call from several threads, one block each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polykern.parallel import spans

_TILE = 1 << 16  # float64 entries per tile: half a megabyte, which stays in the second-level cache


def base_block(name: str, X: np.ndarray, Z: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
    """Block (n, m) of the base matrix `name` between the rows of X and the rows of Z."""
    if name not in BASES:
        raise ValueError(f"base is {name!r}, expected one of {', '.join(sorted(BASES))}.")
    if X.shape[1] != Z.shape[1]:
        raise ValueError(f"X has {X.shape[1]} features and Z has {Z.shape[1]}, expected the same number.")
    return BASES[name](X, Z, np.dtype(dtype))


def dot(X: np.ndarray, Z: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
    """Inner products x . z, by a matrix product in `dtype`."""
    return X.astype(dtype, copy=False) @ Z.astype(dtype, copy=False).T


def squared_distance(X: np.ndarray, Z: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
    """Squared Euclidean distances |x - z|^2.

    From one product in float64, |x|^2 - 2 x . z + |z|^2, after both sides are moved by a common centre: far from the
    origin the three terms would cancel. A single feature is subtracted directly, which is exact. Never negative; zero
    where Z is X.
    """
    out = np.empty((len(X), len(Z)), dtype=dtype)
    fill = _subtracted if X.shape[1] == 1 else _multiplied
    fill(X, Z, out)
    if Z is X:
        np.fill_diagonal(out, 0)
    return out


def _subtracted(X: np.ndarray, Z: np.ndarray, out: np.ndarray) -> None:
    x, z = X[:, 0].astype(np.float64), Z[:, 0].astype(np.float64)
    for rows in _tiles(out):
        tile = np.subtract.outer(x[rows], z)
        np.multiply(tile, tile, out=out[rows], casting="same_kind")


def _multiplied(X: np.ndarray, Z: np.ndarray, out: np.ndarray) -> None:
    centre = Z.mean(axis=0, dtype=np.float64)
    left, right = X - centre, Z - centre
    # |x - z|^2 = (-2x, |x|^2, 1) . (z, 1, |z|^2): the product itself adds the norms.
    left = np.column_stack([-2.0 * left, np.einsum("ij,ij->i", left, left), np.ones(len(X))])
    right = np.column_stack([right, np.ones(len(Z)), np.einsum("ij,ij->i", right, right)]).T
    for rows in _tiles(out):
        np.maximum(left[rows] @ right, 0.0, out=out[rows], casting="same_kind")


def _tiles(out: np.ndarray) -> list[slice]:
    return spans(out.shape[0], max(1, _TILE // max(1, out.shape[1])))


def l1_distance(X: np.ndarray, Z: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
    """City-block distances sum_f |x_f - z_f|, after a common shift so that float32 keeps its digits."""
    from polykern.kernels import pairwise_loops

    centre = Z.mean(axis=0, dtype=np.float64)
    return _looped(pairwise_loops.add_l1, X - centre, Z - centre, dtype)


def chi2_distance(X: np.ndarray, Z: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
    """Chi-squared distances 1/2 sum_f (x_f - z_f)^2 / (x_f + z_f) of non-negative rows; 0/0 counts 0."""
    from polykern.kernels import pairwise_loops

    require_non_negative(X, "chi2_distance")
    require_non_negative(Z, "chi2_distance")
    return _looped(pairwise_loops.add_chi2, X, Z, dtype)


def min_sum(X: np.ndarray, Z: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
    """Histogram intersections sum_f min(x_f, z_f) of non-negative rows."""
    from polykern.kernels import pairwise_loops

    require_non_negative(X, "min_sum")
    require_non_negative(Z, "min_sum")
    return _looped(pairwise_loops.add_min, X, Z, dtype)


def _looped(add: Callable[..., None], X: np.ndarray, Z: np.ndarray, dtype: Any) -> np.ndarray:
    out = np.zeros((len(X), len(Z)), dtype=dtype)
    # Samples along the last axis of `right`: the compiled loops run over them without a stride.
    add(
        np.ascontiguousarray(X, dtype=dtype),
        np.ascontiguousarray(Z.T, dtype=dtype),
        out,
        max(256, _TILE // max(1, X.shape[1])),
    )
    return out


def require_non_negative(X: np.ndarray, owner: str) -> None:
    """Raise unless all features are >= 0."""
    if X.size and X.min() < 0:
        row, column = np.unravel_index(int(np.argmin(X)), X.shape)
        raise ValueError(
            f"{owner} needs features >= 0, but feature {column} is {X[row, column]:.6g} in row {row}: "
            "it compares histograms; shift or scale the features to be >= 0."
        )


def cosine(X: np.ndarray, Z: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
    """Cosines x . z / (|x| |z|); a row of zeros has no direction and its cosines are 0, also with itself."""
    return dot(directions(X), directions(Z), dtype)


def directions(X: np.ndarray) -> np.ndarray:
    """Rows scaled to length 1 in float64; rows of zeros stay zero."""
    largest = np.abs(X).max(axis=1, initial=0.0, keepdims=True).astype(np.float64)
    scaled = np.divide(
        X, largest, out=np.zeros(X.shape), where=largest > 0
    )  # so that squares neither overflow nor vanish
    length = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]
    return np.divide(scaled, length, out=scaled, where=length > 0)


BASES: dict[str, Callable[..., np.ndarray]] = {
    "dot": dot,
    "squared_distance": squared_distance,
    "l1_distance": l1_distance,
    "chi2_distance": chi2_distance,
    "min_sum": min_sum,
    "cosine": cosine,
}
