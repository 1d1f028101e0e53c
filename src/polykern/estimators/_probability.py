"""Decision values of samples that the machine has not seen, for Platt's sigmoid.

The kernel weights of the fit are held fixed: per fold only the machine is solved again, on the one combined kernel.
"""

from __future__ import annotations

import numpy as np

from polykern.bank import KernelBank
from polykern.estimators._labels import Targets
from polykern.estimators._solve import Settings
from polykern.machines import CombinedMatrix, machine_for
from polykern.parallel import spans
from polykern.problems.joint_machine import JointMachineProblem
from polykern.problems.machine import MachineProblem
from polykern.problems.result import MKLResult

N_FOLDS = 5
# Rows of the combined kernel that are looked at together: 32 MB of them.
_BLOCK_NUMBERS = 4_000_000


def stratified_folds(codes: np.ndarray, random_state: np.random.RandomState) -> list[np.ndarray]:
    """Test samples of each fold, classes spread evenly: five folds, or as many as the smallest class has samples."""
    smallest = int(np.bincount(codes).min())
    if smallest < 2:
        raise ValueError(
            "probability=True needs decision values of samples left out, and one class has a single sample; it takes "
            "at least two samples of each class."
        )
    n_folds = min(N_FOLDS, smallest)
    order = np.argsort(codes[shuffled := random_state.permutation(len(codes))], kind="stable")
    # Dealing the shuffled samples out class by class, like cards, keeps classes and folds even.
    dealt = shuffled[order]
    return [np.sort(dealt[fold::n_folds]) for fold in range(n_folds)]


def crossfit_outputs(
    bank: KernelBank, targets: Targets, settings: Settings, result: MKLResult, folds: list[np.ndarray]
) -> np.ndarray:
    """(n, T) outputs of every sample, from machines that were trained without its fold."""
    outputs = np.zeros_like(targets.values)
    for test in folds:
        train = np.setdiff1d(np.arange(bank.n_samples), test)
        columns = [slice(None)] if settings.loss.joint else range(outputs.shape[1])
        for column in columns:
            outputs[test, column] = _held_out(bank, targets, column, settings, result, train, test)
    return outputs


def _held_out(
    bank: KernelBank,
    targets: Targets,
    column: int | slice,
    settings: Settings,
    result: MKLResult,
    train: np.ndarray,
    test: np.ndarray,
) -> np.ndarray:
    """Outputs of one binary problem, or (m, c) of all classes together."""
    weights = result.weights if result.weights.ndim == 1 else result.weights[column]
    problem: MachineProblem | JointMachineProblem
    if settings.loss.joint:
        problem = JointMachineProblem(settings.loss, targets.values[train], targets.costs[train, 0])
    else:
        train = train[targets.costs[train, column] > 0]
        y, costs = targets.values[train, column], targets.costs[train, column]
        problem = MachineProblem(settings.loss, y, costs, settings.fit_intercept)
    matrix = CombinedMatrix(bank.subset(train), weights)
    solution = machine_for(settings.loss).solve(matrix, problem, tol=settings.tol)  # type: ignore[arg-type]
    coef = np.zeros((bank.n_samples, *np.shape(solution.coef)[1:]))
    coef[train] = solution.coef
    return outputs_at(bank, test, weights, coef) + solution.intercept


def outputs_at(bank: KernelBank, samples: np.ndarray, weights: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """Rows `samples` of sum_k weights_k K_k coef, coefficients being those of all samples of the bank."""
    some = spans(len(samples), _BLOCK_NUMBERS // bank.n_samples)
    return np.concatenate([bank.rows(samples[rows], weights) @ coef for rows in some])
