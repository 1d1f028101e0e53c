"""How a fit ends early, and what it says."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from polykern import MKLClassifier, MKLRegressor, kernels
from polykern.problems import Status

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 5))
Y = (X[:, 0] * X[:, 1] + 0.5 * RNG.normal(size=80) > 0).astype(int)
KERNELS = [kernels.RBF(gamma=0.02 * 2**k) for k in range(8)] + [kernels.Linear(), kernels.Polynomial(2)]


def test_max_iter_warns_with_the_gap_and_the_way_out() -> None:
    model = MKLClassifier(KERNELS, max_iter=1, tol=1e-9)
    with pytest.warns(
        ConvergenceWarning, match=r"MKLClassifier stopped at max_iter .*raise max_iter.*gap .*1 iteration.*tol 1e-09"
    ):
        model.fit(X, Y)
    assert model.result_.status is Status.MAX_ITER
    assert model.n_iter_ == 1
    assert model.result_.gap > 1e-9
    assert model.predict(X).shape == (80,)


def test_the_warning_points_at_the_users_line() -> None:
    for model in (MKLClassifier(KERNELS, max_iter=1, tol=1e-9), MKLRegressor(KERNELS, max_iter=1, tol=1e-9)):
        with pytest.warns(ConvergenceWarning) as caught:
            model.fit(X, Y)
        assert caught[0].filename == __file__


def test_time_limit() -> None:
    with pytest.warns(ConvergenceWarning, match="stopped at time_limit"):
        model = MKLClassifier(KERNELS, time_limit=1e-6, tol=1e-9).fit(X, Y)
    assert model.result_.status is Status.TIME_LIMIT


def test_ctrl_c_keeps_the_best_so_far() -> None:
    def interrupt(record: Any, weights: np.ndarray) -> None:
        if record.iteration == 2:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = MKLClassifier(KERNELS, tol=1e-9, callbacks=interrupt).fit(X, Y)
    assert model.result_.status is Status.INTERRUPTED
    assert model.n_iter_ == 2
    assert model.score(X, Y) > 0.5


def test_ctrl_c_ends_all_problems_of_a_fit() -> None:
    calls = []

    def interrupt(record: Any, weights: np.ndarray) -> None:
        calls.append(record.iteration)
        if len(calls) == 1:
            raise KeyboardInterrupt

    model = MKLClassifier(KERNELS, tol=1e-9, share_weights=False, callbacks=[interrupt])
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(X, np.arange(80) % 3)
    assert calls == [1, 1, 1]
    assert [part.status for part in model.result_.parts[1:]] == [Status.MAX_ITER] * 2
    assert model.result_.status is Status.INTERRUPTED


def test_callbacks_see_iterations_and_can_stop() -> None:
    seen = []

    def stop(record: Any, weights: np.ndarray) -> bool:
        seen.append((record.iteration, weights.copy()))
        return record.iteration == 2

    with pytest.warns(ConvergenceWarning, match="stopped by a callback"):
        model = MKLClassifier(KERNELS, tol=1e-9, callbacks=[stop]).fit(X, Y)
    assert [iteration for iteration, _ in seen] == [1, 2]
    assert seen[0][1].shape == (10,)
    assert model.result_.status is Status.STOPPED


@pytest.mark.parametrize("verbose", [True, 1])
def test_verbose_shows_a_line_per_iteration(verbose: Any, capfd: Any, caplog: Any) -> None:
    with caplog.at_level(logging.INFO):
        model = MKLClassifier(KERNELS, verbose=verbose).fit(X, Y)
    shown = capfd.readouterr()
    lines = (shown.out + shown.err + caplog.text).splitlines()
    assert len([line for line in lines if "gap" in line]) >= 1
    assert len(lines) >= model.n_iter_


def test_quiet_is_quiet(capfd: Any) -> None:
    MKLClassifier(KERNELS).fit(X, Y)
    shown = capfd.readouterr()
    assert shown.out + shown.err == ""


def test_a_converged_fit_does_not_warn_and_is_within_tol() -> None:
    model = MKLClassifier(KERNELS, tol=1e-4).fit(X, Y)
    assert model.result_.status is Status.CONVERGED
    assert model.result_.gap <= 1e-4
