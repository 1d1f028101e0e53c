"""How fast training is: certified gap against time, in units of what no training can beat, and beside other packages.

    python benchmarks/bench_speed.py [--quick] [--only runs | one-core | accuracy] [problem ...]

The clock is `result_.seconds`: kernels given as float32 matrices, compiled code warm. The whole `fit` with Precomputed
kernels and indices, which also checks every matrix, stands beside it. The unit is the floor (floor.py): one pass of
BLAS over the matrices and one machine of scikit-learn on their mean, for every output. BLAS and the library may use all
cores.

--quick: two runs of each, pendigits with its first 1,000 rows, no letter 5,000. With --quick, --only or names of
problems the results go to speed-part.json, so that benchmarks/results/speed.json is always one run of everything.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
import warnings
from dataclasses import dataclass

import numpy as np
import peers
import plots
import problems
from common import save
from floor import Floor, measure_floor, outputs_of
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from polykern import MKLClassifier, losses, regularizers
from polykern.kernels import Precomputed
from polykern.parallel import n_threads
from polykern.problems.support import supports
from polykern.solvers.auto import ALL

POWERS = (1.0, 1.25, 2.0)
TIME_LIMIT = 30.0
REPEATS, PATIENCE = 5, 12.0  # runs of each, and seconds after which no further one is begun
# Most of the floor that training may take: at p = 1, and above.
WIDE, MANY = {"p=1": 4.0, "p>1": 3.0}, {"p=1": 20.0, "p>1": 10.0}
TIGHTER, WHOLE_FIT = 3.0, 2.0  # most of seconds(1e-6) / seconds(1e-3), and of fit seconds / seconds


@dataclass(frozen=True)
class Case:
    """One problem with its matrices."""

    name: str
    stack: np.ndarray
    y: np.ndarray
    C: float
    targets: dict[str, float]

    def target(self, power: float) -> float:
        """Most of the floor that training may take."""
        return self.targets["p=1" if power == 1 else "p>1"]


@dataclass(frozen=True)
class Setting:
    """What one row of the results is about."""

    solver: str
    power: float
    tol: float


def cases(wanted: list[str], quick: bool):
    """One problem after the other, so that one stack is in memory at a time."""
    digits = 1000 if quick else None
    made = {
        "ionosphere": (lambda: problems.simplemkl_set("ionosphere", rows=245), 100.0, MANY),
        "sonar": (lambda: problems.simplemkl_set("sonar", rows=145), 100.0, MANY),
        "letter 2000": (lambda: problems.letter(2000), 10.0, WIDE),
        "letter 5000": (lambda: problems.letter(5000), 10.0, WIDE),
        "pendigits": (lambda: problems.pendigits(digits), 10.0, WIDE),
    }
    for name, (build, C, targets) in made.items():
        if name in wanted or (not wanted and not (quick and name == "letter 5000")):
            _, y, bank = build()
            yield Case(name, problems.stack_of(bank), y, C, targets)


def settings(outputs: int, variables: int) -> list[Setting]:
    """solver="auto" at every power and tolerance, and every solver that can do it at p = 1."""
    auto = [Setting("auto", power, tol) for power in POWERS for tol in (1e-3, 1e-6)]
    able = [
        solver
        for solver in ALL
        if supports(solver(), losses.Hinge(), regularizers.Simplex())
        and outputs <= solver.requires.most_outputs
        and variables <= solver.requires.most_variables
    ]
    return [*auto, *(Setting(solver.__name__, 1.0, 1e-3) for solver in able)]


def measure(case: Case, repeats: int) -> dict:
    """The floor of one problem and every setting on it."""
    floor = measure_floor(case.stack, case.y, case.C)
    outputs = len(outputs_of(case.y))
    runs = [_runs(case, setting, repeats) for setting in settings(outputs, outputs * len(case.y))]
    floor = floor.better_of(measure_floor(case.stack, case.y, case.C))
    return {
        "problem": case.name,
        "n": len(case.y),
        "kernels": len(case.stack),
        "outputs": outputs,
        "C": case.C,
        "T_pass": _rounded(floor.one_pass),
        "T_svc": _rounded(floor.svc),
        "floor": _rounded(floor.seconds),
        "runs": [_in_floors(run, floor, case) for run in runs],
    }


def _runs(case: Case, setting: Setting, repeats: int) -> dict:
    """Several fits after one that warms up: the seconds of each, and the history of the median one."""
    _fit(case, setting, warm=True)
    fits, start = [], time.perf_counter()
    while len(fits) < repeats and (not fits or time.perf_counter() - start < PATIENCE):
        fits.append(_fit(case, setting))
    results = [result for result, _ in fits]
    middle = sorted(results, key=lambda result: result.seconds)[len(results) // 2]
    return {
        "solver": setting.solver,
        "took": middle.solver,
        "p": setting.power,
        "tol": setting.tol,
        "seconds": [_rounded(result.seconds) for result in results],
        "fit_seconds": _rounded(statistics.median(seconds for _, seconds in fits)),
        "gap": _rounded(middle.gap),
        "status": middle.status.name,
        "iterations": middle.n_iter,
        "machines": middle.n_machines,
        "kept": int(np.count_nonzero(np.any(np.atleast_2d(middle.weights) > 0, axis=0))),
        "history": plots.thinned(middle),
    }


def _fit(case: Case, setting: Setting, warm: bool = False):
    """(result, seconds of the whole fit). To warm up, solvers other than the default one need a few steps only."""
    model = MKLClassifier(
        [(str(k), Precomputed(K)) for k, K in enumerate(case.stack)],
        regularizer=setting.power,
        solver=setting.solver,
        C=case.C,
        tol=setting.tol,
        max_iter=3 if warm and setting.solver != "auto" else 100_000,
        time_limit=TIME_LIMIT,
        normalize=None,
    )
    gc.collect()
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(np.arange(len(case.y)), case.y)
    return model.result_, time.perf_counter() - start


def _in_floors(run: dict, floor: Floor, case: Case) -> dict:
    """The run with its median seconds in units of the floor, and the most that they may be."""
    middle = statistics.median(run["seconds"])
    run |= {"median": _rounded(middle), "ratio": _rounded(middle / floor.seconds), "target": case.target(run["p"])}
    print(
        f"{case.name:12s} {run['solver']:>14s} p={run['p']:<5g} tol={run['tol']:.0e} {run['status']:10s}"
        f" {1e3 * middle:9.1f} ms ({1e3 * min(run['seconds']):.1f} to {1e3 * max(run['seconds']):.1f})"
        f" = {run['ratio']:6.2f} floors (at most {run['target']:g}), fit {run['fit_seconds'] / middle:6.2f} x,"
        f" gap {run['gap']:.1e}, {run['machines']} machines, {run['took']}",
        flush=True,
    )
    return run


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def main() -> None:
    """Measure, show, save, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=("runs", "one-core", "accuracy"))
    parser.add_argument("problems", nargs="*")
    chosen = parser.parse_args()
    threadpool_limits(n_threads(), user_api="blas")  # also where the environment says one: users do not set it
    parts = (chosen.only,) if chosen.only else ("runs", "one-core", "accuracy")
    report: dict = {}
    if "runs" in parts:
        found = (measure(case, 2 if chosen.quick else REPEATS) for case in cases(chosen.problems, chosen.quick))
        report["runs"] = list(found)
    if "one-core" in parts:
        report["one core"] = peers.one_core(chosen.problems, chosen.quick)
    if "accuracy" in parts:
        report["accuracy"] = peers.accuracy(chosen.problems)
    whole = not (chosen.quick or chosen.only or chosen.problems)
    save("speed" if whole else "speed-part", report)
    if whole:
        plots.draw(report["runs"])


if __name__ == "__main__":
    main()
