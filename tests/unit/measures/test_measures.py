"""Measures of kernels, against naive formulas, cvxpy, closed forms and invariances."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from polykern import kernels, measures
from polykern.bank import build_bank

RNG = np.random.default_rng(0)
N = 18
X = RNG.normal(size=(N, 3))
TWO = np.where(X[:, 0] + 0.3 * RNG.normal(size=N) > 0, "up", "down")
THREE = np.array(["a", "b", "c"])[np.arange(N) % 3]
SPEC = [kernels.RBF(gamma=0.4), kernels.Linear(), kernels.Polynomial(2)]
STACK = np.array([kernel.gram(X) for kernel in SPEC])
LABELS = {"two": TWO, "three": THREE}
# (F,) or scalar functions of kernels and labels, each with the power of a scale factor of K that it follows.
SCALAR = {
    "alignment": (lambda K, y, **more: measures.alignment(K, y, **more), 0.0),
    "centred_alignment": (lambda K, y, **more: measures.centred_alignment(K, y, **more), 0.0),
    "kernel_margin": (lambda K, y, **more: measures.kernel_margin(K, y, **more), 1.0),
    "hull_margin": (lambda K, y, **more: measures.hull_margin(K, y, tol=1e-6, **more), 0.5),
    "radius": (lambda K, y, **more: measures.radius(K, tol=1e-8, **more), 0.5),
    "spectral_ratio": (lambda K, y, **more: measures.spectral_ratio(K, **more), 0.0),
    "participation_ratio": (lambda K, y, **more: measures.participation_ratio(K, **more), 0.0),
    "effective_rank": (lambda K, y, **more: measures.effective_rank(K, **more), 0.0),
}


def refused(sentence: str, error: type[Exception] = ValueError) -> Any:
    return pytest.raises(error, match=sentence)


# ---- naive formulas ----


def target(y: np.ndarray) -> np.ndarray:
    """T of classes, entry by entry."""
    c = len(np.unique(y))
    return np.where(y[:, None] == y[None, :], 1.0, -1.0 / (c - 1))


def cosine(A: np.ndarray, B: np.ndarray) -> float:
    return float((A * B).sum() / np.sqrt((A * A).sum() * (B * B).sum()))


@pytest.mark.parametrize("y", LABELS.values(), ids=LABELS)
def test_alignments_are_cosines_of_matrices(y: np.ndarray) -> None:
    H, T = np.eye(N) - 1.0 / N, target(y)
    for K in STACK:
        assert measures.alignment(K, y) == pytest.approx(cosine(K, T), rel=1e-10)
        assert measures.centred_alignment(K, y) == pytest.approx(cosine(H @ K @ H, H @ T @ H), rel=1e-10)


def test_alignment_with_real_targets() -> None:
    z = X[:, 0] - X[:, 0].mean()
    assert measures.alignment(STACK[1], X[:, 0]) == pytest.approx(cosine(STACK[1], np.outer(z, z)), rel=1e-10)


def test_alignments_between_kernels() -> None:
    H = np.eye(N) - 1.0 / N
    plain = [[cosine(A, B) for B in STACK] for A in STACK]
    centred = [[cosine(H @ A @ H, H @ B @ H) for B in STACK] for A in STACK]
    np.testing.assert_allclose(measures.alignment_matrix(STACK, centred=False), plain, rtol=1e-9)
    np.testing.assert_allclose(measures.alignment_matrix(STACK), centred, rtol=1e-9)


@pytest.mark.parametrize("y", LABELS.values(), ids=LABELS)
def test_kernel_margins_by_loops(y: np.ndarray) -> None:
    for K in STACK:
        expected = []
        for i in range(N):
            means = {label: K[i, y == label].mean() for label in np.unique(y)}
            expected.append(means.pop(y[i]) - max(means.values()))
        np.testing.assert_allclose(measures.sample_margins(K, y), expected, atol=1e-10)
        assert measures.kernel_margin(K, y) == pytest.approx(np.mean(expected), abs=1e-10)


def test_the_spectrum() -> None:
    for K in STACK:
        values = np.linalg.eigvalsh(K)
        shares = values[values > 1e-12 * values[-1]] / values.sum()
        assert measures.effective_rank(K) == pytest.approx(np.exp(-(shares * np.log(shares)).sum()), rel=1e-8)
        assert measures.spectral_ratio(K) == pytest.approx(values.sum() / np.sqrt((values**2).sum()), rel=1e-10)
        ratio = (measures.spectral_ratio(K) - 1) / (np.sqrt(N) - 1)
        assert measures.spectral_ratio(K, normalized=True) == pytest.approx(ratio, rel=1e-10)
        assert measures.participation_ratio(K) == pytest.approx(measures.spectral_ratio(K) ** 2, rel=1e-10)


# ---- quadratic programs ----


def factor(K: np.ndarray) -> np.ndarray:
    """phi with K = phi phi'."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


