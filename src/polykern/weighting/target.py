"""The target kernel: the Gram matrix that the labels themselves would like to see, and its products with kernels.

    two classes     T = y y',  y = -1 / +1
    c classes       T(i, j) = 1 for samples of one class, -1 / (c - 1) for others: the same for c = 2
    real targets    T = yc yc',  yc = y - mean(y)

Centred, every kernel of classes that has one value for pairs of one class and another for the others is a multiple
of this one: scaling the classes matters for products with kernels as they are, not for those of centred kernels.
The target has low rank, and its products need quadratic forms or the entries within classes alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polykern.bank import KernelBank
from polykern.parallel import run_blocks, spans, worth_threads

Array = NDArray[np.float64]

_BLOCK_ENTRIES = 1 << 19  # numbers, of all kernels


def is_regression(y: NDArray[np.generic]) -> bool:
    """Whether the targets are real numbers, not classes 0 .. c - 1."""
    return y.dtype.kind == "f"


def target_products(bank: KernelBank, y: NDArray[np.generic], means: Array) -> Array:
    """(F,) products <K_k, T> of the kernels as they are; `means` are their row means."""
    if is_regression(y):
        return bank.quad_forms(y - y.mean())
    shares = _class_shares(y)
    c = len(shares)
    if c <= 2:
        return bank.quad_forms(np.where(y == 0, -1.0, 1.0))
    totals = bank.n_samples * means.sum(axis=1)
    return np.asarray(c / (c - 1.0) * (_within_classes(bank, y, c) - totals / c))


def centred_target_products(bank: KernelBank, y: NDArray[np.generic], means: Array) -> Array:
    """(F,) products <Kc_k, T> of the centred kernels; `means` are the row means of the kernels as they are.

    With 1_j the samples of class j, and p_j their share,
    <Kc, sum_j 1_j 1_j'> = sum_j (1_j - p_j 1)' K (1_j - p_j 1) = sum_j 1_j' K 1_j - 2 p_j 1' K 1_j + p_j^2 1' K 1.
    """
    if is_regression(y):
        return bank.quad_forms(y - y.mean())
    shares = _class_shares(y)
    c, n = len(shares), bank.n_samples
    if c <= 2:
        signs = np.where(y == 0, -1.0, 1.0)
        return bank.quad_forms(signs - signs.mean())
    columns = n * means @ (y[:, None] == np.arange(c))  # (F, c) 1' K 1_j
    totals = n * means.sum(axis=1)
    centred = _within_classes(bank, y, c) - 2.0 * columns @ shares + totals * (shares @ shares)
    return np.asarray(c / (c - 1.0) * centred)


def _class_shares(y: NDArray[np.generic]) -> Array:
    counts = np.bincount(y)
    return counts / counts.sum()


def _within_classes(bank: KernelBank, y: NDArray[np.generic], n_classes: int) -> Array:
    """(F,) sums of the entries of every kernel over pairs of samples of one class: a share 1 / c of all entries."""
    members = [np.flatnonzero(y == label) for label in range(n_classes)]
    height = [max(1, _BLOCK_ENTRIES // (bank.n_kernels * max(1, len(one)))) for one in members]
    tasks = [(one[span], one) for one, step in zip(members, height, strict=True) for span in spans(len(one), step)]

    def total(task: tuple[NDArray[np.intp], NDArray[np.intp]]) -> Array:
        return np.asarray(bank.blocks(*task).sum(axis=(1, 2), dtype=np.float64))

    work = bank.n_kernels * sum(len(one) ** 2 for one in members)
    return np.asarray(sum(run_blocks(total, tasks, worth_threads(bank.n_jobs, work))))
