"""Every method of the library on ten data sets: accuracy, seconds of training, kernels kept.

    python benchmarks/bench_methods.py [set ...] [--quick] [--fresh] [--methods ...] [--again ...]

The sets, their kernels and splits are in `ten_sets.py`; every method gets the same matrices, normalized by
"center-diagonal", through the estimators that users take. C is one of CS: the one of the best accuracy in three folds
of the training part (of the first fold alone where there are more than MANY training samples), the smallest of equal
ones; LP-beta chooses among them by itself, kernel by kernel. Then comes a fit on all training samples with that C,
whose seconds are kept, by the wall and of the processor: the time of learning from given matrices, without what they
took to compute. BLAS has one thread. A kernel is kept where its weight is above 1e-4 of the largest; weights per class
are counted class by class, and averaged.

Rows are kept in benchmarks/results/methods.json as they come, and a run goes on where the last one ended (--fresh
begins anew, --again measures some methods anew). Solvers that this version does not have are left out by name. A method
that a data set has no use for has a row that says why. --quick: the first split, into methods-part.json.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from checkpoint import Checkpoint, rounded
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC
from ten_sets import SETS, WIDTHS, Task, task
from threadpoolctl import threadpool_limits

from polykern import LPBetaClassifier, MKLClassifier, TwoStageMKL, solvers, weighting
from polykern.regularizers import GroupedNorm, MarginSimplex

CS, FOLDS, MANY = (0.03, 0.3, 3.0, 30.0), 3, 300
NORMALIZE, KEPT = "center-diagonal", 1e-4

Make = Callable[[Task, float], BaseEstimator]


@dataclass(frozen=True)
class Method:
    """How its estimator is made for a task and a C, and what it is about."""

    make: Make
    what: str
    plain: str  # the method with the same machine on the plain sum of the kernels
    binary: str | None = None  # the method that it is equal to where there are two classes
    chooses_C: bool = False


# ---- the methods
# ------------------------------------------------------------------------------------------------------------------


def _mkl(regularizer: Any, **options: Any) -> Make:
    """All weights and machines in one problem; `regularizer` may be a function of the task."""

    def make(on: Task, C: float) -> BaseEstimator:
        weights = regularizer(on) if callable(regularizer) else regularizer
        return MKLClassifier(on.kernels, regularizer=weights, C=C, normalize=NORMALIZE, **options)

    return make


def _by_view(q: float) -> Callable[[Task], BaseEstimator]:
    return lambda on: GroupedNorm(on.groups, q=q)


def _two_stage(kind: type[weighting.Weighting], by_machine: bool = False) -> Make:
    """Weights first; those that try machines on single kernels try the one that is trained in the end."""

    def make(on: Task, C: float) -> BaseEstimator:
        rule = kind(learner=SVC(C=C)) if by_machine else kind()
        return TwoStageMKL(on.kernels, weighting=rule, learner=SVC(C=C), normalize=NORMALIZE, random_state=0)

    return make


def _lp_beta(share_weights: bool) -> Make:
    def make(on: Task, C: float) -> BaseEstimator:
        return LPBetaClassifier(on.kernels, share_weights=share_weights, C=CS, normalize=NORMALIZE, random_state=0)

    return make


def _stochastic() -> dict[str, Method]:
    """The solvers that go from sample to sample, where this version has them."""
    found = {}
    for name, regularizer in (("Obscure", 1.25), ("Pegasos", 1.25), ("UFO", _mixed_norm)):
        if not hasattr(solvers, name):
            print(f"left out, not in this version: {name}")
            continue
        norm = "p = 1.25" if regularizer == 1.25 else "MixedNorm(l1=1), the authors' p"
        made = _mkl(regularizer, multiclass="joint", solver=name)
        found[name] = Method(made, f"all classes together, {norm}, 50 epochs", "joint sum")
    return found


def _mixed_norm(on: Task) -> BaseEstimator:
    """The p of UFO's authors, a price of 1."""
    from polykern.regularizers import MixedNorm

    return MixedNorm(p=1.0 / (1.0 - 1.0 / (2.0 * np.log(len(on.kernels)))), l1=1.0)


