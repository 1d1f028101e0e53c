"""Real data sets for tests, where they are: the folder POLYKERN_DATA, or the one beside the repository."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from polykern.bank import build_bank
from polykern.kernels import OnColumns
from polykern.kernels.families import simplemkl_family

FOLDER = Path(os.environ.get("POLYKERN_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))


def load(name):
    """The arrays of one set; skips the test where the file is absent."""
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"real data set {name} is not there: set POLYKERN_DATA to the folder that holds {path.name}")
    return dict(np.load(path, allow_pickle=False))


def standardized(X):
    """Columns of mean 0 and variance 1, constant columns dropped."""
    X = np.asarray(X, dtype=np.float64)
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def simplemkl_set(name, *, rows=None, every=1):
    """(y, bank) of a classification set with the kernels of the SimpleMKL paper, unit trace."""
    data = load(name)
    return _family(data["X"], data["y"].astype(float), rows, every)


def housing(*, rows=None, every=1):
    """(y, bank) of the regression set, target standardized."""
    data = load("housing_regression")
    y = data["y"].astype(float)
    return _family(data["X"], (y - y.mean()) / y.std(), rows, every)


def _family(X, y, rows, every):
    if rows is not None:
        kept = np.random.default_rng(0).permutation(len(y))[:rows]
        X, y = X[kept], y[kept]
    X = standardized(X)
    named = simplemkl_family(X)[::every]
    kernels = [kernel if columns is None else OnColumns(kernel, columns) for _, kernel, columns in named]
    return y, build_bank(kernels, X, names=[name for name, _, _ in named], normalize="trace")
