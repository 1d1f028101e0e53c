"""What training on given kernels cannot beat: one pass of BLAS over the matrices, and one machine on their mean.

T_pass  seconds of  weights @ stack.reshape(F, n * n)  in float32: every entry is read once
T_svc   seconds of scikit-learn's SVC(kernel="precomputed") on the mean kernel, same C, tol = 1e-3
floor   outputs * T_pass + the sum of T_svc over the outputs (one-vs-rest: one output per class)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from common import best_of
from sklearn.svm import SVC


@dataclass(frozen=True)
class Floor:
    """Seconds of one pass and of the machines of all outputs, each the best of several."""

    one_pass: float
    svc: float
    outputs: int

    @property
    def seconds(self) -> float:
        """The floor."""
        return self.outputs * self.one_pass + self.svc

    def better_of(self, other: Floor) -> Floor:
        """The smaller of both, part by part: what disturbed one measurement is not in the other."""
        return Floor(min(self.one_pass, other.one_pass), min(self.svc, other.svc), self.outputs)


def measure_floor(stack: np.ndarray, y: np.ndarray, C: float, clock: Callable[[], float] = time.perf_counter) -> Floor:
    """The floor of training on `stack` (F, n, n) and the labels y."""
    weights = np.random.default_rng(0).random(len(stack)).astype(stack.dtype)
    entries = stack.reshape(len(stack), -1)
    one_pass = _fastest(lambda: weights @ entries, clock)
    mean = np.tensordot(np.full(len(stack), 1 / len(stack), dtype=stack.dtype), stack, 1).astype(np.float64)
    machine = SVC(kernel="precomputed", C=C, tol=1e-3)
    sides = outputs_of(y)
    return Floor(
        one_pass, sum(_fastest(lambda side=side: machine.fit(mean, side), clock) for side in sides), len(sides)
    )


def outputs_of(y: np.ndarray) -> list[np.ndarray]:
    """The binary labels of every output: y itself for two classes, one class against the rest for more."""
    classes = np.unique(y)
    return [y] if len(classes) == 2 else [np.where(y == label, 1, -1) for label in classes]


def _fastest(call: Callable[[], object], clock: Callable[[], float]) -> float:
    """Best of several calls: many where they are quick."""
    first, _ = best_of(call, 2, clock)
    return min(first, best_of(call, int(np.clip(0.3 / max(first, 1e-9), 3, 100)), clock)[0])