PER_CLASS = "weights per class"
METHODS: dict[str, Method] = {
    "best kernel": Method(_two_stage(weighting.Best, True), "one kernel, by five-fold cross-validation", "uniform"),
    "product": Method(_two_stage(weighting.Product), "all kernels multiplied", "uniform"),
    "uniform": Method(_two_stage(weighting.Uniform), "the mean of the kernels", "uniform"),
    "sum": Method(_mkl("linf"), "the plain sum, one class against the rest", "sum"),
    "ovo sum": Method(_mkl("linf", multiclass="ovo"), "the plain sum, pairs of classes", "sum", binary="sum"),
    "joint sum": Method(_mkl("linf", multiclass="joint"), "the plain sum, all classes together", "joint sum"),
    "l1": Method(_mkl("l1"), "MKL on the simplex", "sum"),
    "l1 per class": Method(_mkl("l1", share_weights=False), f"the same, {PER_CLASS}", "sum", binary="l1"),
    "p=1.25": Method(_mkl(1.25), "p-norm MKL", "sum"),
    "p=2": Method(_mkl(2.0), "p-norm MKL", "sum"),
    "p=2 per class": Method(_mkl(2.0, share_weights=False), f"the same, {PER_CLASS}", "sum", binary="p=2"),
    "views q=1": Method(_mkl(_by_view(1.0)), "VSKL, a group per view", "sum"),
    "views q=2": Method(_mkl(_by_view(2.0)), "VSKL, a group per view", "sum"),
    "joint l1": Method(_mkl("l1", multiclass="joint"), "MC-MKL", "joint sum"),
    "joint p=1.25": Method(_mkl(1.25, multiclass="joint"), "all classes together, p-norm", "joint sum"),
    "M3K 50%": Method(_mkl(MarginSimplex("50%"), multiclass="joint"), "margin from half of its range up", "joint sum"),
    "M3K max": Method(_mkl(MarginSimplex("max"), multiclass="joint"), "the largest margin", "joint sum"),
    "Align": Method(_two_stage(weighting.Align), "alignment of each kernel", "uniform"),
    "AlignF": Method(_two_stage(weighting.AlignF), "alignment of the sum", "uniform"),
    "CKA": Method(_two_stage(weighting.CKA), "alignment of the sum, closed form", "uniform"),
    "BinaryMKL": Method(_two_stage(weighting.BinaryMKL), "a linear SVM on pairs of samples", "uniform"),
    "MarginLP": Method(_two_stage(weighting.MarginLP), "the largest margin", "uniform"),
    "EasyMKL": Method(_two_stage(weighting.EasyMKL), "distance of the classes in the sum", "uniform"),
    "PWMK": Method(_two_stage(weighting.PWMK, True), "accuracy of each kernel", "uniform"),
    "FHeuristic": Method(_two_stage(weighting.FHeuristic), "alignment of each kernel, not centred", "uniform"),
    "LP-beta": Method(_lp_beta(True), "a machine per kernel, stacked", "sum", chooses_C=True),
    "LP-B": Method(_lp_beta(False), f"the same, {PER_CLASS}", "sum", binary="LP-beta", chooses_C=True),
    **_stochastic(),
}


def main() -> None:
    """Measure what is missing, show, save, assert."""
    chosen = _arguments()
    threadpool_limits(1, user_api="blas")  # a second thread of BLAS waits for its turn where other work goes on
    setup = {"C": CS, "folds": FOLDS, "one fold above": MANY, "normalize": NORMALIZE, "kept": KEPT, "widths": WIDTHS}
    rows = Checkpoint("methods-part" if chosen.quick else "methods", setup, chosen.fresh)
    rows.drop([key for key, row in rows.rows.items() if row["method"] in chosen.again])
    for name in chosen.sets or list(SETS):
        _measure(rows, name, chosen)
    found = summary(list(rows.rows.values()))
    rows.write(found)
    _show(found)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--again", nargs="+", default=(), choices=list(METHODS))
    parser.add_argument("sets", nargs="*", metavar="set", help=", ".join(SETS))
    return parser.parse_args()


