"""TwoStageMKL: the same as a machine of scikit-learn on the sum written out, in every way an estimator is used."""

from __future__ import annotations

import pickle
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM
from sklearn.utils.estimator_checks import parametrize_with_checks

from polykern import TwoStageMKL, kernels, weighting
from polykern.estimators import _two_stage

RNG = np.random.default_rng(0)
N, M = 120, 40
X = RNG.uniform(-2.0, 2.0, size=(N + M, 3))
CODES = np.digitize(X[:, 0] + 0.5 * np.sin(2.0 * X[:, 1]) + 0.1 * RNG.normal(size=N + M), [-0.5, 0.5])
Y = np.array(["low", "middle", "high"])[CODES]
VALUES = X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.1 * RNG.normal(size=N + M)
TRAIN, TEST = slice(0, N), slice(N, N + M)
KERNELS = [("narrow", kernels.RBF(gamma=1.0)), ("wide", kernels.RBF(gamma=0.1)), ("line", kernels.Linear(), [0, 1])]
CLASSIFIERS = [SVC(), SVC(C=10.0, decision_function_shape="ovo"), NuSVC(nu=0.2)]
REGRESSORS = [SVR(C=10.0), KernelRidge(alpha=0.1)]
INDICES = np.arange(N + M)


def summed(weights: np.ndarray, left: np.ndarray) -> np.ndarray:
    """sum_k weights_k K_k against the training samples, each divided by the mean of its diagonal there."""
    training = X[TRAIN]
    raw = [
        kernels.RBF(gamma=1.0).gram(left, training),
        kernels.RBF(gamma=0.1).gram(left, training),
        left[:, :2] @ training[:, :2].T / np.square(training[:, :2]).sum(axis=1).mean(),
    ]
    return np.tensordot(weights, raw, 1)


def given(dtype: Any = np.float64) -> list:
    """The same kernels as matrices of all samples."""
    data = [(name, kernel, X if len(rest) == 0 else X[:, rest[0]]) for name, kernel, *rest in KERNELS]
    return [(name, kernels.Precomputed(kernel.gram(table).astype(dtype))) for name, kernel, table in data]


# ---- the two stages


@pytest.mark.parametrize("learner", [*CLASSIFIERS, *REGRESSORS])
@pytest.mark.parametrize("keep", [False, True])
def test_it_is_the_learner_on_the_sum(learner: Any, keep: bool) -> None:
    y = Y if is_classifier(learner) else VALUES
    model = TwoStageMKL(KERNELS, learner=learner, keep_training_data=keep).fit(X[TRAIN], y[TRAIN])
    direct = clone(learner).set_params(kernel="precomputed").fit(summed(model.weights_, X[TRAIN]), y[TRAIN])
    new = summed(model.weights_, X[TEST])
    if is_classifier(learner):
        assert np.array_equal(model.predict(X[TEST]), direct.predict(new))
        assert np.allclose(model.decision_function(X[TEST]), direct.decision_function(new), atol=5e-3)  # its tol
        assert np.array_equal(model.classes_, direct.classes_)
        assert model.score(X[TEST], Y[TEST]) == accuracy_score(Y[TEST], direct.predict(new)) > 0.8
    else:
        atol = 1e-9 if isinstance(learner, KernelRidge) else 5e-3
        assert np.allclose(model.predict(X[TEST]), direct.predict(new), atol=atol)
        assert model.score(X[TEST], y[TEST]) == pytest.approx(r2_score(y[TEST], direct.predict(new)), abs=1e-3)
    if keep:
        assert np.allclose(model.transform(X[TEST]), new, atol=1e-6)


def test_weights_are_those_of_the_weighting() -> None:
    from polykern.bank import build_bank

    spec = [kernel if not rest else kernels.OnColumns(kernel, rest[0]) for _, kernel, *rest in KERNELS]
    for method in (weighting.AlignF(), weighting.PWMK(), weighting.Uniform()):
        model = TwoStageMKL(KERNELS, weighting=method, learner=SVC(tol=1e-6), random_state=3).fit(X[TRAIN], Y[TRAIN])
        codes = np.searchsorted(model.classes_, Y[TRAIN])
        expected = method.weights(build_bank(spec, X[TRAIN]), codes, np.random.RandomState(3))
        assert np.allclose(model.weights_, expected, atol=1e-9)
        assert model.kernel_weights_ == dict(zip(["narrow", "wide", "line"], model.weights_, strict=True))


