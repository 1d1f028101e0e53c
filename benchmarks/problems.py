"""The MKL problems of the papers, built on real data."""

from __future__ import annotations

from typing import NamedTuple

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


LETTER_WIDTHS = {f"gamma=2^{e}": RBF(gamma=2.0**e) for e in range(-8, 4)}


def letter(n: int, *, dtype: str = "float32"):
    """(X, y, bank): letters A-M against N-Z, twelve Gaussian widths 2^-8 .. 2^3."""
    data = load("letter")
    X = standardized(data["X_train"])[:n]
    y = np.where(data["y_train"][:n] < 13, 1.0, -1.0)
    return X, y, build_bank(list(LETTER_WIDTHS.values()), X, names=list(LETTER_WIDTHS), dtype=dtype)


def pendigits(n: int | None = None, *, dtype: str = "float32"):
    """(X, y, bank): ten digits, one Gaussian of width "scale" on each of four views; the first n training rows."""
    data = load("pendigits")
    views = {"dyn": "X_train", **{view: f"{view}_train" for view in ("sta4", "sta8", "sta16")}}
    parts = {view: standardized(data[array][:n]) for view, array in views.items()}
    ends = np.cumsum([part.shape[1] for part in parts.values()])
    columns = [list(range(end - part.shape[1], end)) for end, part in zip(ends, parts.values(), strict=True)]
    X = np.hstack(list(parts.values()))
    kernels = [_on_columns(RBF(gamma="scale"), some) for some in columns]
    return X, data["y_train"][:n], build_bank(kernels, X, names=list(parts), dtype=dtype)


def stack_of(bank) -> np.ndarray:
    """(F, n, n) the matrices of a bank that holds all of them in memory."""
    (storage, _), *others = bank._storages
    if others or storage.kind != "dense":
        raise MemoryError(f"a bank of {bank.n_kernels} kernels on {bank.n_samples} samples does not fit in memory.")
    return storage.stack


def problem_on(bank, y, regularizer, *, loss=None, C: float = 100.0) -> MKLProblem:
    """One binary or regression problem with a bias and equal costs."""
    loss = losses.Hinge() if loss is None else loss
    return MKLProblem(bank, y[:, None], loss, regularizer, np.full((len(y), 1), C), True)


class Split(NamedTuple):
    """Training and test samples with named kernels."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    kernels: dict
    normalize: str | None
    C: float


def train_and_test(name: str) -> Split:
    """ionosphere and sonar cut 70 to 30 by a seed; letter 2,000 with the next 2,000 rows. Columns of the training part
    have mean 0 and variance 1."""
    if name == "letter 2000":
        data = load("letter")
        y = np.where(data["y_train"] < 13, 1.0, -1.0)
        train, test = np.arange(2000), np.arange(2000, 4000)
        X, X_test = _alike(data["X_train"][train], data["X_train"][test])
        return Split(X, y[train], X_test, y[test], LETTER_WIDTHS, None, 10.0)
    data = load(SIMPLEMKL_SETS[name])
    y, mixed = data["y"].astype(np.float64), np.random.default_rng(0).permutation(len(data["y"]))
    train, test = mixed[: int(0.7 * len(y))], mixed[int(0.7 * len(y)) :]
    X, X_test = _alike(data["X"][train], data["X"][test])
    kernels = {name: _on_columns(kernel, columns) for name, kernel, columns in simplemkl_family(X)}
    return Split(X, y[train], X_test, y[test], kernels, "trace", 100.0)


def _alike(X, X_test):
    """Both scaled by the mean and deviation of the first."""
    X, X_test = np.asarray(X, dtype=np.float64), np.asarray(X_test, dtype=np.float64)
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    varying = deviation > 0
    return ((part[:, varying] - mean[varying]) / deviation[varying] for part in (X, X_test))


def train_and_test_matrices(split: Split) -> tuple[np.ndarray, np.ndarray]:
    """(F, n, n) and (F, m, n) in float32, scaled as the bank of the estimators scales them."""
    bank = build_bank(list(split.kernels.values()), split.X, normalize=split.normalize, dtype="float32")
    reference = bank.keep(np.arange(bank.n_samples))
    single = np.eye(bank.n_kernels)
    return stack_of(bank), np.stack([reference.against(split.X_test, e) for e in single]).astype(np.float32)
