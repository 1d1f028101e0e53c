"""Table 1 of the VSKL paper: kernels in groups, one group per descriptor, norms of the groups from few to even.

    python benchmarks/bench_groups.py [set ...] [--quick | --estimate] [--fresh] [--methods ...] [--again ...]

flowers17    7 descriptors, 17 classes, 60 training and 20 test images of each, three splits
mfeat        6 descriptors of ten digits, 60 and 140 of each, three seeded splits (not in the paper)
caltech101   7 descriptors, 102 classes, 15 training and at most 15 test images of each, two splits (the paper: 4, ten)

Five Gaussian or chi2 widths per descriptor, unit trace, float32 (`vskl.py` says which widths). One class against the
rest, each with kernel weights of its own, all to a certified gap of 1e-3. C is n times one of CS, n being the number
of training samples (unit trace makes kernels of mean diagonal 1 / n): the one of the best validation accuracy, the
smallest of equal ones. Then the classes are trained on training and validation samples together, from nothing: that is
what the machines and seconds are about. Accuracy is the mean over classes of the share of test images recognised.

Methods: VSKL_q and CKL_{1,2q} are GroupedNorm(groups, q), MKL is the simplex (one group), SVM the plain sum. A method
that no solver of this version handles is left out by name. The default solver is taken; where it is InteriorPoint,
which solves no machines on its way, the iterations say more. Rows are kept in benchmarks/results/groups.json as they
come, and a run goes on where the last one ended (--fresh begins anew, --again measures some methods anew). --quick:
five classes, one split, no caltech101, into groups-part.json. --estimate: three classes of each set and method at full
size, and how long everything will take; nothing is kept.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import vskl
from checkpoint import Checkpoint, rounded
from problems import problem_on
from threadpoolctl import threadpool_limits

from polykern.bank import KernelBank, build_bank
from polykern.kernels import Precomputed
from polykern.parallel import n_threads
from polykern.problems.result import MKLResult
from polykern.regularizers import GroupedNorm, LpBall, Regularizer, Simplex
from polykern.solvers import as_solver, choose_solver

TOL, CS = 1e-3, (0.1, 1.0, 10.0)
METHODS: dict[str, Callable[[list[str]], Regularizer]] = {
    **{f"VSKL q={q:g}": partial(GroupedNorm, q=q) for q in (1.0, 2.0, 3.0, np.inf)},
    "MKL": lambda groups: Simplex(),
    "SVM": lambda groups: LpBall(p=np.inf),
    **{f"CKL q={q:g}": partial(GroupedNorm, q=q) for q in (0.75, 0.85, 0.99)},
}
# Table 1: accuracy in percent and SVM calls.
PAPER = {
    "caltech101": (
        (66.44, 67.03, 67.06, 67.07, 54.05, 64.61, 65.74, 64.35, 63.21),
        (50, 79, 70, 65, 24, 1, 36, 34, 36),
    ),
    "flowers17": (
        (85.59, 85.69, 85.69, 85.29, 85.49, 85.98, 86.08, 86.08, 86.08),
        (41, 70, 68, 64, 121, 1, 54, 50, 51),
    ),
}


@dataclass(frozen=True)
class Part:
    """The kernels of one training part, and its test samples against it."""

    bank: KernelBank
    cross: np.ndarray
    y: np.ndarray
    y_test: np.ndarray
    classes: np.ndarray
    groups: list[str]

    @classmethod
    def of(cls, views: vskl.Views, train: np.ndarray, test: np.ndarray) -> Part:
        """The bank is built once, and all classes and methods share it."""
        stack, cross = vskl.grouped_kernels(views, train, test)
        groups = [name for name in views.distances for _ in vskl.MULTIPLES]
        names = [f"{name} {multiple:.3g}" for name in views.distances for multiple in vskl.MULTIPLES]
        kernels = [Precomputed(K) for K in stack]
        bank = build_bank(kernels, np.arange(len(train)), names=names, normalize=None, dtype="float32")
        return cls(bank, cross, views.y[train], views.y[test], np.unique(views.y[train]), groups)

    def solve(self, label: int, method: str, C: float, start: MKLResult | None = None) -> MKLResult:
        """One class against the rest; C in units of the number of samples."""
        regularizer = METHODS[method](self.groups)
        sides = np.where(self.y == label, 1.0, -1.0)
        problem = problem_on(self.bank, sides, regularizer.bind(self.bank, sides), C=C * len(self.y))
        return as_solver("auto").solve(problem, tol=TOL, max_iter=10_000, start=start)

    def outputs(self, result: MKLResult) -> np.ndarray:
        """(m,) decision values of the test samples; kernels of weight 0 are not touched."""
        used = np.flatnonzero(result.weights)
        coef = result.coef[:, 0].astype(np.float32)
        return result.weights[used] @ np.stack([self.cross[k] @ coef for k in used]) + result.intercept[0]

    def accuracy(self, results: list[MKLResult]) -> float:
        """Mean over classes of the share that is recognised: the class of the largest decision value."""
        found = self.classes[np.argmax([self.outputs(result) for result in results], axis=0)]
        return float(np.mean([np.mean(found[self.y_test == label] == label) for label in self.classes]))


def main() -> None:
    """Measure what is missing, show, save, assert."""
    chosen = _arguments()
    threadpool_limits(n_threads(), user_api="blas")  # also where the environment says one: users do not set it
    names = chosen.sets or [name for name in vskl.GROUPED_SETS if not (chosen.quick and name == "caltech101")]
    setup = {"tol": TOL, "C / n": CS, "multiples of 1 / mean distance": [rounded(m) for m in vskl.MULTIPLES]}
    rows = Checkpoint("groups-part" if chosen.quick else "groups", setup, chosen.fresh)
    rows.drop([key for key, row in rows.rows.items() if row["method"] in chosen.again])
    for name in names:
        views = vskl.GROUPED_SETS[name]()
        if chosen.estimate:
            _estimate(name, views, chosen.methods)
        else:
            _measure(rows, name, _few_classes(views) if chosen.quick else views, chosen.methods)
    if not chosen.estimate:
        found = summary(list(rows.rows.values()))
        rows.write(found)
        _show(found)
        assert all(row["worst gap"] <= TOL for row in found), "some solves did not reach the tolerance"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--estimate", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--again", nargs="+", default=(), choices=list(METHODS))
    parser.add_argument("sets", nargs="*", metavar="set", help=", ".join(vskl.GROUPED_SETS))
    return parser.parse_args()


def _few_classes(views: vskl.Views) -> vskl.Views:
    """Five classes of the first split."""
    parts = tuple(part[views.y[part] < 5] for part in views.splits[0])
    return views._replace(splits=[parts])


# ---- measuring
# ------------------------------------------------------------------------------------------------------------------


def _measure(rows: Checkpoint, name: str, views: vskl.Views, methods: list[str]) -> None:
    """Every split and method that has no row yet."""
    for split, (train, validation, test) in enumerate(views.splits):
        wanted = [method for method in methods if f"{name}/{split}/{method}" not in rows]
        if not wanted:
            continue
        inner = Part.of(views, train, validation)
        searched = {method: _search(inner, method) for method in wanted if _is_able(inner, method)}
        del inner
        whole = Part.of(views, np.concatenate([train, validation]), test)
        for method, found in searched.items():
            row = {"set": name, "split": split, "method": method, "n": len(whole.y), "classes": len(whole.classes)}
            row |= found | _final(whole, method, found["C / n"])
            rows.add(f"{name}/{split}/{method}", row)
            print(row, flush=True)


def _is_able(part: Part, method: str) -> bool:
    """Some solver of this version handles the method; otherwise say so."""
    sides = np.where(part.y == part.classes[0], 1.0, -1.0)
    regularizer = METHODS[method](part.groups).bind(part.bank, sides)
    try:
        choose_solver(problem_on(part.bank, sides, regularizer))
    except ValueError:
        print(f"left out, no solver of this version handles it: {method}")
        return False
    return True


def _search(part: Part, method: str) -> dict:
    """The C of the best validation accuracy; every class goes from small C to large, each begun from the one before."""
    began = time.perf_counter()
    results: list[list[MKLResult]] = [[] for _ in CS]
    for label in part.classes:
        last = None
        for place, C in enumerate(CS):
            last = part.solve(label, method, C, last)
            results[place].append(last)
    scores = [part.accuracy(some) for some in results]
    return {
        "C / n": CS[int(np.argmax(scores))],
        "validation": [rounded(score) for score in scores],
        "validation seconds": rounded(time.perf_counter() - began),
    }


def _final(part: Part, method: str, C: float) -> dict:
    """All classes at this C, from nothing, and the test."""
    results = [part.solve(label, method, C) for label in part.classes]
    weights = np.array([result.weights for result in results])
    used = weights.reshape(len(results), -1, len(vskl.MULTIPLES)) > 0
    return {
        "accuracy": rounded(part.accuracy(results)),
        "machines": sum(result.n_machines for result in results),
        "iterations": sum(result.n_iter for result in results),
        "seconds": rounded(sum(result.seconds for result in results)),
        "kernels kept": rounded(float(used.sum(axis=(1, 2)).mean())),
        "groups kept": rounded(float(used.any(axis=2).sum(axis=1).mean())),
        "worst gap": rounded(max(result.gap for result in results)),
        "solver": results[0].solver,
    }


def _estimate(name: str, views: vskl.Views, methods: list[str]) -> None:
    """A few classes per method, first on the training part with all C, then on all training samples with one."""
    train, validation, test = views.splits[0]
    parts = Part.of(views, train, validation), Part.of(views, np.concatenate([train, validation]), test)
    many = len(parts[0].classes) * len(views.splits)
    total = 0.0
    for method in [method for method in methods if _is_able(parts[0], method)]:
        parts[0].solve(parts[0].classes[0], method, CS[0])  # compiles
        search, final = _few(parts[0], method, CS), _few(parts[1], method, CS[1:2])
        seconds = [many * spent for spent, _ in (search, final)]
        total += sum(seconds)
        print(
            f"{name:10s} {method:10s} validation {seconds[0]:6.0f} s, training {seconds[1]:6.0f} s in all;"
            f" machines {[result.n_machines for result in final[1]]}, worst gap"
            f" {max(result.gap for _, results in (search, final) for result in results):.1e}, {final[1][0].solver}",
            flush=True,
        )
    print(f"{name:10s} in all {total / 60:.1f} minutes")


def _few(part: Part, method: str, costs: tuple[float, ...], classes: int = 3) -> tuple[float, list[MKLResult]]:
    """(seconds per class, results) of some classes."""
    some = part.classes[:: len(part.classes) // classes][:classes]
    results: list[MKLResult] = []
    began = time.perf_counter()
    for label in some:
        last = None
        for C in costs:
            last = part.solve(label, method, C, last)
            results.append(last)
    return (time.perf_counter() - began) / len(some), results


# ---- what comes out
# ------------------------------------------------------------------------------------------------------------------


def summary(rows: list[dict]) -> list[dict]:
    """Mean over the splits for every set and method, in the order of the paper's table, with its numbers."""
    found = []
    for name in vskl.GROUPED_SETS:
        for method in METHODS:
            some = [row for row in rows if (row["set"], row["method"]) == (name, method)]
            if some:
                found.append(_mean_row(name, method, some))
    return found