@pytest.mark.parametrize("k", range(len(SPEC)))
def test_the_radius_is_that_of_the_smallest_ball(k: int) -> None:
    phi, centre, size = factor(STACK[k]), cp.Variable(N), cp.Variable()
    problem = cp.Problem(cp.Minimize(size), [cp.norm(row - centre) <= size for row in phi])
    problem.solve(solver=cp.CLARABEL)
    assert measures.radius(STACK[k], tol=1e-8) == pytest.approx(problem.value, rel=1e-6)


def hull_distance(K: np.ndarray, first: np.ndarray) -> float:
    phi = factor(K)
    u, v = cp.Variable(int(first.sum())), cp.Variable(int((~first).sum()))
    constraints = [u >= 0, v >= 0, cp.sum(u) == 1, cp.sum(v) == 1]
    problem = cp.Problem(cp.Minimize(cp.norm(phi[first].T @ u - phi[~first].T @ v)), constraints)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


@pytest.mark.parametrize("y", LABELS.values(), ids=LABELS)
def test_the_hull_margin_is_the_distance_of_the_nearest_hulls(y: np.ndarray) -> None:
    narrow = kernels.RBF(gamma=2.0).gram(X)
    expected = min(hull_distance(narrow, y == label) for label in np.unique(y))
    assert measures.hull_margin(narrow, y, tol=1e-7) == pytest.approx(expected, rel=1e-5)


def test_hulls_that_meet_have_no_distance() -> None:
    assert hull_distance(STACK[1], THREE == "a") < 1e-4
    assert measures.hull_margin(STACK[1], THREE) == 0.0


def test_the_hull_margin_is_that_of_the_hard_margin_machine() -> None:
    from sklearn.svm import SVC

    K = kernels.RBF(gamma=2.0).gram(X)
    machine = SVC(kernel="precomputed", C=1e8, tol=1e-9).fit(K, TWO)
    coef = np.zeros(N)
    coef[machine.support_] = machine.dual_coef_[0]
    assert measures.hull_margin(K, TWO, tol=1e-7) == pytest.approx(2.0 / np.sqrt(coef @ K @ coef), rel=1e-5)


@pytest.mark.parametrize("tol", [0.3, 1e-2, 1e-4])
def test_certificates_hold_at_every_tolerance(tol: float) -> None:
    K = kernels.RBF(gamma=2.0).gram(X)
    ball, hulls = measures.radius(K, tol=1e-9), measures.hull_margin(K, TWO, tol=1e-9)
    assert ball * (1 - 1e-8) <= measures.radius(K, tol=tol) <= ball / (1 - tol)
    assert hulls * (1 - 1e-8) <= measures.hull_margin(K, TWO, tol=tol) <= hulls / (1 - tol)


# ---- closed forms ----


def test_the_identity() -> None:
    n, y = 12, np.repeat([0, 1, 2], 4)
    K = np.eye(n)
    assert measures.radius(K, tol=1e-9) == pytest.approx(np.sqrt(1 - 1 / n))
    assert measures.hull_margin(K, y, tol=1e-9) == pytest.approx(np.sqrt(1 / 4 + 1 / 8))
    assert measures.effective_rank(K) == pytest.approx(n)
    assert measures.participation_ratio(K) == pytest.approx(n)
    assert measures.spectral_ratio(K, normalized=True) == pytest.approx(1.0)
    assert measures.kernel_margin(K, y) == pytest.approx(1 / 4)


