"""Class labels and weights of samples -> the -1/+1 targets and the costs C_i that a problem is stated with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Targets:
    """One column per output: a binary problem has one, one-vs-rest one per class, one-vs-one one per pair."""

    values: np.ndarray  # (n, T), -1/+1 or real numbers
    costs: np.ndarray  # (n, T), 0 leaves a sample out of an output

    def times(self, cost: float) -> Targets:
        """The same with all costs multiplied."""
        return replace(self, costs=cost * self.costs)


def class_pairs(n_classes: int) -> list[tuple[int, int]]:
    """(first, second) of every pair, in the order of the one-vs-one outputs; the second is the positive class."""
    return list(combinations(range(n_classes), 2))


def binary_targets(codes: np.ndarray, costs: np.ndarray) -> Targets:
    """+1 for the second class, -1 for the first: (n, 1)."""
    return Targets(np.where(codes == 1, 1.0, -1.0)[:, None], costs[:, None].copy())


def one_vs_rest_targets(codes: np.ndarray, costs: np.ndarray, n_classes: int) -> Targets:
    """+1 for the class of the column, -1 for all others: (n, classes)."""
    values = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    return Targets(values, np.repeat(costs[:, None], n_classes, axis=1))


def joint_targets(codes: np.ndarray, costs: np.ndarray, n_classes: int) -> Targets:
    """A row of zeros and a one for every sample: (n, classes)."""
    return Targets(np.eye(n_classes)[codes], np.repeat(costs[:, None], n_classes, axis=1))


def one_vs_one_targets(codes: np.ndarray, costs: np.ndarray, n_classes: int) -> Targets:
    """+1 for the second class of the pair, -1 for the first, cost 0 for the samples of other classes: (n, pairs)."""
    first, second = np.array(class_pairs(n_classes)).T
    positive = codes[:, None] == second
    taking_part = positive | (codes[:, None] == first)
    return Targets(np.where(positive, 1.0, -1.0), np.where(taking_part, costs[:, None], 0.0))


def class_factors(class_weight: Any, classes: np.ndarray, codes: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
    """The factor that `class_weight` puts on each class.

    "balanced" is  sum_i s_i / (n_classes * sum_{i in class} s_i)  with the sample weights s, so that a weight of 2
    stays the same as a sample that is there twice.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        totals = np.bincount(codes, weights=sample_weight, minlength=len(classes))
        return totals.sum() / (len(classes) * totals)
    if isinstance(class_weight, Mapping):
        return _factors_by_label(class_weight, classes)
    raise ValueError(
        f"class_weight is {class_weight!r}, expected None, 'balanced' or a dict from the labels in y to "
        "positive numbers."
    )


def _factors_by_label(class_weight: Mapping[Any, Any], classes: np.ndarray) -> np.ndarray:
    position = {label: index for index, label in enumerate(classes.tolist())}
    factors = np.ones(len(classes))
    for label, factor in class_weight.items():
        plain = label.item() if isinstance(label, np.generic) else label
        if plain not in position:
            raise ValueError(
                f"class_weight has the label {label!r}, which is not in y; the classes are "
                f"{', '.join(map(repr, position))}."
            )
        if not np.isreal(factor) or not 0.0 < float(factor) < np.inf:
            raise ValueError(f"class_weight[{label!r}] is {factor!r}, expected a finite number above 0.")
        factors[position[plain]] = factor
    return factors
