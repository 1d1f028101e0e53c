"""The learned kernel for other kernel machines."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import TransformerTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted


def _keeps_training_data(estimator: Any) -> bool:
    if not estimator.keep_training_data:
        raise AttributeError(
            f"transform needs the training samples, and this {type(estimator).__name__} keeps only its support "
            "vectors; make it with keep_training_data=True."
        )
    return True


class CombinedKernelMixin:
    """transform: the kernel that the model learned, between any samples and the training samples."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        if self.keep_training_data:  # type: ignore[attr-defined]
            tags.transformer_tags = TransformerTags(preserves_dtype=[])
        return tags

    @available_if(_keeps_training_data)
    def transform(self, X: Any) -> np.ndarray:
        """The combined kernel between X and the training samples.

        K_b(X, training) = sum_k weights_k K_k(X, training)

        Parameters
        ----------
        X : array-like or frame
            Samples as in `fit`.

        Returns
        -------
        ndarray of shape (m, n_train)
            Columns in the order of the samples of `fit`; samples of weight 0 took no part and have no column.
        """
        check_is_fitted(self)
        return self._combined_kernel(self._new_samples(X))  # type: ignore[attr-defined]

    @available_if(_keeps_training_data)
    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> np.ndarray:
        """Fit, then the combined kernel of the training samples among themselves, (n, n) and symmetric."""
        return self.fit(X, y, **fit_params).transform(X)  # type: ignore[attr-defined]
