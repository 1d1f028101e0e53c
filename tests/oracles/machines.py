"""Kernel machines with fixed weights, solved slowly and obviously."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from oracles.mkl_cvxpy import factor
from polykern import losses
from polykern.problems.machine import MachineProblem


def random_kernel(n, rank, seed, dtype=np.float64):
    """A positive semidefinite (n, n) matrix of the given rank with diagonal around 1."""
    points = np.random.default_rng(seed).normal(size=(n, rank))
    K = points @ points.T / rank
    return np.ascontiguousarray(0.5 * (K + K.T), dtype=dtype)


def rbf_kernel(n, seed, gamma=0.5, dtype=np.float64):
    """A Gaussian kernel matrix on n points of the plane."""
    points = np.random.default_rng(seed).normal(size=(n, 2))
    distances = ((points[:, np.newaxis] - points[np.newaxis]) ** 2).sum(axis=2)
    return np.exp(-gamma * distances).astype(dtype)


def targets_for(loss, n, seed):
    """Targets of the kind the loss takes; both labels present."""
    random = np.random.default_rng(seed + 1000)
    if loss.targets == "none":
        return np.zeros(n)
    if loss.targets == "real":
        return random.normal(size=n)
    y = np.where(random.random(n) < 0.6, 1.0, -1.0)
    y[:2] = np.array([1.0, -1.0])[:n]
    return y


def problem_for(loss, n, seed=0, cost=3.0, fit_intercept=True, weighted=False):
    """A problem with targets of the right kind; weighted: uneven costs, one of them 0."""
    costs = np.full(n, cost)
    if isinstance(loss, losses.OneClass):
        costs = np.full(n, 1.0 / (loss.nu * n))
    if weighted:
        costs = costs * np.random.default_rng(seed + 5).choice([0.5, 1.0, 3.0], size=n)
        costs[n // 2] = 0.0
    return MachineProblem(loss, targets_for(loss, n, seed), costs, fit_intercept)


def cvxpy_optimum(K, problem):
    """The optimum by cvxpy: min 1/2 |w|^2 + sum C loss(L w + b) + bias_sum b with L L' = K."""
    L = factor(np.asarray(K, dtype=np.float64))
    w, b = cp.Variable(L.shape[1]), cp.Variable()
    f = L @ w + (b if problem.fit_intercept else 0.0)
    value = 0.5 * cp.sum_squares(w) + problem.costs @ _cvxpy_loss(problem.loss, f, problem.y)
    value += problem.loss.bias_sum * (b if problem.fit_intercept else 0.0)
    program = cp.Problem(cp.Minimize(value))
    program.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return float(program.value)


def _cvxpy_loss(loss, f, y):
    margin = 1 - cp.multiply(y, f)
    if isinstance(loss, losses.Hinge):
        return cp.pos(margin)
    if isinstance(loss, losses.SquaredHinge):
        return cp.square(cp.pos(margin))
    if isinstance(loss, losses.SmoothHinge):
        return cp.logistic(loss.sigma * margin) / loss.sigma
    if isinstance(loss, losses.Logistic):
        return cp.logistic(-cp.multiply(y, f))
    if isinstance(loss, losses.Squared):
        return cp.square(f - y)
    if isinstance(loss, losses.EpsilonInsensitive):
        return cp.pos(cp.abs(f - y) - loss.epsilon)
    return cp.pos(-f)


def plain_smo(K, linear, kink, lower, upper, start, with_bias, tolerance=1e-9, most=20_000):
    """min 1/2 a'Ka - linear'a + kink |a| within bounds by steps on two variables a time (one without a bias).

    a = p - q with p, q >= 0 makes the problem smooth; the steepest pair moves, until no slope is worth it.
    """
    n = len(linear)
    sign = np.r_[np.ones(n), -np.ones(n)]
    H = np.outer(sign, sign) * np.tile(np.asarray(K, dtype=np.float64), (2, 2))
    linear_2 = np.r_[linear, -linear] - np.tile(np.broadcast_to(kink, n), 2)
    low = np.r_[np.maximum(lower, 0), np.maximum(-upper, 0)]
    high = np.r_[np.maximum(upper, 0), np.maximum(-lower, 0)]
    x = np.r_[np.maximum(start, 0), np.maximum(-start, 0)]
    for _ in range(most):
        slope = H @ x - linear_2
        step = _steepest_pair(slope, sign, x, low, high) if with_bias else _steepest(slope, x, low, high)
        direction, rate = step
        if rate > -tolerance:
            break
        curvature = max(float(direction @ H @ direction), 1e-12)
        room = min((high[k] - x[k] if direction[k] > 0 else x[k] - low[k]) for k in np.flatnonzero(direction))
        x = np.clip(x + min(-rate / curvature, room) * direction, low, high)
    return x[:n] - x[n:]


def _steepest(slope, x, low, high):
    gain = np.where(x < high, -slope, 0.0).clip(min=0), np.where(x > low, slope, 0.0).clip(min=0)
    k = int(np.argmax(np.maximum(*gain)))
    direction = np.zeros(len(x))
    direction[k] = 1.0 if gain[0][k] >= gain[1][k] else -1.0
    return direction, float(direction @ slope)


def _steepest_pair(slope, sign, x, low, high):
    """The direction that raises one signed variable and lowers another, steepest."""
    signed = sign * slope
    rises = np.where(np.where(sign > 0, x < high, x > low), signed, np.inf)
    falls = np.where(np.where(sign > 0, x > low, x < high), signed, -np.inf)
    i, j = int(np.argmin(rises)), int(np.argmax(falls))
    direction = np.zeros(len(x))
    if i == j or not np.isfinite(rises[i] - falls[j]):
        return direction, 0.0
    direction[i], direction[j] = sign[i], -sign[j]
    return direction, float(rises[i] - falls[j])
