"""The data of `make demo`: ten measurements as ten views of real tumours, and views that mean nothing."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch, check_random_state

from polykern.datasets._checks import check_count

MEASUREMENTS = 10
READINGS = 3  # mean, error and worst value of every measurement


def load_demo(*, noise_views: int = 2, random_state: int | np.random.RandomState | None = 0) -> Bunch:
    """Wisconsin breast cancer (569 samples) in views: one per measurement, and some of pure noise.

    A view is the mean, error and worst value of one of the ten measurements that scikit-learn ships (radius, texture,
    ...), columns standardised to mean 0 and deviation 1. A noise view has three columns too, standard Gaussian, drawn
    with `random_state` and independent of everything: the less a kernel on it weighs, the better.

    Returns a Bunch with `data` (569, 30 + 3 * noise_views), `target` ("malignant" or "benign"), `feature_names`,
    `views` (name -> list of columns) and `kernel_columns` (the same as a list of (name, columns)).
    """
    from sklearn.datasets import load_breast_cancer

    noise_views = check_count("noise_views", noise_views, 0)
    cancer = load_breast_cancer()
    data = (cancer.data - cancer.data.mean(axis=0)) / cancer.data.std(axis=0)
    noise = check_random_state(random_state).standard_normal((len(data), READINGS * noise_views))
    views = {name.removeprefix("mean "): [i, i + 10, i + 20] for i, name in _measurements(cancer)}
    starts = range(data.shape[1], data.shape[1] + noise.shape[1], READINGS)
    views |= {f"noise {v}": list(range(start, start + READINGS)) for v, start in enumerate(starts, start=1)}
    noise_names = [f"noise {v} column {i}" for v in range(1, noise_views + 1) for i in range(1, READINGS + 1)]
    return Bunch(
        data=np.hstack([data, noise]),
        target=cancer.target_names[cancer.target],
        feature_names=[*cancer.feature_names.tolist(), *noise_names],
        views=views,
        kernel_columns=list(views.items()),
    )


def _measurements(cancer: Bunch) -> list[tuple[int, str]]:
    return list(enumerate(cancer.feature_names[:MEASUREMENTS].tolist()))
