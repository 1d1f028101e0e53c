"""Figures 1 and 2 of the VSKL paper: seconds and machines against the number of kernels, to the same certified gap.

    python benchmarks/bench_scaling.py [set ...] [--quick] [--fresh] [--splits 20] [--solvers ...] [--again ...]

liver, wpbc, ionosphere, sonar; 70 % of the samples, C = 1000, unit trace; 25 to 3200 Gaussians on single features,
widths 0.1 to 20 in equal steps of their logarithm (the paper says neither which widths nor how many). Every choice of F
kernels holds the smaller ones. Solvers: SimpleMKL, HessianMKL, MirrorDescent where this version has it, and the default
one, all to a relative gap of 1e-3. "coarse" holds what each had spent at a gap of 1e-2. The paper stops where the
objective changes by less than 1e-4 of itself; "own" holds what each had spent when its best objective first did, and
the gap that was certified there, where that came before the end.

Seconds are those of the solve, kernels given, compiled code warm; the unit T_pass is that of floor.py. A solve that the
time limit ends keeps its row, marked in "status"; a limit is looked at between steps, and one step of SimpleMKL may be
hundreds of machines. A solver that has spent PATIENCE seconds on one size of a set is left out of the further splits
there. Asserts what the paper says: machines do not grow with the kernels, for the default to its gap and for
MirrorDescent to the paper's stop, which is where the paper counted them; the default takes as many passes of BLAS at
any size, and at the largest it is GAIN times as fast as SimpleMKL.

Rows are kept in benchmarks/results/scaling.json as they come, and a run goes on where the last one ended (--fresh
begins anew, --again measures some solvers anew). --quick: two splits, three sizes, into scaling-part.json, nothing
asserted.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import vskl
from checkpoint import Checkpoint, rounded
from common import best_of
from plots_scaling import draw
from problems import problem_on, stack_of
from threadpoolctl import threadpool_limits

from polykern import regularizers, solvers
from polykern.bank import KernelBank, build_bank
from polykern.parallel import n_threads, one_blas_thread
from polykern.problems.result import MKLResult, Record
from polykern.solvers import as_solver

SIZES = (25, 50, 100, 200, 400, 800, 1600, 3200)
SOLVERS = ("auto", "MirrorDescent", "HessianMKL", "SimpleMKL")
C, TOL, COARSE, OWN_STOP = 1000.0, 1e-3, 1e-2, 1e-4
TIME_LIMIT, PATIENCE = 20.0, 60.0
# Most machines at the largest size, and passes of BLAS there, in units of those at the smallest one: 128 times as many
# kernels. Passes are compared from MANY kernels on; below, what does not depend on the kernels is most of the time.
FLAT_MACHINES, FLAT_PASSES, MANY = 4.0, 2.0, 400
GAIN = 8.0  # the paper's own, of mirror descent over SimpleMKL


def main() -> None:
    """Measure what is missing, show, save, draw, assert."""
    chosen = _arguments()
    threadpool_limits(n_threads(), user_api="blas")  # also where the environment says one: users do not set it
    sizes, splits = ((25, 100, 400), 2) if chosen.quick else (SIZES, chosen.splits)
    setup = {"C": C, "tol": TOL, "sizes": SIZES, "widths": [vskl.NARROWEST, vskl.WIDEST], "time_limit": TIME_LIMIT}
    rows = Checkpoint("scaling-part" if chosen.quick else "scaling", setup, chosen.fresh)
    rows.drop([key for key, row in rows.rows.items() if row["solver"] in chosen.again])
    able = [name for name in chosen.solvers if name == "auto" or hasattr(solvers, name)]
    print("left out, not in this version:", sorted(set(chosen.solvers) - set(able)) or "none")
    _warm_up(able)
    for split in range(splits):
        for name in chosen.sets or vskl.SCALING_SETS:
            _measure(rows, name, split, sizes, able)
    found = summary(list(rows.rows.values()))
    rows.write(found)
    _show(found)
    if not chosen.quick:
        draw(found, TOL)
        check(found)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--solvers", nargs="+", default=SOLVERS, choices=SOLVERS)
    parser.add_argument("--again", nargs="+", default=(), choices=SOLVERS)
    parser.add_argument("sets", nargs="*", metavar="set", help=", ".join(vskl.SCALING_SETS))
    return parser.parse_args()


# ---- measuring
# ------------------------------------------------------------------------------------------------------------------


def _measure(rows: Checkpoint, name: str, split: int, sizes: tuple[int, ...], able: list[str]) -> None:
    """Every size and solver that has no row yet, on one split of one set."""
    wanted = list(_missing(rows, name, split, sizes, able))
    if not wanted:
        return
    X, y = vskl.training_part(name, split)
    kernels = vskl.single_feature_gaussians(X.shape[1], SIZES[-1])
    for size in sizes:
        here = [solver for solver, of in wanted if of == size and _spent(rows, name, solver, size) < PATIENCE]
        if not here:
            continue
        bank = build_bank(kernels[:size], X, normalize="trace", dtype="float32")
        one_pass = _one_pass(stack_of(bank))
        for solver in here:
            row = {"set": name, "kernels": size, "solver": solver, "split": split, "n": len(y)}
            row |= _row(_solve(bank, y, solver), one_pass)
            rows.add(_key(name, size, solver, split), row)
            print(row, flush=True)


def _missing(
    rows: Checkpoint, name: str, split: int, sizes: tuple[int, ...], able: list[str]
) -> Iterator[tuple[str, int]]:
    for size in sizes:
        yield from ((solver, size) for solver in able if _key(name, size, solver, split) not in rows)


def _key(name: str, size: int, solver: str, split: int) -> str:
    return f"{name}/{size}/{solver}/{split}"


def _spent(rows: Checkpoint, name: str, solver: str, size: int) -> float:
    """Seconds of a solver on this size of a set, all splits so far."""
    at = (name, solver, size)
    return sum(row["seconds"] for row in rows.rows.values() if (row["set"], row["solver"], row["kernels"]) == at)


def _one_pass(stack: np.ndarray) -> float:
    """T_pass of floor.py: the fastest of several, with one thread or all, since others may use the machine."""
    weights = np.random.default_rng(0).random(len(stack)).astype(stack.dtype)
    entries = stack.reshape(len(stack), -1)
    with one_blas_thread():
        single = best_of(lambda: weights @ entries, 10)[0]
    return min(single, best_of(lambda: weights @ entries, 10)[0])


def _warm_up(able: list[str]) -> None:
    """A small problem for each solver: what is compiled is so from now on."""
    X, y = vskl.training_part("sonar", 0)
    bank = build_bank(vskl.single_feature_gaussians(X.shape[1], SIZES[0]), X, normalize="trace", dtype="float32")
    for solver in able:
        _solve(bank, y, solver)


def _solve(bank: KernelBank, y: np.ndarray, solver: str) -> MKLResult:
    problem = problem_on(bank, y, regularizers.Simplex(), C=C)
    return as_solver(solver).solve(problem, tol=TOL, max_iter=100_000, time_limit=TIME_LIMIT)


def _row(result: MKLResult, one_pass: float) -> dict:
    return {
        "seconds": rounded(result.seconds),
        "T_pass": rounded(one_pass),
        "passes": rounded(result.seconds / one_pass),
        "machines": result.n_machines,
        "iterations": result.n_iter,
        "kept": int(np.count_nonzero(result.weights)),
        "gap": rounded(result.gap),
        "status": result.status.name,
        "took": result.solver,
        "coarse": next((_spent_at(record) for record in result.history if record.gap <= COARSE), None),
        "own": _own_stop(result),
    }


def _own_stop(result: MKLResult) -> dict | None:
    """Where the best objective first changed by less than OWN_STOP of itself."""
    for before, now in zip(result.history, result.history[1:], strict=False):
        if before.primal - now.primal < OWN_STOP * abs(before.primal):
            return _spent_at(now)
    return None


def _spent_at(record: Record) -> dict:
    return {"seconds": rounded(record.seconds), "machines": record.n_machines, "gap": rounded(record.gap)}


# ---- what comes out
# ------------------------------------------------------------------------------------------------------------------


def summary(rows: list[dict]) -> list[dict]:
    """Mean and deviation over the splits, for every set, size and solver."""
    groups: dict[tuple, list[dict]] = {}
    for row in rows:
        groups.setdefault((row["set"], row["kernels"], row["solver"]), []).append(row)
    return [_mean_row(name, size, solver, some) for (name, size, solver), some in sorted(groups.items())]


def _mean_row(name: str, size: int, solver: str, some: list[dict]) -> dict:
    seconds = [row["seconds"] for row in some]
    return {
        "set": name,
        "kernels": size,
        "solver": solver,
        "splits": len(some),
        "seconds": rounded(float(np.mean(seconds))),
        "deviation": rounded(float(np.std(seconds))),
        "passes": rounded(float(np.median([row["passes"] for row in some]))),
        "machines": _mean(some, "machines"),
        "iterations": _mean(some, "iterations"),
        "kept": _mean(some, "kept"),
        "worst gap": max(row["gap"] for row in some),
        "ended by the time limit": sum(row["status"] == "TIME_LIMIT" for row in some),
        "converged": sum(row["status"] == "CONVERGED" for row in some),
        **{stop: _on_the_way([row[stop] for row in some if row[stop]]) for stop in ("coarse", "own")},
    }


def _on_the_way(some: list[dict]) -> dict:
    """Means where an earlier stop came before the end."""
    return {"splits": len(some)} | {what: _mean(some, what) for what in ("seconds", "machines", "gap") if some}


def _mean(rows: list[dict], what: str) -> float:
    return rounded(float(np.mean([row[what] for row in rows])))


def check(found: list[dict]) -> None:
    """The paper's message, on every set."""
    at = {(row["set"], row["kernels"], row["solver"]): row for row in found}
    failed = [
        f"{row['set']}, {row['kernels']} kernels: the default converges on {row['converged']} of {row['splits']} splits"
        for row in found
        if row["solver"] == "auto" and row["converged"] < row["splits"]
    ]
    for name in sorted({row["set"] for row in found}):
        few, many, most = ({s: at.get((name, size, s)) for s in SOLVERS} for size in (SIZES[0], MANY, SIZES[-1]))
        failed += [f"{name}: {text}" for text in _grown(few, many, most)]
        slow, own = most["SimpleMKL"], most["auto"]
        if slow and own and slow["seconds"] < GAIN * own["seconds"]:
            failed.append(f"{name}: SimpleMKL {slow['seconds']} s, the default {own['seconds']} s")
    assert not failed, "; ".join(failed)


