"""The multi-class kernel margin in plain loops, and its largest value as the linear program that the paper prints."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog


def differences_by_loops(kernels, y):
    """(F, n, c): eta_k(x_i, y_i, y), zero for the own class."""
    y = np.asarray(y)
    n_classes = y.max() + 1
    eta = np.zeros((len(kernels), len(y), n_classes))
    for k, K in enumerate(kernels):
        for i in range(len(y)):
            own = np.mean([K[i, j] for j in range(len(y)) if y[j] == y[i]])
            for other in range(n_classes):
                eta[k, i, other] = own - np.mean([K[i, j] for j in range(len(y)) if y[j] == other])
    return eta


def margins_by_loops(eta, y, weights):
    """(n,): min over the other classes of weights . eta."""
    mixed = np.tensordot(weights, eta, 1)
    return np.array([min(mixed[i, c] for c in range(eta.shape[2]) if c != y[i]) for i in range(len(y))])


def largest_margin(eta, y, objective="mean"):
    """(value, weights): problem (5) of the M3K paper on the simplex, all m (c - 1) rows written out."""
    n_kernels, n, n_classes = eta.shape
    n_levels = n if objective == "mean" else 1
    rows = []
    for i in range(n):
        for other in set(range(n_classes)) - {int(y[i])}:
            level = np.zeros(n_levels)
            level[i if objective == "mean" else 0] = 1.0
            rows.append(np.concatenate([-eta[:, i, other], level]))
    cost = np.concatenate([np.zeros(n_kernels), np.full(n_levels, -1.0 / n_levels)])
    total = np.concatenate([np.ones(n_kernels), np.zeros(n_levels)])[np.newaxis]
    bounds = [(0, None)] * n_kernels + [(None, None)] * n_levels
    solution = linprog(cost, np.array(rows), np.zeros(len(rows)), total, [1.0], bounds, method="highs")
    assert solution.status == 0
    return -solution.fun, solution.x[:n_kernels]
