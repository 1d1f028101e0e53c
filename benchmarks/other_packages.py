"""Accuracy and seconds of other packages on given matrices: python other_packages.py folder C. Prints JSON.

Needs nothing of polykern, so that the packages can have an environment of their own. Seconds are those of training.
A package that cannot be imported has its reason in the place of the figures.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC


def main() -> None:
    """Train each, print all."""
    folder, C = Path(sys.argv[1]), float(sys.argv[2])
    data = tuple(np.load(folder / f"{name}.npy") for name in ("train", "test", "y", "y_test"))
    trained = (mean_kernel, best_kernel, easy_mkl, kernel_ridge)
    print(json.dumps([_row(train, data, C) for train in trained]))


def _row(train, data, C: float) -> dict:
    package, model = train.__doc__.splitlines()[0].rstrip(".").split(": ")
    try:
        seconds, predicted = train(*data[:3], C)
    except ImportError as missing:
        return {"package": package, "model": model, "missing": str(missing)}
    score = float(np.mean(np.sign(predicted) == data[3]))
    return {
        "package": f"{package} {version(package)}",
        "model": model,
        "seconds": float(f"{seconds:.4g}"),
        "accuracy": round(score, 4),
    }


def mean_kernel(train, test, y, C: float):
    """scikit-learn: SVC on the mean kernel."""
    kernel, kernel_test = train.mean(axis=0, dtype=float), test.mean(axis=0, dtype=float)
    SVC(kernel="precomputed", C=C).fit(kernel, y)
    start = time.perf_counter()
    model = SVC(kernel="precomputed", C=C).fit(kernel, y)
    return time.perf_counter() - start, model.predict(kernel_test)


def best_kernel(train, test, y, C: float):
    """scikit-learn: SVC on the one kernel that is best in five-fold cross-validation."""
    start = time.perf_counter()
    scores = [cross_val_score(SVC(kernel="precomputed", C=C), K, y, cv=5).mean() for K in train]
    best = int(np.argmax(scores))
    model = SVC(kernel="precomputed", C=C).fit(train[best], y)
    return time.perf_counter() - start, model.predict(test[best])


def easy_mkl(train, test, y, C: float):
    """MKLpy: EasyMKL(lam=0.1), SVC on its kernel."""
    import torch
    from MKLpy.algorithms import EasyMKL

    kernels, kernels_test = list(torch.tensor(train).double()), list(torch.tensor(test).double())
    start = time.perf_counter()
    model = EasyMKL(lam=0.1, learner=SVC(C=C)).fit(kernels, torch.tensor(y))
    return time.perf_counter() - start, np.asarray(model.predict(kernels_test))


def kernel_ridge(train, test, y, C: float):
    """himalaya: MultipleKernelRidgeCV, random search, sign of the regression."""
    from himalaya.kernel_ridge import MultipleKernelRidgeCV

    choices = {"n_iter": 20, "alphas": np.logspace(-5, 5, 11), "progress_bar": False}
    model = MultipleKernelRidgeCV(kernels="precomputed", solver_params=choices, random_state=0)
    start = time.perf_counter()
    model.fit(train, y.astype(train.dtype))
    return time.perf_counter() - start, model.predict(test)


if __name__ == "__main__":
    main()
