"""Small problems for contract tests: every loss, every regularizer, random kernels of high and low rank."""

from __future__ import annotations

import numpy as np

from polykern import losses, regularizers

LOSSES = {
    "hinge": losses.Hinge(),
    "squared_hinge": losses.SquaredHinge(),
    "smooth_hinge": losses.SmoothHinge(sigma=5.0),
    "logistic": losses.Logistic(),
    "squared": losses.Squared(),
    "epsilon_insensitive": losses.EpsilonInsensitive(epsilon=0.2),
    "one_class": losses.OneClass(nu=0.3),
}
JOINT = {"multiclass": losses.MulticlassHinge()}  # of all outputs of a sample, three classes by default
PARAMETERS = {"smooth_hinge": {"sigma": 5.0}, "epsilon_insensitive": {"epsilon": 0.2}}
REGULARIZERS = {
    "simplex": regularizers.Simplex(),
    "p=1.05": regularizers.LpBall(p=1.05),
    "p=1.5": regularizers.LpBall(p=1.5),
    "p=2": regularizers.LpBall(p=2.0),
    "p=5": regularizers.LpBall(p=5.0),
    "p=inf": regularizers.LpBall(p=np.inf),
    "group 1.2": regularizers.GroupNorm(p=1.2),
}
# Of six kernels: a group of three, a pair, and one alone.
GROUP_OF = [0, 1, 0, 2, 1, 0]
GROUPED = {f"groups q={q:g}": regularizers.GroupedNorm(GROUP_OF, q) for q in (0.75, 1.0, 2.0, np.inf)}


def random_kernels(n, n_kernels, seed, rank=None, away=0.0):
    """Positive semidefinite matrices of trace n; low rank where `rank` says so; features about `away`, not about 0."""
    rng = np.random.default_rng(seed)
    kernels = []
    for k in range(n_kernels):
        columns = rank or (n if k % 2 else 2)
        features = away + rng.normal(size=(n, columns))
        K = features @ features.T
        kernels.append(K * (n / np.trace(K)))
    return kernels


def targets_for(loss, n, seed, n_outputs=1):
    """(n, T) targets of the kind the loss takes, both signs present in every column."""
    rng = np.random.default_rng(seed + 1)
    if loss.targets == "none":
        return np.zeros((n, n_outputs))
    if loss.joint:
        return np.eye(n_outputs)[np.random.default_rng(seed + 1).permutation(np.arange(n) % n_outputs)]
    values = rng.normal(size=(n, n_outputs))
    if loss.targets == "signs":
        values = np.where(values > 0, 1.0, -1.0)
        values[0], values[1] = 1.0, -1.0
    return values


def costs_for(loss, shape, seed, C=2.0):
    """Positive costs, different for every sample; one-class costs add up to 1/nu."""
    costs = C * np.random.default_rng(seed + 2).uniform(0.5, 1.5, size=shape)
    if loss.joint:
        costs = np.repeat(costs[:, :1], shape[1], axis=1)
    if loss.targets == "none":
        costs = costs / costs.sum(axis=0) / loss.nu
    return costs


def small_problem(loss_name, regularizer, *, n=24, n_kernels=5, seed=0, n_outputs=1, intercept=True, rank=None):
    """A small MKLProblem on precomputed kernels, and the kernels."""
    from polykern.bank import build_bank
    from polykern.kernels import Precomputed
    from polykern.problems import MKLProblem

    loss = (LOSSES | JOINT)[loss_name]
    # One-class on few features about 0: the origin lies inside, the optimum is 0, and there is no relative gap.
    matrices = random_kernels(n, n_kernels, seed, rank, away=2.0 if loss.targets == "none" and rank else 0.0)
    bank = build_bank([Precomputed(K) for K in matrices], np.arange(n), normalize=None)
    targets = targets_for(loss, n, seed, max(n_outputs, 3) if loss.joint else n_outputs)
    costs = costs_for(loss, targets.shape, seed)
    bound = regularizer.bind(bank, targets)
    problem = MKLProblem(bank, targets, loss, bound, costs, (intercept and not loss.joint) or loss.needs_intercept)
    return problem, matrices
