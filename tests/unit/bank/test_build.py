"""What goes into a bank: names, columns, duplicates, null kernels, and the sentences for what is wrong."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_selector

from polykern import kernels
from polykern.bank import KernelBank, build_bank
from polykern.kernels import OnColumns, Precomputed


@pytest.fixture
def table():
    return np.random.default_rng(0).standard_normal((30, 3))


def gram(n, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, 4))
    return A @ A.T


def matches(sentence):
    return pytest.raises((ValueError, TypeError), match=re.escape(sentence))


def test_names_are_made_up_or_given(table):
    assert build_bank(["rbf", OnColumns(kernels.Linear(), [0])], table).names == ("rbf_0", "linear_1")
    assert build_bank(["rbf", "linear"], table, names=["wide", "straight"]).names == ("wide", "straight")
    assert isinstance(build_bank(["rbf"], table), KernelBank)


def test_parameters_are_read_off_the_columns_of_the_kernel(table):
    bank = build_bank([OnColumns(kernels.RBF(gamma="scale"), [1])], table, normalize=None)
    expected = kernels.RBF(gamma="scale").gram(table[:, [1]])
    np.testing.assert_allclose(bank.combine([1.0]), expected, rtol=1e-12)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_names_and_selectors(table, frame):
    data = frame({"a": table[:, 0], "b": table[:, 1], "c": table[:, 2]})
    chosen = [OnColumns(kernels.Linear(), ["a", "c"]), OnColumns(kernels.RBF(gamma=1.0), "b"), kernels.Linear()]
    plain = [OnColumns(kernels.Linear(), [0, 2]), OnColumns(kernels.RBF(gamma=1.0), [1]), kernels.Linear()]
    if frame is pd.DataFrame:
        chosen.append(OnColumns(kernels.Polynomial(degree=2), make_column_selector(pattern="a|b")))
        plain.append(OnColumns(kernels.Polynomial(degree=2), [0, 1]))
    found, expected = build_bank(chosen, data), build_bank(plain, table)
    every = slice(0, 30)
    np.testing.assert_array_equal(found.blocks(every, every), expected.blocks(every, every))
    weights = np.ones(len(chosen))
    new = found.keep([1, 4]).against(data[:5], weights)
    np.testing.assert_array_equal(new, expected.keep([1, 4]).against(table[:5], weights))
    with matches("X has the column 'c' at position 1, expected 'b'"):
        found.keep([1]).against(data[["a", "c", "b"]], weights)


def test_duplicates_share_storage_and_work(table):
    K = gram(30)
    family = [
        kernels.RBF(gamma=0.5),
        OnColumns(kernels.RBF(gamma=0.5), slice(None)),
        OnColumns(kernels.RBF(gamma=0.5), [0, 1]),
        kernels.RBF(gamma=0.25, scale_by=2.0),
        kernels.RBF(gamma=0.7),
    ]
    bank = build_bank(family, table)
    assert sum(storage.n_kernels for storage, _ in bank._storages) == 3
    assert len(bank._stock.views) == 2
    assert "the same kernel as 'rbf_0'" in bank.explain()
    whole = bank.blocks(slice(0, 30), slice(0, 30))
    np.testing.assert_array_equal(whole[0], whole[3])
    weights = np.array([1.0, 2.0, 0.5, 3.0, 0.25])
    np.testing.assert_allclose(bank.combine(weights), np.tensordot(weights, whole, 1), atol=1e-12)
    np.testing.assert_allclose(bank.scores(np.ones(30)), whole.sum(axis=2), rtol=1e-10)
    shared = build_bank([Precomputed(K), Precomputed(K), Precomputed(K.copy())], np.arange(30))
    assert sum(storage.n_kernels for storage, _ in shared._storages) == 2


def test_views_of_all_columns_and_precomputed_matrices_are_not_copied(table):
    K = gram(30)
    bank = build_bank([OnColumns(Precomputed(K), [0]), kernels.RBF()], np.column_stack([np.arange(30.0), table]))
    shared = bank._storages[0][0]
    assert np.shares_memory(shared.matrices[0], K)
    assert shared.index == slice(0, 30)
    data = np.ascontiguousarray(table)
    assert build_bank(["rbf"], data)._stock.views[0] is data


@pytest.mark.parametrize("X", [np.arange(5, 25), np.arange(5, 25)[:, None], np.arange(5.0, 25.0)[:, None]])
def test_indices_alone(X):
    K = gram(30)
    bank = build_bank([Precomputed(K), kernels.Sum([Precomputed(K), Precomputed(2 * K)])], X, normalize=None)
    np.testing.assert_allclose(bank.combine([1.0, 0.0]), K[5:25, 5:25], atol=1e-12)
    np.testing.assert_allclose(bank.combine([0.0, 1.0]), 3 * K[5:25, 5:25], atol=1e-12)
    np.testing.assert_allclose(bank.keep([0, 3]).against(X[:7], [1.0, 1.0]), 4 * K[5:12, [5, 8]], atol=1e-12)


def test_a_matrix_in_column_order_or_read_only_or_on_disk(tmp_path):
    K = gram(40)
    np.save(tmp_path / "K.npy", K)
    frozen = K.copy()
    frozen.flags.writeable = False
    idx = np.random.default_rng(0).permutation(40)[:33]
    expected = K[np.ix_(idx, idx)]
    for given in (
        np.asfortranarray(K),
        frozen,
        np.load(tmp_path / "K.npy", mmap_mode="r"),
        np.kron(K, np.eye(2))[::2, ::2],
    ):
        bank = build_bank([Precomputed(given)], idx, normalize=None)
        np.testing.assert_allclose(bank.combine([2.0]), 2 * expected, atol=1e-12)
        np.testing.assert_allclose(bank.scores(np.arange(33.0))[0], expected @ np.arange(33.0), rtol=1e-10)


def test_null_and_constant_kernels_are_kept_at_zero_with_a_warning(table):
    data = np.column_stack([table, np.full(30, 3.0), np.zeros(30)])
    family = [
        kernels.OnColumns(kernels.Linear(), [4]),
        kernels.RBF(gamma=0.3),
        kernels.OnColumns(kernels.RBF(gamma=1.0), [3]),
    ]
    with pytest.warns(UserWarning) as caught:
        bank = build_bank(family, data, names=["nothing", "some", "same"], normalize="center")
    sentences = [str(one.message) for one in caught]
    assert len(sentences) == 2
    assert sentences[0].startswith("kernel 0 ('nothing') is zero or constant")
    assert sentences[1].startswith("kernel 2 ('same') is zero or constant")
    assert caught[0].filename == __file__
    assert bank.n_kernels == 3
    scores = bank.scores(np.arange(30.0))
    assert not scores[[0, 2]].any()
    assert scores[1].any()
    assert not bank.blocks([0], [1, 2])[[0, 2]].any()
    assert not bank.quad_forms(np.ones((30, 2)))[[0, 2]].any()
    np.testing.assert_array_equal(bank.combine([9.0, 1.0, 9.0]), bank.combine([0.0, 1.0, 0.0]))
    np.testing.assert_array_equal(bank.diag([9.0, 0.0, 9.0]), np.zeros(30))
    reference = bank.keep([0, 1])
    assert not reference.scores(data[:3], [1.0, 2.0])[[0, 2]].any()
    assert "weight 0" in bank.explain()
    assert not bank.subset([1, 2, 3]).scores(np.ones(3))[0].any()


def test_a_bank_of_null_kernels_only(table):
    with pytest.warns(UserWarning, match="kernel 0"):
        bank = build_bank([OnColumns(kernels.Linear(), [0])], np.zeros((6, 1)))
    assert not bank.scores(np.ones(6)).any()
    assert not bank.combine([1.0]).any()
    assert not bank.keep([1]).against(np.ones((2, 1)), [1.0]).any()


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.filterwarnings("ignore:overflow")
def test_entries_that_are_not_finite_name_the_kernel():
    K = gram(2500, 1)
    K[2400, 2300] = K[2300, 2400] = np.nan
    bank = build_bank([Precomputed(gram(2500)), Precomputed(K)], np.arange(2500), names=["dna", "rna"])
    for call in (lambda: bank.combine([1.0, 1.0]), lambda: bank.scores(np.ones(2500)), bank.check_finite):
        with matches("kernel 1 ('rna') is nan at (2300, 2400)"):
            call()
    bank.combine([1.0, 0.0])


class Negative(kernels.Kernel):
    def block(self, X, Z, dtype=np.float64):
        return -(X @ Z.T).astype(dtype) + 5.0 * (np.abs(X[:, :1] - Z[:, 0]) == 0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"kernels": []}, "kernels is empty, expected at least one kernel"),
        ({"kernels": "rbf"}, "kernels is 'rbf', expected a list of kernels"),
        ({"kernels": ["rbf", "nope"]}, "kernel 1: kernel 'nope' is not known"),
        ({"names": ["a"]}, "names has 1 entries, expected 2"),
        ({"names": ["a", "a"]}, "kernels 0 and 1 are both named 'a'"),
        ({"names": ["a", 3]}, "names[1] is 3, expected text"),
        ({"normalize": "unit"}, "normalize is 'unit', expected"),
        ({"dtype": "int32"}, "dtype is 'int32', expected 'float32' or 'float64'"),
        ({"memory": "lots"}, "memory is 'lots', expected a number of bytes"),
        ({"memory": 1000}, "2 kernels on 30 samples need at least"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"X": np.zeros((0, 3))}, "X has shape (0, 3), expected at least one sample"),
        ({"X": np.arange(4)}, "kernel 0 ('rbf_0') reads features, but X has shape (4,)"),
        ({"X": np.zeros((2, 2, 2))}, "X has shape (2, 2, 2)"),
        ({"X": np.full((4, 2), np.nan)}, "kernel 0 ('rbf_0')"),
        (
            {"kernels": ["rbf", OnColumns(kernels.Linear(), [7])]},
            "kernel 1 ('linear_1'): X: column 7 does not exist; X has 3 columns",
        ),
        ({"kernels": ["rbf", OnColumns(kernels.Linear(), ["age"])]}, "kernel 1 ('linear_1')"),
        ({"kernels": ["rbf", Negative()]}, "kernel 1 ('negative_1') is not positive semidefinite"),
        ({"kernels": ["rbf", lambda X, Z: np.full((len(X), len(Z)), np.nan)]}, "kernel 1 ("),
    ],
)
def test_what_is_wrong_is_said(table, arguments, sentence):
    given = {"kernels": ["rbf", "linear"], "X": table} | arguments
    with matches(sentence):
        build_bank(given.pop("kernels"), given.pop("X"), **given)


def test_wrong_matrices_are_named():
    sizes = [Precomputed(gram(28)), Precomputed(gram(28, 1)), Precomputed(gram(10)), Precomputed(gram(28, 2))]
    with matches("kernel 2 ('rna') is (10, 10), expected (28, 28)"):
        build_bank(sizes, np.arange(28), names=["a", "b", "rna", "d"])
    with matches("kernel 0 ('precomputed_0') is (5, 4), expected a square matrix"):
        build_bank([Precomputed(np.ones((5, 4)))], np.arange(4))
    with matches("kernel 0 ('precomputed_0') holds the index 30, outside a precomputed kernel of 30 samples"):
        build_bank([Precomputed(gram(30))], np.arange(31))
    crooked = gram(30)
    crooked[3, 4] += 1.0
    with matches("kernel 0 ('precomputed_0') is not symmetric"):
        build_bank([Precomputed(crooked)], np.arange(30))
    with matches("kernel 1 ('precomputed_1') is not positive semidefinite: its most negative eigenvalue is -"):
        build_bank([Precomputed(gram(30)), Precomputed(gram(30) - 2.0 * np.eye(30))], np.arange(30))
    with matches("kernel 0 ('precomputed_0')"):
        build_bank([Precomputed(gram(30)), kernels.RBF()], np.random.default_rng(0).standard_normal((30, 2)))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda bank: bank.scores(np.ones(5)), "coef has shape (5,), expected (30,) or (30, T)"),
        (lambda bank: bank.quad_forms(np.full(30, np.inf)), "coef holds inf at (0,)"),
        (lambda bank: bank.combine(np.ones(3)), "weights has shape (3,), expected (2,)"),
        (lambda bank: bank.combine([np.nan, 1.0]), "weights holds nan at position 0"),
        (lambda bank: bank.rows([30], [1.0, 1.0]), "idx runs from 30 to 30, expected positions from 0 to 29"),
        (lambda bank: bank.rows([True] * 30, [1.0, 1.0]), "idx is a boolean mask"),
        (lambda bank: bank.subset([0.5]), "idx has shape (1,) and dtype float64"),
        (lambda bank: bank.subset([]), "idx is empty"),
        (lambda bank: bank.keep([0]).against(np.ones((2, 4)), [1.0, 1.0]), "X has 4 columns, expected 3"),
        (lambda bank: bank.keep([0]).against(np.ones(3), [1.0, 1.0]), "X has shape (3,), expected a table"),
        (lambda bank: bank.keep([0]).against(np.full((2, 3), np.nan), [1.0, 1.0]), "kernel 0 ('rbf_0')"),
        (lambda bank: bank.keep([0, 1]).scores(np.ones((2, 3)), np.ones(3)), "coef has shape (3,), expected (2,)"),
    ],
)
def test_wrong_arguments_of_the_operator(table, call, sentence):
    bank = build_bank(["rbf", "linear"], table)
    with matches(sentence):
        call(bank)


def test_nothing_given_is_changed(table):
    K, data, family = gram(30), table.copy(), [kernels.RBF(gamma="scale"), kernels.Linear()]
    bank = build_bank(family, data, normalize="center-diagonal")
    shared = build_bank([Precomputed(K)], np.arange(30), normalize="center-diagonal")
    for one in (bank, shared):
        one.combine(np.ones(one.n_kernels))
        one.scores(np.ones(30))
        one.subset([2, 9, 4]).combine(np.ones(one.n_kernels))
        one.keep([1, 2])
    np.testing.assert_array_equal(data, table)
    np.testing.assert_array_equal(K, gram(30))
    assert family[0].gamma == "scale"