@pytest.mark.parametrize("name", weighting.names.NAMES)
def test_every_weighting_by_name(name: str) -> None:
    model = TwoStageMKL(KERNELS, weighting=name, random_state=0).fit(X[TRAIN], CODES[TRAIN])
    assert model.score(X[TEST], CODES[TEST]) > 0.6
    assert model.weights_.sum() == pytest.approx(1.0)
    if weighting.as_weighting(name).for_regression:
        model = TwoStageMKL(KERNELS, weighting=name, learner=SVR(), random_state=0).fit(X[TRAIN], VALUES[TRAIN])
        assert model.score(X[TEST], VALUES[TEST]) > 0.3


@pytest.mark.parametrize("normalize", [None, "trace", "diagonal", "center", "center-diagonal"])
def test_other_normalizations(normalize: Any) -> None:
    model = TwoStageMKL(KERNELS, normalize=normalize, keep_training_data=True).fit(X[TRAIN], Y[TRAIN])
    direct = SVC(kernel="precomputed").fit(model.transform(X[TRAIN]), Y[TRAIN])
    assert np.allclose(model.decision_function(X[TEST]), direct.decision_function(model.transform(X[TEST])), atol=5e-3)


def test_a_machine_without_bias_on_centred_kernels() -> None:
    model = TwoStageMKL(KERNELS, learner=KernelRidge(alpha=1e-3), normalize="center").fit(X[TRAIN], VALUES[TRAIN])
    assert model.score(X[TRAIN], VALUES[TRAIN]) > 0.9


# ---- the product


def test_the_product_of_all_kernels() -> None:
    model = TwoStageMKL(KERNELS, weighting="product", keep_training_data=True).fit(X[TRAIN], Y[TRAIN])
    parts = [kernels.RBF(gamma=1.0).gram(X), kernels.RBF(gamma=0.1).gram(X), X[:, :2] @ X[:, :2].T]
    K = np.prod(parts, axis=0)
    K /= np.diag(K)[TRAIN].mean()
    assert model.kernel_weights_ == {"narrow * wide * line": 1.0}
    assert np.allclose(model.transform(X[TEST]), K[TEST, TRAIN], atol=1e-10)
    assert np.array_equal(
        model.predict(X), SVC(kernel="precomputed").fit(K[TRAIN, TRAIN], Y[TRAIN]).predict(K[:, TRAIN])
    )


def test_the_product_of_precomputed_kernels() -> None:
    expected = TwoStageMKL(KERNELS, weighting="product").fit(X[TRAIN], Y[TRAIN])
    model = TwoStageMKL(given(), weighting="product").fit(INDICES[TRAIN], Y[TRAIN])
    assert np.allclose(model.decision_function(INDICES), expected.decision_function(X), atol=1e-6)
    n_support = len(model.support_)
    assert len(pickle.dumps(model)) < 8 * (N + M) * (n_support + 20) + 20_000  # its columns, and no matrix


# ---- what is kept


@pytest.mark.parametrize("learner", [SVC(), NuSVC(nu=0.2), SVR()])
def test_support_vectors_alone_are_kept(learner: Any) -> None:
    y = Y if is_classifier(learner) else VALUES
    model = TwoStageMKL(KERNELS, learner=learner).fit(X[TRAIN], y[TRAIN])
    assert np.array_equal(model.support_, model.learner_.support_)
    assert model._support_reference.n_kept == len(model.support_) < N


def test_a_learner_without_support_keeps_all_samples() -> None:
    model = TwoStageMKL(KERNELS, learner=KernelRidge()).fit(X[TRAIN], VALUES[TRAIN])
    assert np.array_equal(model.support_, np.arange(N))


