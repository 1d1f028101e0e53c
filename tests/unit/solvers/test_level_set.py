"""Projection on the level set of a cutting-plane model, against cvxpy."""

from __future__ import annotations

import cvxpy
import numpy as np
import pytest

from polykern.regularizers.level_set import project_on_level_set


def planes(n_planes, n_kernels, seed):
    """Planes of a convex function with minimum inside the simplex, and a level above the model's minimum."""
    rng = np.random.default_rng(seed)
    slopes = rng.normal(size=(n_planes, n_kernels)) * 10.0 ** rng.uniform(-2, 4)
    touching = rng.dirichlet(np.ones(n_kernels), size=n_planes)
    heights = np.einsum("tk,tk->t", slopes, rng.dirichlet(np.ones(n_kernels), size=n_planes) - touching)
    return slopes, heights, rng.dirichlet(np.ones(n_kernels))


def lowest(slopes, heights):
    b, theta = cvxpy.Variable(slopes.shape[1], nonneg=True), cvxpy.Variable()
    problem = cvxpy.Problem(cvxpy.Minimize(theta), [cvxpy.sum(b) == 1, slopes @ b + heights <= theta])
    return problem.solve(solver=cvxpy.CLARABEL)


def projected(center, slopes, limits):
    scale = np.linalg.norm(slopes, axis=1)
    b = cvxpy.Variable(len(center), nonneg=True)
    limited = (slopes / scale[:, None]) @ b <= limits / scale
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(b - center)), [cvxpy.sum(b) == 1, limited])
    problem.solve(solver=cvxpy.CLARABEL)
    return b.value


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("share", [0.05, 0.6])
def test_is_the_nearest_point_of_the_level_set(seed, share):
    n_planes, n_kernels = 1 + 3 * seed, 2 + 5 * seed
    slopes, heights, center = planes(n_planes, n_kernels, seed)
    least, here = lowest(slopes, heights), float(np.max(slopes @ center + heights))
    limits = least + share * (here - least) - heights
    point, multipliers = project_on_level_set(center, slopes, limits)
    size = np.linalg.norm(slopes, axis=1)
    assert np.all((slopes @ point - limits) / size <= 1e-7)
    assert np.all(multipliers >= 0) and point.min() >= 0 and point.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(point, projected(center, slopes, limits), atol=1e-4)
    again, _ = project_on_level_set(center, slopes, limits, multipliers)
    np.testing.assert_allclose(again, point, atol=1e-7)


def test_a_point_inside_stays():
    center = np.full(4, 0.25)
    point, multipliers = project_on_level_set(center, np.eye(4), np.ones(4))
    np.testing.assert_allclose(point, center, atol=1e-12)
    assert not multipliers.any()
