"""LPBetaClassifier: machines of single kernels, cross-fitted, weighed by a linear program."""

from __future__ import annotations

import pickle
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from polykern import LPBetaClassifier, kernels
from polykern.bank import KernelBank, build_bank
from polykern.estimators._kernel_machines import KernelMachines
from polykern.estimators._labels import one_vs_rest_targets
from polykern.estimators._lp_beta import stratified_folds
from polykern.losses import Hinge, Logistic

RNG = np.random.default_rng(0)
X, Y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)[::2]
Y = Y[::2]
NAMES = np.array(["barbera", "grignolino", "nebbiolo"])[Y]
TWO = Y > 0
FIRST, LAST = kernels.RBF(gamma=0.3), kernels.Linear()
SPEC = [("first", FIRST, [0, 1, 2]), ("last", LAST, slice(9, 13)), ("noise", kernels.RBF(gamma=9.0), [2, 3])]


def model(**changed: Any) -> LPBetaClassifier:
    return LPBetaClassifier(**{"kernels": SPEC, "nu": 0.4, "random_state": 0, **changed})


def gram(k: int) -> np.ndarray:
    """Kernel k of SPEC on all samples, of mean diagonal 1."""
    K = SPEC[k][1].gram(X[:, SPEC[k][2]])
    return K / np.trace(K) * len(K)


def refused(sentence: str, error: type[Exception] = ValueError) -> Any:
    return pytest.raises(error, match=sentence)


# ---- what is learned ----


def svc_scores(K: np.ndarray, codes: np.ndarray, train: np.ndarray, test: np.ndarray, C: float) -> np.ndarray:
    """(test, classes) outputs of scikit-learn's machines, one class against the rest."""
    columns = []
    for c in range(codes.max() + 1):
        machine = SVC(kernel="precomputed", C=C, tol=1e-9).fit(K[np.ix_(train, train)], codes[train] == c)
        columns.append(machine.decision_function(K[np.ix_(test, train)]))
    return np.column_stack(columns)


def test_the_scores_are_those_of_machines_without_the_fold() -> None:
    codes, every = Y, np.arange(len(Y))
    folds = stratified_folds(codes, 4, np.unique(codes), np.random.RandomState(0))
    bank = build_bank([FIRST], X)
    targets = one_vs_rest_targets(codes, np.ones(len(codes)), 3)
    outputs = KernelMachines(bank, targets, Hinge(), True, 1e-10, None).held_out(0, np.array([0.5, 2.0]), folds)
    for cost, found in zip((0.5, 2.0), outputs, strict=True):
        for test in folds:
            expected = svc_scores(FIRST.gram(X), codes, np.setdiff1d(every, test), test, cost)
            np.testing.assert_allclose(found[test], expected, atol=1e-4)


@pytest.mark.parametrize("share_weights", [True, False])
def test_the_whole_method_against_the_slow_obvious_one(share_weights: bool) -> None:
    nu, n, every = 0.4, len(Y), np.arange(len(Y))
    fitted = model(share_weights=share_weights, tol=1e-9, nu=nu, cv=3).fit(X, NAMES)
    folds = stratified_folds(Y, 3, np.unique(Y), np.random.RandomState(0))
    scores = np.zeros((3, n, 3))
    for k in range(3):
        for test in folds:
            scores[k, test] = svc_scores(gram(k), Y, np.setdiff1d(every, test), test, 1.0)
    # Variables: weights class by class, rho, xi; one row per sample and wrong class.
    rows, offset = [], 3 * (not share_weights)
    for i in range(n):
        for c in set(range(3)) - {Y[i]}:
            row = np.zeros(9 + 1 + n)
            for k in range(3):
                row[offset * Y[i] + k] += scores[k, i, Y[i]]
                row[offset * c + k] -= scores[k, i, c]
            row[9], row[10 + i] = -1.0, 1.0
            rows.append(-row)
    sums = np.zeros((3, 10 + n))
    for c in range(3):
        sums[c, 3 * c : 3 * c + 3] = 1.0
    costs = np.concatenate([np.zeros(9), [-1.0], np.full(n, 1.0 / (nu * n))])
    bounds = [(0, None)] * 9 + [(None, None)] + [(0, None)] * n
    solved = linprog(costs, np.array(rows), np.zeros(len(rows)), sums, np.ones(3), bounds)
    assert fitted.result_.primal == pytest.approx(solved.fun, abs=1e-6)
    weights = solved.x[:3] if share_weights else solved.x[:9].reshape(3, 3)
    np.testing.assert_allclose(fitted.weights_, weights, atol=1e-4)
    columns = np.broadcast_to(weights, (3, 3))
    decision = sum(columns[:, k] * svc_scores(gram(k), Y, every, every, 1.0) for k in range(3))
    np.testing.assert_allclose(fitted.decision_function(X), decision, atol=1e-3)
    assert np.array_equal(fitted.predict(X), fitted.classes_[decision.argmax(axis=1)])