def test_a_mask_named_support_is_not_mistaken_for_positions() -> None:
    class Masked(KernelRidge):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            self.support_ = np.ones(len(y), dtype=bool)
            return super().fit(X, y, sample_weight)

    model = TwoStageMKL(KERNELS, learner=Masked()).fit(X[TRAIN], VALUES[TRAIN])
    expected = TwoStageMKL(KERNELS, learner=KernelRidge()).fit(X[TRAIN], VALUES[TRAIN])
    assert np.array_equal(model.predict(X), expected.predict(X))


def test_new_samples_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    model = TwoStageMKL(KERNELS).fit(X[TRAIN], Y[TRAIN])
    expected = model.decision_function(X)
    monkeypatch.setattr(_two_stage, "BLOCK_NUMBERS", 7 * N)
    assert np.allclose(model.decision_function(X), expected, rtol=1e-12)


@pytest.mark.parametrize("learner", [SVC(), SVR(), KernelRidge()])
def test_a_pickle_predicts_the_same(learner: Any) -> None:
    y = Y if is_classifier(learner) else VALUES
    model = TwoStageMKL(KERNELS, learner=learner).fit(X[TRAIN], y[TRAIN])
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(X[TEST]), model.predict(X[TEST]))
    assert copy.kernel_weights_ == model.kernel_weights_ and copy.summary() == model.summary()


def test_arguments_stay_as_they_were() -> None:
    learner, method = SVC(kernel="poly"), weighting.Best(learner=SVC(C=3.0))
    model = TwoStageMKL(KERNELS, weighting=method, learner=learner)
    before, arrays = joblib.hash(model.get_params()), joblib.hash([X, Y])
    model.fit(X[TRAIN], Y[TRAIN]).predict(X)
    assert joblib.hash(model.get_params()) == before and joblib.hash([X, Y]) == arrays
    assert learner.kernel == "poly" and not hasattr(learner, "support_")


# ---- data of other kinds


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("learner", [SVC(), SVR()])
def test_precomputed_kernels_on_sample_indices(dtype: Any, learner: Any) -> None:
    y = Y if is_classifier(learner) else VALUES
    expected = TwoStageMKL(KERNELS, learner=learner).fit(X[TRAIN], y[TRAIN])
    model = TwoStageMKL(given(dtype), learner=learner).fit(INDICES[TRAIN], y[TRAIN])
    assert np.allclose(model.weights_, expected.weights_, atol=1e-5)
    output = "decision_function" if is_classifier(learner) else "predict"
    assert np.allclose(getattr(model, output)(INDICES), getattr(expected, output)(X), atol=5e-3)
    assert np.allclose(getattr(pickle.loads(pickle.dumps(model)), output)(INDICES), getattr(model, output)(INDICES))


def test_frames() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    spec = [("narrow", KERNELS[0][1]), ("wide", KERNELS[1][1]), ("line", kernels.Linear(), ["a", "b"])]
    for method in ("alignf", "product"):
        model = TwoStageMKL(spec, weighting=method).fit(frame[TRAIN], Y[TRAIN])
        expected = TwoStageMKL(KERNELS, weighting=method).fit(X[TRAIN], Y[TRAIN])
        assert model.feature_names_in_.tolist() == ["a", "b", "c"] and model.n_features_in_ == 3
        assert np.array_equal(model.predict(frame), expected.predict(X))


def test_families_of_kernels() -> None:
    model = TwoStageMKL().fit(X[TRAIN], Y[TRAIN])
    assert len(model.kernel_names_) > 7 and model.score(X[TEST], Y[TEST]) > 0.8


@pytest.mark.parametrize("learner", [SVC(), SVR(), KernelRidge()])
def test_sample_weights_are_the_learners(learner: Any) -> None:
    y = Y if is_classifier(learner) else VALUES
    importance = RNG.uniform(0.5, 2.0, N)
    model = TwoStageMKL(KERNELS, learner=learner).fit(X[TRAIN], y[TRAIN], sample_weight=importance)
    direct = clone(learner).set_params(kernel="precomputed")
    direct.fit(summed(model.weights_, X[TRAIN]), y[TRAIN], sample_weight=importance)
    new = summed(model.weights_, X[TEST])
    assert (
        np.mean(
            np.isclose(model.predict(X[TEST]), direct.predict(new), atol=5e-3)
            if y is VALUES
            else model.predict(X[TEST]) == direct.predict(new)
        )
        == 1.0
    )
    assert np.allclose(model.weights_, TwoStageMKL(KERNELS, learner=learner).fit(X[TRAIN], y[TRAIN]).weights_)