# ---- measuring
# ------------------------------------------------------------------------------------------------------------------


def _measure(rows: Checkpoint, name: str, chosen: argparse.Namespace) -> None:
    """Every split and method that has no row yet."""
    data = SETS[name]()
    for split in range(1 if chosen.quick else len(data.splits)):
        wanted = [method for method in chosen.methods if f"{name}/{split}/{method}" not in rows]
        if not wanted:
            continue
        on = task(data, split)
        facts = {"set": name, "split": split, "n": on.n_train, "tests": len(on.test)}
        facts |= {"classes": len(np.unique(on.y)), "kernels": len(on.kernels), "views": len(on.groups)}
        for method in wanted:
            row = facts | {"method": method} | _row(on, METHODS[method], split)
            rows.add(f"{name}/{split}/{method}", row)
            print(row, flush=True)


def _row(on: Task, method: Method, split: int) -> dict:
    """Choice of C and the fit with it, or why there is none."""
    if method.binary is not None and len(np.unique(on.y)) == 2:
        return {"why": f"two classes have one output: this is {method.binary}", "same": method.binary}
    try:
        return _searched(on, method, split)
    except (ValueError, TypeError, MemoryError) as error:
        return {"why": f"{type(error).__name__}: {error}"}


def _searched(on: Task, method: Method, split: int) -> dict:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        C, search = (CS[0], {}) if method.chooses_C else _search(on, method, split)
        searching = len(said)
        model, began, cpu = method.make(on, C), time.perf_counter(), time.process_time()
        model.fit(on.train, on.y[on.train])
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    return search | {
        "accuracy": rounded(model.score(on.test, on.y[on.test])),
        "seconds": rounded(seconds),
        "CPU seconds": rounded(cpu),
        "kept": rounded(_kept(model, len(on.kernels))),
        **_certificate(model),
        "warnings": {"search": searching, "fit": sorted({str(one.message) for one in said[searching:]})},
    }


def _search(on: Task, method: Method, split: int) -> tuple[float, dict]:
    """The smallest C of the best accuracy on samples left out."""
    began, scores = time.perf_counter(), []
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=split).split(on.train, on.y[on.train]))
    for C in CS:
        models = [(method.make(on, C).fit(some, on.y[some]), rest) for some, rest in folds[: _n_folds(on.n_train)]]
        scores.append(float(np.mean([model.score(rest, on.y[rest]) for model, rest in models])))
    C = CS[int(np.argmax(scores))]
    return C, {"C": C, "scores": [rounded(s) for s in scores], "search seconds": rounded(time.perf_counter() - began)}


def _n_folds(n: int) -> int:
    return 1 if n > MANY else FOLDS


def _kept(model: Any, n_kernels: int) -> float:
    """Kernels that prediction needs; the product needs all of them."""
    weights = np.atleast_2d(model.weights_)
    if weights.shape[1] < n_kernels:
        return float(n_kernels)
    return float(np.mean([(row > KEPT * row.max()).sum() for row in weights]))


def _certificate(model: Any) -> dict:
    """What the fit says of its end; weights that come first have no common optimum."""
    if not hasattr(model, "result_"):
        return {}
    result = model.result_
    solver = {"solver": result.solver} if hasattr(result, "solver") else {}
    return {"gap": rounded(result.gap), "status": result.status.name, **solver}


# ---- what comes out
# ------------------------------------------------------------------------------------------------------------------