def test_rank_one() -> None:
    x = np.array([1.0, 2.0, -1.0, -3.0])
    K, y = np.outer(x, x), x > 0
    assert measures.radius(K) == pytest.approx(2.5)
    assert measures.hull_margin(K, y) == pytest.approx(2.0)
    assert measures.effective_rank(K) == pytest.approx(1.0)
    assert measures.spectral_ratio(K) == pytest.approx(1.0)
    assert measures.spectral_ratio(K, normalized=True) == pytest.approx(0.0, abs=1e-12)
    assert measures.alignment(np.outer(2.0 * y - 1, 2.0 * y - 1), y) == pytest.approx(1.0)


def test_two_points() -> None:
    K, y = np.array([[2.0, 0.5], [0.5, 1.0]]), [0, 1]
    distance = np.sqrt(2.0 + 1.0 - 2 * 0.5)
    assert measures.hull_margin(K, y) == pytest.approx(distance)
    assert measures.radius(K, tol=1e-9) == pytest.approx(distance / 2)
    assert measures.kernel_margin(K, y) == pytest.approx((2.0 - 0.5 + 1.0 - 0.5) / 2)


def test_kernels_that_say_nothing() -> None:
    zero, one = np.zeros((6, 6)), np.full((6, 6), 0.3)
    y = np.arange(6) % 2
    for name, (measure, _) in SCALAR.items():
        assert measure(zero, y) == 0.0, name
    assert measures.centred_alignment(one, y) == measures.radius(one) == measures.hull_margin(one, y) == 0.0
    assert measures.alignment_matrix([one, np.eye(6)])[0].tolist() == [0.0, 0.0]


def test_one_sample() -> None:
    assert measures.radius(np.eye(1)) == 0.0 and measures.spectral_ratio(np.eye(1), normalized=True) == 0.0


# ---- invariances and forms of input ----


@pytest.mark.parametrize("name", SCALAR)
@pytest.mark.parametrize("y", LABELS.values(), ids=LABELS)
def test_scale_order_and_form_of_the_input(name: str, y: np.ndarray) -> None:
    measure, power = SCALAR[name]
    K = kernels.RBF(gamma=2.0).gram(X) + 0.1 * STACK[0]
    value, order = measure(K, y), RNG.permutation(N)
    assert isinstance(value, float)
    assert measure(7.0 * K, y) == pytest.approx(7.0**power * value, rel=1e-5)
    assert measure(K[np.ix_(order, order)], y[order]) == pytest.approx(value, rel=1e-5)
    assert measure(K.astype(np.float32), y) == pytest.approx(value, rel=1e-3)
    assert measure(K.tolist(), y.tolist()) == pytest.approx(value, rel=1e-9)
    several = measure([K, STACK[0] + K], y)
    assert several.shape == (2,) and several[0] == pytest.approx(value, rel=1e-9)
    weights = np.array([0.25, 0.75])
    mixed = measure(0.25 * K + 0.75 * (STACK[0] + K), y)
    assert measure([K, STACK[0] + K], y, weights=weights) == pytest.approx(mixed, rel=1e-5)


@pytest.mark.parametrize("name", SCALAR)
def test_banks_are_measured_as_their_matrices(name: str) -> None:
    measure, _ = SCALAR[name]
    bank = build_bank([kernels.RBF(gamma=2.0), kernels.RBF(gamma=0.7)], X)
    matrices = [bank.combine(one) for one in np.eye(2)]
    np.testing.assert_allclose(measure(bank, TWO), measure(matrices, TWO), rtol=1e-6)
    weights = [0.3, 0.7]
    assert measure(bank, TWO, weights=weights) == pytest.approx(measure(matrices, TWO, weights=weights), rel=1e-6)


def test_inputs_are_left_alone() -> None:
    stack = STACK.copy()
    stack.flags.writeable = False
    measures.table(stack, THREE)
    measures.alignment_matrix(stack)
    np.testing.assert_array_equal(stack, STACK)


# ---- tables ----


def test_the_table_has_all_measures_and_the_combination() -> None:
    weights = np.array([0.2, 0.3, 0.5])
    found = measures.table(STACK, THREE, weights=weights, tol=1e-6)
    assert found["kernel"].tolist() == ["kernel 0", "kernel 1", "kernel 2", "combination"]
    np.testing.assert_allclose(found["weight"], [0.2, 0.3, 0.5, 1.0])
    assert set(found) == {"kernel", "weight", *SCALAR}
    for name, (measure, _) in SCALAR.items():
        np.testing.assert_allclose(found[name][:3], measure(STACK, THREE), rtol=1e-5, err_msg=name)
        assert found[name][3] == pytest.approx(measure(STACK, THREE, weights=weights), rel=1e-5), name


