"""Multiple kernel learning written down directly for cvxpy: slow, obvious, independent of the library."""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np


def factor(K):
    """L with L L' = K, for any positive semidefinite K."""
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    kept = values > 1e-12 * max(values.max(), 1e-300)
    return vectors[:, kept] * np.sqrt(values[kept])


def loss_expression(name, f, y, *, sigma=10.0, epsilon=0.1):
    """The elementwise loss as a cvxpy expression."""
    margins = cp.multiply(y, f)
    return {
        "hinge": lambda: cp.pos(1 - margins),
        "squared_hinge": lambda: cp.square(cp.pos(1 - margins)),
        "smooth_hinge": lambda: cp.logistic(sigma * (1 - margins)) / sigma,
        "logistic": lambda: cp.logistic(-margins),
        "squared": lambda: cp.square(f - y),
        "epsilon_insensitive": lambda: cp.pos(cp.abs(f - y) - epsilon),
        "one_class": lambda: cp.pos(-f),
    }[name]()


def omega(t, r):
    """1/2 |t|_r^2 of a vector of non-negative expressions."""
    if r == 1:
        return 0.5 * cp.square(cp.sum(t))
    if r == 2:
        return 0.5 * cp.sum_squares(t)
    return 0.5 * cp.square(cp.pnorm(t, r, approx=False))


def omega_of_groups(t, group_of, q):
    """1/2 [ sum_j (sum of t_k over group j)^{2q} ]^{1/q}."""
    sums = cp.hstack([sum(t[k] for k in np.flatnonzero(np.equal(group_of, j))) for j in sorted(set(group_of))])
    size = cp.max(sums) if np.isinf(q) else cp.pnorm(sums, 2 * q, approx=False)
    return 0.5 * cp.square(size)


def solve_mkl(kernels, Y, costs, loss, r, *, group_of=None, l1=0.0, intercept=True, **parameters):
    """Optimal value of min 1/2 | |f_k| |_r^2 + sum C loss(f + bias, y), outputs as columns of Y sharing the norms.

    With `group_of`, the group of every kernel, r is the q of VSKL and CKL; `l1` adds that much of the sum of the norms.
    """
    Y, costs = np.atleast_2d(Y.T).T, np.atleast_2d(costs.T).T
    factors = [factor(K) for K in kernels]
    W = [cp.Variable((L.shape[1], Y.shape[1])) for L in factors]
    t = cp.Variable(len(kernels), nonneg=True)
    bias = cp.Variable(Y.shape[1])
    total = 0
    if loss == "multiclass":
        F = sum(L @ w for L, w in zip(factors, W, strict=True))
        total, intercept = costs[:, 0] @ (cp.max(F + 1 - Y, axis=1) - cp.sum(cp.multiply(Y, F), axis=1)), False
    for c in range(Y.shape[1] if loss != "multiclass" else 0):
        f = sum(L @ w[:, c] for L, w in zip(factors, W, strict=True)) + (bias[c] if intercept else 0)
        total += costs[:, c] @ loss_expression(loss, f, Y[:, c], **parameters)
    if loss == "one_class":
        total += cp.sum(bias)
    constraints = [cp.norm(w, "fro") <= t[k] for k, w in enumerate(W)]
    penalty = omega(t, r) if group_of is None else omega_of_groups(t, group_of, r)
    problem = cp.Problem(cp.Minimize(penalty + l1 * cp.sum(t) + total), constraints)
    return optimal_value(problem)


def optimal_value(problem):
    """The optimum; from the first of several ways that ends "optimal" and not "optimal_inaccurate"."""
    ways = ({"solver": cp.CLARABEL, "use_quad_obj": False}, {"solver": cp.CLARABEL}, {"solver": cp.SCS, "eps": 1e-9})
    for way in ways:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            value = problem.solve(**way)
        if problem.status == cp.OPTIMAL:
            return value
    raise AssertionError(f"cvxpy ends {problem.status}")