def test_two_classes_have_one_output_and_one_set_of_weights() -> None:
    shared, own = (model(share_weights=share).fit(X, TWO) for share in (True, False))
    assert shared.dual_coef_.shape == (3, 1, len(shared.support_)) and shared.machine_intercept_.shape == (3, 1)
    assert isinstance(shared.intercept_, float)
    decision = shared.decision_function(X)
    assert decision.shape == (len(X),)
    assert np.array_equal(shared.predict(X), shared.classes_[(decision > 0).astype(int)])
    np.testing.assert_array_equal(own.weights_, shared.weights_)
    assert shared.score(X, TWO) > 0.95


def test_decision_values_are_the_weighted_outputs_of_the_machines() -> None:
    fitted = model(share_weights=False).fit(X, NAMES)
    total = np.zeros((len(X), 3))
    for k in range(3):
        outputs = gram(k)[:, fitted.support_] @ fitted.dual_coef_[k].T + fitted.machine_intercept_[k]
        total += fitted.weights_[:, k] * outputs
    np.testing.assert_allclose(fitted.decision_function(X), total, atol=1e-5)


def test_weights_have_names_and_sum_to_one() -> None:
    shared, own = model().fit(X, NAMES), model(share_weights=False).fit(X, NAMES)
    assert list(shared.kernel_weights_) == ["first", "last", "noise"]
    assert sum(shared.kernel_weights_.values()) == pytest.approx(1.0)
    assert own.weights_.shape == (3, 3) and len(own.kernel_weights_["first"]) == 3
    np.testing.assert_allclose(own.weights_.sum(axis=1), 1.0)
    assert shared.result_.gap <= 1e-6 and shared.result_.status.converged
    assert shared.kernel_scores_[1] > shared.kernel_scores_[2]


def test_each_kernel_takes_the_best_of_several_costs() -> None:
    costs = [0.01, 1.0, 30.0]
    several = model(C=costs).fit(X, NAMES)
    alone = np.array([model(C=cost).fit(X, NAMES).kernel_scores_ for cost in costs])
    np.testing.assert_array_equal(several.kernel_scores_, alone.max(axis=0))
    np.testing.assert_array_equal(several.C_, np.array(costs)[alone.argmax(axis=0)])
    assert len(set(several.C_)) > 1


def test_nu_is_chosen_by_its_accuracy() -> None:
    fitted = model(nu=[0.05, 0.5, 1.0]).fit(X, NAMES)
    assert fitted.nu_scores_.shape == (3,) and fitted.nu_ == [0.05, 0.5, 1.0][int(np.argmax(fitted.nu_scores_))]
    one = model(nu=0.5).fit(X, NAMES)
    assert one.nu_ == 0.5 and one.nu_scores_.size == 0


@pytest.mark.parametrize("loss", ["squared_hinge", Logistic()])
def test_machines_of_other_losses(loss: Any) -> None:
    assert model(loss=loss).fit(X, NAMES).score(X, NAMES) > 0.9


def test_without_intercept() -> None:
    fitted = model(fit_intercept=False).fit(X, NAMES)
    assert not fitted.machine_intercept_.any() and not fitted.intercept_.any()


def test_a_kernel_that_says_nothing_has_weight_zero() -> None:
    # Of noise with few samples the margins are negative: those of a kernel of zeros, 0, would be the best.
    noise = RNG.normal(size=(30, 2))
    spec = [("noise", kernels.RBF(gamma=5.0), [0]), ("constant", kernels.Linear(), [1])]
    noise[:, 1] = 1.0
    with pytest.warns(UserWarning, match="'constant'.*zero or constant"):
        fitted = LPBetaClassifier(spec, nu=0.2, normalize="center", random_state=0).fit(noise, np.arange(30) % 2)
    assert fitted.kernel_weights_ == {"noise": 1.0, "constant": 0.0}


def test_machines_of_kernels_without_weight_are_not_trained_on_all() -> None:
    fitted = model(nu=0.9).fit(X, NAMES)
    unused = np.flatnonzero(fitted.weights_ == 0)
    assert len(unused) and not fitted.dual_coef_[unused].any()
    assert fitted.dual_coef_[np.flatnonzero(fitted.weights_)].any(axis=(1, 2)).all()


def test_a_matrix_that_does_not_fit_is_read_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = model(tol=1e-6).fit(X, NAMES).decision_function(X)
    monkeypatch.setattr(KernelBank, "fits_combined", False)
    np.testing.assert_allclose(model(tol=1e-6, n_jobs=2).fit(X, NAMES).decision_function(X), expected, atol=1e-4)