def test_tables_of_kernels_and_of_models() -> None:
    from polykern import MKLClassifier

    spec = [("wide", kernels.RBF(gamma=0.1)), ("first", kernels.RBF(gamma=1.0), [0]), ("line", "linear")]
    by_kernels = measures.table(spec, TWO, X, only=["kernel_margin", "radius"])
    assert by_kernels["kernel"].tolist() == ["wide", "first", "line", "combination"]
    np.testing.assert_allclose(by_kernels["weight"], [1 / 3, 1 / 3, 1 / 3, 1.0])
    bank = build_bank([kernels.RBF(gamma=0.1), kernels.OnColumns(kernels.RBF(gamma=1.0), [0]), "linear"], X)
    np.testing.assert_allclose(by_kernels["radius"][:3], measures.radius(bank), rtol=1e-3)
    model = MKLClassifier(spec, normalize="trace").fit(X, TWO)
    by_model = measures.table(model, TWO, X, only="kernel_margin")
    np.testing.assert_allclose(by_model["weight"][:3], model.weights_)
    expected = measures.kernel_margin(build_bank([s[1] for s in spec[:1]], X, normalize="trace"), TWO)
    assert by_model["kernel_margin"][0] == pytest.approx(float(expected[0]), rel=1e-6)
    assert "default" not in measures.table("default", TWO, X, only=["radius"])["kernel"]


def test_a_single_kernel_has_no_combination() -> None:
    found = measures.table(STACK[0], TWO, only=["radius"])
    assert found["kernel"].tolist() == ["K"] and found["radius"].shape == (1,)


def test_the_report_is_the_table_in_lines() -> None:
    text = measures.report(STACK, TWO, only=["radius", "alignment"])
    lines = text.splitlines()
    assert len(lines) == 5 and lines[0].split() == ["kernel", "weight", "radius", "alignment"]
    assert lines[4].split()[0] == "combination"


# ---- the bound ----


def bound_by_loops(stack: np.ndarray, y: np.ndarray, gamma0: float) -> tuple[int, int, float]:
    """p', p'' and T_gamma0 as they are defined."""
    n, labels = len(y), np.unique(y)
    margins = []
    for K in stack:
        total = 0.0
        for i in range(n):
            means = {label: K[i, y == label].mean() for label in labels}
            own = means.pop(y[i])
            total += np.mean([own - other for other in means.values()])
        margins.append(total / n)
    above = [k for k, margin in enumerate(margins) if margin >= gamma0]
    pairs = [
        (k, j)
        for k in range(len(stack))
        for j in range(len(stack))
        if margins[k] <= gamma0 <= margins[j] and margins[k] != margins[j]
    ]
    traces = [np.trace(stack[k]) for k in above]
    for k, j in pairs:
        share = (margins[j] - gamma0) / (margins[j] - margins[k])
        traces.append(np.trace(share * stack[k] + (1 - share) * stack[j]))
    return len(above), len(pairs), max(traces)


class Machine:
    """Any coefficients, weights and biases."""

    def __init__(self, coef: np.ndarray, weights: np.ndarray, intercept: Any = 0.0) -> None:
        self.coef, self.weights, self.intercept = coef, weights, intercept


