"""The families of the papers: how many, how named, which values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from polykern.kernels import (
    RBF,
    Linear,
    OnColumns,
    Polynomial,
    default_kernels,
    family,
    rbf_grid,
    simplemkl_family,
)

X = np.random.default_rng(0).normal(size=(20, 3))
NAMES = ["mean radius", "area", "age"]


def gram(entry, data):
    _, kernel, columns = entry
    return (kernel if columns is None else OnColumns(kernel, columns)).gram(data)


@pytest.mark.parametrize("given", [3, X, NAMES, pd.DataFrame(X, columns=NAMES)])
def test_simplemkl_family_is_the_one_of_the_paper(given):
    entries = simplemkl_family(given)
    names = [name for name, _, _ in entries]
    assert len(entries) == 13 * 4 == len(set(names))
    data = pd.DataFrame(X, columns=NAMES)
    expected = []
    for view in (X, X[:, :1], X[:, 1:2], X[:, 2:]):
        squared = ((view[:, None] - view[None]) ** 2).sum(axis=2)
        expected += [np.exp(-squared / (2 * s * s)) for s in (0.5, 1, 2, 5, 7, 10, 12, 15, 17, 20)]
        expected += [(view @ view.T + 1) ** degree for degree in (1, 2, 3)]
    for entry, matrix in zip(entries, expected, strict=True):
        np.testing.assert_allclose(gram(entry, data), matrix, atol=1e-10)


def test_readable_names():
    names = [name for name, _, _ in simplemkl_family(NAMES)]
    assert names[0] == "rbf s=0.5 [all]"
    assert "poly 2 [mean radius]" in names
    assert [name for name, _, _ in simplemkl_family(2)][-1] == "poly 3 [1]"


def test_family_of_own_kernels():
    kernel = RBF(0.5)
    entries = family(X, [kernel, ("lin", Linear()), "cosine"])
    assert [name for name, _, _ in entries][:3] == ["RBF(gamma=0.5) [all]", "lin [all]", "cosine [all]"]
    assert len(entries) == 12 and len(family(X, [kernel], each_feature=False)) == 1
    entries[0][1].set_params(gamma=9.0)
    assert kernel.gamma == 0.5 == entries[3][1].gamma


def test_rbf_grid():
    assert [kernel.gamma for _, kernel, _ in rbf_grid([0.1, 2.0])] == [0.1, 2.0]
    assert [kernel.gamma for _, kernel, _ in rbf_grid(widths=[0.5, 1.0])] == [2.0, 0.5]
    assert rbf_grid([0.1], columns=["a", "b"])[0][0::2] == ("rbf gamma=0.1 [a, b]", ["a", "b"])
    grid = rbf_grid()
    scale = RBF("scale").resolve(X).gamma
    np.testing.assert_allclose([kernel.resolve(X).gamma for _, kernel, _ in grid], scale * 2.0 ** np.arange(-5, 6))
    assert [grid[0][0], grid[5][0], grid[-1][0]] == [
        "rbf 1/32x scale [all]",
        "rbf 1x scale [all]",
        "rbf 32x scale [all]",
    ]


@pytest.mark.parametrize(("d", "n_kernels"), [(1, 7), (4, 11), (30, 37), (31, 7)])
def test_default_kernels(d, n_kernels):
    entries = default_kernels(d)
    assert len(entries) == n_kernels == len({name for name, _, _ in entries})
    data = np.random.default_rng(0).normal(size=(15, d)) * 1e3
    for entry in entries:
        assert np.isfinite(gram(entry, data)).all()
    assert isinstance(entries[0][1], Linear) and isinstance(entries[1][1], Polynomial)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: family(X, []), ValueError, "kernels is empty"),
        (lambda: family(X, [("a", RBF(), [0])]), TypeError, r"expected \(name, kernel\)"),
        (lambda: family(0, [RBF()]), ValueError, "number of features is 0"),
        (lambda: family("abc", [RBF()]), TypeError, "neither a table"),
        (lambda: family(np.ones(3), [RBF()]), TypeError, "neither a table"),
        (lambda: rbf_grid([1.0], widths=[1.0]), ValueError, "both gammas and widths"),
        (lambda: rbf_grid([]), ValueError, "empty grid"),
        (lambda: rbf_grid([0.0]), ValueError, "gamma is 0.0"),
    ],
)
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message):
        make()
