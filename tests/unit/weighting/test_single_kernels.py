"""Best, PWMK and FHeuristic for real targets against loops over folds with scikit-learn alone; Uniform."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, SVR, NuSVC

from polykern import kernels, weighting
from polykern.bank import build_bank

N = 90
RNG = np.random.default_rng(1)
X = RNG.normal(size=(N, 3))
CLASSES = np.digitize(X[:, 1] + 0.4 * RNG.normal(size=N), [-0.5, 0.5])
VALUES = np.sin(2 * X[:, 2]) + 0.1 * RNG.normal(size=N)
KERNELS = [kernels.OnColumns(kernels.RBF(gamma=1.0), [k]) for k in range(3)]


def weigh(method: weighting.Weighting, y: np.ndarray, seed: int = 0, **options: Any) -> np.ndarray:
    return method.weights(build_bank(KERNELS, X, **options), y, np.random.RandomState(seed))


def predictions(learner: Any, y: np.ndarray, splitter: Any) -> np.ndarray:
    """(F, n) from scikit-learn's own RBF kernel, one column at a time; RBF kernels have a mean diagonal of 1."""
    found, folds = np.empty((3, N)), list(splitter.split(X, y))
    for k in range(3):
        for train, test in folds:
            found[k, test] = learner.fit(X[train][:, [k]], y[train]).predict(X[test][:, [k]])
    return found


def stratified(seed: int, cv: int = 5) -> StratifiedKFold:
    return StratifiedKFold(cv, shuffle=True, random_state=np.random.RandomState(seed))


def test_uniform() -> None:
    assert weigh(weighting.Uniform(), CLASSES).tolist() == [1 / 3, 1 / 3, 1 / 3]
    table = np.column_stack([X, np.zeros(N)])
    with pytest.warns(UserWarning, match="zero or constant"):
        bank = build_bank([*KERNELS, kernels.OnColumns(kernels.Linear(), [3])], table)
    b = weighting.Uniform().weights(bank, CLASSES, np.random.RandomState(0))
    assert b.tolist() == [1 / 3, 1 / 3, 1 / 3, 0.0]


@pytest.mark.parametrize("learner", [None, SVC(C=0.1), NuSVC()])
def test_best_of_classes(learner: Any) -> None:
    direct = SVC() if learner is None else learner
    direct = type(direct)(**{**direct.get_params(), "kernel": "rbf", "gamma": 1.0})
    scores = (predictions(direct, CLASSES, stratified(0)) == CLASSES).mean(axis=1)
    assert np.argmax(scores) == 1
    assert weigh(weighting.Best(learner=learner), CLASSES).tolist() == [0.0, 1.0, 0.0]


def test_best_of_real_targets() -> None:
    splitter = KFold(4, shuffle=True, random_state=np.random.RandomState(3))
    direct = KernelRidge(kernel="rbf", gamma=1.0, alpha=0.1)
    errors = np.square(predictions(direct, VALUES, splitter) - VALUES).mean(axis=1)
    assert np.argmin(errors) == 2
    assert weigh(weighting.Best(cv=4, learner=KernelRidge(alpha=0.1)), VALUES, 3).tolist() == [0.0, 0.0, 1.0]
    assert weigh(weighting.Best(), VALUES).tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("delta", [0.0, 0.25])
def test_pwmk(delta: float) -> None:
    direct = SVC(kernel="rbf", gamma=1.0)
    scores = (predictions(direct, CLASSES, stratified(7, 3)) == CLASSES).mean(axis=1)
    expected = (scores - delta) / (scores - delta).sum()
    assert np.allclose(weigh(weighting.PWMK(delta=delta, cv=3), CLASSES, 7), expected)


def test_pwmk_at_the_accuracy_of_the_worst_kernel_leaves_it_out() -> None:
    scores = (predictions(SVC(gamma=1.0), CLASSES, stratified(0)) == CLASSES).mean(axis=1)
    b = weigh(weighting.PWMK(delta=float(scores.min())), CLASSES)
    assert b[np.argmin(scores)] == 0.0 and b.sum() == pytest.approx(1.0)


def test_f_heuristic_of_real_targets() -> None:
    splitter = KFold(5, shuffle=True, random_state=np.random.RandomState(0))
    errors = np.square(predictions(SVR(gamma=1.0), VALUES, splitter) - VALUES).mean(axis=1)
    expected = (errors.sum() - errors) / (2 * errors.sum())
    assert np.allclose(weigh(weighting.FHeuristic(), VALUES), expected)


