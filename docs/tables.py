"""Tables of the docs, made from what the library declares and from the JSON that the benchmarks wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def generate(name: str) -> str:
    """The text between the marks of one generated part."""
    return f"\n{TABLES[name]()}\n\n"


def _support() -> str:
    from polykern import losses, regularizers
    from polykern.problems.support import support_table
    from polykern.solvers.auto import ALL

    kinds = [getattr(losses, name) for name in losses.__all__]
    every_loss = tuple(kind() for kind in kinds if isinstance(kind, type) and kind is not losses.Loss)
    columns = (
        ("`Simplex()`, p = 1", regularizers.Simplex()),
        ("`LpBall(p)`, 1 < p < inf", regularizers.LpBall(p=1.5)),
        ("`LpBall(inf)`, plain sum", regularizers.LpBall(p=float("inf"))),
        ("`GroupNorm(1)`", regularizers.GroupNorm(p=1.0)),
        ("`GroupNorm(p)`, 1 < p <= 2", regularizers.GroupNorm(p=1.5)),
        ("`MixedNorm(p, l1)`, 1 < p <= 2", regularizers.MixedNorm(p=1.5)),
        ("`GroupedNorm(groups, q)`, 1/2 < q < 1", regularizers.GroupedNorm([[0], [1]], q=0.75)),
        ("`MarginSimplex(gamma0)`", regularizers.MarginSimplex()),
        ("`MarginSimplex(gamma0, q)`, q > 1", regularizers.MarginSimplex(q=2.0)),
        ("`GroupedNorm(groups, q)`, q >= 1", regularizers.GroupedNorm([[0], [1]], q=2.0)),
    )
    return support_table(tuple(solver() for solver in ALL), every_loss, columns)


def _auto() -> str:
    from polykern.solvers.auto import RULES

    rows = [
        f"| {place} | {rule.where} | `{rule.solver.__name__}` | {rule.reason} |"
        for place, rule in enumerate(RULES, start=1)
    ]
    return "\n".join(["| rule | where | solver | why it comes here |", "| --- | --- | --- | --- |", *rows])


def _results(name: str) -> dict:
    report = json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))
    return report | {"said": f"`{report['command']}`, {report['machine']['cores']} cores, {report['date']}."}


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _speed() -> str:
    """The default solver: seconds to a gap of 1e-3, and how many floors that is."""
    report = _results("speed")
    rows = []
    for problem in report["results"]["runs"]:
        default = {run["p"]: run for run in problem["runs"] if run["solver"] == "auto" and run["tol"] == 1e-3}
        rows.append(
            [problem["problem"], str(problem["n"]), str(problem["kernels"]), _milliseconds(problem["floor"])]
            + [f"{_milliseconds(run['median'])} ({run['ratio']:.2g} x)" for run in default.values()]
        )
    header = ["problem", "n", "kernels", "floor", "p = 1", "p = 1.25", "p = 2"]
    return _table(header, rows) + f"\n\nMilliseconds to a certified gap of 1e-3, and in floors. {report['said']}"


def _floors() -> str:
    """Everything that the speed benchmark measured, beside what was asked."""
    report = _results("speed")
    rows = [
        [
            problem["problem"],
            f"{run['p']:g}",
            f"{run['tol']:.0e}",
            run["solver"] if run["solver"] != "auto" else f"default: {run['took']}",
            f"{_milliseconds(run['median'])} ({_milliseconds(min(run['seconds']))} to "
            f"{_milliseconds(max(run['seconds']))})",
            f"{run['ratio']:.3g}",
            f"{run['target']:g}" if run["solver"] == "auto" and run["tol"] == 1e-3 else "",
            f"{run['fit_seconds'] / run['median']:.2f}",
            str(run["machines"]),
            f"{run['gap']:.0e}" if run["status"] == "CONVERGED" else f"{run['gap']:.0e}, {run['status'].lower()}",
        ]
        for problem in report["results"]["runs"]
        for run in problem["runs"]
    ]
    header = ["problem", "p", "tol", "solver", "milliseconds", "floors", "at most", "fit / solve", "machines", "gap"]
    return _table(header, rows) + f"\n\n{report['said']}"


def _one_core() -> str:
    """CPU seconds on one core beside the packages of the literature."""
    report = _results("speed")
    rows = [
        [
            row["problem"],
            f"{row['p']:g}",
            f"{row['seconds']:.3g}",
            f"{row['T_svc']:.3g}",
            ", ".join(
                f"{package} {seconds:g} ({row['times faster'][package]:.3g} x)"
                for package, seconds in row["packages"].items()
            ),
        ]
        for row in report["results"]["one core"]
        if row["packages"]
    ]
    header = ["problem", "p", "polykern", "SVC", "others: CPU seconds on this machine (times as long)"]
    return _table(header, rows) + f"\n\n{report['said']}"


def _accuracy() -> str:
    """Accuracy beside seconds of training, for what can be installed here."""
    report = _results("speed")
    rows = [
        [
            row["problem"],
            row["package"],
            row["model"],
            f"{100 * row['accuracy']:.1f}" if "accuracy" in row else row["missing"],
            f"{row['seconds']:.3g}" if "seconds" in row else "",
        ]
        for row in report["results"]["accuracy"]
    ]
    header = ["problem", "package", "model", "test accuracy, %", "seconds"]
    return _table(header, rows) + f"\n\n{report['said']}"


def _path() -> str:
    """Warm starts along C, and the search over C and p."""
    report = _results("path")
    rows = []
    for row in report["results"]:
        if "warm seconds" in row:
            rows.append([row["what"], row["problem"], f"{row['p']:g}", "ten cold solves", *_both(row, "warm", "cold")])
        else:
            ours, theirs = row["MKLClassifierCV seconds"], row["GridSearchCV seconds"]
            rows.append([row["what"], row["problem"], "", "GridSearchCV", f"{ours:g}", f"{theirs:g}"])
        rows[-1].append(f"{row['ratio']:g}")
    return _table(["", "problem", "p", "beside", "seconds", "of the other", "ratio"], rows) + f"\n\n{report['said']}"


def _both(row: dict, *which: str) -> list[str]:
    return [f"{row[f'{one} seconds']:.3g}" for one in which]


def _scaling() -> str:
    """Seconds and machines at the smallest and the largest number of kernels."""
    report = _results("scaling")
    at = {(row["set"], row["solver"], row["kernels"]): row for row in report["results"]}
    rows = []
    for name, solver in dict.fromkeys((row["set"], row["solver"]) for row in report["results"]):
        sizes = sorted(size for one, other, size in at if (one, other) == (name, solver))
        few, most = at[name, solver, sizes[0]], at[name, solver, sizes[-1]]
        rows.append(
            [name, "default" if solver == "auto" else solver, f"{sizes[0]} to {sizes[-1]}", str(most["splits"])]
            + [f"{few[what]:.3g} to {most[what]:.3g}" for what in ("seconds", "passes", "machines", "iterations")]
            + [f"{most['converged']} of {most['splits']}", f"{most['worst gap']:.0e}"]
        )
    header = ["set", "solver", "kernels", "splits", "seconds", "in T_pass", "machines", "iterations"]
    return _table([*header, "converged at most kernels", "worst gap there"], rows) + f"\n\n{report['said']}"


def _groups() -> str:
    """Table 1 of the VSKL paper, ours beside theirs."""
    report = _results("groups")
    rows = [
        [
            row["set"],
            row["method"],
            f"{row['accuracy']:.2f} +- {row['deviation']:.2f}",
            f"{row['paper']['accuracy']:.2f}" if row["paper"] else "",
            f"{row['machines per class']:.3g}",
            f"{row['iterations per class']:.3g}",
            f"{row['paper']['SVM calls']}" if row["paper"] else "",
            f"{row['seconds per class']:.2g}",
            f"{row['kernels kept']:.3g} in {row['groups kept']:.3g}",
        ]
        for row in report["results"]
    ]
    header = ["set", "method", "accuracy, %", "paper", "machines", "iterations", "paper's SVM calls", "seconds"]
    return _table([*header, "kernels kept, in groups"], rows) + f"\n\nPer class. {report['said']}"


def _multiclass() -> str:
    """Accuracy of the M3K paper's methods, ours beside theirs."""
    report = _results("multiclass")
    rows = [
        [
            row["set"],
            row["kind"],
            row["method"],
            f"{row['accuracy']:.1f} +- {row['deviation']:.1f}" if row["splits"] > 1 else f"{row['accuracy']:.1f}",
            f"{row['paper'][0]} +- {row['paper'][1]}" if row["paper"] else "",
            str(row["splits"]),
            str(row["n"]),
            f"{row['seconds']:.2g}",
            f"{row['kept']:.3g} of {row['kernels']}",
        ]
        for row in report["results"]["accuracy"]
    ]
    header = ["set", "training part", "method", "accuracy, %", "paper", "splits", "m", "seconds", "kernels kept"]
    worst = max(row["worst gap"] for row in report["results"]["accuracy"])
    return _table(header, rows) + f"\n\nWorst certified gap {worst:.1e}. {report['said']}"