def test_samples_of_weight_zero_are_left_out() -> None:
    importance = np.ones(N)
    importance[::3] = 0.0
    model = TwoStageMKL(KERNELS, keep_training_data=True).fit(X[TRAIN], Y[TRAIN], sample_weight=importance)
    kept = np.flatnonzero(importance)
    expected = TwoStageMKL(KERNELS, keep_training_data=True).fit(X[TRAIN][kept], Y[TRAIN][kept])
    assert np.array_equal(model.decision_function(X), expected.decision_function(X))
    assert np.array_equal(model.support_, kept[expected.support_])
    assert model.transform(X[:5]).shape == (5, len(kept))


# ---- scikit-learn's ways


def test_it_is_of_the_learners_kind() -> None:
    assert is_classifier(TwoStageMKL()) and not is_regressor(TwoStageMKL())
    assert is_regressor(TwoStageMKL(learner=SVR())) and not is_classifier(TwoStageMKL(learner=KernelRidge()))
    assert hasattr(TwoStageMKL(), "decision_function") and not hasattr(TwoStageMKL(learner=SVR()), "decision_function")
    assert not hasattr(TwoStageMKL(), "predict_proba") and not hasattr(TwoStageMKL(), "transform")
    assert TwoStageMKL(given()).__sklearn_tags__().input_tags.one_d_array


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
def test_probabilities_are_the_learners() -> None:
    model = TwoStageMKL(KERNELS, learner=SVC(probability=True, random_state=0)).fit(X[TRAIN], Y[TRAIN])
    found = model.predict_proba(X[TEST])
    expected = model.learner_.predict_proba(summed(model.weights_, X[TEST]))
    assert found.shape == (M, 3) and np.allclose(found, expected, atol=1e-5)
    assert np.allclose(model.predict_log_proba(X[TEST]), np.log(found))


def test_grid_search_over_both_stages() -> None:
    model = TwoStageMKL(KERNELS, weighting=weighting.PWMK(), learner=SVC(), random_state=0)
    grid = {"weighting__delta": [0.0, 0.2], "learner__C": [0.1, 10.0]}
    search = GridSearchCV(model, grid, cv=2).fit(X[TRAIN], Y[TRAIN])
    assert search.best_params_["learner__C"] == 10.0 and search.score(X[TEST], Y[TEST]) > 0.8
    other = GridSearchCV(TwoStageMKL(KERNELS), {"weighting": ["uniform", "alignf", "product"]}, cv=2)
    assert other.fit(X[TRAIN], Y[TRAIN]).best_score_ > 0.7


def test_pipelines_and_cross_validation() -> None:
    pipeline = make_pipeline(StandardScaler(), TwoStageMKL(KERNELS, weighting="align"))
    assert cross_val_score(pipeline, X, Y, cv=3).min() > 0.7
    assert cross_val_score(TwoStageMKL(given()), INDICES, Y, cv=3).min() > 0.7
    assert cross_val_score(TwoStageMKL(given(), learner=SVR()), INDICES, VALUES, cv=3).min() > 0.5


@pytest.mark.parametrize("method", ["best", "pwmk"])
def test_seeds(method: str) -> None:
    one, two = (TwoStageMKL(KERNELS, weighting=method, random_state=5).fit(X[TRAIN], Y[TRAIN]) for _ in range(2))
    assert np.array_equal(one.weights_, two.weights_) and np.array_equal(one.predict(X), two.predict(X))
    assert np.array_equal(clone(one).fit(X[TRAIN], Y[TRAIN]).predict(X), one.predict(X))


def test_threads_change_nothing() -> None:
    one, two = (TwoStageMKL(KERNELS, n_jobs=n_jobs).fit(X[TRAIN], Y[TRAIN]) for n_jobs in (1, 2))
    assert np.array_equal(one.decision_function(X), two.decision_function(X))