def test_threads_do_not_change_the_model() -> None:
    one, two = (model(n_jobs=n_jobs).fit(X, NAMES) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.weights_, two.weights_)


# ---- folds ----


def test_folds_leave_no_class_out_and_spread_them_evenly() -> None:
    codes = np.repeat(np.arange(4), [2, 7, 3, 20])
    folds = stratified_folds(codes, 5, np.arange(4), np.random.RandomState(0))
    assert np.array_equal(np.sort(np.concatenate(folds)), np.arange(32))
    for test in folds:
        left = np.bincount(codes[test], minlength=4)
        assert np.all(left < np.bincount(codes)) and np.all(left <= np.ceil(np.bincount(codes) / 5))


def test_more_folds_than_samples() -> None:
    assert LPBetaClassifier(kernels.RBF(), nu=1.0, cv=50, random_state=0).fit(X[::20], TWO[::20]).weights_ == [1.0]


def test_a_seed_makes_the_fit_repeatable() -> None:
    first, second = (model(nu=[0.2, 0.8]).fit(X, NAMES) for _ in range(2))
    np.testing.assert_array_equal(first.weights_, second.weights_)
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))


# ---- conventions ----


@parametrize_with_checks(
    [
        LPBetaClassifier(kernels.RBF(), random_state=0),
        # Kernel values in float64: in float32, samples one by one are rounded otherwise than all at once, by 2e-7.
        LPBetaClassifier(share_weights=False, nu=0.5, cv=2, tol=1e-5),
    ],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": "a sample that is there twice can stand in two folds"
    },
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


def test_frames_and_their_columns() -> None:
    iris, species = load_iris(return_X_y=True, as_frame=True)
    columns = [("petal", kernels.RBF(), ["petal length (cm)", "petal width (cm)"]), ("all", kernels.Linear())]
    fitted = LPBetaClassifier(columns, nu=0.5, random_state=0).fit(iris, species)
    assert fitted.feature_names_in_.tolist() == list(iris.columns)
    assert fitted.score(iris, species) > 0.95
    with refused("Feature names"):
        fitted.predict(iris.rename(columns={"petal width (cm)": "other"}))
    assert np.array_equal(fitted.predict(iris), fitted.predict(pd.DataFrame(iris)))


def test_precomputed_kernels_take_indices_and_are_not_pickled() -> None:
    whole = np.arange(len(X))
    spec = [(name, kernels.Precomputed(kernel.gram(X[:, columns]))) for name, kernel, columns in SPEC]
    train, test = whole[::2], whole[1::2]
    given = LPBetaClassifier(spec, nu=0.4, tol=1e-6, random_state=0).fit(train, NAMES[train])
    vectors = model(tol=1e-6).fit(X[train], NAMES[train])
    np.testing.assert_allclose(given.weights_, vectors.weights_, atol=1e-4)
    np.testing.assert_allclose(given.decision_function(test), vectors.decision_function(X[test]), atol=1e-3)
    assert given.__sklearn_tags__().input_tags.one_d_array
    copy = pickle.loads(pickle.dumps(given))
    np.testing.assert_array_equal(copy.decision_function(test), given.decision_function(test))
    with refused("leaves out precomputed matrices"):
        copy.fit(train, NAMES[train])
    assert cross_val_score(LPBetaClassifier(spec, nu=0.4, random_state=0), whole, NAMES, cv=3).min() > 0.8


def test_a_pickle_holds_the_support_vectors_alone() -> None:
    rng = np.random.default_rng(1)
    many = rng.normal(size=(300, 50))
    labels = many[:, 0] > 0
    spec = [("right", kernels.Linear(), [0])]
    fitted = LPBetaClassifier(spec, nu=0.5, C=100.0, random_state=0).fit(many, labels)
    assert len(fitted.support_) < 60
    assert len(pickle.dumps(fitted)) < many.nbytes / 4
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict(many), fitted.predict(many))


def test_searches_and_pipelines() -> None:
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LPBetaClassifier([kernels.RBF(), kernels.Linear()], random_state=0)),
        {"lpbetaclassifier__nu": [0.2, 0.6], "lpbetaclassifier__C": [0.1, 1.0]},
        cv=2,
    ).fit(X, NAMES)
    assert search.best_score_ > 0.9


