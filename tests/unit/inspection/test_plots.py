"""The pictures show the numbers of the result, all of them, in the right order."""

from __future__ import annotations

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from oracles.hand_made_result import Model, make_result
from polykern import MKLClassifier
from polykern.inspection import plot_gap, plot_weights, write_report


def bars(axes) -> list[tuple[str, float]]:
    names = [label.get_text() for label in axes.get_yticklabels()]
    return list(zip(names, [bar.get_width() for bar in axes.patches], strict=True))


def test_bars_are_the_weights_heaviest_first(model, axes):
    assert plot_weights(model, axes) is axes
    assert bars(axes) == [("c", 0.5), ("d", 0.3), ("a", 0.2), ("b", 0.0)]
    assert axes.yaxis_inverted() and axes.get_xlabel() == "kernel weight"


def test_bare_result_has_numbered_kernels_unless_names_are_given(result, axes):
    assert [name for name, _ in bars(plot_weights(result, axes))] == ["kernel 2", "kernel 3", "kernel 0", "kernel 1"]
    axes.clear()
    assert [name for name, _ in bars(plot_weights(result, axes, names="wxyz"))] == ["y", "z", "w", "x"]


def test_top_says_what_is_left_out(model, axes):
    plot_weights(model, axes, top=2)
    assert bars(axes) == [("c", 0.5), ("d", 0.3)]
    assert axes.get_xlabel() == "kernel weight (2 more kernels weigh 0.2 together)"


def test_one_row_of_weights_per_class_is_drawn_as_mean_and_dots(axes):
    weights = np.array([[0.2, 0.8], [0.6, 0.4]])
    plot_weights(make_result(weights), axes, names=["a", "b"])
    assert bars(axes) == [("b", pytest.approx(0.6)), ("a", pytest.approx(0.4))]
    dots = axes.lines[0]
    points = sorted(zip(dots.get_ydata(), dots.get_xdata(), strict=True))
    assert points == [(0, 0.4), (0, 0.8), (1, 0.2), (1, 0.6)]


def test_all_weights_zero_is_drawn(axes):
    assert [weight for _, weight in bars(plot_weights(make_result((0.0, 0.0)), axes))] == [0.0, 0.0]


def test_long_names_are_cut(axes):
    plot_weights(make_result((1.0,)), axes, names=["x" * 80])
    assert bars(axes)[0][0] == "x" * 33 + "…"


def test_gap_is_drawn_against_seconds_on_a_logarithmic_axis(model, axes):
    assert plot_gap(model, axes) is axes
    np.testing.assert_allclose(axes.lines[0].get_xdata(), [0.1, 0.2, 0.3])
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [0.5, 0.05, 1e-16])
    assert axes.get_yscale() == "log"


def test_tolerance_of_the_model_is_drawn_and_can_be_given(model, result, axes):
    plot_gap(model, axes)
    assert [text.get_text() for text in axes.texts] == ["tol = 0.001"]
    axes.clear()
    plot_gap(result, axes)
    assert not axes.texts
    axes.clear()
    plot_gap(result, axes, tol=0.01)
    assert [text.get_text() for text in axes.texts] == ["tol = 0.01"]


def test_every_part_has_its_line(axes):
    parts = (make_result(gaps=(0.5, 0.1)), make_result(gaps=(0.4, 0.2, 0.01)))
    plot_gap(make_result(gaps=(), parts=parts), axes)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["SILP, output 0", "SILP, output 1"]
    np.testing.assert_allclose(axes.lines[2].get_ydata(), [0.4, 0.2, 0.01])


def test_several_models_are_compared_under_their_labels(axes):
    first, second = Model(make_result(gaps=(0.5, 0.1))), Model(make_result(gaps=(0.4, 0.2)))
    plot_gap({"p = 1": first, "p = 2": second}, axes)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["p = 1", "p = 2"]
    assert [text.get_text() for text in axes.texts] == ["tol = 0.001"]
    axes.clear()
    second.tol = 1e-6  # no tolerance in common, none drawn
    plot_gap({"p = 1": first, "p = 2": second}, axes)
    assert not axes.texts


