"""Align, AlignF, CKA and FHeuristic against centred matrices written out, and the invariances of alignment."""

from __future__ import annotations

import warnings
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from polykern import kernels, weighting
from polykern.bank import build_bank
from polykern.weighting import frobenius
from polykern.weighting.frobenius import centred_norms, centred_products, norms, row_means
from polykern.weighting.target import centred_target_products, target_products

N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 5)) + 3.0
SIGNS = (X[:, 0] + 0.5 * X[:, 1] + 0.5 * RNG.normal(size=N) > 4.5).astype(int)
THREE = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=N), [2.2, 3.4])
VALUES = X[:, 0] * X[:, 1] + RNG.normal(size=N)
TARGETS = {"two classes": SIGNS, "three classes": THREE, "real": VALUES}
KERNELS = [
    *(kernels.OnColumns(kernels.Linear(), [k]) for k in range(5)),
    kernels.RBF(gamma=0.3),
    kernels.RBF(gamma=0.003),
    kernels.Polynomial(degree=2),
]
METHODS = [weighting.Align(), weighting.AlignF(), weighting.CKA(), weighting.FHeuristic()]


def target_kernel(y: np.ndarray) -> np.ndarray:
    """T by its definition, entry by entry."""
    if y.dtype.kind == "f":
        return np.outer(y - y.mean(), y - y.mean())
    c = y.max() + 1
    return np.array([[1.0 if a == b else -1.0 / (c - 1) for b in y] for a in y])


def centred(K: np.ndarray) -> np.ndarray:
    H = np.eye(len(K)) - 1.0 / len(K)
    return H @ np.asarray(K, dtype=float) @ H


def product(A: np.ndarray, B: np.ndarray) -> float:
    return float(np.sum(A * B))


def matrices(**options: Any) -> np.ndarray:
    return build_bank(KERNELS, X, **options).blocks(np.arange(N), np.arange(N)).astype(float)


def alignment(b: np.ndarray, Ks: np.ndarray, y: np.ndarray) -> float:
    """Of the sum of kernels with the target, both centred."""
    K, T = centred(np.tensordot(b, Ks, 1)), centred(target_kernel(y))
    return product(K, T) / np.sqrt(product(K, K) * product(T, T))


def weigh(method: weighting.Weighting, y: np.ndarray, given: Any = KERNELS, **options: Any) -> np.ndarray:
    return method.weights(build_bank(given, X, **options), y, np.random.RandomState(0))


# ---- the parts


@pytest.mark.parametrize("options", [{}, {"normalize": None}, {"normalize": "center-diagonal"}, {"dtype": "float32"}])
def test_products_of_centred_kernels(options: dict) -> None:
    bank, Ks = build_bank(KERNELS, X, **options), matrices(**options)
    expected = np.array([[product(centred(A), centred(B)) for B in Ks] for A in Ks])
    sizes = np.sqrt(np.diag(expected))
    means = row_means(bank)
    rtol = 1e-5 if options.get("dtype") else 1e-11  # of the sizes of both, whatever the centring cancels
    assert np.allclose(
        centred_products(bank, means) / np.outer(sizes, sizes), expected / np.outer(sizes, sizes), 0, rtol
    )
    assert np.allclose(centred_norms(bank, means), sizes, rtol)
    assert np.allclose(norms(bank), [np.linalg.norm(K) for K in Ks], rtol)


def test_centring_of_float32_keeps_digits_where_almost_all_cancels() -> None:
    # Entries around 1 that vary by 1e-3: without the shift, sums of their squares in float32 would lose all of M.
    wide = [kernels.RBF(gamma=gamma) for gamma in (1e-5, 2e-5, 1e-4)]
    exact, single = build_bank(wide, X), build_bank(wide, X, dtype="float32")
    expected = centred_products(exact, row_means(exact))
    found = centred_products(single, row_means(single))
    sizes = np.sqrt(np.diag(expected))
    assert np.abs(found - expected).max() < 1e-3 * sizes.max() ** 2
    assert np.allclose(found / np.outer(sizes, sizes), expected / np.outer(sizes, sizes), atol=2e-3)


@pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS)
def test_products_with_the_target(y: np.ndarray) -> None:
    bank, Ks, T = build_bank(KERNELS, X), matrices(), target_kernel(y)
    means = row_means(bank)
    assert np.allclose(target_products(bank, y, means), [product(K, T) for K in Ks], rtol=1e-10)
    assert np.allclose(centred_target_products(bank, y, means), [product(centred(K), T) for K in Ks], rtol=1e-9)


def test_many_small_blocks_add_up_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    bank = build_bank(KERNELS, X)
    means = row_means(bank)
    expected = centred_products(bank, means)
    monkeypatch.setattr(frobenius, "_BLOCK_BYTES", 8 * len(KERNELS) * 50)
    assert np.allclose(centred_products(bank, means), expected, rtol=1e-11)


@pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS)
def test_the_number_of_threads_changes_no_digit(y: np.ndarray) -> None:
    many = [kernels.RBF(gamma=g) for g in np.geomspace(0.01, 1, 100)]  # enough work for threads
    for method in METHODS[:3]:
        one, two = (weigh(method, y, many, n_jobs=n_jobs) for n_jobs in (1, 2))
        assert np.array_equal(one, two)


# ---- the methods against direct formulations


@pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS)
def test_align_is_the_alignment_of_each_kernel_alone(y: np.ndarray) -> None:
    scores = np.array([alignment(one, matrices(), y) for one in np.eye(len(KERNELS))])
    assert np.allclose(weigh(weighting.Align(), y), scores / scores.sum(), rtol=1e-9)


def qp_weights(Ks: np.ndarray, y: np.ndarray, nonnegative: bool) -> np.ndarray:
    """argmin v' M v - 2 v . a by a conic solver, on kernels of Frobenius norm 1."""
    sizes = np.array([np.linalg.norm(centred(K)) for K in Ks])
    unit = np.array([centred(K).ravel() for K in Ks]) / sizes[:, None]
    T = centred(target_kernel(y)).ravel()
    v = cp.Variable(len(Ks))
    wanted = cp.sum_squares(unit.T @ v - T / np.linalg.norm(T))
    cp.Problem(cp.Minimize(wanted), [v >= 0] if nonnegative else []).solve(solver="CLARABEL", tol_gap_abs=1e-12)
    return v.value / sizes


@pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS)
def test_alignf_is_the_quadratic_program(y: np.ndarray) -> None:
    b, Ks = weigh(weighting.AlignF(), y), matrices()
    expected = qp_weights(Ks, y, nonnegative=True)
    assert np.allclose(b, expected / expected.sum(), atol=1e-5)
    assert (b == 0).any()  # otherwise the constraint would not have been tried
    best = alignment(b, Ks, y)
    assert best >= alignment(np.maximum(expected, 0), Ks, y) - 1e-10
    for other in RNG.dirichlet(np.ones(len(Ks)), size=200):
        assert best >= alignment(other, Ks, y)


@pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS)
def test_cka_is_the_closed_form_without_its_negative_part(y: np.ndarray) -> None:
    Ks, T = matrices(), target_kernel(y)
    M = np.array([[product(centred(A), centred(B)) for B in Ks] for A in Ks])
    v = np.linalg.solve(M, [product(centred(K), T) for K in Ks])
    assert (v < 0).any()
    assert np.allclose(weigh(weighting.CKA(), y), np.maximum(v, 0) / np.maximum(v, 0).sum(), atol=1e-6)


def test_cka_is_alignf_where_the_closed_form_is_not_negative() -> None:
    some = KERNELS[:2]
    cka, alignf = weigh(weighting.CKA(), SIGNS, some), weigh(weighting.AlignF(), SIGNS, some)
    assert cka.all() and np.allclose(cka, alignf, rtol=1e-9)


@pytest.mark.parametrize("y", [SIGNS, THREE])
def test_f_heuristic_is_the_plain_alignment(y: np.ndarray) -> None:
    T = target_kernel(y)
    scores = np.array([product(K, T) / (np.linalg.norm(K) * np.linalg.norm(T)) for K in matrices()])
    assert np.allclose(weigh(weighting.FHeuristic(), y), scores / scores.sum(), rtol=1e-9)