def _mean_row(name: str, method: str, some: list[dict]) -> dict:
    accuracies = [100 * row["accuracy"] for row in some]
    classes = some[0]["classes"]
    return {
        "set": name,
        "method": method,
        "splits": len(some),
        "accuracy": rounded(float(np.mean(accuracies))),
        "deviation": rounded(float(np.std(accuracies))),
        **{f"{what} per class": _mean(some, what) / classes for what in ("machines", "iterations", "seconds")},
        **{what: _mean(some, what) for what in ("kernels kept", "groups kept")},
        "C / n": [row["C / n"] for row in some],
        "worst gap": max(row["worst gap"] for row in some),
        "solver": some[0]["solver"],
        "paper": _paper(name, method),
    }


def _mean(rows: list[dict], what: str) -> float:
    return rounded(float(np.mean([row[what] for row in rows])))


def _paper(name: str, method: str) -> dict | None:
    if name not in PAPER:
        return None
    accuracies, calls = PAPER[name]
    place = list(METHODS).index(method)
    return {"accuracy": accuracies[place], "SVM calls": calls[place]}


def _show(found: list[dict]) -> None:
    for row in found:
        paper = row["paper"]
        theirs = f"; paper {paper['accuracy']} with {paper['SVM calls']} calls" if paper else ""
        print(
            f"{row['set']:10s} {row['method']:10s} {row['accuracy']:6.2f} +- {row['deviation']:.2f} %,"
            f" {row['machines per class']:.4g} machines, {row['iterations per class']:.4g} iterations"
            f" and {row['seconds per class']:.3g} s per class,"
            f" {row['kernels kept']:.3g} kernels of {row['groups kept']:.3g} groups, C / n {row['C / n']},"
            f" gap {row['worst gap']:.1e}, {row['solver']}{theirs}"
        )


if __name__ == "__main__":
    main()
