"""One machine per kernel and output: their outputs at samples left out of training, and their coefficients on all.

Every machine of a kernel reads the same matrix, whatever its output and its fold: samples of a fold that is left out
take part at cost 0, which keeps their coefficients at 0, and K a is their output for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from polykern.bank import KernelBank
from polykern.estimators._labels import Targets
from polykern.losses import Loss
from polykern.machines import CombinedMatrix, MachineSolution, machine_for
from polykern.parallel import run_blocks
from polykern.problems.machine import MachineProblem


@dataclass
class KernelMachines:
    """Machines of one loss on single kernels of a bank; `targets` are those for C = 1."""

    bank: KernelBank
    targets: Targets
    loss: Loss
    fit_intercept: bool
    tol: float
    n_jobs: int | None
    gaps: list[float] = field(default_factory=list)  # of all machines so far

    def held_out(self, kernel: int, costs: NDArray[np.float64], folds: list[NDArray[np.intp]]) -> NDArray[np.float64]:
        """(costs, n, T) outputs of every sample from machines of `kernel` that were trained without its fold."""
        n_samples, n_outputs = self.targets.values.shape
        outputs = np.zeros((len(costs), n_samples, n_outputs))
        tasks = [(c, t, fold) for c in range(len(costs)) for t in range(n_outputs) for fold in folds]
        solutions = self._solved(kernel, [(float(costs[c]), t, fold) for c, t, fold in tasks])
        for (c, t, fold), solution in zip(tasks, solutions, strict=True):
            outputs[c, fold, t] = solution.outputs[fold] + solution.intercept
        return outputs

    def on_all(self, kernel: int, cost: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Coefficients (T, n) and intercepts (T,) of the machines of `kernel` on all samples."""
        nobody = np.empty(0, dtype=np.intp)
        solutions = self._solved(kernel, [(cost, t, nobody) for t in range(self.targets.values.shape[1])])
        return np.array([one.coef for one in solutions]), np.array([one.intercept for one in solutions])

    def _solved(self, kernel: int, tasks: list[tuple[float, int, NDArray[np.intp]]]) -> list[MachineSolution]:
        """The machine of every (cost, output, samples left out)."""
        matrix = CombinedMatrix(self.bank, np.arange(self.bank.n_kernels) == kernel)

        def solve(task: tuple[float, int, NDArray[np.intp]]) -> MachineSolution:
            cost, output, left_out = task
            costs = cost * self.targets.costs[:, output]
            costs[left_out] = 0.0
            problem = MachineProblem(self.loss, self.targets.values[:, output], costs, self.fit_intercept)
            return machine_for(self.loss).solve(matrix, problem, tol=self.tol)

        # A matrix that is computed row by row remembers rows for one thread.
        solutions = run_blocks(solve, tasks, 1 if matrix.dense is None else self.n_jobs)
        self.gaps += [one.gap for one in solutions]
        return solutions
