"""scikit-learn's own list of what an estimator must do."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from polykern import MKLClassifier, MKLOneClass, MKLRegressor, kernels

# A sample of weight 2 is a sample that is there twice, exactly, for every part of the model except one: what is read
# off the distribution of the samples (the median distance behind the widths of the default kernels, the mean of a
# kernel's diagonal) does not count the weight. test_sample_weights.py checks the equivalence with kernels and a
# normalization that read nothing.
_WEIGHTS_AND_WIDTHS = "widths and normalization of the default kernels are read off the samples, without their weights"


def expected_failures(estimator: Any) -> dict[str, str]:
    return {"check_sample_weight_equivalence_on_dense_data": _WEIGHTS_AND_WIDTHS}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # the checks set max_iter=5
@parametrize_with_checks(
    [
        MKLClassifier(),
        MKLClassifier(keep_training_data=True),
        MKLClassifier(kernels.RBF(), multiclass="ovo", probability=True),
        MKLRegressor(),
        MKLOneClass(),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)
