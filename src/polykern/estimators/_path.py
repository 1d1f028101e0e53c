"""mkl_path: the solutions along a grid of C, or of p, each begun from the one before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern.bank import KernelBank
from polykern.estimators._classifier import MKLClassifier
from polykern.estimators._grid import Grid, costs_of, norms_of
from polykern.estimators._labels import Targets
from polykern.estimators._parameters import check_positive
from polykern.estimators._regressor import MKLRegressor
from polykern.estimators._search import finished
from polykern.estimators._solve import Settings, Start, solve
from polykern.estimators._summary import table
from polykern.estimators._supervised import SupervisedMKL
from polykern.losses import as_loss
from polykern.problems.result import MKLResult
from polykern.regularizers import as_regularizer


@dataclass(frozen=True)
class MKLPath:
    """Solutions along a grid, one result per point, in the order of the grid.

    Attributes
    ----------
    parameter : str
        "C" or "p": what changes along the path.
    values : (n_points,) array
        Its values.
    results : tuple of MKLResult
    kernel_names : tuple of str
    """

    parameter: str
    values: NDArray[np.float64]
    results: tuple[MKLResult, ...]
    kernel_names: tuple[str, ...]

    @property
    def weights(self) -> NDArray[np.float64]:
        """(n_points, F) kernel weights; (n_points, T, F) where every output has its own."""
        return np.array([result.weights for result in self.results])

    @property
    def gaps(self) -> NDArray[np.float64]:
        """(n_points,) certified relative gaps."""
        return np.array([result.gap for result in self.results])

    @property
    def seconds(self) -> NDArray[np.float64]:
        """(n_points,) time of each solve."""
        return np.array([result.seconds for result in self.results])

    @property
    def machines(self) -> NDArray[np.intp]:
        """(n_points,) machines solved, those of all outputs counted."""
        return np.array([result.n_machines for result in self.results])

    def summary(self) -> str:
        """A line per point: value, objective, gap, kernels kept, the heaviest of them, and what it took."""
        header = [self.parameter, "primal", "gap", "kernels", "heaviest", "iterations", "machines", "seconds"]
        return "\n".join([repr(self), *table([header, *map(self._row, range(len(self.results)))])])

    def _row(self, point: int) -> list[str]:
        result = self.results[point]
        weights = np.atleast_2d(result.weights).mean(axis=0)
        heaviest = int(np.argmax(weights))
        return [
            f"{self.values[point]:.4g}",
            f"{result.primal:.6g}",
            f"{result.gap:.1e}" if result.status.converged else f"{result.gap:.1e} ({result.status.name})",
            f"{np.count_nonzero(weights)} of {len(weights)}",
            f"{self.kernel_names[heaviest]} {weights[heaviest]:.3f}",
            str(result.n_iter),
            str(result.n_machines),
            f"{result.seconds:.2f}",
        ]

    def __repr__(self) -> str:
        return (
            f"MKLPath({len(self.results)} points, {self.parameter} from {self.values.min():.4g} to "
            f"{self.values.max():.4g}, largest gap {self.gaps.max():.2g}, {self.machines.sum()} machines, "
            f"{self.seconds.sum():.3g} s)"
        )


def mkl_path(
    X: Any, y: Any, kernels: Any = "default", *, Cs: Any = None, ps: Any = None, loss: Any = "hinge", **parameters: Any
) -> MKLPath:
    """The certified solutions for a grid of C, or of the norm p of the kernel weights, each begun from the one before.

    Parameters
    ----------
    X : array-like or frame of shape (n, n_features), sample indices (n,), or a KernelBank
        As in `MKLClassifier.fit`. With a bank, its kernels are taken as they are.
    y : array-like of shape (n,)
        Labels, or real numbers with a loss for these.
    kernels : str, kernel or list, default="default"
        As in `MKLClassifier`.
    Cs : int or list of floats, default=10
        Costs of the losses; a number of them spreads them from 0.01 to 1000, evenly by logarithm.
    ps : list of floats, default=None
        Instead of Cs, and of `regularizer`: norms of the kernel weights, at one C (`C=...`, 1 by default).
    loss : str or Loss, default="hinge"
        A loss for labels or for real targets.
    **parameters
        All others of `MKLClassifier` or `MKLRegressor`: regularizer, solver, tol, multiclass, class_weight, ...

    Returns
    -------
    MKLPath

    Examples
    --------
    >>> from polykern import mkl_path
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> path = mkl_path(X, y == 2, "rbf-grid", Cs=[0.1, 1.0, 10.0])
    >>> path.weights.shape, bool(path.gaps.max() <= 1e-3)
    ((3, 11), True)
    """
    if Cs is not None and ps is not None:
        raise ValueError("Cs and ps are both given, expected one grid: MKLClassifierCV compares both at once.")
    if ps is not None and "regularizer" in parameters:
        raise ValueError(
            f"ps and regularizer={parameters['regularizer']!r} are both given, expected one of them: ps are the norms "
            "of the kernel weights, one after the other; for one regularizer take Cs."
        )
    model = _model_for(kernels, loss, parameters)
    settings = model._settings()
    C = check_positive("C", model.C, ": it is the cost of the losses")
    if ps is not None:
        grid = Grid(np.array([C]), norms_of(ps))
    else:
        grid = Grid(costs_of(10 if Cs is None else Cs), np.array([np.nan]))
    bank, unit = _stated(model, X, y, kernels)
    results = _along(bank, unit, grid, settings)
    return MKLPath("C" if ps is None else "p", grid.costs if ps is None else grid.norms, results, tuple(bank.names))


def _model_for(kernels: Any, loss: Any, parameters: dict[str, Any]) -> SupervisedMKL:
    """The estimator that takes this loss."""
    makes_real = as_loss(loss).targets == "real"
    return (MKLRegressor if makes_real else MKLClassifier)(kernels, loss=loss, **parameters)


def _stated(model: SupervisedMKL, X: Any, y: Any, kernels: Any) -> tuple[KernelBank, Targets]:
    """The kernels and the targets at C = 1."""
    if isinstance(X, KernelBank):
        if not (isinstance(kernels, str) and kernels == "default"):
            raise ValueError("X is a KernelBank, which has its kernels already: leave out kernels=.")
        return X, model._unit_targets(model._checked_y(y, X.n_samples), np.ones(X.n_samples))
    data = model._training_data(X, y, None)
    unit = model._unit_targets(data.y, data.weights)
    return model._build_bank(data.samples, model.normalize), unit


def _along(bank: KernelBank, unit: Targets, grid: Grid, settings: Settings) -> tuple[MKLResult, ...]:
    """One result per point, in the order of the grid."""
    points = grid.points
    found: dict[int, MKLResult] = {}
    for step in grid.way():
        point = points[step.here]
        here = settings if np.isnan(point.p) else replace(settings, regularizer=as_regularizer(point.p))
        start = None if step.before is None else Start(found[step.before], step.ratio)
        found[step.here] = finished(solve(bank, unit.times(point.C), here, start))
    return tuple(found[i] for i in range(len(points)))
