"""A path of ten C's against ten cold solves, and the search of MKLClassifierCV against GridSearchCV.

    python benchmarks/bench_path.py

letter 2,000 (12 kernels) and sonar (61 times 13 kernels, the family of the SimpleMKL paper), hinge. Both sides of a
comparison run in one process on the same problem; asserts that they agree: objectives within the gap, mean scores
within half a percent.
"""

from __future__ import annotations

import time

import numpy as np
import problems
from common import load, save
from sklearn.model_selection import GridSearchCV

from polykern import MKLClassifier, MKLClassifierCV, mkl_path
from polykern.estimators._grid import costs_of
from polykern.kernels import RBF, simplemkl_family
from polykern.regularizers import LpBall, as_regularizer
from polykern.solvers import as_solver

TOL = 1e-3
COSTS = costs_of(10)
SEARCH_COSTS, NORMS, FOLDS = [0.1, 1.0, 10.0, 100.0, 1000.0], [1.0, 2.0], 5


def main() -> None:
    """Measure both, save."""
    rows = []
    for name, (_, y, bank) in {
        "letter 2000": problems.letter(2000),
        "sonar": problems.simplemkl_set("sonar"),
    }.items():
        for p in (1.0, 1.25, 2.0):
            rows += _path_rows(name, bank, y, p)
    rows += _search_rows("letter 2000", *_letter())
    rows += _search_rows("sonar", *_sonar())
    save("path", rows)


def _path_rows(name, bank, y, p) -> list[dict]:
    """Ten C's, warm and cold, after one solve that compiles."""
    regularizer = as_regularizer(p)
    mkl_path(bank, y, Cs=[1.0], regularizer=regularizer, tol=TOL)
    path = mkl_path(bank, y, Cs=COSTS, regularizer=regularizer, tol=TOL)
    solver = as_solver("auto")
    cold = [solver.solve(problems.problem_on(bank, y, regularizer, C=C), tol=TOL) for C in COSTS]
    for warm, alone in zip(path.results, cold, strict=True):
        assert warm.status.converged and alone.status.converged, (name, p, warm, alone)
        assert abs(warm.primal - alone.primal) <= TOL * alone.primal, (name, p, warm, alone)
    seconds = sum(result.seconds for result in cold)
    row = {
        "what": "path of 10 C's",
        "problem": name,
        "n": len(y),
        "kernels": bank.n_kernels,
        "p": p,
        "solver": cold[0].solver,
        "warm seconds": round(float(path.seconds.sum()), 3),
        "cold seconds": round(seconds, 3),
        "ratio": round(seconds / float(path.seconds.sum()), 2),
        "warm machines": int(path.machines.sum()),
        "cold machines": sum(result.n_machines for result in cold),
        "warm iterations": sum(result.n_iter for result in path.results),
        "cold iterations": sum(result.n_iter for result in cold),
    }
    print(row, flush=True)
    return [row]


def _search_rows(name, X, y, kernels) -> list[dict]:
    """Five C's and two p's in five folds."""
    one = {"kernels": kernels, "normalize": "trace" if name == "sonar" else "mean-diagonal", "tol": TOL}
    began = time.perf_counter()
    search = MKLClassifierCV(**one, Cs=SEARCH_COSTS, ps=NORMS, cv=FOLDS).fit(X, y)
    own = time.perf_counter() - began
    grid = {"C": SEARCH_COSTS, "regularizer__p": NORMS}
    began = time.perf_counter()
    reference = GridSearchCV(MKLClassifier(**one, regularizer=LpBall(p=1.0)), grid, cv=FOLDS).fit(X, y)
    seconds = time.perf_counter() - began
    scores = search.cv_results_["mean_test_score"], reference.cv_results_["mean_test_score"]
    assert np.abs(scores[0] - scores[1]).max() <= 5e-3, scores
    row = {
        "what": "search over 5 C's and 2 p's, 5 folds",
        "problem": name,
        "n": len(y),
        "kernels": len(kernels),
        "MKLClassifierCV seconds": round(own, 2),
        "GridSearchCV seconds": round(seconds, 2),
        "ratio": round(seconds / own, 2),
        "largest difference of mean scores": float(np.abs(scores[0] - scores[1]).max()),
        "best": {"C": search.C_, "p": search.p_, "score": search.best_score_},
        "best of GridSearchCV": {**reference.best_params_, "score": float(reference.best_score_)},
        "machines": float(FOLDS * search.cv_results_["mean_machines"].sum()),
    }
    print(row, flush=True)
    return [row]


def _letter():
    data = load("letter")
    X = problems.standardized(data["X_train"])[:2000]
    return X, np.where(data["y_train"][:2000] < 13, 1, -1), [RBF(gamma=2.0**e) for e in range(-8, 4)]


def _sonar():
    data = load("sonar")
    X = problems.standardized(data["X"])
    named = simplemkl_family(X)
    return (
        X,
        data["y"],
        [(name, kernel) if columns is None else (name, kernel, columns) for name, kernel, columns in named],
    )


if __name__ == "__main__":
    main()
