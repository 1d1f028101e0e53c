"""Bad input: one good sentence each, at once, through the estimators."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from polykern import (
    MKLClassifier,
    MKLClassifierCV,
    MKLOneClass,
    MKLRegressor,
    kernels,
    losses,
    mkl_path,
    regularizers,
    solvers,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))
Y = np.where(X[:, 0] > 0, 1, 0)
FRAME = pd.DataFrame(X, columns=["age", "height", "weight", "dose"])
INDICES = np.arange(30)
GOOD = X @ X.T + np.eye(30)


def refused(sentence: str, error: type[Exception] = ValueError) -> Any:
    return pytest.raises(error, match=sentence)


# ---- the data ----


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_or_inf_in_x(bad: float) -> None:
    broken = X.copy()
    broken[3, 2] = bad
    with refused("X has 1 values that are NaN or inf, the first in row 3, column 2; kernels need finite numbers"):
        MKLClassifier().fit(broken, Y)
    with refused("in row 3, column 2"):
        MKLClassifier().fit(X, Y).predict(broken)


def test_nan_in_a_frame_names_the_column() -> None:
    broken = FRAME.copy()
    broken.loc[3, "weight"] = np.nan
    with refused("'weight'.* in row 3"):
        MKLClassifier().fit(broken, Y)


def test_words_in_a_frame_name_the_column() -> None:
    with refused("column 'sex' holds text.*encode it"):
        MKLClassifier().fit(FRAME.assign(sex="f"), Y)


READS_TWO = [("age", kernels.RBF(), ["age"]), ("both", kernels.Linear(), ["age", "height"])]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_columns_that_no_kernel_reads_may_hold_anything(make) -> None:
    plain = {"age": X[:, 0], "height": X[:, 1]}
    unread = {"town": ["x"] * 30, "empty": np.full(30, np.nan), "day": np.arange(30).astype("datetime64[D]")}
    expected = MKLClassifier(READS_TWO).fit(make(plain), Y).decision_function(make(plain))
    for table in (make(unread | plain), make(plain | unread)):
        model = MKLClassifier(READS_TWO, keep_training_data=True).fit(table, Y)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(table), expected)
        assert model.transform(table).shape == (30, 30)
        with refused("column 'town' holds text"):
            MKLClassifier([*READS_TWO, ("all", kernels.Linear())]).fit(table, Y)
    with refused("X: column 'age' is nan in row 3"):
        MKLClassifier(READS_TWO).fit(make(unread | plain | {"age": np.where(np.arange(30) == 3, np.nan, 1.0)}), Y)
    with refused("column 'age' holds text"):
        model.predict(make(plain | unread | {"age": ["x"] * 30}))


@pytest.mark.parametrize("columns", [slice(0, 2), [0, -4], [True, True, False, False]])
def test_columns_of_an_array_that_no_kernel_reads_may_hold_nan(columns) -> None:
    broken = X.copy()
    broken[3, 2:] = np.nan
    spec = [("first", kernels.RBF(), columns), ("line", kernels.Linear(), 1)]
    model = MKLClassifier(spec).fit(broken, Y)
    np.testing.assert_array_equal(model.predict(broken), MKLClassifier(spec).fit(X, Y).predict(X))
    broken[5, 1] = np.inf
    with refused("X has 1 values that are NaN or inf, the first in row 5, column 1; kernels need finite numbers"):
        model.predict(broken)


def test_a_missing_column_is_named_though_another_holds_text() -> None:
    with refused("kernel 0: column 'ages' does not exist; .* did you mean 'age'"):
        MKLClassifier([("a", kernels.RBF(), ["ages"])]).fit(FRAME.assign(town="x"), Y)


def test_warnings_point_at_the_users_line() -> None:
    constant = np.column_stack([X, np.ones(30)])
    spec = [("first", kernels.RBF(), [0]), ("constant", kernels.Linear(), [4]), ("last", kernels.RBF(), [3])]
    for fit in (
        lambda: MKLClassifier(spec, normalize="center").fit(constant, Y),
        # Centred, the origin lies inside and the optimum is 0: interior points have no relative gap to close.
        lambda: MKLOneClass(spec, normalize="center", solver="QuadraticBundle").fit(constant),
        lambda: MKLClassifierCV(spec, Cs=[1.0], ps=[1.0], cv=2, normalize="center").fit(constant, Y),
        lambda: mkl_path(constant, Y, spec, Cs=[1.0], normalize="center"),
        lambda: MKLClassifier().fit(X, Y[:, None]),
        lambda: MKLRegressor().fit(X, X[:, :1]),
        lambda: MKLRegressor().fit(X, np.linspace(0.0, 0.01, 30)),
        lambda: mkl_path(X, np.linspace(0.0, 0.01, 30), Cs=[1.0], loss="epsilon_insensitive"),
    ):
        with pytest.warns(UserWarning, match="is zero or constant|column-vector y|epsilon is") as caught:
            fit()
        assert {one.filename for one in caught} == {__file__}


def test_a_path_over_p_takes_no_regularizer() -> None:
    for regularizer in ("l2", "l1", regularizers.LpBall(p=2.0)):
        with refused("ps and regularizer=.* are both given, expected one of them: ps are the norms"):
            mkl_path(X, Y, ps=[1], regularizer=regularizer)
    assert mkl_path(X, Y, Cs=[1.0], regularizer="l2").weights.all()


def test_nan_in_y() -> None:
    broken = Y.astype(float)
    broken[4] = np.nan
    with refused("y contains NaN"):
        MKLClassifier().fit(X, broken)
    with refused("y contains NaN"):
        MKLRegressor().fit(X, broken)


def test_a_missing_label() -> None:
    labels = np.where(Y == 1, "a", "b").astype(object)
    labels[4] = None
    with refused("y has no label for sample 4, expected one for every sample: leave it out"):
        MKLClassifier().fit(X, labels)


def test_targets_inside_the_tube_are_warned_about() -> None:
    with pytest.warns(UserWarning, match="epsilon is 0.1, and y varies by 0.01 only: .*standardise y, or take a small"):
        MKLRegressor().fit(X, np.linspace(0.0, 0.01, 30))


@pytest.mark.filterwarnings("error")
def test_constant_targets_are_not() -> None:
    assert MKLRegressor().fit(X, np.full(30, 2.0)).predict(X[:1]) == pytest.approx(2.0)


def test_y_of_another_length() -> None:
    with refused("y has 29 labels and X has 30 samples"):
        MKLClassifier().fit(X, Y[:-1])
    with refused("y has 29 values and X has 30 samples"):
        MKLRegressor().fit(X, Y[:-1])


def test_labels_for_a_regressor_and_numbers_for_a_classifier() -> None:
    with refused("y is of type <U1, expected real numbers; MKLClassifier takes labels"):
        MKLRegressor().fit(X, np.where(Y == 1, "a", "b"))
    with refused("Unknown label type: continuous.*; MKLRegressor takes real numbers"):
        MKLClassifier().fit(X, X[:, 0])


def test_one_class_only() -> None:
    with refused("y has only one class, 'a' .*expected at least two classes; to learn from one class use MKLOneClass"):
        MKLClassifier().fit(X, ["a"] * 30)


def test_x_with_one_axis_or_three() -> None:
    with refused("Expected 2D array, got 1D array"):
        MKLClassifier().fit(X[:, 0], Y)
    with refused("Found array with dim 3"):
        MKLClassifier().fit(X[:, :, None], Y)


def test_two_columns_of_one_name() -> None:
    with refused("X has two columns named 'age' .positions 0 and 1., expected unique names"):
        MKLClassifier().fit(FRAME.rename(columns={"height": "age"}), Y)


def test_words_in_an_array() -> None:
    for words in (np.array([["ACGT"], ["TTTT"]] * 15), [["ACGT"], ["TTTT"]] * 15, ["ACGT", "TTTT"] * 15):
        with refused("X holds text, 'ACGT' for one, and kernels on vectors need numbers"):
            MKLClassifier().fit(words, Y)


def test_new_data_with_other_columns() -> None:
    model = MKLClassifier().fit(FRAME, Y)
    with refused("Feature names unseen at fit time:\n- size"):
        model.predict(FRAME.rename(columns={"height": "size"}))
    with refused("Feature names must be in the same order as they were in fit"):
        model.predict(FRAME[["height", "age", "weight", "dose"]])
    with refused("X has 3 features, but MKLClassifier is expecting 4 features"):
        MKLClassifier().fit(X, Y).predict(X[:, :3])


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (-np.eye(30)[4], r"sample_weight\[4\] is -1, expected no weight below 0"),
        (np.zeros(30), "sample_weight is zero for every sample"),
        (np.ones(29), r"sample_weight has shape \(29,\), expected one number per sample, \(30,\)"),
        (np.full(30, np.nan), "sample_weight contains NaN"),
    ],
)
def test_sample_weights(weights: np.ndarray, sentence: str) -> None:
    for model in (MKLClassifier(), MKLRegressor(), MKLOneClass()):
        with refused(sentence):
            model.fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize(
    ("class_weight", "sentence"),
    [
        ("balance", "class_weight is 'balance', expected None, 'balanced' or a dict"),
        ({2: 1.0}, "class_weight has the label 2, which is not in y; the classes are 0, 1"),
        ({1: 0.0}, r"class_weight\[1\] is 0.0, expected a finite number above 0"),
        ({1: "x"}, r"class_weight\[1\] is 'x', expected a finite number above 0"),
    ],
)
def test_class_weights(class_weight: Any, sentence: str) -> None:
    with refused(sentence):
        MKLClassifier(class_weight=class_weight).fit(X, Y)


# ---- the kernels ----


def test_an_empty_list_of_kernels() -> None:
    with refused("kernels is an empty list, expected at least one kernel"):
        MKLClassifier([]).fit(X, Y)


def test_duplicate_names() -> None:
    with refused("kernels 0 and 1 are both named 'a', expected unique names"):
        MKLClassifier([("a", kernels.RBF()), ("a", kernels.Linear())]).fit(X, Y)


def test_unknown_kernel_names() -> None:
    with refused("kernel 1 is 'lineer', which is not known; did you mean 'linear'"):
        MKLClassifier(["rbf", "lineer"]).fit(X, Y)


@pytest.mark.parametrize(
    ("columns", "data", "sentence"),
    [
        (["doze"], FRAME, r"kernel 1 \('dose'\).*column 'doze' does not exist.*did you mean 'dose'"),
        ([4], FRAME, r"kernel 1 \('dose'\).*column 4 does not exist"),
        ([4], X, r"kernel 1 \('dose'\).*column 4 does not exist; X has 4 columns"),
        (["dose"], X, r"kernel 1 \('dose'\).*by name, but X is an array without names"),
        ([], X, r"kernel 1 \('dose'\).*selects no column"),
    ],
)
def test_columns_that_do_not_exist(columns: list, data: Any, sentence: str) -> None:
    model = MKLClassifier([("all", kernels.RBF()), ("dose", kernels.RBF(), columns)])
    with refused(sentence):
        model.fit(data, Y)


def precomputed(**extra: np.ndarray) -> list:
    return [("good", kernels.Precomputed(GOOD)), *((name, kernels.Precomputed(K)) for name, K in extra.items())]


def test_kernels_of_different_sizes() -> None:
    with refused(r"kernel 1 \('rna'\) is \(20, 20\), expected \(30, 30\)"):
        MKLClassifier(precomputed(rna=GOOD[:20, :20])).fit(INDICES[:20], Y[:20])


def test_a_kernel_that_is_not_square() -> None:
    with refused(r"kernel 1 \('rna'\).*\(30, 20\).*square"):
        MKLClassifier(precomputed(rna=GOOD[:, :20])).fit(INDICES[:20], Y[:20])


def test_nan_in_a_kernel() -> None:
    broken = GOOD.copy()
    broken[2, 5] = broken[5, 2] = np.nan
    with refused(r"kernel 1 \('rna'\).*nan"):
        MKLClassifier(precomputed(rna=broken)).fit(INDICES, Y)


def test_a_kernel_that_is_not_symmetric() -> None:
    with refused(r"kernel 1 \('rna'\).*is not symmetric: K\[.*pass \(K \+ K.T\) / 2"):
        MKLClassifier(precomputed(rna=GOOD + np.triu(RNG.normal(size=(30, 30))))).fit(INDICES, Y)


def test_a_kernel_that_is_not_psd() -> None:
    with refused(r"kernel 1 \('rna'\).*not positive semidefinite: its most negative eigenvalue is -.*nearest_psd"):
        MKLClassifier(precomputed(rna=GOOD - 5 * np.eye(30))).fit(INDICES, Y)


def test_a_large_kernel_that_is_not_psd_is_found_on_a_sample() -> None:
    n = 1000
    large = -np.ones((n, n)) + 2 * np.eye(n)
    with refused(r"kernel 0 \('rna'\).*256 of its 1000 samples"):
        MKLClassifier([("rna", kernels.Precomputed(large))]).fit(np.arange(n), np.arange(n) % 2)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_kernel_that_says_nothing_is_kept_at_weight_zero(value: float) -> None:
    model = MKLClassifier(precomputed(nothing=np.full((30, 30), value)), normalize="center")
    with pytest.warns(UserWarning, match=r"kernel 1 \('nothing'\)"):
        model.fit(INDICES, Y)
    assert model.kernel_weights_["nothing"] == 0.0
    assert model.kernel_weights_["good"] > 0


def test_indices_outside_a_kernel() -> None:
    with refused(r"kernel 0 \('good'\).*30"):
        MKLClassifier(precomputed()).fit(INDICES + 1, Y)
    model = MKLClassifier(precomputed()).fit(INDICES, Y)
    with refused(r"kernel 0 \('good'\).*index 30.*expected 0 to 29"):
        model.predict([30])
    with refused("-1"):
        model.predict([-1])


def test_indices_that_are_none() -> None:
    with refused("X is of type float64, expected whole numbers", TypeError):
        MKLClassifier(precomputed()).fit(INDICES + 0.5, Y)
    with refused(r"X is \(30, 30\), expected \(n,\) or \(n, 1\).*kernels.Precomputed\(K\)"):
        MKLClassifier(precomputed()).fit(GOOD.astype(int), Y)


def test_indices_and_vectors_need_columns() -> None:
    mixed = [("line", kernels.Linear()), ("rna", kernels.Precomputed(GOOD))]
    for data in (X, INDICES):
        with refused(r"kernel 1 \('rna'\) reads sample indices and kernel 0 \('line'\) reads vectors.*columns"):
            MKLClassifier(mixed).fit(data, Y)


def test_an_array_as_kernel() -> None:
    with refused(r"kernel 0 is an array of shape \(30, 30\).*kernels.Precomputed\(K\)", TypeError):
        MKLClassifier([GOOD]).fit(INDICES, Y)


def test_a_word_for_matrices() -> None:
    with refused(r"kernel 0 is 'precomputed', which is not known: wrap each matrix as kernels.Precomputed\(K\)"):
        MKLClassifier("precomputed").fit(GOOD, Y)


def test_an_array_in_a_sum() -> None:
    with refused(r"Sum: kernels\[1\] is an array of shape \(30, 30\), expected a kernel: wrap it", TypeError):
        kernels.Sum([kernels.RBF(), GOOD])


def test_a_function_of_two_samples() -> None:
    def dot(x: Any, z: Any) -> float:
        return float(np.dot(x, z))

    with refused(
        r"kernel 1 \('mine'\): the kernel function dot failed on X \(8, 4\) and Z \(8, 4\), expected a matrix of 8 x 8 "
        "numbers; it said ValueError: shapes"
    ):
        MKLClassifier([("rbf", kernels.RBF()), ("mine", dot)]).fit(X, Y)


def test_values_beyond_floating_point() -> None:
    with refused(r"kernel 0 \('Polynomial.*has the value inf for sample 0.*too large for floating point: scale"):
        MKLClassifier([kernels.Polynomial(degree=3)]).fit(X * 1e200, Y)


# ---- the parameters ----


@pytest.mark.parametrize(
    ("given", "name", "sentence"),
    [
        ("l1", "regularizer__p", r"regularizer is 'l1', .*no parameter 'p': .*regularizer=LpBall\(p=1.5\), or vary r"),
        (1.5, "regularizer__p", "regularizer is 1.5, .*no parameter 'p'"),
        ("SILP", "solver__eta", "solver is 'SILP', .*no parameter 'eta': give an object of polykern.solvers, or vary"),
        (
            [kernels.RBF()],
            "kernels__0__gamma",
            "kernels is a list, .*no parameter '0__gamma': .*vary kernels itself",
        ),
    ],
)
def test_parameters_of_what_has_none(given: Any, name: str, sentence: str) -> None:
    model = MKLClassifier(**{name.partition("__")[0]: given})
    with refused(sentence):
        model.set_params(**{name: 2.0})


def test_parameters_of_what_comes_with_them() -> None:
    model = MKLClassifier(regularizer="l1").set_params(regularizer=regularizers.LpBall(p=1.5), regularizer__p=3.0)
    assert model.regularizer.p == 3.0


@pytest.mark.parametrize(
    ("parameters", "error", "sentence"),
    [
        ({"C": 0}, ValueError, "C is 0, expected a finite number above 0"),
        ({"C": -1.0}, ValueError, "C is -1.0, expected a finite number above 0"),
        ({"C": "1"}, TypeError, "C is '1', expected a positive number"),
        ({"tol": 0}, ValueError, "tol is 0, expected a finite number above 0: it is the relative duality gap"),
        ({"max_iter": 0}, ValueError, "max_iter is 0, expected a whole number of at least 1"),
        ({"max_iter": 1.5}, TypeError, "max_iter is 1.5, expected a whole number"),
        ({"time_limit": 0}, ValueError, r"time_limit is 0, expected a finite number above 0 \(seconds\) or None"),
        ({"loss": "hing"}, ValueError, "loss is 'hing'.*[Dd]id you mean 'hinge'"),
        ({"loss": 3}, TypeError, "loss is 3, expected"),
        (
            {"loss": "squared"},
            ValueError,
            "loss is 'squared', which is not a loss for labels; MKLClassifier takes 'hinge'",
        ),
        ({"loss": losses.Squared()}, ValueError, "which is not a loss for labels"),
        ({"loss": "multiclass", "fit_intercept": True}, ValueError, "has no bias, as in the papers"),
        ({"loss": "multiclass", "multiclass": "ovr"}, ValueError, "multiclass='ovr' splits them up"),
        ({"multiclass": "joint", "loss": "logistic"}, ValueError, "multiclass='joint' comes with the hinge"),
        ({"multiclass": "ova"}, ValueError, "multiclass is 'ova', which is not known; did you mean 'ov[ro]'"),
        ({"regularizer": "l3"}, ValueError, "regularizer is 'l3'.*'l1'"),
        ({"regularizer": 0.5}, ValueError, "p of the weight norm is 0.5, expected a number >= 1"),
        ({"regularizer": regularizers.LpBall(p=0.9)}, ValueError, "p of the weight norm is 0.9"),
        ({"regularizer": None}, TypeError, "regularizer is None, expected"),
        ({"solver": "slip"}, ValueError, "solver is 'slip'.*[Dd]id you mean 'SILP'"),
        ({"solver": 3}, TypeError, "solver is 3, expected"),
        ({"solver": solvers.SILP(), "regularizer": "linf"}, ValueError, "SILP handles"),
        ({"fit_intercept": "yes"}, ValueError, "fit_intercept is 'yes', which is not known; known are 'auto'"),
        ({"fit_intercept": 1}, TypeError, "fit_intercept is 1, expected True, False or 'auto'"),
        ({"normalize": "unit"}, ValueError, "normalize is 'unit'"),
        ({"memory": "4 gigs"}, ValueError, "memory is '4 gigs'"),
        ({"memory": 10}, ValueError, "memory"),
        ({"memory": "1KB"}, ValueError, "memory"),
        ({"n_jobs": 0}, ValueError, "n_jobs is 0"),
        ({"probability": "yes"}, TypeError, "probability is 'yes', expected True or False"),
        ({"share_weights": 1}, TypeError, "share_weights is 1, expected True or False"),
        ({"keep_training_data": None}, TypeError, "keep_training_data is None, expected True or False"),
        ({"verbose": -1}, ValueError, "verbose is -1, expected a whole number of at least 0"),
        ({"callbacks": [3]}, TypeError, r"callbacks\[0\] is 3, expected a callable"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_parameters(parameters: dict, error: type[Exception], sentence: str) -> None:
    model = MKLClassifier(**parameters)  # the constructor takes everything: scikit-learn's clone relies on it
    with pytest.raises(error, match=sentence):
        model.fit(X, Y)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (MKLRegressor(loss="hinge"), "loss is 'hinge', which is not a loss for real targets; MKLRegressor takes"),
        (MKLRegressor(epsilon=-0.1), r"epsilon is -0.1, expected a number in \[0, inf\)"),
        (MKLRegressor(C=0), "C is 0"),
        (MKLOneClass(nu=0), r"nu is 0, expected a number in \(0, 1\]: the share of outliers"),
        (MKLOneClass(nu=1.5), "nu is 1.5"),
    ],
)
def test_parameters_of_the_others(model: Any, sentence: str) -> None:
    with refused(sentence):
        model.fit(X, X[:, 0])


# ---- the order of things ----


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (MKLClassifier(), "predict"),
        (MKLClassifier(), "decision_function"),
        (MKLClassifier(probability=True), "predict_proba"),
        (MKLClassifier(keep_training_data=True), "transform"),
        (MKLRegressor(), "predict"),
        (MKLOneClass(), "score_samples"),
    ],
)
def test_an_unfitted_model(model: Any, method: str) -> None:
    with pytest.raises(NotFittedError, match=f"This {type(model).__name__} instance is not fitted yet"):
        getattr(model, method)(X)


def test_an_unfitted_model_has_no_summary_and_no_weights() -> None:
    with pytest.raises(NotFittedError):
        MKLClassifier().summary()
    with pytest.raises(NotFittedError):
        _ = MKLClassifier().kernel_weights_


def test_what_is_not_available_says_how_to_get_it() -> None:
    model = MKLClassifier().fit(X, Y)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "transform")
    with pytest.raises(AttributeError) as no_probabilities:
        model.predict_proba(X)
    assert "probability=True" in str(no_probabilities.value.__cause__)
    with pytest.raises(AttributeError) as no_transform:
        model.transform(X)
    assert "keep_training_data=True" in str(no_transform.value.__cause__)


def test_probabilities_need_two_samples_of_each_class() -> None:
    with refused("one class has a single sample"):
        MKLClassifier(probability=True).fit(X, np.eye(30, dtype=int)[0])