@pytest.mark.parametrize("y", [CLASSES, VALUES])
def test_null_kernels_are_not_compared(y: np.ndarray) -> None:
    table = np.column_stack([np.zeros(N), X])
    spec = [kernels.OnColumns(kernels.Linear(), [0]), *(kernels.OnColumns(kernels.RBF(gamma=1.0), [k]) for k in (1, 2))]
    with pytest.warns(UserWarning, match="zero or constant"):
        with_null, without = build_bank(spec, table), build_bank(spec[1:], table)
    for method in (weighting.Best(), weighting.PWMK(), weighting.FHeuristic()):
        if y is CLASSES or method.for_regression:
            b, c = (method.weights(bank, y, np.random.RandomState(0)) for bank in (with_null, without))
            assert b[0] == 0.0 and np.allclose(b[1:], c)


@pytest.mark.parametrize("method", [weighting.Best(), weighting.PWMK(), weighting.FHeuristic()])
def test_nothing_but_null_kernels(method: weighting.Weighting) -> None:
    with warnings.catch_warnings(action="ignore"):
        bank = build_bank([kernels.OnColumns(kernels.Linear(), [k]) for k in range(2)], np.zeros((8, 2)))
    y = np.arange(8) % 2 if not method.for_regression else np.arange(8.0)
    assert method.weights(bank, y, np.random.RandomState(0)).tolist() == [0.5, 0.5]


def test_one_kernel_has_no_error_to_be_compared_with() -> None:
    bank = build_bank(KERNELS[:1], X)
    assert weighting.FHeuristic().weights(bank, VALUES, np.random.RandomState(0)).tolist() == [1.0]


@pytest.mark.parametrize("method", [weighting.Best(), weighting.PWMK()])
def test_seeds_and_threads(method: weighting.Weighting) -> None:
    one, two = (weigh(method, CLASSES, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert np.array_equal(one, two) and np.array_equal(one, weigh(method, CLASSES))


def test_other_folds_have_other_accuracies() -> None:
    assert not np.array_equal(weigh(weighting.PWMK(cv=2), CLASSES, 0), weigh(weighting.PWMK(cv=2), CLASSES, 1))


def test_folds_are_as_many_as_the_smallest_class_has_samples() -> None:
    few = np.zeros(N, dtype=int)
    few[:2] = 1
    assert weigh(weighting.Best(), few).sum() == 1.0
    few[0] = 0
    with pytest.raises(ValueError, match="y has a single sample of class 1, .*at least two samples of each class"):
        weigh(weighting.Best(), few)


def test_the_learner_is_not_touched() -> None:
    learner = SVC(kernel="rbf")
    weigh(weighting.Best(learner=learner), CLASSES)
    assert learner.kernel == "rbf" and not hasattr(learner, "support_")


@pytest.mark.parametrize(
    ("method", "y", "sentence"),
    [
        (weighting.Best(cv=1), CLASSES, "cv is 1, expected the number of folds, a whole number of at least 2"),
        (weighting.Best(cv="5"), CLASSES, "cv is '5', expected the number of folds"),
        (weighting.Best(learner=SVR()), CLASSES, r"learner is SVR.* expected a classifier such as SVC\(\)"),
        (weighting.Best(learner=SVC()), VALUES, r"learner is SVC.* expected a regressor such as SVR\(\)"),
        (
            weighting.Best(learner=KNeighborsClassifier()),
            CLASSES,
            r"learner is KNeighborsClassifier\(\), which cannot be given a kernel matrix: it has no parameter `kernel`",
        ),
        (weighting.PWMK(delta=2), CLASSES, "delta of PWMK is 2, expected an accuracy, a number from 0 to 1"),
        (weighting.PWMK(delta=0.99), CLASSES, "at most the accuracy of the worst kernel, here 0.* of 'rbf_.'"),
    ],
)
def test_bad_parameters(method: weighting.Weighting, y: np.ndarray, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        weigh(method, y)


@pytest.mark.parametrize(
    ("learner", "sentence"),
    [
        (SVC, "learner is the class SVC, expected an object: write SVC()"),
        ("svc", "learner is 'svc', expected a kernel"),
    ],
)
def test_what_is_no_learner(learner: Any, sentence: str) -> None:
    with pytest.raises(TypeError, match=sentence):
        weigh(weighting.Best(learner=learner), CLASSES)
