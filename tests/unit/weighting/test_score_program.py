"""The linear programs of LP-beta and LP-B, against the same programs written out row by row."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from polykern.weighting.score_program import best_weights


def scores_of(n_kernels: int, n_samples: int, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores that favour the right class, some kernels more than others."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n_samples) % n_classes
    scores = rng.normal(size=(n_kernels, n_samples, n_classes))
    scores[:, np.arange(n_samples), codes] += np.linspace(0.0, 1.5, n_kernels)[:, None]
    return scores, codes


def written_out(
    scores: np.ndarray, codes: np.ndarray, nu: float, shared: bool, importance: np.ndarray | None = None
) -> float:
    """The optimum: every row of every sample and wrong class, variables (B by class, rho, xi)."""
    n_kernels, n, n_classes = scores.shape
    importance = np.ones(n) if importance is None else importance
    n_columns = 1 if shared else n_classes
    n_weights = n_kernels * n_columns
    cost = np.concatenate([np.zeros(n_weights), [-1.0], importance / (nu * importance.sum())])
    rows = []
    for i in range(n):
        for c in range(n_classes):
            if c != codes[i]:
                row = np.zeros(len(cost))
                own, other = (0, 0) if shared else (codes[i], c)
                row[own * n_kernels : (own + 1) * n_kernels] += scores[:, i, codes[i]]
                row[other * n_kernels : (other + 1) * n_kernels] -= scores[:, i, c]
                row[n_weights], row[n_weights + 1 + i] = -1.0, 1.0
                rows.append(-row)
    sums = np.zeros((n_columns, len(cost)))
    for column in range(n_columns):
        sums[column, column * n_kernels : (column + 1) * n_kernels] = 1.0
    bounds = [(0, None)] * n_weights + [(None, None)] + [(0, None)] * n
    solved = linprog(cost, np.array(rows), np.zeros(len(rows)), sums, np.ones(n_columns), bounds, method="highs")
    assert solved.status == 0
    return float(solved.fun)


def objective(scores: np.ndarray, codes: np.ndarray, nu: float, weights: np.ndarray, rho: float) -> float:
    """-rho + 1 / (nu N) sum_i max(0, rho - margin_i), sample by sample."""
    columns = np.broadcast_to(weights, (scores.shape[2], scores.shape[0]))
    total = 0.0
    for i, code in enumerate(codes):
        f = [columns[c] @ scores[:, i, c] for c in range(scores.shape[2])]
        margin = f[code] - max(f[c] for c in range(len(f)) if c != code)
        total += max(0.0, rho - margin)
    return -rho + total / (nu * len(codes))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("nu", [0.05, 0.3, 0.8, 1.0])
@pytest.mark.parametrize(("n_kernels", "n_samples", "n_classes"), [(4, 30, 2), (5, 40, 4), (3, 36, 12)])
def test_the_optimum_is_that_of_the_program_written_out(shared, nu, n_kernels, n_samples, n_classes) -> None:
    scores, codes = scores_of(n_kernels, n_samples, n_classes, seed=n_classes)
    found = best_weights(scores, codes, nu, shared=shared, tol=1e-9)
    assert found.status.converged and found.gap <= 1e-9
    assert found.primal == pytest.approx(written_out(scores, codes, nu, shared), abs=1e-8)
    assert found.primal == pytest.approx(objective(scores, codes, nu, found.weights, found.margin), abs=1e-12)
    assert found.dual <= found.primal
    assert found.weights.shape == ((n_kernels,) if shared else (n_classes, n_kernels))
    assert found.weights.min() >= 0.0
    np.testing.assert_allclose(found.weights.sum(axis=-1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("shared", [True, False])
def test_few_rows_are_written(shared: bool) -> None:
    scores, codes = scores_of(6, 200, 20, seed=0)
    found = best_weights(scores, codes, 0.2, shared=shared)
    assert found.status.converged
    assert found.n_rows < 0.4 * 200 * 19


@pytest.mark.parametrize("shared", [True, False])
def test_an_importance_of_two_is_the_sample_twice(shared: bool) -> None:
    scores, codes = scores_of(4, 24, 3, seed=1)
    importance = np.where(np.arange(24) % 3 == 0, 2.0, 1.0)
    again = np.repeat(np.arange(24), importance.astype(int))
    weighted = best_weights(scores, codes, 0.4, shared=shared, importance=importance, tol=1e-9)
    repeated = best_weights(scores[:, again], codes[again], 0.4, shared=shared, tol=1e-9)
    assert weighted.primal == pytest.approx(repeated.primal, abs=1e-8)
    assert weighted.primal == pytest.approx(written_out(scores, codes, 0.4, shared, importance), abs=1e-8)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
@pytest.mark.parametrize("shared", [True, False])
def test_the_scale_of_the_scores_is_that_of_the_optimum(factor: float, shared: bool) -> None:
    scores, codes = scores_of(5, 40, 4, seed=2)
    plain, scaled = (best_weights(f * scores, codes, 0.3, shared=shared, tol=1e-8) for f in (1.0, factor))
    assert scaled.primal == pytest.approx(factor * plain.primal, rel=1e-7)
    assert scaled.gap <= 1e-8


def test_the_bounds_hold_before_the_end() -> None:
    scores, codes = scores_of(5, 60, 6, seed=3)
    optimum = written_out(scores, codes, 0.3, shared=False)
    for rounds in (1, 2, 3):
        found = best_weights(scores, codes, 0.3, shared=False, max_rounds=rounds)
        assert found.dual - 1e-9 <= optimum <= found.primal + 1e-9
    assert not best_weights(scores, codes, 0.3, shared=False, max_rounds=1).status.converged


def test_one_kernel_and_scores_that_say_nothing() -> None:
    scores, codes = scores_of(1, 20, 3, seed=4)
    assert best_weights(scores, codes, 0.5).weights.tolist() == [1.0]
    nothing = best_weights(np.zeros((3, 20, 3)), codes, 0.5)
    assert nothing.primal == nothing.dual == 0.0 and nothing.status.converged


def test_a_kernel_that_is_always_right_takes_all() -> None:
    scores, codes = scores_of(4, 60, 3, seed=5)
    scores[2] = 0.0
    scores[2, np.arange(60), codes] = 10.0
    for shared in (True, False):
        weights = best_weights(scores, codes, 0.1, shared=shared).weights
        np.testing.assert_allclose(weights.reshape(-1, 4)[:, 2], 1.0)
