"""The operations of a bank against one plain pass over the same matrices.

    python benchmarks/bench_bank.py [n_kernels] [n_samples]

Dense float32: `combine`, `scores`, `quad_forms` in units of T_pass = numpy.tensordot(weights, stack, 1), one read of
everything by BLAS on all cores. Precomputed float64: the same, on all samples and on a scattered 80 % (a training
fold). On the fly: 12 RBF widths on 5,000 samples of 16 features in float32, in seconds, beside the seconds that
filling them into memory takes.
"""

from __future__ import annotations

import sys

import numpy as np
from common import best_of, save

from polykern import kernels
from polykern.bank import KernelBank, build_bank
from polykern.bank.plan import buffer_bytes
from polykern.parallel import n_threads

REPEATS = 5


def operations(bank: KernelBank, seed: int = 0) -> dict[str, float]:
    """Seconds of every operation, best of several."""
    rng = np.random.default_rng(seed)
    n = bank.n_samples
    weights, full = rng.random(bank.n_kernels), rng.standard_normal(n)
    half_weights = weights * (np.arange(bank.n_kernels) % 2)
    few = np.where(rng.random(n) < 0.1, full, 0.0)
    several = rng.standard_normal((n, 10))
    out = np.empty((n, n), dtype=bank.dtype)
    calls = {
        "combine": lambda: bank.combine(weights, out=out),
        "combine, half of the weights 0": lambda: bank.combine(half_weights, out=out),
        "scores": lambda: bank.scores(full),
        "scores, 10 columns": lambda: bank.scores(several),
        "scores, support 10 %": lambda: bank.scores(few),
        "quad_forms": lambda: bank.quad_forms(full),
        "quad_forms, support 10 %": lambda: bank.quad_forms(few),
        "rows, 2 of them": lambda: bank.rows([n // 3, n // 2], weights),
    }
    for call in calls.values():
        call()
    return {name: best_of(call, REPEATS)[0] for name, call in calls.items()}


def in_passes(bank: KernelBank, stack: np.ndarray) -> dict[str, float]:
    """Operations in units of one pass of BLAS over `stack`."""
    weights = np.random.default_rng(0).random(len(stack)).astype(stack.dtype)
    np.tensordot(weights, stack, 1)
    one_pass = best_of(lambda: np.tensordot(weights, stack, 1), REPEATS)[0]
    found = {f"{name} / T_pass": round(seconds / one_pass, 3) for name, seconds in operations(bank).items()}
    return {"T_pass seconds": round(one_pass, 4), "GB": round(stack.nbytes / 1e9, 3), **found}


def dense(n_kernels: int, n_samples: int) -> dict[str, float]:
    """All kernels in memory."""
    X = np.random.default_rng(0).standard_normal((n_samples, 16))
    family = [kernels.RBF(gamma=g) for g in np.geomspace(1e-3, 1.0, n_kernels)]
    bank = build_bank(family, X, dtype="float32", memory=8 * n_samples**2 * (n_kernels + 4))
    (storage, _), *others = bank._storages
    assert not others and storage.kind == "dense"
    return in_passes(bank, storage.stack)


def precomputed(n_kernels: int, n_samples: int) -> dict[str, dict[str, float]]:
    """Matrices of the user: all samples, and a training fold of them."""
    rng = np.random.default_rng(0)
    stack = np.empty((n_kernels, n_samples, n_samples))
    for matrix in stack:
        A = rng.standard_normal((n_samples, 5))
        np.matmul(A, A.T, out=matrix)
    given = [kernels.Precomputed(K) for K in stack]
    fold = np.sort(rng.permutation(n_samples)[: int(0.8 * n_samples)])
    return {
        f"precomputed float64, {n_kernels} kernels, n = {n_samples}": in_passes(
            build_bank(given, np.arange(n_samples)), stack
        ),
        "the same on 80 % of the samples": in_passes(build_bank(given, fold), stack),
    }


def on_the_fly(n_samples: int = 5000) -> dict[str, float]:
    """Twelve widths, nothing kept but the data and the combined matrix."""
    X = np.random.default_rng(0).standard_normal((n_samples, 16))
    family = [kernels.RBF(gamma=g) for g in np.geomspace(1e-3, 1.0, 12)]
    room = buffer_bytes(12, n_samples, n_threads()) + int(1.5 * 4 * n_samples**2)
    bank = build_bank(family, X, dtype="float32", memory=room)
    assert {storage.kind for storage, _ in bank._storages} == {"on the fly"}
    filled = best_of(lambda: build_bank(family, X, dtype="float32", memory="4GB"), 2)[0]
    return {
        **{f"{name} (s)": round(seconds, 4) for name, seconds in operations(bank).items()},
        "fill all twelve dense (s)": round(filled, 3),
    }


def main() -> None:
    """Measure, show, save."""
    n_kernels, n_samples = (int(a) for a in (sys.argv[1:3] or ("60", "3000")))
    rows = {
        f"dense float32, {n_kernels} kernels, n = {n_samples}": dense(n_kernels, n_samples),
        **precomputed(n_kernels // 2, n_samples),
        "on the fly float32, 12 RBF widths, n = 5000, d = 16": on_the_fly(),
    }
    for title, row in rows.items():
        print(title)
        for name, value in row.items():
            print(f"    {name:45s} {value}")
    save("bank", rows)


if __name__ == "__main__":
    main()