def test_summary() -> None:
    text = TwoStageMKL(KERNELS, learner=SVC(C=2.0)).fit(X[TRAIN], Y[TRAIN]).summary()
    for part in (
        "TwoStageMKL",
        "120 samples, 3 kernels, 3 classes",
        "AlignF()",
        "SVC(C=2.0",
        "of 120 samples",
        "narrow",
    ):
        assert part in text


# Kernel weights are read off samples that count once each, as in the other estimators' checks.
_SAMPLES_COUNT_ONCE = "widths, normalization and kernel weights are read off the samples, without their weights"


@parametrize_with_checks(
    [
        TwoStageMKL(),
        TwoStageMKL(kernels.RBF(), weighting="product", keep_training_data=True),
        TwoStageMKL(learner=SVR()),
        TwoStageMKL(weighting="uniform", learner=KernelRidge()),
    ],
    expected_failed_checks=lambda model: {"check_sample_weight_equivalence_on_dense_data": _SAMPLES_COUNT_ONCE},
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


# ---- bad input


@pytest.mark.parametrize(
    ("options", "y", "sentence"),
    [
        (
            {"learner": RandomForestClassifier()},
            Y,
            r"learner is RandomForest.*no parameter `kernel` that takes 'precomp",
        ),
        (
            {"learner": GaussianProcessRegressor()},
            VALUES,
            "learner is GaussianProcess.*cannot be given a kernel matrix",
        ),
        ({"learner": OneClassSVM()}, Y, r"learner is OneClassSVM\(\), expected a classifier or a regressor"),
        ({}, VALUES, r"continuous.*for real numbers give a regressor, such as learner=SVR\(\)"),
        ({"learner": SVR()}, Y, r"y is of type <U6.*for labels give a classifier, such as learner=SVC\(\)"),
        (
            {"learner": SVR(), "weighting": "pwmk"},
            VALUES,
            "weighting is 'pwmk', which needs classes, and the learner SVR",
        ),
        ({"weighting": "alignff"}, Y, "weighting is 'alignff', expected one of .* Did you mean 'alignf'"),
        ({"normalize": "centre"}, Y, "normalize is 'centre'.* Did you mean"),
        ({"memory": 530_000, "n_jobs": 1}, Y, r"memory is 530000, too little for a dense \(120, 120\) kernel matrix"),
        ({}, None, "TwoStageMKL requires y to be passed"),
        ({}, np.zeros(N + M), "y has only one class, 0.0"),
    ],
)
def test_one_sentence_each(options: dict, y: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        TwoStageMKL(KERNELS, **options).fit(X[TRAIN], None if y is None else y[TRAIN])


def test_what_is_no_object() -> None:
    with pytest.raises(TypeError, match=r"learner is the class SVC, expected an object: write SVC\(\)"):
        TwoStageMKL(learner=SVC).fit(X, Y)
    with pytest.raises(TypeError, match=r"weighting is the class Align, expected an object"):
        TwoStageMKL(weighting=weighting.Align).fit(X, Y)
    with pytest.raises(TypeError, match="keep_training_data is 1, expected True or False"):
        TwoStageMKL(keep_training_data=1).fit(X, Y)


def test_parameters_of_words() -> None:
    with pytest.raises(
        ValueError, match="weighting is 'best', which has no parameter 'cv': give an object of polykern.w"
    ):
        TwoStageMKL(weighting="best").set_params(weighting__cv=3)
    with pytest.raises(ValueError, match=r"learner is None, which has no parameter 'C': give learner=SVC\(\), or vary"):
        TwoStageMKL().set_params(learner__C=3)


def test_weights_of_samples_for_a_learner_that_takes_none() -> None:
    class Plain(SVC):
        def fit(self, X: Any, y: Any) -> Any:
            return super().fit(X, y)

    assert TwoStageMKL(KERNELS, learner=Plain()).fit(X, Y).score(X, Y) > 0.8
    with pytest.raises(ValueError, match=r"sample_weight is given, and the learner Plain\(\) takes none: leave it out"):
        TwoStageMKL(KERNELS, learner=Plain()).fit(X, Y, sample_weight=np.ones(N + M))
