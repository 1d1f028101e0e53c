"""Callables, names and foreign kernel objects as kernels."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import kernels as gaussian_process
from sklearn.metrics.pairwise import rbf_kernel

from polykern.kernels import KERNEL_NAMES, RBF, Function, Kernel, Linear, as_kernel

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(150, 3))
Z = GENERATOR.normal(size=(20, 3))


def linear(a, b):
    return a @ b.T


@pytest.mark.parametrize("f", [linear, partial(rbf_kernel, gamma=0.2), lambda a, b: (1 + a @ b.T) ** 2])
def test_callables(f):
    kernel = as_kernel(f)
    assert kernel.resolve(X) is kernel
    np.testing.assert_array_equal(kernel.gram(X, Z), f(X, Z))
    np.testing.assert_allclose(kernel.block(X, Z, np.float32), f(X, Z), rtol=1e-6)
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(f(X, X)), rtol=1e-12)
    np.testing.assert_array_equal(clone(kernel).gram(Z), f(Z, Z))


def test_own_diagonal_is_used_and_checked():
    assert np.all(Function(linear, diag=lambda a: np.full(len(a), 5.0)).diag(X) == 5.0)
    with pytest.raises(ValueError, match=r"function linear returned shape \(1,\), expected \(150,\)"):
        Function(linear, diag=lambda a: [1.0]).diag(X)


def test_pickle_and_parameters():
    kernel = Function(linear)
    assert pickle.loads(pickle.dumps(kernel)).gram(Z).shape == (20, 20)
    assert kernel.get_params() == {"f": linear, "diag": None}
    assert kernel.set_params(diag=len).get_params()["diag"] is len


@pytest.mark.parametrize(
    "theirs",
    [
        gaussian_process.RBF(0.7),
        gaussian_process.Matern(1.3, nu=1.5),
        gaussian_process.ConstantKernel(2.0) * gaussian_process.DotProduct(1.0) + gaussian_process.RBF(2.0),
    ],
    ids=repr,
)
def test_kernels_of_scikit_learn(theirs):
    kernel = as_kernel(theirs)
    np.testing.assert_allclose(kernel.gram(X, Z), theirs(X, Z))
    np.testing.assert_allclose(kernel.diag(X), theirs.diag(X))
    np.testing.assert_allclose(clone(kernel).gram(Z), theirs(Z))
    assert any(name.startswith("f__") for name in kernel.get_params())


def test_noise_is_refused():
    with pytest.raises(ValueError, match="WhiteKernel, which is noise"):
        as_kernel(gaussian_process.RBF() + gaussian_process.WhiteKernel())


def test_objects_with_gram():
    class Theirs:
        def gram(self, a, b):
            return linear(a, b)

    np.testing.assert_array_equal(as_kernel(Theirs()).gram(X, Z), linear(X, Z))


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_names(name):
    kernel = as_kernel(name)
    assert isinstance(kernel, Kernel)
    assert kernel.gram(np.abs(X)).shape == (150, 150)
    assert as_kernel(name) is not kernel


def test_kernels_pass_through():
    kernel = Linear()
    assert as_kernel(kernel) is kernel


def _median_width(a, b):
    squared = ((a[:, None] - b[None]) ** 2).sum(axis=2)
    return np.exp(-squared / np.median(squared))


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (_median_width, "_median_width gives other values on some rows than on all"),
        (lambda a, b: a @ np.diag([1.0, 2.0, 3.0])[:, ::-1] @ b.T + a[:, :1], "not symmetric"),
        (lambda a, b: np.full((len(a), len(b)), np.nan), "returned NaN or infinity"),
        (lambda a, b: a @ b.T[:, 1:], r"returned shape \(8, 7\).*expected a matrix of 8 x 8"),
        (lambda a, b: a @ b.T + 1j, "returned type complex128"),
        (lambda a, b: 1.0, r"returned shape \(\)"),
    ],
)
def test_callables_that_are_no_kernels(f, message):
    with pytest.raises(ValueError, match=message):
        as_kernel(f).resolve(X)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ("rbff", ValueError, "kernel 'rbff' is not known; the names are linear, .*Did you mean 'rbf'"),
        ("histogram_intersection", ValueError, "Did you mean 'histogram-intersection'"),
        ("qqqq", ValueError, r"are linear, [^?]*$"),
        (RBF, TypeError, r"kernel is the class RBF, expected an object: write RBF\(\)"),
        (np.eye(3), TypeError, r"array of shape \(3, 3\).*kernels.Precomputed"),
        (3.0, TypeError, "kernel is 3.0, expected a kernel, a name"),
    ],
)
def test_what_is_no_kernel(given, error, message):
    with pytest.raises(error, match=message):
        as_kernel(given)


def test_function_of_no_callable():
    with pytest.raises(TypeError, match="f is 3, expected a callable"):
        Function(3)
    with pytest.raises(TypeError, match="diag is 3, expected None or a callable"):
        Function(linear, diag=3)


class _OnlyGram(Kernel):
    def gram(self, X, Z=None):
        return np.asarray(X) @ np.asarray(X if Z is None else Z).T


def test_kernels_of_ones_own_need_little():
    kernel = _OnlyGram()
    np.testing.assert_allclose(kernel.diag(X), (X**2).sum(axis=1))
    assert kernel.block(X, Z, np.float32).dtype == np.float32
    with pytest.raises(NotImplementedError, match="Kernel must define block"):
        Kernel().gram(X)
    with pytest.raises(NotImplementedError, match="not a function of a shared base"):
        kernel.from_base(X, X)
