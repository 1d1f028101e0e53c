"""From the outputs of the binary problems to one decision column per class."""

from __future__ import annotations

import numpy as np

from polykern.estimators._labels import class_pairs


def votes_with_confidence(outputs: np.ndarray, n_classes: int) -> np.ndarray:
    """One decision value per class from the one-vs-one outputs: (m, pairs) -> (m, classes).

    votes_c + s_c / (3 (|s_c| + 1)),  s_c = the sum of the outputs in favour of class c. The second term is below 1/3 in
    size: it breaks ties between equal votes and never outweighs a vote.
    """
    votes = np.zeros((len(outputs), n_classes))
    support = np.zeros_like(votes)
    for (first, second), output in zip(class_pairs(n_classes), outputs.T, strict=True):
        votes[:, second] += output > 0
        votes[:, first] += output <= 0
        support[:, second] += output
        support[:, first] -= output
    return votes + support / (3.0 * (np.abs(support) + 1.0))


def pairwise_probabilities(outputs: np.ndarray, n_classes: int) -> np.ndarray:
    """Class probabilities from one-vs-one logistic outputs: the mean over a class's pairs of P(class | pair).

    p_c = 2 / (K (K - 1)) * sum_{c' != c} sigmoid(f_{c over c'}), which sums to 1 over the classes.
    """
    from scipy.special import expit

    totals = np.zeros((len(outputs), n_classes))
    for (first, second), output in zip(class_pairs(n_classes), outputs.T, strict=True):
        totals[:, second] += expit(output)
        totals[:, first] += expit(-output)
    return totals * (2.0 / (n_classes * (n_classes - 1)))


def normalised(probabilities: np.ndarray) -> np.ndarray:
    """Probabilities from those of the second class (m, 1), or from one per class (m, classes) scaled to sum 1."""
    if probabilities.shape[1] == 1:
        return np.hstack([1.0 - probabilities, probabilities])
    totals = probabilities.sum(axis=1, keepdims=True)
    # A sample that every class disowns to the last digit is equally (un)likely in all of them.
    equal = np.full_like(probabilities, 1.0 / probabilities.shape[1])
    return np.divide(probabilities, totals, out=equal, where=totals > 0)