def _multiclass_speed() -> str:
    """Seconds to a gap of 1e-3 beside those of the M3K paper."""
    report = _results("multiclass")
    rows = [
        [
            f"{row['set']}, m = {row['n']}, {row['kernels']} kernels",
            row["run"],
            f"{row['seconds']:.3g} (CPU {row['cpu seconds']:.3g})",
            f"{row['paper']:g}" if row["paper"] else "",
            f"{row['target']:g}" if row["target"] else "",
            str(row["machines"]) if row["machines"] else "",
            f"{row['gap']:.0e}",
            f"{row['bank seconds']:.2g}, {row['margin seconds']:.2g}",
        ]
        for row in report["results"]["speed"]
    ]
    header = ["problem", "method", "seconds", "paper, 12 cores", "at most", "machines", "gap", "bank, margin range"]
    return _table(header, rows) + f"\n\n{report['said']}"


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.3g}" if seconds < 1 else f"{1e3 * seconds:.0f}"


def _agreement() -> str:
    """Every solver on every problem."""
    report = _results("agreement")
    rows = [
        [
            row["problem"],
            row["regularizer"],
            row["solver"],
            f"{row['primal']:.6g}",
            f"{row['gap']:.1e}",
            str(row["iterations"]),
            f"{row['kept']} of {row['kernels']}",
            f"{row['seconds']:.3g}",
        ]
        for row in report["results"]
        if "primal" in row
    ]
    header = ["problem", "weights", "solver", "objective", "certified gap", "iterations", "kernels kept", "seconds"]
    return _table(header, rows) + f"\n\n{report['said']}"


