"""Many given matrices are read in compiled passes: the bank is the one that each matrix by itself gives."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from polykern import kernels
from polykern.bank import build_bank
from polykern.kernels import Precomputed
from polykern.kernels.matrix_checks import MANY

N = 25
NORMALIZERS = ["mean-diagonal", "trace", "diagonal", "center", "center-diagonal", None]


def matrices():
    """Of both types and orders, some in a stack, one apart from its neighbours, a zero and a constant one."""
    rng = np.random.default_rng(0)
    stack = np.stack([A @ A.T for A in rng.standard_normal((MANY, N, 3))])
    spread = np.kron(stack[0], np.eye(2))[::2, ::2]
    given = [*stack, *stack[:5].astype(np.float32), *map(np.asfortranarray, stack[5:9] + 1.0), spread]
    return [*given, np.zeros((N, N)), np.full((N, N), 3.0)]


@pytest.mark.parametrize("normalize", NORMALIZERS)
@pytest.mark.parametrize("index", [np.arange(N), np.arange(3, 20), np.random.default_rng(1).permutation(N)[:15]])
def test_as_each_by_itself(normalize, index):
    given = matrices()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        bank = build_bank([Precomputed(K) for K in given], index, normalize=normalize)
        alone = [build_bank([Precomputed(K)], index, normalize=normalize) for K in given]
    assert bank.null.tolist() == [one.null[0] for one in alone]
    assert bank.null[-2:].tolist() == [True, True]
    every = slice(0, len(index))
    blocks = bank.blocks(every, every)
    for k, one in enumerate(alone):
        np.testing.assert_allclose(blocks[k], one.blocks(every, every)[0], rtol=1e-9, atol=1e-12)  # means are sums
        weights = np.where(np.arange(len(given)) == k, 2.0, 0.0)
        np.testing.assert_allclose(bank.diag(weights), one.diag([2.0]), rtol=1e-9)
        new = bank.keep([1, 4]).against(index[:6], weights)
        np.testing.assert_allclose(new, one.keep([1, 4]).against(index[:6], [2.0]), rtol=1e-9, atol=1e-12)


def test_duplicates_among_many():
    given = matrices()[:MANY]
    bank = build_bank([Precomputed(K) for K in (*given, given[3], given[3].T, given[4].copy())], np.arange(N))
    assert sum(storage.n_kernels for storage, _ in bank._storages) == MANY + 2
    assert "the same kernel as 'precomputed_3'" in bank.explain()


@pytest.mark.parametrize(
    ("spoil", "sentence"), [(np.nan, "is nan at \\(7, 7\\)"), (-5.0, "is not positive semidefinite")]
)
def test_the_wrong_one_among_many_is_named(spoil, sentence):
    given = matrices()
    given[20][7, 7] = spoil
    with pytest.raises(ValueError, match=rf"kernel 20 \('precomputed_20'\) {sentence}"):
        build_bank([Precomputed(K) for K in given], np.arange(N))


def test_matrices_beside_other_kernels():
    table = np.column_stack([np.arange(N), np.random.default_rng(2).standard_normal((N, 2))])
    given = [kernels.OnColumns(Precomputed(K), [0]) for K in matrices()[:MANY]]
    rbf = kernels.OnColumns(kernels.RBF(gamma=0.5), [1, 2])
    bank = build_bank([given[0], rbf, *given[1:]], table, normalize=None)
    np.testing.assert_allclose(bank.combine(np.eye(MANY + 1)[1]), rbf.gram(table), rtol=1e-12)
    np.testing.assert_allclose(bank.diag(np.eye(MANY + 1)[2]), np.diagonal(given[1].kernel.K), rtol=1e-12)
