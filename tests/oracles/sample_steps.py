"""Steps on one sample after another in plain loops over explicit features: no kernels, no blocks, no common factor."""

from __future__ import annotations

import numpy as np

from oracles.mkl_cvxpy import factor


class PlainSteps:
    """theta_k as matrices (features, T); w_k from it by the paper's line 7, or by UFO's rule."""

    def __init__(self, problem, matrices, *, l1=0.0):
        self.problem = problem
        self.features = [factor(K) for K in matrices]
        self.theta = [np.zeros((L.shape[1], problem.n_outputs)) for L in self.features]
        r = problem.regularizer.block_norm
        self.q, self.l1 = r / (r - 1.0), l1
        self.total = problem.costs.mean(axis=1).sum()
        self.n = np.count_nonzero(problem.costs.any(axis=1))

    def norms(self):
        return np.array([np.linalg.norm(theta) for theta in self.theta])

    def function(self):
        """w_k = (|theta_k| / |theta|_q)^(q - 2) theta_k / q, the norms of UFO being those above l1."""
        above = np.maximum(self.norms() / self.q - self.l1, 0.0)
        size = np.sum(above**self.q) ** (1 / self.q)
        if size == 0.0:
            return [0.0 * theta for theta in self.theta]
        shares = np.divide(above, self.norms() / self.q, out=np.zeros_like(above), where=above > 0)
        factors = (above / size) ** (self.q - 2.0) * shares / self.q
        return [f * theta for f, theta in zip(factors, self.theta, strict=True)]

    def outputs(self, i):
        return sum(L[i] @ w for L, w in zip(self.features, self.function(), strict=True))

    def subgradient(self, i):
        """z of the mean loss, one matrix for each kernel."""
        loss, y, cost = self.problem.loss, self.problem.targets[[i]], self.problem.costs[i]
        slope = cost * np.asarray(loss.derivative(self.outputs(i)[None], y))[0] * self.n / self.total
        if loss.joint and loss.value(self.outputs(i)[None], y)[0] <= 0:
            slope = np.zeros_like(slope)
        return [np.outer(L[i], slope) for L in self.features]

    def norm_of(self, parts):
        return np.sum(np.array([np.linalg.norm(part) for part in parts]) ** self.q) ** (1 / self.q)

    def online(self, order, eta):
        """Algorithm 1; returns the number of updates."""
        updates = 0
        for i in order:
            z = self.subgradient(i)
            updates += any(part.any() for part in z)
            self.theta = [theta - eta * part for theta, part in zip(self.theta, z, strict=True)]
        return updates

    def projected(self, order, radius, t=0, s=0.0):
        """Algorithm 2, as it is printed; R infinite is Pegasos."""
        lam = 1.0 / self.total
        for i in order:
            t += 1
            z = self.subgradient(i)
            d = lam * t + s
            grown = lam / self.q * self.norm_of(self.theta) + self.norm_of(z)
            s += 0.5 * (np.sqrt(d**2 + self.q * grown**2 / radius**2) - d)
            eta = self.q / (lam * t + s)
            self.theta = [(1 - lam * eta / self.q) * w - eta * part for w, part in zip(self.theta, z, strict=True)]
            size = self.norm_of(self.theta)
            shrink = min(1.0, self.q * radius / size) if size > 0 else 1.0
            self.theta = [shrink * theta for theta in self.theta]
        return s
