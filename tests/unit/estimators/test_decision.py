"""One decision column per class from one-vs-one outputs."""

from __future__ import annotations

import numpy as np
from sklearn.utils.multiclass import _ovr_decision_function

from polykern.estimators._decision import normalised, pairwise_probabilities, votes_with_confidence
from polykern.estimators._labels import class_pairs


def test_votes_agree_with_scikit_learn() -> None:
    outputs = np.random.default_rng(0).normal(size=(50, 6))
    expected = _ovr_decision_function((outputs > 0).astype(int), outputs, 4)
    assert np.allclose(votes_with_confidence(outputs, 4), expected)


def test_votes_by_plain_loops_and_confidence_never_outweighs_a_vote() -> None:
    outputs = 1e6 * np.random.default_rng(1).normal(size=(40, 10))
    votes = np.zeros((40, 5))
    for i in range(40):
        for column, (first, second) in enumerate(class_pairs(5)):
            votes[i, second if outputs[i, column] > 0 else first] += 1
    assert np.array_equal(np.round(votes_with_confidence(outputs, 5)), votes)


def test_equal_votes_are_ordered_by_confidence() -> None:
    # A circle: 1 beats 0, 2 beats 1, 0 beats 2; the widest margin is in favour of 2.
    outputs = np.array([[1.0, -1.0, 5.0]])
    assert votes_with_confidence(outputs, 3).argmax() == 2


def test_pairwise_probabilities_sum_to_one_and_are_certain_where_the_pairs_are() -> None:
    outputs = np.random.default_rng(2).normal(size=(30, 6)) * 3
    probabilities = pairwise_probabilities(outputs, 4)
    assert np.allclose(probabilities.sum(axis=1), 1.0)
    assert probabilities.min() > 0
    always_last = np.full((1, 3), 50.0)  # 1 over 0, 2 over 0, 2 over 1
    assert np.allclose(pairwise_probabilities(always_last, 3), [[0.0, 1 / 3, 2 / 3]])


def test_normalised() -> None:
    assert np.allclose(normalised(np.array([[0.2]])), [[0.8, 0.2]])
    assert np.allclose(normalised(np.array([[0.2, 0.2, 0.4], [0.0, 0.0, 0.0]])), [[0.25, 0.25, 0.5], [1 / 3] * 3])
