"""Kernels and data that the bank's tests share."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from polykern import kernels

N = 70
NORMALIZERS = ["mean-diagonal", "trace", "diagonal", "center", "center-diagonal", None]


def laplace(X, Z):
    """A kernel that only Python knows."""
    return np.exp(-0.3 * np.abs(X[:, None, :] - Z[None, :, :]).sum(axis=2))


@pytest.fixture(scope="session")
def X():
    """70 samples of 4 features, and their numbers as column 4."""
    rng = np.random.default_rng(0)
    return np.column_stack([rng.standard_normal((N, 4)), np.arange(N)])


@pytest.fixture(scope="session")
def matrices():
    """Two kernel matrices on 110 samples, in both orders of memory and both types."""
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((110, 8)), rng.standard_normal((110, 5))
    return (A @ A.T + 3.0), np.asfortranarray((B @ B.T).astype(np.float32))


@pytest.fixture(scope="session")
def mixed(matrices):
    """Families, columns, a callable, a composite and two matrices."""
    data = slice(0, 4)
    return [
        kernels.OnColumns(kernels.RBF(gamma=0.1), data),
        kernels.OnColumns(kernels.RBF(gamma=1.0), data),
        kernels.OnColumns(kernels.Polynomial(degree=2), data),
        kernels.OnColumns(kernels.Linear(), [2, 0]),
        kernels.OnColumns(kernels.as_kernel(laplace), [0, 1]),
        kernels.OnColumns(kernels.Product([kernels.RBF(gamma=0.2), kernels.Linear()]), [1, 3]),
        kernels.OnColumns(kernels.Precomputed(matrices[0]), [4]),
        kernels.OnColumns(kernels.Precomputed(matrices[1]), [4]),
    ]


@pytest.fixture
def quiet():
    """Warnings are checked elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield
