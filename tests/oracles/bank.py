"""Slow, obvious banks: every kernel a float64 matrix, normalized by the formulas of the normalizers' names."""

from __future__ import annotations

import numpy as np


def normalized(K, name, new=None, new_diag=None):
    """The training matrix K (n, n) normalized, or the block `new` (m, n) between new and training samples."""
    K = np.asarray(K, dtype=float)
    block = K if new is None else np.asarray(new, dtype=float)
    diag = np.diag(K) if new is None else np.asarray(new_diag, dtype=float)
    train_diag = np.diag(K)
    if name is None:
        return block.copy()
    if name == "mean-diagonal":
        return block / np.mean(np.diag(K))
    if name == "trace":
        return block / np.sum(np.diag(K))
    if name.startswith("center"):
        means, total = K.mean(axis=0), K.mean()
        diag = diag - 2 * block.mean(axis=1) + total
        train_diag = train_diag - 2 * means + total
        block = block - block.mean(axis=1)[:, None] - means[None, :] + total
    if name == "center":
        return block
    return block / np.sqrt(np.outer(diag, train_diag))


class NaiveBank:
    """All kernels as matrices, on the training samples and between new data and them."""

    def __init__(self, kernels, X, normalize):
        self.kernels = [kernel.resolve(X) for kernel in kernels]
        self.X = X
        self.normalize = normalize
        self.raw = [kernel.gram(X) for kernel in self.kernels]
        self.K = np.array([normalized(K, normalize) for K in self.raw])

    def against(self, X):
        """(F, m, n): every kernel between new data and the training samples."""
        blocks = []
        for kernel, raw in zip(self.kernels, self.raw, strict=True):
            new = kernel.gram(X, self.X)
            blocks.append(normalized(raw, self.normalize, new, np.diag(kernel.gram(X))))
        return np.array(blocks)

    def combine(self, weights):
        return sum(w * K for w, K in zip(weights, self.K, strict=True))

    def scores(self, coef):
        return np.array([K @ coef for K in self.K])

    def quad_forms(self, coef):
        columns = np.reshape(coef, (len(coef), -1))
        return np.array([sum(c @ K @ c for c in columns.T) for K in self.K])


def force(monkeypatch, storage):
    """Let the plan keep all kernels on data in one storage."""
    from polykern.bank import plan

    def decide(request, dense, sizes, share):
        if request.shared:
            return plan.Decision(plan.SHARED, 0, "")
        return plan.Decision(storage, 0 if storage == plan.ON_THE_FLY else sizes.matrix, "")

    monkeypatch.setattr(plan, "_decide", decide)