@pytest.mark.parametrize("gamma0", [None, -np.inf, 0.02])
def test_the_bound_term_by_term(gamma0: float | None) -> None:
    stack = np.array([kernels.RBF(gamma=g).gram(X) * s for g, s in ((0.1, 1.0), (1.0, 2.0), (5.0, 0.5), (0.5, 1.5))])
    stack[0] += 3.0 * np.equal.outer(THREE, THREE)
    coef, weights, bias = RNG.normal(size=(N, 3)), np.array([0.4, 0.0, 0.8, 0.8]), RNG.normal(size=3)
    bound = measures.margin_bound(stack, THREE, Machine(coef, weights, bias), rho=0.5, gamma0=gamma0, delta=0.1)
    mixture = np.tensordot(weights / 2.0, stack, axes=1)
    least = measures.kernel_margin(mixture, THREE) if gamma0 is None else gamma0
    p_prime, p_double_prime, trace = bound_by_loops(stack, THREE, least)
    assert (bound.p_prime, bound.p_double_prime) == (p_prime, p_double_prime)
    assert bound.T_gamma0 == pytest.approx(trace) and bound.gamma0 == pytest.approx(least)
    # h = sum_k weights_k K_k coef = mixture (2 coef): its norm for the mixture of weights of sum 1.
    norm = max(np.sqrt(4.0 * coef[:, c] @ mixture @ coef[:, c]) for c in range(3))
    assert bound.norm == pytest.approx(norm)
    outputs = 2.0 * mixture @ coef + bias
    codes = np.unique(THREE, return_inverse=True)[1]
    margins = [outputs[i, codes[i]] - max(outputs[i, c] for c in range(3) if c != codes[i]) for i in range(N)]
    assert bound.margin_loss == pytest.approx(np.mean(np.array(margins) <= 0.5))
    logarithm = max(1.0, np.ceil(np.log(p_prime + p_double_prime)))
    complexity = 2 * 9 * norm / (N * 0.5) * np.sqrt(23 / 22 * np.e * logarithm * trace)
    assert bound.complexity == pytest.approx(complexity)
    assert bound.confidence == pytest.approx(3 * np.sqrt(np.log(20) / (2 * N)))
    assert bound.total == pytest.approx(bound.margin_loss + complexity + bound.confidence)


def test_the_complexity_falls_as_gamma0_rises() -> None:
    # Lemma 4: T_gamma0 does not grow with gamma0.
    stack = np.array([s * kernels.RBF(gamma=g).gram(X) for g, s in ((0.1, 2.0), (0.5, 0.7), (2.0, 1.0), (9.0, 0.3))])
    model = Machine(np.ones((N, 3)), np.full(4, 0.25))
    margins = [measures.margin_bound(stack, THREE, model, gamma0=-np.inf)]
    largest = max(bound_margin for bound_margin in _mean_differences(stack))
    grid = np.linspace(min(_mean_differences(stack)) - 0.01, largest - 1e-9, 25)
    traces = [measures.margin_bound(stack, THREE, model, gamma0=g).T_gamma0 for g in grid]
    assert np.all(np.diff(traces) <= 1e-9) and margins[0].T_gamma0 >= traces[0] - 1e-9


def _mean_differences(stack: np.ndarray) -> list[float]:
    same = np.equal.outer(THREE, THREE)
    return [float(K[same].mean() - K[~same].mean()) for K in stack]  # classes of one size


def test_the_bound_of_a_fitted_model_and_its_words() -> None:
    from polykern import MKLClassifier

    given = [("a", kernels.Precomputed(STACK[0])), ("b", kernels.Precomputed(STACK[2] / 10))]
    matrices = [kernel.K for _, kernel in given]
    model = MKLClassifier(given, normalize=None, tol=1e-6).fit(np.arange(N), TWO)
    bound = measures.margin_bound(matrices, TWO, model)
    margins = np.where(TWO == "up", 1, -1) * model.decision_function(np.arange(N))
    assert bound.margin_loss == pytest.approx(np.mean(margins <= 1.0), abs=0.06)  # free support vectors are at 1
    squares = model.result_.coef[:, 0] @ np.tensordot(model.weights_, matrices, axes=1) @ model.result_.coef[:, 0]
    assert bound.norm == pytest.approx(0.5 * np.sqrt(squares))
    for words in ("an indicator", "not a guarantee", "margin loss", "complexity", "confidence", "p' = ", "above 1"):
        assert words in repr(bound)
    three = MKLClassifier(given, normalize=None).fit(np.arange(N), THREE)
    assert measures.margin_bound(matrices, THREE, three).n_classes == 3


# ---- bad input ----