def _grown(few: dict, many: dict, most: dict) -> Iterator[str]:
    """What grows with the number of kernels and should not."""
    if few["auto"] and most["auto"] and most["auto"]["machines"] > FLAT_MACHINES * few["auto"]["machines"]:
        yield f"the default takes {few['auto']['machines']} to {most['auto']['machines']} machines"
    if many["auto"] and most["auto"] and most["auto"]["passes"] > FLAT_PASSES * many["auto"]["passes"]:
        yield f"the default takes {many['auto']['passes']} to {most['auto']['passes']} passes"
    machines = [row["MirrorDescent"] and row["MirrorDescent"]["own"].get("machines") for row in (few, most)]
    if all(machines) and machines[1] > FLAT_MACHINES * machines[0]:
        yield f"MirrorDescent takes {machines[0]} to {machines[1]} machines to the paper's stop"


def _show(found: list[dict]) -> None:
    at = {(row["set"], row["kernels"], row["solver"]): row for row in found}
    for row in found:
        print(
            f"{row['set']:10s} {row['kernels']:5d} {row['solver']:13s} {row['seconds']:9.4g} s"
            f" (+- {row['deviation']:.2g}), {row['passes']:.4g} passes, {row['machines']:.4g} machines,"
            f" {row['iterations']:.4g} iterations, {row['converged']} of {row['splits']} converged,"
            f" gap {row['worst gap']:.1e}; at a gap of {COARSE:g} {row['coarse']}, by the paper's stop {row['own']}"
        )
    for (name, size, solver), row in at.items():
        slow = at.get((name, size, "SimpleMKL"))
        if solver in ("auto", "MirrorDescent") and slow:
            least = "at least " if slow["ended by the time limit"] else ""
            times = slow["seconds"] / row["seconds"]
            print(f"{name:10s} {size:5d} kernels: {solver} is {least}{times:.3g} times as fast as SimpleMKL")
            if "seconds" in slow["coarse"] and "seconds" in row["coarse"]:
                times = slow["coarse"]["seconds"] / row["coarse"]["seconds"]
                print(f"{'':26s}{times:.3g} times to a gap of {COARSE:g}, where both reach it")


if __name__ == "__main__":
    main()
