"""Fitting to labels or values: the part that classification and regression share, and searches over C and p take up."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from polykern.bank import KernelBank
from polykern.estimators._base import BaseMKL
from polykern.estimators._inputs import Samples, sample_weights
from polykern.estimators._labels import Targets
from polykern.estimators._parameters import check_positive
from polykern.estimators._solve import Settings


@dataclass(frozen=True)
class TrainingData:
    """The samples of weight above 0, and where they stand in the user's X."""

    samples: Samples
    y: np.ndarray
    weights: np.ndarray
    rows: np.ndarray


class SupervisedMKL(BaseMKL):
    """One problem stated with y, at one cost C."""

    C: float

    @abstractmethod
    def _checked_y(self, y: Any, n_samples: int) -> np.ndarray:
        """(n,) labels or values, one per sample."""

    @abstractmethod
    def _unit_targets(self, y: np.ndarray, weights: np.ndarray) -> Targets:
        """The targets of these samples with the costs for C = 1."""

    def _calibrate(self, bank: KernelBank, targets: Targets, settings: Settings, data: TrainingData) -> None:
        """What is learned after the solution."""

    def _training_data(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        samples = self._training_samples(X)
        values = self._checked_y(y, len(samples))
        weights = sample_weights(sample_weight, len(samples))
        rows = np.flatnonzero(weights)
        return TrainingData(samples.take(rows), values[rows], weights[rows], rows)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        settings = self._settings()
        cost = check_positive("C", self.C, ": it is the cost of the losses")
        data = self._training_data(X, y, sample_weight)
        targets = self._unit_targets(data.y, data.weights).times(cost)
        bank = self._build_bank(data.samples, self.normalize)
        self._learn(bank, targets, settings, data.rows)
        self._calibrate(bank, targets, settings, data)
