"""The MKL problems of the papers, built on real data."""

from __future__ import annotations

import numpy as np
from common import load

from polykern import losses
from polykern.bank import build_bank
from polykern.kernels import RBF
from polykern.kernels.families import simplemkl_family
from polykern.problems import MKLProblem

SIMPLEMKL_SETS = {
    "ionosphere": "ionosphere",
    "sonar": "sonar",
    "liver": "bupa_liver",
    "wpbc": "wpbc",
    "pima": "pima_diabetes",
}


def standardized(X: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and variance 1; constant columns dropped."""
    X = np.asarray(X, dtype=np.float64)
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def family_bank(X: np.ndarray, dtype: str, every: int = 1):
    """The SimpleMKL family on X: ten Gaussian widths and three polynomials, on all and on each feature, unit trace."""
    named = simplemkl_family(X)[::every]
    kernels = [_on_columns(kernel, columns) for _, kernel, columns in named]
    return build_bank(kernels, X, names=[name for name, _, _ in named], normalize="trace", dtype=dtype)


def _on_columns(kernel, columns):
    from polykern.kernels import OnColumns

    return kernel if columns is None else OnColumns(kernel, columns)


def simplemkl_set(name: str, *, dtype: str = "float32", rows: int | None = None, every: int = 1):
    """(X, y, bank) of one of the five UCI sets; `rows` and `every` take a seeded part of the samples and kernels."""
    data = load(SIMPLEMKL_SETS[name])
    return _part(standardized(data["X"]), data["y"].astype(np.float64), dtype, rows, every)


def housing(*, dtype: str = "float32", rows: int | None = None, every: int = 1):
    """(X, y, bank) of the regression set, target standardized."""
    data = load("housing_regression")
    y = data["y"].astype(np.float64)
    return _part(standardized(data["X"]), (y - y.mean()) / y.std(), dtype, rows, every)


def _part(X, y, dtype, rows, every):
    if rows is not None:
        kept = np.random.default_rng(0).permutation(len(y))[:rows]
        X, y = standardized(X[kept]), y[kept]
    return X, y, family_bank(X, dtype, every)


def letter(n: int, *, dtype: str = "float32"):
    """(X, y, bank): letters A-M against N-Z, twelve Gaussian widths 2^-8 .. 2^3."""
    data = load("letter")
    X = standardized(data["X_train"])[:n]
    y = np.where(data["y_train"][:n] < 13, 1.0, -1.0)
    kernels = [RBF(gamma=2.0**e) for e in range(-8, 4)]
    return X, y, build_bank(kernels, X, names=[f"gamma=2^{e}" for e in range(-8, 4)], dtype=dtype)


def problem_on(bank, y, regularizer, *, loss=None, C: float = 100.0) -> MKLProblem:
    """One binary or regression problem with a bias and equal costs."""
    loss = losses.Hinge() if loss is None else loss
    return MKLProblem(bank, y[:, None], loss, regularizer, np.full((len(y), 1), C), True)
