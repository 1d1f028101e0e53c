"""Pickles of fitted models: the columns that prediction needs, never the matrices of precomputed kernels."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from polykern.kernels import Kernel, Precomputed


class MatrixLeftOut(Kernel):
    """Stands for a precomputed kernel in the parameters of a fitted model that has been pickled or copied.

    The model predicts as before, from the columns of its support vectors; to fit it again it needs its kernels back.
    """

    input_kind = "indices"

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape

    def resolve(self, X: Any) -> Kernel:
        self._refuse()

    def gram(self, X: Any, Z: Any = None) -> np.ndarray:
        self._refuse()

    def block(self, X: Any, Z: Any, dtype: Any = np.float64) -> np.ndarray:
        self._refuse()

    def diag(self, X: Any) -> np.ndarray:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ValueError(
            f"this model comes from a pickle or copy of a fitted model, which leaves out precomputed matrices (here "
            f"{self.shape}); to fit it again give it its kernels: model.set_params(kernels=...)."
        )


def without_matrices(kernels: Any) -> Any:
    """The same `kernels=`, with MatrixLeftOut in the place of every precomputed kernel."""
    if isinstance(kernels, Precomputed):
        return MatrixLeftOut(kernels.K.shape)
    if type(kernels) in (list, tuple):
        return type(kernels)(without_matrices(item) for item in kernels)
    return kernels
