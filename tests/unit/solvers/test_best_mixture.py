"""The best mixture of dual points and its kernel weights, against cvxpy; numbers that rounding ruins."""

from __future__ import annotations

import cvxpy
import numpy as np
import pytest

from polykern.solvers import best_mixture as module
from polykern.solvers.best_mixture import best_mixture


def points(n_kernels, m, rank, seed):
    """Products of m random points of `rank` features per kernel, and gains of the same size."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_kernels, m, rank)) / np.sqrt(rank)
    return features @ features.transpose(0, 2, 1), rng.normal(size=m)


def value(products, gains, shares):
    return gains @ shares - 0.5 * max(shares @ P @ shares for P in products)


def optimum(products, gains):
    """By second-order cones: theta' P theta = |L' theta|^2."""
    theta, top = cvxpy.Variable(len(gains), nonneg=True), cvxpy.Variable()
    roots = []
    for P in products:
        values, vectors = np.linalg.eigh(P)
        roots.append((vectors * np.sqrt(np.maximum(values, 0.0))).T)
    limits = [cvxpy.sum_squares(root @ theta) <= top for root in roots]
    problem = cvxpy.Problem(cvxpy.Maximize(gains @ theta - 0.5 * top), [cvxpy.sum(theta) == 1, *limits])
    return problem.solve(solver=cvxpy.CLARABEL)


def worst_of_weights(products, gains, found):
    """max over theta at the fixed weights is at most this: the optimum lies between the bound and it."""
    combined = np.tensordot(found.weights, products, 1)
    slopes = gains - combined @ found.shares
    return slopes.max() + 0.5 * found.shares @ combined @ found.shares


def check_valid(found, products, gains):
    for numbers in (found.shares, found.weights):
        assert np.isfinite(numbers).all() and numbers.min() >= 0
        assert numbers.sum() == pytest.approx(1.0, abs=1e-12)
    assert found.bound == pytest.approx(value(products, gains, found.shares), rel=1e-12, abs=1e-14)


# F, m, rank; rank below m: singular products
SIZES = [(1, 1, 1), (1, 6, 6), (1, 6, 2), (4, 1, 1), (3, 2, 1), (8, 12, 3), (40, 6, 6), (300, 10, 2)]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("n_kernels", "m", "rank"), SIZES)
def test_is_the_best_of_all_mixtures(n_kernels, m, rank, seed):
    products, gains = points(n_kernels, m, rank, seed)
    found = best_mixture(products, gains, np.full(m, 1.0 / m), 1e-9)
    check_valid(found, products, gains)
    best = optimum(products, gains)
    assert found.bound == pytest.approx(best, abs=2e-7)  # as exact as cvxpy
    assert found.bound <= best + 2e-7


@pytest.mark.parametrize("tol", [1e-2, 1e-5, 1e-8, 1e-11])
@pytest.mark.parametrize(("n_kernels", "m", "rank"), SIZES)
def test_weights_are_optimal_to_the_tolerance(n_kernels, m, rank, tol):
    """Bound and weights close the gap by themselves; where a share is positive the slopes tie, and used kernels have
    the largest form."""
    products, gains = points(n_kernels, m, rank, seed=2)
    found = best_mixture(products, gains, np.full(m, 1.0 / m), tol)
    check_valid(found, products, gains)
    assert -1e-13 <= worst_of_weights(products, gains, found) - found.bound <= 4 * tol
    forms = np.einsum("kst,s,t->k", products, found.shares, found.shares)
    assert found.weights @ (forms.max() - forms) <= 4 * tol
    slopes = gains - np.tensordot(found.weights, products, 1) @ found.shares
    assert found.shares @ (slopes.max() - slopes) <= 4 * tol


@pytest.mark.parametrize("tol", [1e-5, 1e-11])
def test_points_that_are_there_three_times_change_nothing(tol):
    products, gains = points(30, 6, 2, seed=0)
    again = np.repeat(np.arange(6), 3)
    found = best_mixture(products[:, again][:, :, again], gains[again], np.full(18, 1 / 18), tol)
    once = best_mixture(products, gains, np.full(6, 1 / 6), tol)
    assert found.bound == pytest.approx(once.bound, abs=2 * tol)
    np.testing.assert_allclose(found.shares.reshape(6, 3).sum(axis=1), once.shares, atol=2e3 * tol)


@pytest.mark.parametrize("tol", [1e-5, 1e-11])
def test_kernels_that_are_equal_share_the_weight(tol):
    """More kernels at the top than points: the system cannot hold them all."""
    products, gains = points(1, 5, 5, seed=1)
    found = best_mixture(np.repeat(products, 50, axis=0), gains, np.full(5, 0.2), tol)
    assert found.bound == pytest.approx(best_mixture(products, gains, np.full(5, 0.2), tol).bound, abs=2 * tol)
    np.testing.assert_allclose(found.weights, 1 / 50, rtol=1e-6)


def test_kernels_that_are_zero_get_no_weight():
    products, gains = points(5, 4, 3, seed=3)
    products[2] = 0.0
    assert best_mixture(products, gains, np.full(4, 0.25), 1e-8).weights[2] == 0.0


def test_points_that_are_zero_leave_the_weights_to_choice():
    """The solution a = 0: every form is zero, and so is every slack."""
    found = best_mixture(np.zeros((3, 2, 2)), np.array([0.0, -1.0]), np.array([0.5, 0.5]), 1e-8)
    check_valid(found, np.zeros((3, 2, 2)), np.array([0.0, -1.0]))
    assert found.bound == pytest.approx(0.0, abs=1e-8)


def test_weights_of_kernels_out_of_use_are_exactly_zero():
    products, gains = points(200, 8, 8, seed=4)
    products *= np.linspace(0.1, 2.0, 200)[:, None, None]
    weights = best_mixture(products, gains, np.full(8, 0.125), 1e-8).weights
    assert np.count_nonzero(weights) <= 8 and weights[:50].max() == 0.0


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("of_gains", [0.0, 1e-12, 1.0, 1e10, 1e30])
@pytest.mark.parametrize("of_products", [0.0, 1e-300, 1e-8, 1.0, 1e8, 1e30, 1e200])
@pytest.mark.parametrize(("n_kernels", "m"), [(1, 1), (3, 7), (40, 2)])
def test_numbers_of_any_size_give_a_true_bound(n_kernels, m, of_products, of_gains, seed):
    """No exception, no warning, weights on the simplex, and a bound no lower than that of the start."""
    products, gains = points(n_kernels, m, 2, seed)
    spread = 10.0 ** np.random.default_rng(seed).uniform(-12, 0, size=(n_kernels, 1, 1)) if seed else 1.0
    products, gains = of_products * spread * products, of_gains * gains
    start = np.random.default_rng(seed).dirichlet(np.ones(m))
    found = best_mixture(products, gains, start, 1e-6)
    check_valid(found, products, gains)
    before = value(products, gains, start)
    assert found.bound >= before - 1e-12 * abs(before)


@pytest.mark.parametrize("ruined", ["factor", "first step", "later step"])
def test_steps_that_fail_leave_a_valid_mixture(ruined, monkeypatch):
    """What is there when a step is not finite is the answer, or the start where that is better."""
    products, gains = points(10, 5, 2, seed=5)
    start = best_mixture(products, gains, np.full(5, 0.2), 1e-6)
    if ruined == "factor":
        monkeypatch.setattr(module, "_factored", lambda system: None)
    else:
        true, calls = module._solved, []

        def solved(factor, right):
            calls.append(1)
            return true(factor, right) * (np.nan if len(calls) > (0 if ruined == "first step" else 5) else 1.0)

        monkeypatch.setattr(module, "_solved", solved)
    found = best_mixture(products, gains, start.shares, 1e-9)
    check_valid(found, products, gains)
    assert start.bound <= found.bound <= start.bound + 1e-5


def test_a_start_that_does_not_sum_to_one_is_no_mixture(monkeypatch):
    """A point has left: what the rest would prove by itself is not true."""
    monkeypatch.setattr(module, "_factored", lambda system: None)
    products, gains = points(4, 3, 2, seed=7)
    found = best_mixture(products, -np.abs(gains), np.array([0.5, 0.3, 0.0]), 1e-6)
    check_valid(found, products, -np.abs(gains))


def test_steps_are_few(monkeypatch):
    """Not a count of seconds: of systems that are factored."""
    factored, true = [], module._factored
    monkeypatch.setattr(module, "_factored", lambda system: factored.append(len(system)) or true(system))
    products, gains = points(793, 30, 4, seed=6)
    best_mixture(products, gains, np.full(30, 1 / 30), 1e-8)
    assert len(factored) <= 22 and set(factored) == {62}
