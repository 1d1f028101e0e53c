"""Alignment: the cosine between kernel matrices, and between them and what the labels would like to see."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polykern.bank import KernelBank
from polykern.measures._input import given_kernels, targets_of
from polykern.weighting.frobenius import centred_norms, centred_products, norms, row_means
from polykern.weighting.target import centred_target_products, is_regression, target_products

Array = NDArray[np.float64]


def alignment(K: Any, y: Any, *, weights: ArrayLike | None = None) -> Any:
    """Cosine between a kernel and the target kernel of the labels.

    <K, T> / (|K| |T|)   in [-1, 1], for the matrix as it is. T = y y' with y = -1 / +1 for two classes; for more of
    them, c, T is 1 for samples of one class and -1 / (c - 1) for others; for real targets it is the product of their
    differences from the mean.

    Parameters
    ----------
    K : (n, n) array, (F, n, n) array, list of matrices, or KernelBank
    y : (n,) array
        Labels of any kind, or real targets.
    weights : (F,) array, optional
        Measure the kernel sum_k weights_k K_k in place of each kernel.

    Returns
    -------
    float, or (F,) array
        For several kernels one number each. 0 for a kernel that is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import measures
    >>> y = np.array([1, 1, -1, -1])
    >>> measures.alignment(np.outer(y, y), y)
    1.0
    >>> measures.alignment(np.eye(4), y)
    0.5
    """
    given = given_kernels(K, weights)
    return given.answer(alignments(given.kernels, targets_of(y, given.kernels.n_samples), centred=False))


def centred_alignment(K: Any, y: Any, *, weights: ArrayLike | None = None) -> Any:
    """Alignment of the centred kernel, which looks at distances from the mean: what is the same for all counts not.

    <H K H, T> / (|H K H| |H T H|),   H = I - 1 1' / n, with T as in `alignment`. No centred matrix is made.

    Parameters and result are those of `alignment`.

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import measures
    >>> y = np.array([1, 1, -1, -1])
    >>> round(measures.centred_alignment(np.outer(y, y) + 5.0, y), 6)
    1.0
    """
    given = given_kernels(K, weights)
    return given.answer(alignments(given.kernels, targets_of(y, given.kernels.n_samples), centred=True))


def alignment_matrix(K: Any, *, centred: bool = True) -> Array:
    """Cosines between all pairs of kernels: (F, F), of diagonal 1 (0 where a kernel is zero).

    <K_k, K_l> / (|K_k| |K_l|), of the centred kernels unless centred=False. Near 1: the two kernels say the same.

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import measures
    >>> measures.alignment_matrix([np.eye(2), np.ones((2, 2))], centred=False).round(3)
    array([[1.   , 0.707],
           [0.707, 1.   ]])
    """
    kernels = given_kernels(K).kernels
    means = row_means(kernels)
    products = centred_products(kernels, means)
    if not centred:
        n, totals = kernels.n_samples, means.mean(axis=1)
        products = products + 2.0 * n * (means @ means.T) - n**2 * np.outer(totals, totals)
    sizes = np.sqrt(np.maximum(np.diagonal(products), 0.0))
    sizes = _without_rounding(sizes, kernels, means) if centred else sizes
    return _shares(products, np.outer(sizes, sizes))


def alignments(kernels: KernelBank, targets: NDArray[Any], *, centred: bool) -> Array:
    """(F,) alignments with the target kernel."""
    means = row_means(kernels)
    if centred:
        products = centred_target_products(kernels, targets, means)
        sizes = _without_rounding(centred_norms(kernels, means), kernels, means)
    else:
        products, sizes = target_products(kernels, targets, means), norms(kernels)
    return _shares(products, sizes * _target_norm(targets, centred))


def _target_norm(targets: NDArray[Any], centred: bool) -> float:
    """|T| or |H T H|; of classes with the shares p: T = c / (c - 1) (sum_j 1_j 1_j' - 1 1' / c)."""
    n = len(targets)
    if is_regression(targets):
        return float(np.square(targets - targets.mean()).sum())
    shares = np.bincount(targets) / n
    c = len(shares)
    if not centred:
        same = float(shares @ shares)
        return n * float(np.sqrt(same + (1.0 - same) / (c - 1.0) ** 2))
    return n * c / (c - 1.0) * float(np.linalg.norm(np.diag(shares) - np.outer(shares, shares)))


def _without_rounding(sizes: Array, kernels: KernelBank, means: Array) -> Array:
    """Norms of centred kernels, 0 where only the rounding of what centring takes away is left."""
    taken = kernels.n_samples * np.abs(means.mean(axis=1))
    return np.where(sizes > 10.0 * np.finfo(kernels.dtype).eps * taken, sizes, 0.0)


def _shares(products: Array, sizes: Array) -> Array:
    """products / sizes, rounded into [-1, 1]; 0 where the size is 0."""
    cosines = np.divide(products, sizes, out=np.zeros_like(products), where=sizes > 0.0)
    return np.clip(cosines, -1.0, 1.0)