def test_gaps_that_are_not_finite_are_left_out(axes):
    plot_gap(make_result(gaps=(np.inf, 0.1)), axes)
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [0.1])


def test_without_axes_pyplot_makes_them(model):
    from matplotlib import pyplot

    with pyplot.rc_context({"backend": "agg"}):
        for plot in (plot_weights, plot_gap):
            axes = plot(model)
            assert axes.figure.number in pyplot.get_fignums()
            pyplot.close(axes.figure)


def test_gap_without_history_is_refused():
    with pytest.raises(ValueError, match="empty history"):
        plot_gap(make_result(gaps=()))


def test_other_bad_input_is_refused(result):
    with pytest.raises(ValueError, match="top is 0, expected the number of kernels to draw"):
        plot_weights(result, top=0)
    with pytest.raises(ValueError, match="names holds 1 names, expected one for each of the 4 kernels"):
        plot_weights(result, names=["a"])
    with pytest.raises(
        TypeError, match="model_or_result is a list, expected a fitted model of polykern or its MKLResult"
    ):
        plot_weights([1.0, 2.0])
    with pytest.raises(NotFittedError, match="This Model is not fitted yet"):
        plot_weights(Model(None))


def test_missing_matplotlib_is_named_with_the_way_out(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for plot in (plot_weights, plot_gap):
        with pytest.raises(ImportError, match=re.escape('not installed: pip install "polykern[plot]"')):
            plot(model)


def test_given_axes_need_no_model_attributes_beyond_the_contract(result, axes):
    bare = SimpleNamespace(result_=result, kernel_names_=["a", "b", "c", "d"])
    plot_weights(bare, axes)
    axes.clear()
    plot_gap(bare, axes)
    assert not axes.texts


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda model: SimpleNamespace(steps=[("scale", None), ("mkl", model)]),
        lambda model: SimpleNamespace(best_estimator_=model),
        lambda model: SimpleNamespace(regressor_=SimpleNamespace(steps=[("mkl", model)])),
    ],
    ids=["pipeline", "search", "target transformer around a pipeline"],
)
def test_the_model_inside_is_found(wrapped, model, axes):
    assert bars(plot_weights(wrapped(model), axes))[0] == ("c", 0.5)
    axes.clear()
    assert [line.get_label() for line in plot_gap({"inside": wrapped(model)}, axes).lines][0] == "inside"


def test_a_fitted_search_over_a_pipeline_is_looked_into(axes, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 3))
    pipeline = make_pipeline(StandardScaler(), MKLClassifier([("all", "rbf"), ("line", "linear")]))
    with pytest.raises(NotFittedError, match="This MKLClassifier is not fitted yet"):
        plot_weights(pipeline, axes)
    search = GridSearchCV(pipeline, {"mklclassifier__C": [1.0, 10.0]}, cv=2).fit(X, X[:, 0] > 0)
    weights = search.best_estimator_[-1].kernel_weights_
    assert dict(bars(plot_weights(search, axes))) == weights
    page = write_report(search, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "The model in words" in page and "line" in page


@pytest.mark.parametrize("name", ["TwoStageMKL", "LPBetaClassifier"])
def test_weights_without_a_result_are_drawn_and_reported(name, tmp_path):
    import polykern
    from polykern.kernels import RBF

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.repeat([0, 1], 20)
    model = getattr(polykern, name)([("narrow", RBF(gamma=1.0)), ("wide", RBF(gamma=0.1))]).fit(X, y)
    axes = plot_weights(model)
    assert {label.get_text() for label in axes.get_yticklabels()} == {"narrow", "wide"}
    text = write_report(model, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "there is no single problem behind them" in text and "kernels kept" in text
    with pytest.raises(TypeError, match="no gap to look at"):
        plot_gap(model)
