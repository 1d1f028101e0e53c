"""The fitted model as text."""

from __future__ import annotations

import numpy as np
import pytest

from polykern import MKLClassifier, MKLOneClass, MKLRegressor, kernels
from polykern.regularizers import GroupedNorm

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3))
Y = (X[:, 0] > 0).astype(int)
KERNELS = [("narrow", kernels.RBF(gamma=1.0)), ("wide", kernels.RBF(gamma=0.1)), ("line", kernels.Linear())]


def test_it_tells_data_problem_gap_weights_and_memory() -> None:
    model = MKLClassifier(KERNELS, C=2.0).fit(X, Y)
    text = model.summary()
    for part in (
        "MKLClassifier",
        "50 samples, 3 kernels, 2 classes",
        "loss hinge",
        "regularizer l1",
        "C 2",
        "with intercept",
    ):
        assert part in text
    assert "converged: the certified gap is within tol" in text
    assert f"{model.result_.gap:.2e}" in text
    assert f"{len(model.support_)} of 50 samples" in text
    for name, weight in model.kernel_weights_.items():
        line = next((line.split() for line in text.splitlines() if line.startswith(f"    {name} ")), None)
        assert line is None if weight == 0 else line[1] == f"{weight:.4f}"
    assert "(memory_plan_ has the details)" in text
    assert all(name in model.memory_plan_ for name in model.kernel_names_[:1])
    assert all(line == line.rstrip() for line in text.splitlines())


def test_weights_come_largest_first_and_only_ten() -> None:
    model = MKLClassifier([(f"k{k}", kernels.RBF(gamma=2.0**k)) for k in range(-8, 6)], regularizer="l2").fit(X, Y)
    lines = [line.split() for line in model.summary().splitlines() if line.startswith("    k")]
    shown = [float(line[1]) for line in lines]
    assert len(shown) == 10
    assert shown == sorted(shown, reverse=True)
    assert "... and 4 more" in model.summary()


def test_rows_end_at_the_last_kernel_that_is_kept() -> None:
    model = MKLClassifier([(f"k{k}", kernels.RBF(gamma=2.0**k)) for k in range(-20, 10)]).fit(X, Y)
    kept = int(np.count_nonzero(model.weights_))
    assert 0 < kept < 10
    lines = model.summary().splitlines()
    assert len([line for line in lines if line.startswith("    k")]) == kept
    assert lines[-1] == f"    {30 - kept} kernels have weight 0"
    assert "more" not in model.summary()


def test_one_kernel_without_weight() -> None:
    model = MKLClassifier([("line", kernels.Linear()), ("noise", kernels.Precomputed(np.eye(50)), [3])])
    model.fit(np.column_stack([X, np.arange(50)]), Y)
    model.weights_ = np.array([1.0, 0.0])
    assert model.summary().endswith("    1 kernel has weight 0")
    model.weights_ = np.zeros(2)
    assert model.summary().endswith("(0 of 2 kernels kept)\n    2 kernels have weight 0")


GROUP_FORMS = {
    "named": ({"right": ["wide", "line"], "left": ["narrow"]}, ("right", "left")),
    "listed": ([["wide", "line"], ["narrow"]], ("group 0", "group 1")),
    "labelled": (["left", "right", "right"], ("right", "left")),
    "numbered": ([7, 3, 3], ("group 3", "group 7")),
}


@pytest.mark.parametrize("form", GROUP_FORMS)
@pytest.mark.parametrize("share_weights", [True, False])
def test_groups_are_counted_and_weighed(form: str, share_weights: bool) -> None:
    groups, (both, alone) = GROUP_FORMS[form]
    model = MKLClassifier(KERNELS, regularizer=GroupedNorm(groups, q=0.75), share_weights=share_weights)
    text = model.fit(X, np.arange(50) % 3).summary()
    assert "regularizer GroupedNorm(2 groups, q=0.75), C 1" in text
    narrow, wide, line = np.atleast_2d(model.weights_).mean(axis=0)
    shares = {both: (wide + line) / (narrow + wide + line), alone: narrow / (narrow + wide + line)}
    rows = text[text.index("group weights") :].splitlines()[1:]
    assert [" ".join(row.split("  ")[2:4]) for row in rows] == [
        f"{name:<{len(max(shares, key=len))}} {share:.4f}"
        for name, share in sorted(shares.items(), key=lambda g: -g[1])
    ]


def test_groups_above_ten_and_what_their_weights_mean() -> None:
    spec = [(f"k{k}", kernels.RBF(gamma=2.0**k)) for k in range(-8, 5)]
    texts = {
        q: MKLClassifier(spec, regularizer=GroupedNorm([[k] for k in range(13)], q)).fit(X, Y).summary()
        for q in (0.9, 1.0, 2.0)
    }
    assert texts[1.0].count("    group ") == 10 and texts[1.0].endswith("... and 3 more")
    assert "(shares of their sum)" in texts[0.9]
    assert "(shares of their sum; the same for all at q = 1)" in texts[1.0]
    assert "(shares of their sum; above q = 1 the less a group does, the more it weighs)" in texts[2.0]
    assert "group weights" not in MKLClassifier(spec).fit(X, Y).summary()


@pytest.mark.parametrize(
    ("model", "part"),
    [
        (MKLClassifier(KERNELS, multiclass="ovo"), "one-vs-one, kernel weights shared"),
        (MKLClassifier(KERNELS, share_weights=False), "one-vs-rest, kernel weights per output"),
        (MKLClassifier(KERNELS, share_weights=False), "mean over outputs"),
        (MKLRegressor(KERNELS, fit_intercept=False), "without intercept"),
        (MKLOneClass(KERNELS, nu=0.25), "one class, nu 0.25"),
    ],
)
def test_other_models(model: object, part: str) -> None:
    assert part in model.fit(X, np.arange(50) % 3).summary()