def test_fit_changes_nothing_but_the_model() -> None:
    original = model(C=[0.5, 1.0], class_weight={"barbera": 2.0})
    inputs = [X.copy(), NAMES.copy(), RNG.uniform(0.5, 2.0, len(X))]
    for array in inputs:
        array.flags.writeable = False
    before = joblib.hash([original.get_params(), inputs])
    original.fit(inputs[0], inputs[1], sample_weight=inputs[2])
    assert joblib.hash([original.get_params(), inputs]) == before
    copy = clone(original)
    assert not hasattr(copy, "weights_") and joblib.hash(copy.get_params()) == joblib.hash(original.get_params())


def test_a_weight_of_zero_is_no_sample() -> None:
    weights = np.where(np.arange(len(X)) % 4 == 0, 0.0, 1.0)
    kept = np.flatnonzero(weights)
    weighted, without = model(cv=3).fit(X, NAMES, sample_weight=weights), model(cv=3).fit(X[kept], NAMES[kept])
    np.testing.assert_allclose(weighted.decision_function(X), without.decision_function(X), atol=1e-12)
    assert np.array_equal(weighted.support_, kept[without.support_])


def test_class_weight_is_a_sample_weight() -> None:
    by_class = model(class_weight={"nebbiolo": 3.0}).fit(X, NAMES)
    by_sample = model().fit(X, NAMES, sample_weight=np.where(NAMES == "nebbiolo", 3.0, 1.0))
    np.testing.assert_allclose(by_class.decision_function(X), by_sample.decision_function(X), atol=1e-12)
    assert not np.allclose(by_class.decision_function(X), model().fit(X, NAMES).decision_function(X), atol=1e-3)


def test_summary_says_what_was_done() -> None:
    text = model(C=[0.5, 1.0]).fit(X, NAMES).summary()
    for part in ("LPBetaClassifier", "3 kernels, 3 classes", "converged: the certified gap", "nu 0.4", "left out"):
        assert part in text


def test_machines_that_do_not_get_there_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        KernelMachines,
        "_solved",
        lambda self, kernel, tasks, solved=KernelMachines._solved: (
            solved(self, kernel, tasks),
            self.gaps.__setitem__(-1, 0.5),
        )[0],
    )
    with pytest.warns(ConvergenceWarning, match="machines stopped before their gap was within tol 0.001") as caught:
        model().fit(X, NAMES)
    assert caught[0].filename == __file__


# ---- bad input ----


@pytest.mark.parametrize(
    ("changed", "sentence", "error"),
    [
        ({"nu": 0.0}, r"nu is 0.0, expected a number in \(0, 1\], or a list of them, none twice", ValueError),
        ({"nu": [0.5, 1.5]}, r"nu is \[0.5, 1.5\], expected a number in \(0, 1\]", ValueError),
        ({"nu": []}, r"nu is \[\], expected a number", ValueError),
        ({"nu": "auto"}, "nu is 'auto', expected a number in .* or a list of them", TypeError),
        ({"C": -1.0}, "C is -1.0, expected a finite number above 0", ValueError),
        ({"C": [1.0, 1.0]}, "C is .*none twice", ValueError),
        ({"C": None}, "C is None, expected a finite number above 0 or a list of them", TypeError),
        ({"cv": 1}, "cv is 1, expected a whole number of at least 2", ValueError),
        ({"share_weights": "per-class"}, "share_weights is 'per-class', expected True or False", TypeError),
        ({"fit_intercept": None}, "fit_intercept is None, expected True or False", TypeError),
        ({"tol": 0.0}, "tol is 0.0, expected a finite number above 0: it is the relative duality gap", ValueError),
        ({"loss": "squared"}, "loss is 'squared', and the machines of LPBetaClassifier", ValueError),
        ({"loss": "hinges"}, "hinges", ValueError),
        ({"kernels": []}, "kernels is an empty list", ValueError),
        ({"normalize": "unit"}, "normalize is 'unit'", ValueError),
        ({"class_weight": "balance"}, "class_weight is 'balance'", ValueError),
    ],
)
def test_bad_arguments(changed: dict, sentence: str, error: type[Exception]) -> None:
    with refused(sentence, error):
        model(**changed).fit(X, NAMES)


def test_bad_labels() -> None:
    with refused("LPBetaClassifier requires y to be passed, but the target y is None"):
        model().fit(X, None)
    with refused("y has only one class, 'a' .*expected at least two classes"):
        model().fit(X, ["a"] * len(X))
    with refused("y has a single sample of class 'rare' .*expected at least two of each class: the scores are"):
        model().fit(X, ["rare", *NAMES[1:]])
    with refused(f"y has {len(X) - 1} labels and X has {len(X)} samples"):
        model().fit(X, NAMES[1:])
    with refused("holds 3|X has 1 values that are NaN"):
        model().fit(np.where(np.arange(X.size).reshape(X.shape) == 0, np.nan, X), NAMES)
