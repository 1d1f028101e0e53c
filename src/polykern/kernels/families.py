"""Families of kernels as the papers use them: grids of widths and degrees, on all features and on each one.

Every helper returns a list of (name, kernel, columns), ready for `kernels=`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

from sklearn.base import clone

from polykern.kernels.base import Kernel
from polykern.kernels.columns import column_names, is_frame
from polykern.kernels.convert import as_kernel
from polykern.kernels.vectors import RBF, Linear, Polynomial

Entry = tuple[str, Kernel, Any]

SIMPLEMKL_WIDTHS = (0.5, 1.0, 2.0, 5.0, 7.0, 10.0, 12.0, 15.0, 17.0, 20.0)
SIMPLEMKL_DEGREES = (1, 2, 3)
_GRID_POWERS = range(-5, 6)
_FEW_FEATURES = 30  # up to here the default family looks at single features too


def family(X: Any, kernels: Iterable[Any], each_feature: bool = True) -> list[Entry]:
    """Every kernel on all features and, with `each_feature`, on each feature alone.

    `X` is the data, the number of features, or their names; features are called by name where they have one.
    `kernels` are kernels or (name, kernel).
    """
    templates = [_named(item) for item in kernels]
    if not templates:
        raise ValueError("kernels is empty, expected at least one kernel.")
    views: list[tuple[str, Any]] = [("all", None)]
    if each_feature:
        views += [(str(feature), [feature]) for feature in _features(X)]
    return [(f"{name} [{view}]", clone(kernel), columns) for view, columns in views for name, kernel in templates]


def simplemkl_family(X: Any) -> list[Entry]:
    """The 13 (d + 1) kernels of the SimpleMKL paper: Gaussians and polynomials on all features and on each.

    exp(-|x - z|^2 / (2 s^2)) for s in 0.5, 1, 2, 5, 7, 10, 12, 15, 17, 20, and (x . z + 1)^degree for degree in 1, 2,
    3. Made for standardised features; the paper scales each kernel to unit trace (normalize="trace"). `X` as in
    `family`.
    """
    gaussians = [(f"rbf s={width:g}", RBF.from_sigma(width)) for width in SIMPLEMKL_WIDTHS]
    polynomials = [(f"poly {degree}", Polynomial(degree=degree, coef0=1.0)) for degree in SIMPLEMKL_DEGREES]
    return family(X, [*gaussians, *polynomials])


def rbf_grid(
    gammas: Sequence[float] | None = None, *, widths: Sequence[float] | None = None, columns: Any = None
) -> list[Entry]:
    """Gaussian kernels exp(-gamma |x - z|^2) over a grid.

    `gammas`, or `widths` s with gamma = 1 / (2 s^2); without either, 2^-5, 2^-4, .., 2^5 times the data's own "scale".
    """
    if gammas is not None and widths is not None:
        raise ValueError("rbf_grid got both gammas and widths, expected one of them.")
    if gammas is not None:
        named = [(f"rbf gamma={gamma:g}", RBF(gamma=gamma)) for gamma in gammas]
    elif widths is not None:
        named = [(f"rbf s={width:g}", RBF.from_sigma(width)) for width in widths]
    else:
        named = [(f"rbf {_fraction(power)} scale", RBF(gamma="scale", scale_by=2.0**power)) for power in _GRID_POWERS]
    if not named:
        raise ValueError("rbf_grid got an empty grid, expected at least one number.")
    return [(name + _suffix(columns), kernel, columns) for name, kernel in named]


def default_kernels(n_features: int | Any) -> list[Entry]:
    """The kernels of kernels="default": linear, a quadratic, five Gaussian widths; up to 30 features, also one
    Gaussian on each.

    Widths are 1/16, 1/4, 1, 4 and 16 times "scale" = 1 / (d * X.var()). `n_features` as X in `family`.
    """
    shared: list[tuple[str, Kernel]] = [("linear", Linear()), ("poly 2", Polynomial(degree=2, gamma="scale"))]
    shared += [(f"rbf {_fraction(power)} scale", RBF(scale_by=2.0**power)) for power in (-4, -2, 0, 2, 4)]
    entries = family(n_features, shared, each_feature=False)
    features = _features(n_features)
    if 1 < len(features) <= _FEW_FEATURES:
        entries += [(f"rbf [{feature}]", RBF(), [feature]) for feature in features]
    return entries


def _named(item: Any) -> tuple[str, Kernel]:
    if isinstance(item, tuple):
        if len(item) != 2 or not isinstance(item[0], str):
            raise TypeError(f"kernels holds the tuple {item!r}, expected (name, kernel).")
        return item[0], as_kernel(item[1])
    return (item if isinstance(item, str) else repr(item)), as_kernel(item)


def _features(X: Any) -> list[Any]:
    """Names of the features where they have some, otherwise their positions."""
    if isinstance(X, Integral) and not isinstance(X, bool):
        if X < 1:
            raise ValueError(f"the number of features is {X}, expected at least 1.")
        return list(range(int(X)))
    if is_frame(X):
        return [name if isinstance(name, str) else position for position, name in enumerate(column_names(X) or [])]
    if getattr(X, "ndim", None) == 2:
        return list(range(X.shape[1]))
    if isinstance(X, Iterable) and not isinstance(X, str):
        names = list(X)
        if names and all(isinstance(name, str) for name in names):
            return names
    raise TypeError(
        "X is neither a table (n_samples, n_features), nor a number of features, nor a list of their names."
    )


def _fraction(power: int) -> str:
    return f"{2**power}x" if power >= 0 else f"1/{2**-power}x"


def _suffix(columns: Any) -> str:
    if columns is None:
        return " [all]"
    if isinstance(columns, (list, tuple)):
        return f" [{', '.join(map(str, columns))}]"
    return f" [{getattr(columns, '__name__', None) or columns}]"
