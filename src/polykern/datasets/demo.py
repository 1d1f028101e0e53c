"""The data of `make demo`: three named views of real measurements, and one view that means nothing."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch, check_random_state

from polykern.datasets._checks import check_count


def load_demo(*, noise_features: int = 10, random_state: int | np.random.RandomState | None = 0) -> Bunch:
    """Wisconsin breast cancer (569 samples) in four views: mean, error and worst of ten measurements, and pure noise.

    The thirty measurements are those that scikit-learn ships, columns standardised to mean 0 and deviation 1; the noise
    columns are standard Gaussian, drawn with `random_state` and independent of everything: a kernel on them should get
    no weight. `noise_features=0` leaves that view out.

    Returns a Bunch with `data` (569, 30 + noise_features), `target` ("malignant" or "benign"), `feature_names`, `views`
    (name -> slice of columns) and `kernel_columns` (the same as a list of (name, columns)).
    """
    from sklearn.datasets import load_breast_cancer

    noise_features = check_count("noise_features", noise_features, 0)
    cancer = load_breast_cancer()
    data = (cancer.data - cancer.data.mean(axis=0)) / cancer.data.std(axis=0)
    noise = check_random_state(random_state).standard_normal((len(data), noise_features))
    views = {"mean": slice(0, 10), "error": slice(10, 20), "worst": slice(20, 30)}
    if noise_features:
        views["noise"] = slice(30, 30 + noise_features)
    return Bunch(
        data=np.hstack([data, noise]),
        target=cancer.target_names[cancer.target],
        feature_names=[*cancer.feature_names.tolist(), *(f"noise {i}" for i in range(noise_features))],
        views=views,
        kernel_columns=list(views.items()),
    )
