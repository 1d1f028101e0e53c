"""Cross-validation over C and p on one bank: kernels once, folds as parts of it, every solve begun from a similar one.

The bank holds the kernels as they are. For each fold its normalization is fitted on the training part, the validation
part is normalized as new data, and outputs there are read off the bank's own rows. What kernels read off the data by
themselves (gamma="scale") is read off all samples, once: labels take no part in it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from polykern.bank import KernelBank
from polykern.estimators._grid import Grid, Point, Step
from polykern.estimators._labels import Targets
from polykern.estimators._probability import outputs_at
from polykern.estimators._solve import Settings, Start, solve
from polykern.estimators._supervised import SupervisedMKL, TrainingData
from polykern.problems.result import MKLResult, Status
from polykern.regularizers import as_regularizer


class HeldOut(SupervisedMKL):
    """A model of one fold: its outputs for the validation part are known, from the bank."""

    def expect(self, X: Any) -> None:
        """The validation part, as scorers pass it on."""
        self._part = X

    def know(self, result: MKLResult, outputs: np.ndarray) -> None:
        """The solution at one point of the grid, and what it gives for the validation part."""
        self.result_, self._known = result, outputs

    def _outputs(self, X: Any) -> np.ndarray:
        if X is not self._part:
            raise ValueError(
                "scoring asks for predictions of samples other than the whole validation part, and a search on one "
                "bank has no others: use GridSearchCV with this scoring."
            )
        return self._known


@dataclass(frozen=True)
class Fold:
    """Training and validation part, as positions in the bank."""

    number: int
    train: np.ndarray
    test: np.ndarray
    model: HeldOut
    scorer: Callable[..., float]
    X_test: Any
    y_test: np.ndarray


@dataclass
class Scores:
    """(points, folds) of what the search measured."""

    shape: tuple[int, int]
    test: np.ndarray = field(init=False)
    fit_seconds: np.ndarray = field(init=False)
    score_seconds: np.ndarray = field(init=False)
    gaps: np.ndarray = field(init=False)
    machines: np.ndarray = field(init=False)
    converged: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        for name in ("test", "fit_seconds", "score_seconds", "gaps", "machines", "converged"):
            setattr(self, name, np.zeros(self.shape))

    def as_cv_results(self, points: list[Point]) -> dict[str, Any]:
        """The dictionary that scikit-learn's searches have, with gaps and machines."""
        from scipy.stats import rankdata

        means = self.test.mean(axis=1)
        results: dict[str, Any] = {
            "params": [{"C": point.C, "p": point.p} for point in points],
            "param_C": np.ma.array([point.C for point in points]),
            "param_p": np.ma.array([point.p for point in points]),
        }
        for name, seconds in (("fit", self.fit_seconds), ("score", self.score_seconds)):
            results |= {f"mean_{name}_time": seconds.mean(axis=1), f"std_{name}_time": seconds.std(axis=1)}
        results |= {f"split{fold}_test_score": scores for fold, scores in enumerate(self.test.T)}
        results |= {"mean_test_score": means, "std_test_score": self.test.std(axis=1)}
        results["rank_test_score"] = rankdata(np.where(np.isnan(means), np.inf, -means), method="min").astype(np.int32)
        return results | {"max_gap": self.gaps.max(axis=1), "mean_machines": self.machines.mean(axis=1)}