def _startup() -> str:
    report = _results("startup")
    rows = [[what, f"{seconds:.2f}"] for what, seconds in report["results"].items()]
    return _table(["", "seconds"], rows) + f"\n\n{report['said']}"


def _memory() -> str:
    report = _results("memory")
    return _table(["", ""], [[what, str(value)] for what, value in report["results"].items()]) + f"\n\n{report['said']}"


def _methods_sets() -> str:
    """The ten data sets of the comparison of methods."""
    facts = ("n", "tests", "classes", "views", "kernels", "splits")
    rows = [[row["set"], *(str(row[what]) for what in facts)] for row in _results("methods")["results"]["sets"]]
    return _table(["set", "training samples", "test samples", *facts[2:]], rows)


def _methods_accuracy() -> str:
    """Accuracy of every method, its mean rank, and what it adds to its machine on the plain sum."""
    rows, reasons = _by_set(lambda row: f"{row['accuracy']:.1f} ± {row['deviation']:.1f}")
    overall = {row["method"]: row for row in _results("methods")["results"]["methods"]}
    for row in rows:
        found = overall.get(row[0])
        row += ["", "", ""] if found is None else [f"{found['mean rank']:.1f}", *_over_plain(found)]
    header = ["method", *_set_names(), "mean rank", "over the plain sum", "sets better, worse"]
    said = _results("methods")["said"]
    return _table(header, rows) + "\n\n" + " ".join([*reasons, f"Test accuracy in percent. {said}"])


def _over_plain(found: dict) -> list[str]:
    if found["plain"] == found["method"]:
        return ["", ""]
    gain = f"{found['against plain']:+.1f} ({found['plain']})"
    return [gain, f"{found['better by a point']}, {found['worse by a point']}"]


def _methods_seconds() -> str:
    """Seconds of the processor of one fit."""
    rows, _ = _by_set(lambda row: f"{row['CPU seconds']:.2g}")
    overall = {row["method"]: row for row in _results("methods")["results"]["methods"]}
    for row in rows:
        row.append(f"{overall[row[0]][TIMES]:.2g}" if row[0] in overall else "")
    return _table(["method", *_set_names(), "times the sum's"], rows)


def _methods_kept() -> str:
    """Kernels kept by every method."""
    rows, _ = _by_set(lambda row: f"{row['kept']:.3g}")
    overall = {row["method"]: row for row in _results("methods")["results"]["methods"]}
    for row in rows:
        row.append(f"{100 * overall[row[0]]['share kept']:.0f}" if row[0] in overall else "")
    return _table(["method", *_set_names(), "mean share, %"], rows)


TIMES = "times the sum's seconds"


def _set_names() -> list[str]:
    return [row["set"] for row in _results("methods")["results"]["sets"]]


def _by_set(cell: Callable[[dict], str]) -> tuple[list[list[str]], list[str]]:
    """A row per method with a cell per data set, "=" where it is another method's, and why some cells are empty."""
    found = _results("methods")["results"]["rows"]
    at = {(row["method"], row["set"]): row for row in found}
    rows, reasons = [], []
    for method in dict.fromkeys(row["method"] for row in found):
        cells = [method]
        for name in _set_names():
            row = at.get((method, name), {})
            cells.append("=" if "same" in row else cell(row) if "accuracy" in row else "-")
            if "why" in row:
                reasons.append(f"{method} on {name}: {row['why']}")
        rows.append(cells)
    return rows, reasons


TABLES = {
    "support": _support,
    "auto": _auto,
    "speed": _speed,
    "floors": _floors,
    "onecore": _one_core,
    "accuracy": _accuracy,
    "path": _path,
    "scaling": _scaling,
    "groups": _groups,
    "multiclass": _multiclass,
    "multiclassspeed": _multiclass_speed,
    "methods_sets": _methods_sets,
    "methods_accuracy": _methods_accuracy,
    "methods_seconds": _methods_seconds,
    "methods_kept": _methods_kept,
    "agreement": _agreement,
    "startup": _startup,
    "memory": _memory,
}
