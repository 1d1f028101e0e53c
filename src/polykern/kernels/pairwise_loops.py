"""Compiled loops of the bases that are not matrix products. Imported on first use, because Numba is heavy.

All add into out (n, m) the terms of left (n, d) against right (d, m), which holds its samples along the last axis:
the innermost loop then runs over neighbours in memory without a sum across them, so it becomes vector instructions
for any number of features.
Columns are taken `width` at a time, so that with many features the tile of `right` stays in the cache.
"""

from __future__ import annotations

import numpy as np

from polykern._jit import jit


@jit
def add_l1(left: np.ndarray, right: np.ndarray, out: np.ndarray, width: int) -> None:
    """out += sum_f |x_f - z_f|."""
    for start in range(0, out.shape[1], width):
        for i in range(left.shape[0]):
            entries = out[i, start : start + width]
            for f in range(left.shape[1]):
                value, others = left[i, f], right[f, start : start + width]
                for j in range(entries.shape[0]):
                    entries[j] += abs(value - others[j])


@jit
def add_chi2(left: np.ndarray, right: np.ndarray, out: np.ndarray, width: int) -> None:
    """out += 1/2 sum_f (x_f - z_f)^2 / (x_f + z_f), with 0/0 = 0."""
    half, zero = out.dtype.type(0.5), out.dtype.type(0.0)
    for start in range(0, out.shape[1], width):
        for i in range(left.shape[0]):
            entries = out[i, start : start + width]
            for f in range(left.shape[1]):
                value, others = left[i, f], right[f, start : start + width]
                for j in range(entries.shape[0]):
                    difference, total = value - others[j], value + others[j]
                    entries[j] += half * difference * difference / total if total > zero else zero


@jit
def add_min(left: np.ndarray, right: np.ndarray, out: np.ndarray, width: int) -> None:
    """out += sum_f min(x_f, z_f)."""
    for start in range(0, out.shape[1], width):
        for i in range(left.shape[0]):
            entries = out[i, start : start + width]
            for f in range(left.shape[1]):
                value, others = left[i, f], right[f, start : start + width]
                for j in range(entries.shape[0]):
                    other = others[j]
                    entries[j] += value if value < other else other