class Search:
    """Goes through the folds, and in each over the grid."""

    def __init__(self, bank: KernelBank, data: TrainingData, grid: Grid, settings: Settings, normalize: str | None):
        self.bank, self.data, self.grid, self.normalize = bank, data, grid, normalize
        self.verbose = settings.verbose
        self.settings = replace(settings, verbose=max(0, settings.verbose - 1))
        self._points = grid.points
        self._results: dict[int, MKLResult] = {}
        self._train: np.ndarray | None = None

    def run(self, folds: list[Fold]) -> Scores:
        """Scores of every point in every fold."""
        scores = Scores((len(self._points), len(folds)))
        for fold in folds:
            self._run_fold(fold, len(folds), scores)
        return scores

    def settings_at(self, point: Point) -> Settings:
        """The settings with the weight norm of one point."""
        return replace(self.settings, regularizer=as_regularizer(point.p))

    def start_for_all(self, point: int) -> Start | None:
        """Where the fit on all samples begins: at the last fold's solution."""
        return self._from_last_fold(point, np.arange(self.bank.n_samples))

    def _run_fold(self, fold: Fold, n_folds: int, scores: Scores) -> None:
        y, weights = self.data.y[fold.train], self.data.weights[fold.train]
        unit = fold.model._unit_targets(y, weights)
        whole = self.bank.refitted(self.normalize, fold.train)
        part = whole.subset(fold.train)
        found: dict[int, MKLResult] = {}
        for step in self.grid.way():
            point, began = self._points[step.here], time.perf_counter()
            targets, settings = unit.times(point.C), self.settings_at(point)
            result = finished(solve(part, targets, settings, self._start(step, fold, found, unit)))
            found[step.here] = result
            outputs = self._held_out(whole, fold, result)
            fold.model.know(result, outputs)
            fold.model._calibrate(part, targets, settings, replace(self.data, y=y, weights=weights))
            solved = time.perf_counter()
            here = step.here, fold.number
            scores.test[here] = fold.scorer(fold.model, fold.X_test, fold.y_test)
            scores.fit_seconds[here], scores.score_seconds[here] = solved - began, time.perf_counter() - solved
            scores.gaps[here], scores.machines[here] = result.gap, result.n_machines
            scores.converged[here] = result.status.converged
            if self.verbose:
                _report(fold.number, n_folds, point, result, float(scores.test[here]))
        self._results, self._train = found, fold.train

    def _start(self, step: Step, fold: Fold, found: dict[int, MKLResult], unit: Targets) -> Start | None:
        """The same point in the fold before, or the neighbour on the grid."""
        start = self._from_last_fold(step.here, fold.train)
        if start is None and step.before is not None:
            start = Start(found[step.before], step.ratio)
        # A fold may lack a class, and then has fewer outputs than the one before.
        return start if start is not None and start.result.coef.shape[1] == unit.values.shape[1] else None

    def _from_last_fold(self, point: int, train: np.ndarray) -> Start | None:
        if self._train is None:
            return None
        return Start(carried(self._results[point], self._train, train, self.bank.n_samples))

    @staticmethod
    def _held_out(whole: KernelBank, fold: Fold, result: MKLResult) -> np.ndarray:
        """(test, T) outputs of the solution for the validation part."""
        coef = np.zeros((whole.n_samples, result.coef.shape[1]))
        np.add.at(coef, fold.train, result.coef)
        if result.weights.ndim == 1:
            outputs = outputs_at(whole, fold.test, result.weights, coef)
        else:
            columns = zip(result.weights, coef.T, strict=True)
            outputs = np.column_stack([outputs_at(whole, fold.test, weights, column) for weights, column in columns])
        return outputs + result.intercept


def carried(result: MKLResult, origin: np.ndarray, target: np.ndarray, n_samples: int) -> MKLResult:
    """A result for the samples `origin` as one for the samples `target`: coefficients of new samples are 0."""
    place = np.full(n_samples, -1)
    place[origin] = np.arange(len(origin))
    at = place[target]

    def at_target(coef: np.ndarray) -> np.ndarray:
        return np.where(at[:, None] >= 0, coef[at], 0.0)

    def moved(one: MKLResult) -> MKLResult:
        parts = tuple(map(moved, one.parts))
        return replace(one, coef=at_target(one.coef), dual_coef=at_target(one.dual_coef), parts=parts)

    return moved(result)


def finished(result: MKLResult) -> MKLResult:
    """The result, unless Ctrl-C cut it short: a solver then gives what it has, and a search has no use for that."""
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return result


def _report(fold: int, n_folds: int, point: Point, result: MKLResult, score: float) -> None:
    """One line to standard error."""
    sys.stderr.write(
        f"fold {fold + 1} of {n_folds}  C {point.C:<9.4g} p {point.p:<5g} score {score:.4f}  gap {result.gap:.1e}  "
        f"{result.n_machines} machines  {result.seconds:.2f} s\n"
    )
    sys.stderr.flush()
