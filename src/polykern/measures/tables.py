"""All measures of all kernels, and of their combination, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polykern.bank import KernelBank
from polykern.kernels import Kernel
from polykern.measures._certificate import checked_tol
from polykern.measures._input import bank_on, checked_mixture, classes_of, given_kernels, mixed
from polykern.measures.alignments import alignments
from polykern.measures.margins import hull_margins, sample_margins_of
from polykern.measures.spread import effective_ranks, radii, spectral_ratios

Codes = NDArray[np.intp]

MEASURES: dict[str, Callable[[KernelBank, Codes, float], Any]] = {
    "alignment": lambda kernels, codes, tol: alignments(kernels, codes, centred=False),
    "centred_alignment": lambda kernels, codes, tol: alignments(kernels, codes, centred=True),
    "kernel_margin": lambda kernels, codes, tol: sample_margins_of(kernels, codes).mean(axis=1),
    "hull_margin": hull_margins,
    "radius": lambda kernels, codes, tol: radii(kernels, tol),
    "spectral_ratio": lambda kernels, codes, tol: spectral_ratios(kernels, normalized=False),
    "participation_ratio": lambda kernels, codes, tol: spectral_ratios(kernels, normalized=False) ** 2,
    "effective_rank": lambda kernels, codes, tol: effective_ranks(kernels),
}


def table(
    kernels: Any,
    y: Any,
    X: Any = None,
    *,
    weights: ArrayLike | None = None,
    only: Sequence[str] | None = None,
    tol: float = 1e-3,
) -> dict[str, NDArray[Any]]:
    """Every measure of every kernel, and in the last row of their combination.

    Parameters
    ----------
    kernels : matrices, KernelBank, list of kernels as for the estimators, or fitted model
        Matrices (one, a list, an (F, n, n) array) and banks are taken as they are. Kernels need X, and get mean
        diagonal 1. A fitted model needs the X of its fit; its normalization and its weights are taken.
    y : (n,) array
        Labels of any kind.
    X : array or frame, optional
        Samples, for kernels and models.
    weights : (F,) array, optional
        Weights of the combination; those of the model, or else equal ones of sum 1.
    only : list of str, optional
        Names of the measures wanted; None is all of them. effective_rank takes O(n^3), hull_margin a quadratic program
        per class, the others a pass over the kernels or a few.
    tol : float
        Certified relative precision of hull_margin and radius.

    Returns
    -------
    dict of arrays
        "kernel" (names), "weight", and one array per measure, each with a number per kernel and one for the
        combination (which a single kernel has not). pandas.DataFrame(result) makes a frame of it.

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import kernels, measures
    >>> X, y = np.array([[0.0, 1.0], [0.2, 5.0], [3.0, 2.0], [3.1, 4.0]]), [0, 0, 1, 1]
    >>> found = measures.table([("first", kernels.RBF(), [0]), ("second", kernels.RBF(), [1])], y, X)
    >>> found["kernel"].tolist(), bool(found["kernel_margin"][0] > found["kernel_margin"][1])
    (['first', 'second', 'combination'], True)
    """
    wanted = _wanted(only)
    share = checked_tol(tol)
    bank, known = _bank_and_weights(kernels, X)
    codes = classes_of(y, bank.n_samples)
    given = known if weights is None else weights
    mixture = checked_mixture(np.full(bank.n_kernels, 1.0 / bank.n_kernels) if given is None else given, bank.n_kernels)
    names, banks = list(bank.names), [bank]
    if bank.n_kernels > 1:
        names, banks = [*names, "combination"], [bank, mixed(bank, mixture)]
    columns = {name: np.concatenate([MEASURES[name](one, codes, share) for one in banks]) for name in wanted}
    total = [mixture.sum()] if len(banks) == 2 else []
    return {"kernel": np.array(names, dtype=object), "weight": np.concatenate([mixture, total]), **columns}


def report(
    kernels: Any,
    y: Any,
    X: Any = None,
    *,
    weights: ArrayLike | None = None,
    only: Sequence[str] | None = None,
    tol: float = 1e-3,
) -> str:
    """The `table` as text, a line per kernel; parameters are those of `table`.

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import measures
    >>> text = measures.report([np.eye(2), np.ones((2, 2))], [0, 1], only=["alignment", "radius"])
    >>> for line in text.splitlines():
    ...     print(line.rstrip())
         kernel  weight  alignment  radius
       kernel 0     0.5     0.7071  0.7071
       kernel 1     0.5          0       0
    combination       1     0.3162     0.5
    """
    found = table(kernels, y, X, weights=weights, only=only, tol=tol)
    texts = [
        [name, *(value if isinstance(value, str) else f"{value:.4g}" for value in column)]
        for name, column in found.items()
    ]
    widths = [max(map(len, column)) for column in texts]
    rows = zip(*texts, strict=True)
    return "\n".join("  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in rows)


def _wanted(only: Sequence[str] | None) -> list[str]:
    names = list(MEASURES) if only is None else [only] if isinstance(only, str) else list(only)
    unknown = [name for name in names if name not in MEASURES]
    if unknown or not names:
        found = f"holds {unknown[0]!r}, which is not known" if unknown else "is empty"
        raise ValueError(f"only {found}; known are {', '.join(map(repr, MEASURES))}.")
    return names


def _bank_and_weights(kernels: Any, X: Any) -> tuple[KernelBank, Any]:
    """The kernels as a bank, and the weights that a model has learned."""
    if hasattr(kernels, "kernel_names_"):
        weights = np.asarray(kernels.weights_)
        if weights.ndim != 1:
            raise ValueError(
                f"kernels is a model with weights of shape {weights.shape}, one set per output, and a table has one "
                "combination: pass weights= and the kernels themselves, or fit with share_weights=True."
            )
        return bank_on(kernels.kernels, _data(X, "a model"), kernels.normalize, kernels.kernel_names_), weights
    if X is None and not _needs_data(kernels):
        return given_kernels(kernels).kernels, None
    return bank_on(kernels, _data(X, "kernels that are not matrices")), None


def _needs_data(kernels: Any) -> bool:
    if isinstance(kernels, str | Kernel):
        return True
    items = kernels if isinstance(kernels, list | tuple) else []
    return any(isinstance(item, str | Kernel) or _is_named_kernel(item) for item in items)


def _is_named_kernel(item: Any) -> bool:
    return isinstance(item, tuple) and any(isinstance(part, str | Kernel) for part in item[1:])


def _data(X: Any, what: str) -> Any:
    if X is None:
        raise ValueError(f"X is None, expected the samples: {what} cannot be measured without them.")
    return X
