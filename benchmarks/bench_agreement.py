"""Every solver on the problems of the SimpleMKL paper: certified gap reached, objectives agree, cost of each.

    python benchmarks/bench_agreement.py [name ...]

ionosphere, sonar, liver, wpbc, pima (91 to 793 kernels, C = 100, unit trace), letter 2,000 (C = 10), housing.
All samples are used. Asserts that every solver reaches 1e-3 and that all objectives of one problem agree within it.
"""

from __future__ import annotations

import sys

import numpy as np
import problems
from common import best_of, save
from sklearn.svm import SVC, SVR

from polykern import losses, regularizers
from polykern.problems.support import supports
from polykern.solvers.auto import ALL

TOL = 1e-3
REGULARIZERS = {
    "p=1": regularizers.Simplex(),
    "p=1.25": regularizers.LpBall(p=1.25),
    "p=2": regularizers.LpBall(p=2.0),
    "GroupNorm(4/3)": regularizers.GroupNorm(p=4 / 3),
    "sum": regularizers.LpBall(p=np.inf),
}


def cases(wanted: list[str]):
    """(name, bank, y, loss, C) one after the other, so that one bank is in memory at a time."""
    for name in problems.SIMPLEMKL_SETS:
        if not wanted or name in wanted:
            _, y, bank = problems.simplemkl_set(name)
            yield name, bank, y, losses.Hinge(), 100.0
    if not wanted or "letter" in wanted:
        _, y, bank = problems.letter(2000)
        yield "letter 2000", bank, y, losses.Hinge(), 10.0
    if not wanted or "housing" in wanted:
        _, y, bank = problems.housing()
        yield "housing", bank, y, losses.EpsilonInsensitive(epsilon=0.1), 100.0
        yield "housing squared", bank, y, losses.Squared(), 100.0


def main() -> None:
    """Solve, check, save."""
    rows = []
    for name, bank, y, loss, C in cases(sys.argv[1:]):
        rows += _reference(name, bank, y, loss, C)
        for label, regularizer in REGULARIZERS.items():
            problem = problems.problem_on(bank, y, regularizer, loss=loss, C=C)
            able = [s() for s in ALL if supports(s(), loss, regularizer)]
            solved = [solver.solve(problem, tol=TOL, max_iter=5000) for solver in able]
            objectives = [result.primal for result in solved]
            for result in solved:
                rows.append(_row(name, label, bank, y, result))
                print(rows[-1], flush=True)
            assert all(result.status.converged for result in solved), (name, label, solved)
            assert max(objectives) - min(objectives) <= TOL * abs(min(objectives)), (name, label, objectives)
    _assert_group_norm_is_ball(rows)
    save("agreement" if not sys.argv[1:] else "agreement-part", rows)


def _reference(name, bank, y, loss, C) -> list[dict]:
    """scikit-learn's machine on the mean kernel: what one pass of a user who does not learn weights costs."""
    if loss.smooth:
        return []
    mean = bank.combine(np.full(bank.n_kernels, 1 / bank.n_kernels)).astype(np.float64)
    machine = SVR(kernel="precomputed", C=C, epsilon=0.1) if loss.targets == "real" else SVC(kernel="precomputed", C=C)
    fastest, _ = best_of(lambda: machine.fit(mean, y))
    solver = f"scikit-learn {type(machine).__name__}"
    return [
        {"problem": name, "n": len(y), "kernels": bank.n_kernels, "regularizer": "mean", "solver": solver}
        | {"seconds": round(fastest, 4)}
    ]


def _row(name, label, bank, y, result):
    return {
        "problem": name,
        "n": len(y),
        "kernels": bank.n_kernels,
        "regularizer": label,
        "solver": result.solver,
        "primal": result.primal,
        "gap": result.gap,
        "iterations": result.n_iter,
        "kept": int(np.count_nonzero(result.weights > 0)),
        "kernel products": result.n_kernel_products,
        "seconds": round(result.seconds, 3),
    }


def _assert_group_norm_is_ball(rows) -> None:
    objectives = {(row["problem"], row["regularizer"]): row["primal"] for row in rows if "primal" in row}
    for problem, label in objectives:
        if label == "p=2":
            ball, group = objectives[problem, label], objectives[problem, "GroupNorm(4/3)"]
            assert abs(ball - group) <= 1e-9 * abs(ball), (problem, ball, group)


if __name__ == "__main__":
    main()
