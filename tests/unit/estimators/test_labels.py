"""Labels, class weights and sample weights become targets and costs."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

from polykern.estimators._labels import (
    binary_targets,
    class_factors,
    class_pairs,
    one_vs_one_targets,
    one_vs_rest_targets,
)

CODES = np.array([0, 2, 1, 1, 0, 2, 2])
COSTS = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])


def test_the_second_class_is_the_positive_one() -> None:
    targets = binary_targets(np.array([0, 1, 0]), np.array([1.0, 2.0, 3.0]))
    assert targets.values.tolist() == [[-1.0], [1.0], [-1.0]]
    assert targets.costs.tolist() == [[1.0], [2.0], [3.0]]


def test_one_vs_rest_by_plain_loops() -> None:
    targets = one_vs_rest_targets(CODES, COSTS, 3)
    for i, code in enumerate(CODES):
        for c in range(3):
            assert targets.values[i, c] == (1.0 if code == c else -1.0)
            assert targets.costs[i, c] == COSTS[i]


def test_one_vs_one_by_plain_loops() -> None:
    targets = one_vs_one_targets(CODES, COSTS, 3)
    assert class_pairs(3) == [(0, 1), (0, 2), (1, 2)]
    for column, (first, second) in enumerate(class_pairs(3)):
        for i, code in enumerate(CODES):
            assert targets.costs[i, column] == (COSTS[i] if code in (first, second) else 0.0)
            if code == second:
                assert targets.values[i, column] == 1.0
            if code == first:
                assert targets.values[i, column] == -1.0


def test_balanced_is_scikit_learns_and_counts_weights_as_repetitions() -> None:
    classes = np.array(["a", "b", "c"])
    expected = compute_class_weight("balanced", classes=classes, y=classes[CODES])
    assert np.allclose(class_factors("balanced", classes, CODES, np.ones(7)), expected)

    repeats = np.array([1, 3, 2, 1, 1, 2, 1])
    repeated = class_factors("balanced", classes, np.repeat(CODES, repeats), np.ones(repeats.sum()))
    assert np.allclose(class_factors("balanced", classes, CODES, repeats.astype(float)), repeated)


@pytest.mark.parametrize("labels", [["a", "b", "c"], [3, 5, 9], [0.5, 1.5, 2.5], [False, True]])
def test_a_dict_speaks_of_the_users_labels(labels: list) -> None:
    factors = class_factors({labels[1]: 4.0}, np.array(labels), CODES, np.ones(7))
    assert factors.tolist() == [4.0 if index == 1 else 1.0 for index in range(len(labels))]


def test_labels_of_numpy_in_a_dict() -> None:
    assert class_factors({np.int64(5): 4.0}, np.array([3, 5]), CODES, np.ones(7)).tolist() == [1.0, 4.0]
