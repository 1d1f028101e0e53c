"""Everything that may be written for `kernels=`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from polykern.estimators._kernels import describe, named_kernels, reads_indices, stored_dtype
from polykern.kernels import RBF, Linear, OnColumns, Polynomial, Precomputed, default_kernels, rbf_grid

X = np.random.default_rng(0).normal(size=(30, 4))


def my_kernel(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return X @ Z.T


def test_named_tuples_keep_names_order_and_kernels() -> None:
    rbf = RBF(gamma=0.5)
    named = named_kernels([("b", rbf), ("a", Linear())])
    assert named.names == ("b", "a")
    assert named.kernels[0] is rbf


def test_columns_become_on_columns() -> None:
    named = named_kernels([("some", RBF(), [0, 2]), ("all", Linear())])
    assert isinstance(named.kernels[0], OnColumns)
    assert named.kernels[0].columns == [0, 2]
    assert isinstance(named.kernels[1], Linear)


def test_bare_kernels_get_readable_names() -> None:
    named = named_kernels(
        [
            RBF(gamma=0.5),
            Linear(),
            "polynomial",
            my_kernel,
            RBF(
                gamma="scale",
            ),
        ]
    )
    assert named.names == ("RBF(gamma=0.5)", "Linear", "Polynomial", named.names[3], named.names[4])
    assert "my_kernel" in named.names[3]
    assert len(set(named.names)) == 5


def test_names_that_would_come_twice_are_numbered() -> None:
    named = named_kernels([RBF(gamma=0.5), RBF(gamma=0.5), ("Linear", Linear()), Linear()])
    assert named.names == ("RBF(gamma=0.5) #1", "RBF(gamma=0.5) #2", "Linear", "Linear #1")
    assert named_kernels([Precomputed(np.eye(3)), Precomputed(np.eye(3))]).names == ("Precomputed #1", "Precomputed #2")


@pytest.mark.parametrize("spec", [RBF(), "rbf", [RBF()], ["rbf"], ("rbf",), (RBF(),), np.array(["rbf"])])
def test_one_kernel_in_every_wrapping(spec: object) -> None:
    named = named_kernels([str(spec[0])] if isinstance(spec, np.ndarray) else spec)
    assert len(named.kernels) == 1
    assert isinstance(named.kernels[0], RBF)


def test_a_callable_alone() -> None:
    named = named_kernels(my_kernel)
    assert len(named.kernels) == 1


def test_families_are_those_of_the_kernels_room() -> None:
    assert named_kernels("rbf-grid").names == tuple(name for name, _, _ in rbf_grid())
    assert named_kernels("default", X).names == tuple(name for name, _, _ in default_kernels(X))
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    assert "rbf [c]" in named_kernels("default", frame).names


def test_a_family_among_others() -> None:
    named = named_kernels([("own", Polynomial(2)), "rbf-grid"], X)
    assert len(named.kernels) == 1 + len(rbf_grid())
    assert named.names[0] == "own"


def test_on_a_frame_columns_become_positions() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    named = named_kernels([("x", RBF(), ["d", "a"]), ("y", Linear())], frame).on_frame(frame)
    assert named.kernels[0].columns == [3, 0]
    with pytest.raises(ValueError, match=r"kernel 1 \('y'\): .*'e' does not exist"):
        named_kernels([("x", RBF()), ("y", RBF(), ["e"])], frame).on_frame(frame)


@pytest.mark.parametrize(
    ("matrices", "tol", "expected"),
    [
        ([np.float32, np.float32], 1e-6, np.float32),
        ([np.float64], 1e-2, np.float64),
        ([np.float32, np.float64], 1e-3, np.float32),
        ([], 1e-3, np.float32),
        ([], 1e-5, np.float64),
    ],
)
def test_stored_dtype(matrices: list, tol: float, expected: type) -> None:
    given = tuple(Precomputed(np.eye(3, dtype=dtype)) for dtype in matrices)
    assert stored_dtype(given or (RBF(),), tol) == expected


def test_what_reads_indices() -> None:
    assert reads_indices([Precomputed(np.eye(3))])
    assert reads_indices([("k", Precomputed(np.eye(3)) + Precomputed(np.eye(3)))])
    assert not reads_indices("default")
    assert not reads_indices([RBF()])
    assert not reads_indices("no such kernel")
    assert not reads_indices(None)


def test_descriptions_leave_arrays_out_and_stay_short() -> None:
    assert describe(Precomputed(np.eye(100))) == "Precomputed"
    assert describe(Polynomial(degree=2)) == "Polynomial(degree=2)"
    assert describe(RBF(gamma=1 / 3)) == "RBF(gamma=0.3333)"
    assert len(describe(OnColumns(RBF(), list(range(100))))) < 60


def test_the_list_is_not_changed() -> None:
    spec = [("a", RBF(), [0]), Linear()]
    before = list(spec)
    named_kernels(spec, X)
    assert spec == before


@pytest.mark.parametrize(
    ("spec", "error", "sentence"),
    [
        ([], ValueError, "kernels is an empty list, expected at least one kernel"),
        (None, TypeError, "kernels is None, expected a list of kernels"),
        (3, TypeError, "kernels is 3, expected a list of kernels"),
        ({"a": RBF()}, TypeError, r"list\(kernels.items\(\)\) makes one"),
        (("a", RBF()), TypeError, "put brackets around it"),
        ([("a", RBF()), ("b", Linear()), ("a", Linear())], ValueError, "kernels 0 and 2 are both named 'a'"),
        ([("a", RBF(), [0], 1)], TypeError, r"expected \(name, kernel\) or \(name, kernel, columns\)"),
        ([(RBF(), "a")], TypeError, r"kernel 0 is the tuple .* with a string as name"),
        ([("", RBF())], ValueError, "kernel 0 has an empty name"),
        (["rbf", "lineer"], ValueError, "kernel 1 is 'lineer', which is not known; did you mean 'linear'"),
        ("rbf-gird", ValueError, "did you mean 'rbf-grid'"),
        ([("a", "gauss")], ValueError, r"kernel 0 \('a'\) is 'gauss', which is not known"),
        ([("rna", np.eye(3))], TypeError, r"kernel 0 \('rna'\) is an array .* kernels.Precomputed\(K\)"),
        (np.eye(3), TypeError, r"kernel 0 is an array of shape \(3, 3\)"),
        ([RBF], TypeError, r"kernel 0 is the class RBF, expected an object: write RBF\(\)"),
        ([("a", 3.0)], TypeError, r"kernel 0 \('a'\)"),
        ([("all", "default")], ValueError, "is a family of several kernels"),
    ],
)
def test_mistakes_are_named(spec: object, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        named_kernels(spec, X)