@pytest.mark.parametrize("name", SCALAR)
@pytest.mark.parametrize(
    ("K", "sentence"),
    [
        (np.ones((3, 4)), r"K has shape \(3, 4\), expected a square matrix"),
        (np.ones(3), r"K has shape \(3,\), expected a square matrix"),
        (np.full((4, 4), np.nan), r"K is nan at \(0, 0\), expected finite kernel values"),
        (np.triu(np.ones((4, 4))), "K is not symmetric"),
        (np.diag([1.0, 1.0, 1.0, -1.0]), "K is not positive semidefinite"),
        ([np.eye(4), np.eye(3)], r"kernel 1 is \(3, 3\), expected \(4, 4\) like kernel 0"),
        ([np.eye(4), np.ones((4, 3))], r"kernel 1 has shape \(4, 3\), expected a square matrix"),
        ([], "K is an empty list, expected at least one kernel matrix"),
    ],
)
def test_matrices_that_are_no_kernels(name: str, K: Any, sentence: str) -> None:
    with refused(sentence):
        SCALAR[name][0](K, [0, 1, 0, 1])


def test_things_that_are_no_matrices() -> None:
    with refused("K is 'rbf', expected a square kernel matrix, a list of them, or a KernelBank", TypeError):
        measures.radius("rbf")
    with refused(r"kernel 0 is RBF\(\), which needs data: measures.table", TypeError):
        measures.radius([kernels.RBF()])
    with refused("K is of type <U1, expected a matrix of numbers", TypeError):
        measures.radius(np.array([["a"]]))


@pytest.mark.parametrize("name", ["alignment", "centred_alignment", "kernel_margin", "hull_margin"])
@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        ([0, 1, 0], r"y has shape \(3,\), expected one label per sample, \(4,\)"),
        ([1, 1, 1, 1], "y has only one class, 1, expected at least two"),
        ([0.0, 1.0, np.nan, 1.0], "y is nan for a sample, expected a label"),
    ],
)
def test_bad_labels(name: str, y: Any, sentence: str) -> None:
    with refused(sentence):
        SCALAR[name][0](np.eye(4), y)


def test_real_numbers_are_no_classes() -> None:
    with refused("y holds real numbers, expected labels of classes"):
        measures.kernel_margin(np.eye(3), [0.5, 1.5, 2.5])


@pytest.mark.parametrize("tol", [0.0, 1.0, -1.0, "1e-3", True])
def test_bad_tolerances(tol: Any) -> None:
    for call in (lambda: measures.radius(np.eye(3), tol=tol), lambda: measures.hull_margin(np.eye(2), [0, 1], tol=tol)):
        with refused("tol is .*, expected a share above 0 and below 1"):
            call()


def test_bad_weights_and_names() -> None:
    with refused(r"weights has shape \(2,\), expected \(3,\): one number per kernel"):
        measures.radius(STACK, weights=[0.5, 0.5])
    with refused("weights holds -1, expected numbers >= 0"):
        measures.radius(STACK, weights=[0.5, -1.0, 0.5])
    with refused("only holds 'radios', which is not known; known are .*'radius'"):
        measures.table(STACK, TWO, only=["radios"])
    with refused("only is empty; known are"):
        measures.table(STACK, TWO, only=[])
    with refused("X is None, expected the samples: kernels that are not matrices"):
        measures.table([kernels.RBF()], TWO)


def test_bad_bounds() -> None:
    machine = Machine(np.ones((N, 3)), np.full(3, 1 / 3))
    with refused("gamma0 is 100, and no mixture of these kernels has such a margin: at most"):
        measures.margin_bound(STACK, THREE, machine, gamma0=100.0)
    with refused("rho is 0, expected a margin above 0"):
        measures.margin_bound(STACK, THREE, machine, rho=0)
    with refused("delta is 1.0, expected a number above 0 and below 1"):
        measures.margin_bound(STACK, THREE, machine, delta=1.0)
    with refused("model is a dict without 'coef', expected a fitted MKLClassifier", TypeError):
        measures.margin_bound(STACK, THREE, {})
    with refused(r"model has weights of shape \(3, 3\), expected \(3,\): one per kernel, shared"):
        measures.margin_bound(STACK, THREE, Machine(np.ones((N, 3)), np.ones((3, 3))))
    with refused(rf"model has coefficients of shape \({N}, 1\), expected \({N}, 3\)"):
        measures.margin_bound(STACK, THREE, Machine(np.ones((N, 1)), np.ones(3)))


def test_matrices_with_names():
    first, second = np.eye(4), np.ones((4, 4))
    for named in ({"unit": first, "ones": second}, [("unit", first), ("ones", second)]):
        found = measures.table(named, [0, 0, 1, 1], only=["radius"])
        assert found["kernel"].tolist() == ["unit", "ones", "combination"]