def summary(rows: list[dict]) -> dict:
    """Facts of the sets; a mean row for every set and method; what a method is, and does over all sets."""
    sets = {name: some[0] for name in SETS if (some := [row for row in rows if row["set"] == name])}
    by = {(name, method): _mean_row(name, method, rows) for name in sets for method in METHODS}
    means = [row for row in by.values() if row is not None]
    facts = ("n", "tests", "classes", "kernels", "views")
    return {
        "sets": [
            {"set": name, **{what: row[what] for what in facts}, "splits": _n_splits(name, rows)}
            for name, row in sets.items()
        ],
        "methods": _overall(means, list(sets)),
        "rows": means,
    }


def _n_splits(name: str, rows: list[dict]) -> int:
    return len({row["split"] for row in rows if row["set"] == name})


def _mean_row(name: str, method: str, rows: list[dict]) -> dict | None:
    """Over the splits; where the method is another one's equal, that one's numbers."""
    some = [row for row in rows if (row["set"], row["method"]) == (name, method)]
    if not some:
        return None
    head = {"set": name, "method": method}
    if "same" in some[0]:
        other = _mean_row(name, some[0]["same"], rows)
        return None if other is None else other | head | {"same": some[0]["same"]}
    if "why" in some[0]:
        return head | {"why": some[0]["why"]}
    accuracies = [100.0 * row["accuracy"] for row in some]
    gaps = [row["gap"] for row in some if "gap" in row]
    return head | {
        "accuracy": rounded(float(np.mean(accuracies))),
        "deviation": rounded(float(np.std(accuracies))),
        "accuracies": [rounded(a) for a in accuracies],
        "seconds": rounded(float(np.median([row["seconds"] for row in some]))),
        "CPU seconds": rounded(float(np.median([row["CPU seconds"] for row in some]))),
        "kept": rounded(float(np.mean([row["kept"] for row in some]))),
        "C": [row.get("C") for row in some],
        "worst gap": max(gaps) if gaps else None,
        "not converged": sum(row.get("status", "CONVERGED") != "CONVERGED" for row in some),
    }


def _overall(means: list[dict], sets: list[str]) -> list[dict]:
    """Mean rank among the methods with a number on all sets, and what is gained over the machine on the plain sum."""
    at = {(row["set"], row["method"]): row for row in means if "accuracy" in row}
    whole = [method for method in METHODS if all((name, method) in at for name in sets)]
    ranks = {name: _ranks([at[name, method]["accuracy"] for method in whole]) for name in sets}
    found = []
    for place, method in enumerate(whole):
        plain = METHODS[method].plain
        differences = [at[name, method]["accuracy"] - at[name, plain]["accuracy"] for name in sets]
        ratios = [at[name, method]["CPU seconds"] / at[name, "sum"]["CPU seconds"] for name in sets]
        shares = [at[name, method]["kept"] / at[name, "uniform"]["kept"] for name in sets]
        found.append(
            {
                "method": method,
                "what": METHODS[method].what,
                "mean rank": rounded(float(np.mean([ranks[name][place] for name in sets]))),
                "mean accuracy": rounded(float(np.mean([at[name, method]["accuracy"] for name in sets]))),
                "plain": plain,
                "against plain": rounded(float(np.mean(differences))),
                "better by a point": sum(difference >= 1.0 for difference in differences),
                "worse by a point": sum(difference <= -1.0 for difference in differences),
                "times the sum's seconds": rounded(float(np.exp(np.mean(np.log(ratios))))),
                "share kept": rounded(float(np.mean(shares))),
            }
        )
    return found


def _ranks(accuracies: list[float]) -> np.ndarray:
    """1 is the best; equal ones share the mean of their places."""
    values = np.asarray(accuracies)
    return np.array([(values > v).sum() + 0.5 * ((values == v).sum() + 1) for v in values])


def _show(found: dict) -> None:
    for row in found["methods"]:
        print({key: value for key, value in row.items() if key != "what"})


if __name__ == "__main__":
    main()
