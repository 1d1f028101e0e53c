"""Nearest points of polyhedra against cvxpy, with rows that exclude little, much, and say the same twice."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from polykern.regularizers.least_distance import nearest_point


def nearest_by_cvxpy(center, rows, limits, sums_to_one):
    b = cp.Variable(len(center), nonneg=True)
    conditions = [rows @ b <= limits, *([cp.sum(b) == 1] if sums_to_one else [])]
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(b - center)), conditions)
    return problem.solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("sums_to_one", [True, False])
@pytest.mark.parametrize("room", [0.0, 1e-3, 0.1])
@pytest.mark.parametrize("seed", range(5))
def test_is_the_nearest_point(seed, room, sums_to_one):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(3, 30), rng.integers(1, 20)
    rows = rng.normal(size=(m, n))
    rows = np.vstack([rows, rows + 1e-7 * rng.normal(size=rows.shape)])
    limits = rows @ rng.dirichlet(np.ones(n)) + room * rng.random(2 * m)
    center = 0.5 * rng.normal(size=n)
    found = nearest_point(center, rows, limits, sums_to_one)
    assert np.all(found >= 0) and np.max(rows @ found - limits) < 1e-8
    assert not sums_to_one or found.sum() == pytest.approx(1.0)
    least = nearest_by_cvxpy(center, rows, limits, sums_to_one)
    assert 0.5 * np.sum((found - center) ** 2) == pytest.approx(least, rel=1e-6, abs=1e-9)


def test_a_point_inside_stays():
    center = np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(nearest_point(center, np.eye(3), np.ones(3), True), center)
