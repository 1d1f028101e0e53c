"""Kernels on rows of numbers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from polykern.kernels._checks import check_degree, check_not_negative, check_positive, is_number
from polykern.kernels.base import Kernel
from polykern.kernels.columns import select_columns
from polykern.kernels.pairwise import require_non_negative
from polykern.kernels.widths import gamma_from
from polykern.parallel import spans

_TILE = 1 << 16  # entries handled at once, so that the passes of one formula meet in the cache
_EXP_COST = 10.0  # an exponential, in multiply-adds


class Linear(Kernel):
    """Inner product of two rows.

    k(x, z) = x . z
    """

    base = "dot"

    def diag(self, X: Any) -> np.ndarray:
        return _squared_norms(select_columns(X))

    def from_base(self, block: np.ndarray, out: np.ndarray) -> None:
        if out is not block:
            np.copyto(out, block)

    def entry_cost(self, n_features: int) -> float:
        return float(n_features)


class Polynomial(Kernel):
    """Inner products of all monomials up to a degree.

    k(x, z) = (gamma x . z + coef0)^degree, with a whole degree >= 1, coef0 >= 0 and gamma > 0 a number or "scale" = 1
    / (d * X.var()), which is 1 on constant data.
    """

    base = "dot"

    def __init__(self, degree: int = 3, coef0: float = 1.0, gamma: float | str = 1.0) -> None:
        self.degree = degree
        self.coef0 = coef0
        self.gamma = gamma
        self.check_parameters()

    def check_parameters(self) -> None:
        check_degree(self.degree, "Polynomial")
        check_not_negative(self.coef0, "coef0", "Polynomial")
        check_positive(self.gamma, "gamma", "Polynomial", ("scale",))

    @property
    def is_resolved(self) -> bool:
        return is_number(self.gamma)

    def resolve(self, X: Any) -> Kernel:
        self.check_parameters()
        if self.is_resolved:
            return self
        gamma = gamma_from(str(self.gamma), select_columns(X), "squared_distance")
        return type(self)(degree=self.degree, coef0=self.coef0, gamma=gamma)

    def diag(self, X: Any) -> np.ndarray:
        kernel = self.resolve(X)
        out = _squared_norms(select_columns(X))
        kernel.from_base(out, out)
        return out

    def from_base(self, block: np.ndarray, out: np.ndarray) -> None:
        gamma, coef0 = _resolved_gamma(self), float(self.coef0)
        for rows in _row_tiles(out):
            tile = np.multiply(block[rows], gamma)
            tile += coef0
            _power(tile, int(self.degree), out[rows])

    def entry_cost(self, n_features: int) -> float:
        return float(n_features + 2 + self.degree)


# exp of less is 0 beside the diagonal's 1 in float32. Left as they are, such entries times a weight become denormal
# numbers, and every pass over the kernels takes twice as long.
_NOTHING = -60.0


class _Exponential(Kernel):
    """exp(-gamma * distance) for the distance that `base` names."""

    rules: ClassVar[tuple[str, ...]]
    terms_per_feature = 1.0
    gamma: float | str
    scale_by: float

    def check_parameters(self) -> None:
        owner = type(self).__name__
        check_positive(self.gamma, "gamma", owner, self.rules)
        check_positive(self.scale_by, "scale_by", owner)

    @property
    def is_resolved(self) -> bool:
        return is_number(self.gamma)

    def resolve(self, X: Any) -> Kernel:
        self.check_parameters()
        if self.is_resolved and self.scale_by == 1.0:
            return self
        number = self.gamma if self.is_resolved else gamma_from(str(self.gamma), self.read(X), str(self.base))
        return type(self)(gamma=float(number) * self.scale_by)

    def diag(self, X: Any) -> np.ndarray:
        return np.ones(len(self.read(X)))

    def from_base(self, block: np.ndarray, out: np.ndarray) -> None:
        factor = -_resolved_gamma(self) * float(self.scale_by)
        for rows in _row_tiles(out):
            tile = out[rows]
            np.multiply(block[rows], factor, out=tile, casting="same_kind")
            if tile.dtype == np.float32:
                np.putmask(tile, tile < _NOTHING, -np.inf)
            np.exp(tile, out=tile)

    def entry_cost(self, n_features: int) -> float:
        return self.terms_per_feature * n_features + _EXP_COST


class RBF(_Exponential):
    """Gaussian kernel.

    k(x, z) = exp(-gamma |x - z|^2), gamma = scale_by * (a number, or one of the rules below)

    "scale": 1 / (d * X.var()); "mean": 1 / mean of |x - z|^2; "median": 1 / median of |x - z|^2, both over all pairs
    of training samples (the median on 2000 rows, drawn with a fixed seed, where there are more; on the pairs that
    differ where most are equal). On data whose rows are all equal the three rules give 1, as scikit-learn's "scale"
    does.
    """

    base = "squared_distance"
    rules = ("scale", "mean", "median")

    def __init__(self, gamma: float | str = "scale", scale_by: float = 1.0) -> None:
        self.gamma = gamma
        self.scale_by = scale_by
        self.check_parameters()

    @classmethod
    def from_sigma(cls, sigma: float) -> RBF:
        """The Gaussian kernel of width sigma: exp(-|x - z|^2 / (2 sigma^2))."""
        check_positive(sigma, "sigma", cls.__name__)
        return cls(gamma=0.5 / float(sigma) ** 2)


class Laplacian(_Exponential):
    """Laplacian kernel on the city-block distance.

    k(x, z) = exp(-gamma sum_f |x_f - z_f|), gamma = scale_by * (a number, or "mean" = 1 / mean distance, "median" = 1
    / median distance)
    """

    base = "l1_distance"
    rules = ("mean", "median")
    terms_per_feature = 2.0

    def __init__(self, gamma: float | str = "mean", scale_by: float = 1.0) -> None:
        self.gamma = gamma
        self.scale_by = scale_by
        self.check_parameters()


class Chi2(_Exponential):
    """Exponential chi-squared kernel of histograms (features >= 0).

    k(x, z) = exp(-gamma * 1/2 sum_f (x_f - z_f)^2 / (x_f + z_f)), gamma = scale_by * (a number, or "mean" = 1 / mean
    distance, "median" = 1 / median distance; None is "mean"). scikit-learn's chi2_kernel has no 1/2: its gamma is
    half of this one.
    """

    base = "chi2_distance"
    rules = ("mean", "median")
    terms_per_feature = 6.0

    def __init__(self, gamma: float | str | None = None, scale_by: float = 1.0) -> None:
        self.gamma = gamma  # type: ignore[assignment]
        self.scale_by = scale_by
        self.check_parameters()

    def check_parameters(self) -> None:
        if self.gamma is not None:
            super().check_parameters()
        check_positive(self.scale_by, "scale_by", "Chi2")

    def resolve(self, X: Any) -> Kernel:
        self.read(X)
        kernel = self if self.gamma is not None else type(self)(gamma="mean", scale_by=self.scale_by)
        return super(Chi2, kernel).resolve(X)

    def read(self, X: Any, label: str = "X") -> np.ndarray:
        return _histograms(X, "Chi2", label)


class HistogramIntersection(Kernel):
    """Common mass of two histograms (features >= 0).

    k(x, z) = sum_f min(x_f, z_f)
    """

    base = "min_sum"

    def resolve(self, X: Any) -> Kernel:
        self.read(X)
        return self

    def read(self, X: Any, label: str = "X") -> np.ndarray:
        return _histograms(X, "HistogramIntersection", label)

    def diag(self, X: Any) -> np.ndarray:
        return self.read(X).sum(axis=1, dtype=np.float64)

    def from_base(self, block: np.ndarray, out: np.ndarray) -> None:
        if out is not block:
            np.copyto(out, block)

    def entry_cost(self, n_features: int) -> float:
        return 2.0 * n_features


class Cosine(Kernel):
    """Cosine of the angle between two rows.

    k(x, z) = x . z / (|x| |z|); a row of zeros has no direction: its values are 0, also with itself.
    """

    base = "cosine"

    def diag(self, X: Any) -> np.ndarray:
        return np.asarray(np.any(select_columns(X), axis=1), dtype=np.float64)

    def from_base(self, block: np.ndarray, out: np.ndarray) -> None:
        if out is not block:
            np.copyto(out, block)

    def entry_cost(self, n_features: int) -> float:
        return float(n_features)


def _squared_norms(X: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)


def _histograms(X: Any, owner: str, label: str) -> np.ndarray:
    table = select_columns(X, None, label)
    require_non_negative(table, owner)
    return table


def _resolved_gamma(kernel: Any) -> float:
    if not is_number(kernel.gamma):
        raise ValueError(f"{kernel!r} reads gamma off the training data: call kernel.resolve(X_train) first.")
    return float(kernel.gamma)


def _row_tiles(out: np.ndarray) -> list[slice]:
    """Tiles along the first axis, whatever the number of axes."""
    return spans(len(out), max(1, _TILE * len(out) // max(1, out.size)))


def _power(values: np.ndarray, degree: int, out: np.ndarray) -> None:
    """values^degree by repeated squaring, into out; np.power is an order of magnitude slower. `values` is used up."""
    out.fill(1.0)
    while True:
        if degree & 1:
            out *= values
        degree >>= 1
        if not degree:
            return
        values *= values