# ---- invariances


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_scaling_a_kernel(method: weighting.Weighting) -> None:
    Ks = [K for K in matrices() if np.linalg.norm(K) < 1e9]
    factors = np.geomspace(1e-3, 1e3, len(Ks))
    given = [kernels.Precomputed(K) for K in Ks]
    scaled = [kernels.Precomputed(f * K) for f, K in zip(factors, Ks, strict=True)]
    b, c = (method.weights(build_bank(k, np.arange(N), normalize=None), SIGNS, None) for k in (given, scaled))
    if isinstance(method, weighting.AlignF | weighting.CKA):  # the sum of kernels is what does not depend on it
        c = factors * c / (factors @ c)
    assert np.allclose(b, c, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("method", METHODS[:3], ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS)
def test_a_constant_on_top_of_a_kernel_changes_no_centred_alignment(method: Any, y: np.ndarray) -> None:
    Ks = matrices()
    given = [kernels.Precomputed(K) for K in Ks]
    shifted = [kernels.Precomputed(K + 0.5 * k) for k, K in enumerate(Ks)]
    b, c = (method.weights(build_bank(k, np.arange(N), normalize=None), y, None) for k in (given, shifted))
    assert np.allclose(b, c, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("y", [SIGNS, THREE])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_classes_have_no_order(method: weighting.Weighting, y: np.ndarray) -> None:
    assert np.allclose(weigh(method, y), weigh(method, y.max() - y), rtol=1e-9)


@pytest.mark.parametrize("method", METHODS[:3], ids=lambda method: type(method).__name__)
def test_real_targets_have_no_scale_and_no_origin(method: weighting.Weighting) -> None:
    assert np.allclose(weigh(method, VALUES), weigh(method, 5.0 - 100.0 * VALUES), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_float32_kernels_give_the_same_weights(method: weighting.Weighting) -> None:
    given = [kernels.OnColumns(kernels.RBF(gamma=1.0), [k]) for k in range(5)]
    assert np.allclose(weigh(method, SIGNS, given, dtype="float32"), weigh(method, SIGNS, given), atol=1e-5)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_the_storage_does_not_matter(method: weighting.Weighting, monkeypatch: pytest.MonkeyPatch) -> None:
    from oracles.bank import force
    from polykern.bank import plan

    expected = weigh(method, THREE)
    for storage in (plan.ON_THE_FLY, plan.MEMMAP):
        with monkeypatch.context() as patch:
            force(patch, storage)
            assert np.allclose(weigh(method, THREE), expected, rtol=1e-7, atol=1e-9)


# ---- edges


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_null_kernels_get_no_weight(method: weighting.Weighting) -> None:
    table = np.column_stack([X, np.zeros(N)])
    given = [kernels.OnColumns(kernels.Linear(), [5]), *KERNELS[:3]]
    with pytest.warns(UserWarning, match="zero or constant"):
        b = method.weights(build_bank(given, table), SIGNS, np.random.RandomState(0))
    assert b[0] == 0.0
    assert np.allclose(b[1:], weigh(method, SIGNS, KERNELS[:3]), rtol=1e-9)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_nothing_but_null_kernels(method: weighting.Weighting) -> None:
    given = [kernels.OnColumns(kernels.Linear(), [k]) for k in range(2)]
    with warnings.catch_warnings(action="ignore"):
        bank = build_bank(given, np.zeros((4, 2)))
    assert method.weights(bank, np.array([0, 1, 0, 1]), np.random.RandomState(0)).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("method", METHODS[:3], ids=lambda method: type(method).__name__)
def test_constant_targets_tell_nothing(method: weighting.Weighting) -> None:
    assert np.allclose(weigh(method, np.full(N, 2.0), KERNELS[:4]), 0.25)


def test_kernels_that_are_there_twice() -> None:
    # M is singular: least squares of the shortest length shares the weight, and the sum is the same for both.
    once, Ks = weigh(weighting.CKA(), SIGNS, KERNELS[:2]), KERNELS[:2] + KERNELS[:1]
    cka, alignf = weigh(weighting.CKA(), SIGNS, Ks), weigh(weighting.AlignF(), SIGNS, Ks)
    assert np.allclose(cka, [once[0] / 2, once[1], once[0] / 2], rtol=1e-6)
    assert np.allclose([alignf[0] + alignf[2], alignf[1]], once, rtol=1e-6)


def test_a_single_class_in_a_gap_of_the_codes() -> None:
    # Class 1 has no samples: there is nothing to sum up, and nothing fails.
    y = np.where(SIGNS == 0, 0, 2)
    assert np.isfinite(weigh(weighting.Align(), y)).all()
