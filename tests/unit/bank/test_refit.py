"""One bank for training and validation parts: the numbers of a bank of the training part and of its reference."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.bank import force
from polykern.bank import build_bank
from polykern.bank.plan import DENSE, MEMMAP, ON_THE_FLY
from polykern.kernels import RBF, Linear, OnColumns

pytestmark = pytest.mark.usefixtures("quiet")
N = 70
NORMALIZERS = ["mean-diagonal", "trace", "diagonal", "center", "center-diagonal", None]
RNG = np.random.default_rng(5)
TRAIN = np.sort(RNG.permutation(N)[:50])
TEST = np.setdiff1d(np.arange(N), TRAIN)
WEIGHTS = np.linspace(0.2, 1.6, 8)


@pytest.mark.parametrize("normalize", NORMALIZERS)
@pytest.mark.parametrize("storage", [DENSE, ON_THE_FLY, MEMMAP])
def test_both_parts_are_those_of_a_bank_of_the_training_part(mixed, X, normalize, storage, monkeypatch):
    if storage != DENSE:
        force(monkeypatch, storage)
    whole = build_bank(mixed, X, normalize=None, n_jobs=1).refitted(normalize, TRAIN)
    expected = build_bank(mixed, X[TRAIN], normalize=normalize, n_jobs=1)
    part, coef = whole.subset(TRAIN), RNG.standard_normal((len(TRAIN), 2))
    close = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(part.combine(WEIGHTS), expected.combine(WEIGHTS), **close)
    np.testing.assert_allclose(part.scores(coef), expected.scores(coef), **close)
    np.testing.assert_allclose(part.quad_forms(coef[:, :1]), expected.quad_forms(coef[:, :1]), **close)
    np.testing.assert_allclose(part.diag(WEIGHTS), expected.diag(WEIGHTS), **close)
    spread = np.zeros((N, 2))
    spread[TRAIN] = coef
    new = expected.keep(np.arange(len(TRAIN)))
    outputs = np.tensordot(WEIGHTS, new.scores(X[TEST], coef), 1)
    np.testing.assert_allclose(whole.rows(TEST, WEIGHTS) @ spread, outputs, **close)
    kept = part.keep(np.arange(len(TRAIN)))
    np.testing.assert_allclose(kept.scores(X[TEST], coef), new.scores(X[TEST], coef), **close)


@pytest.mark.parametrize("normalize", ["mean-diagonal", "center-diagonal"])
def test_folds_are_gathered_and_the_whole_is_not_copied(X, normalize):
    bank = build_bank([RBF(gamma=0.5), Linear()], X[:, :4], normalize=None)
    whole = bank.refitted(normalize, TRAIN)
    (storage, _), (original, _) = *whole._storages, *bank._storages
    assert np.shares_memory(storage.matrices, original.stack)
    (part, _) = whole.subset(TRAIN)._storages[0]
    assert part.kind == "dense" and not np.shares_memory(part.stack, original.stack)
    # All samples in order: read as they are where there is a scale alone, written out where every entry changes.
    (everything, _) = whole.subset(np.arange(N))._storages[0]
    assert (everything.kind == "shared") == (normalize == "mean-diagonal")


def test_a_kernel_that_says_nothing_of_the_training_part_is_null_there():
    X = np.column_stack([np.arange(20.0), np.r_[np.ones(15), np.zeros(5)]])
    bank = build_bank([OnColumns(RBF(gamma=0.1), [0]), OnColumns(RBF(gamma=1.0), [1])], X, normalize=None)
    assert bank.null.tolist() == [False, False]
    assert bank.refitted("mean-diagonal", np.arange(15)).null.tolist() == [False, True]
    assert bank.refitted("mean-diagonal", np.arange(16)).null.tolist() == [False, False]


def test_what_cannot_be_refitted_says_so(X):
    bank = build_bank([Linear()], X[:, :4])
    with pytest.raises(ValueError, match=r"normalized already; build it with normalize=None"):
        bank.refitted("trace", TRAIN)
    raw = build_bank([Linear()], X[:, :4], normalize=None)
    with pytest.raises(ValueError, match=r"idx is empty, expected at least one sample"):
        raw.refitted("trace", np.arange(0))
    with pytest.raises(ValueError, match=r"normalize is 'trce'.*Did you mean 'trace'"):
        raw.refitted("trce", TRAIN)
