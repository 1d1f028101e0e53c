"""Checks of what is passed to a bank, with the sentences users read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def checked_weights(weights: ArrayLike, n_kernels: int) -> NDArray[np.float64]:
    """Weights (F,) as float64, one per kernel."""
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (n_kernels,):
        raise ValueError(f"weights has shape {given.shape}, expected ({n_kernels},): one number per kernel.")
    if not np.isfinite(given).all():
        k = int(np.flatnonzero(~np.isfinite(given))[0])
        raise ValueError(f"weights holds {given[k]} at position {k}, expected finite numbers.")
    return given


def checked_coef(coef: ArrayLike, n_samples: int) -> NDArray[np.float64]:
    """Coefficients (n,) or (n, T) as float64."""
    given = np.asarray(coef, dtype=np.float64)
    if given.ndim not in (1, 2) or given.shape[0] != n_samples:
        raise ValueError(f"coef has shape {given.shape}, expected ({n_samples},) or ({n_samples}, T).")
    if not np.isfinite(given).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(given))[0])
        raise ValueError(f"coef holds {given[where]} at {where}, expected finite numbers.")
    return given


def checked_out(out: NDArray[Any] | None, n_samples: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The array to write the combined matrix into."""
    if out is None:
        return np.empty((n_samples, n_samples), dtype=dtype)
    if out.shape != (n_samples, n_samples) or out.dtype != dtype:
        raise ValueError(f"out is {out.shape} of {out.dtype}, expected {(n_samples, n_samples)} of {dtype}.")
    return out


def checked_dtype(dtype: Any) -> np.dtype[Any]:
    """float32 or float64."""
    try:
        given = np.dtype(dtype)
    except TypeError:
        given = None
    if given not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype is {dtype!r}, expected 'float32' or 'float64'.")
    return given
