"""Twelve RBF widths on one distance matrix, against twelve calls of scikit-learn's rbf_kernel. Prints JSON.

python benchmarks/bench_kernels.py [n_samples] [n_features] [repetitions]
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from polykern.kernels import RBF, base_block
from polykern.parallel import n_threads, run_blocks, spans

N_WIDTHS = 12
GAMMAS = tuple(float(gamma) for gamma in np.geomspace(1e-3, 1.0, N_WIDTHS))
ROWS = 64  # rows per task: a block of distances and of one kernel stay in the cache together


def shared(X: np.ndarray) -> list[np.ndarray]:
    """Twelve kernels (n, n): each block of distances is computed once."""
    kernels = [RBF(gamma) for gamma in GAMMAS]
    matrices = [np.empty((len(X), len(X)), dtype=X.dtype) for _ in kernels]

    def fill(rows: slice) -> None:
        block = base_block("squared_distance", X[rows], X, X.dtype)
        for kernel, matrix in zip(kernels, matrices, strict=True):
            kernel.from_base(block, matrix[rows])

    run_blocks(fill, spans(len(X), ROWS))
    return matrices


def one_by_one(X: np.ndarray) -> list[np.ndarray]:
    """Twelve kernels by twelve Gram matrices of polykern."""
    return [RBF(gamma).gram(X) for gamma in GAMMAS]


def scikit_learn(X: np.ndarray) -> list[np.ndarray]:
    """Twelve kernels by twelve calls of rbf_kernel."""
    return [rbf_kernel(X, gamma=gamma) for gamma in GAMMAS]


def seconds(run: Callable[[np.ndarray], list[np.ndarray]], X: np.ndarray, repetitions: int) -> float:
    """Shortest time of several runs, after one that warms up."""
    times = []
    for _ in range(repetitions + 1):
        start = time.perf_counter()
        run(X)
        times.append(time.perf_counter() - start)
    return min(times[1:])


def measure(n_samples: int = 2000, n_features: int = 16, repetitions: int = 5) -> dict[str, Any]:
    """Seconds of the three ways in float32 and float64, and how many times scikit-learn takes."""
    data = np.random.default_rng(0).normal(size=(n_samples, n_features))
    report: dict[str, Any] = {
        "n_samples": n_samples,
        "n_features": n_features,
        "n_widths": N_WIDTHS,
        "n_threads": n_threads(),
    }
    for dtype in (np.float32, np.float64):
        X = data.astype(dtype)
        times = {run.__name__: seconds(run, X, repetitions) for run in (shared, one_by_one, scikit_learn)}
        ratio = times["scikit_learn"] / times["shared"]
        report[np.dtype(dtype).name] = {**times, "scikit_learn_over_shared": ratio}
    return report


if __name__ == "__main__":
    print(json.dumps(measure(*map(int, sys.argv[1:])), indent=2))
