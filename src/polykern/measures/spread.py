"""How far samples spread in feature space, and over how many directions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polykern.bank import KernelBank
from polykern.measures._certificate import checked_tol, warn_of_gap
from polykern.measures._input import given_kernels, single_kernel
from polykern.measures.simplex_descent import descend
from polykern.parallel import run_blocks
from polykern.weighting.frobenius import norms

Array = NDArray[np.float64]

# Of the largest eigenvalue: what is smaller is rounding of the entries.
_NEGLIGIBLE = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-14}

# Of the largest squared norm: squared radii below this are rounding.
_ROUNDING = 1e-13


def radius(K: Any, *, weights: ArrayLike | None = None, tol: float = 1e-3) -> Any:
    """Radius of the smallest ball that encloses all samples in feature space.

    min_z max_i |phi(x_i) - z|,   R^2 = max_a  a' diag(K) - a'Ka   over convex combinations a

    Parameters
    ----------
    K : (n, n) array, (F, n, n) array, list of matrices, or KernelBank
    weights : (F,) array, optional
        Measure the kernel sum_k weights_k K_k in place of each kernel.
    tol : float
        The result is certified: it is the radius of a ball that holds all samples, and none is smaller by more than a
        share `tol`.

    Returns
    -------
    float, or (F,) array

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import measures
    >>> x = np.array([0.0, 1.0, 4.0])
    >>> round(measures.radius(np.outer(x, x)), 6)
    2.0
    """
    given = given_kernels(K, weights)
    return given.answer(radii(given.kernels, checked_tol(tol)))


def spectral_ratio(K: Any, *, normalized: bool = False, weights: ArrayLike | None = None) -> Any:
    """Trace over Frobenius norm: 1 for a matrix of rank one, sqrt(n) for the identity.

    trace(K) / |K|;  normalized:  (trace(K) / |K| - 1) / (sqrt(n) - 1), in [0, 1]. Of kernels that fit the labels
    equally well, that of the smaller ratio is the simpler one.

    Parameters
    ----------
    K, weights
        As in `radius`.
    normalized : bool

    Returns
    -------
    float, or (F,) array
        0 for a kernel that is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import measures
    >>> measures.spectral_ratio(np.eye(9)), measures.spectral_ratio(np.eye(9), normalized=True)
    (3.0, 1.0)
    """
    given = given_kernels(K, weights)
    return given.answer(spectral_ratios(given.kernels, normalized))


def participation_ratio(K: Any, *, weights: ArrayLike | None = None) -> Any:
    """Number of directions that take part: trace(K)^2 / |K|^2, the square of `spectral_ratio`.

    From 1 (rank one) to n (identity); r for r equal eigenvalues and zeros. No eigenvalue is computed.

    Parameters and result are those of `radius`.

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import measures
    >>> round(measures.participation_ratio(np.diag([1.0, 1.0, 0.0])), 6)
    2.0
    """
    given = given_kernels(K, weights)
    return given.answer(spectral_ratios(given.kernels, normalized=False) ** 2)


def effective_rank(K: Any, *, weights: ArrayLike | None = None) -> Any:
    """Exponential of the entropy of the spectrum: from 1 (rank one) to n (identity).

    exp( - sum_j p_j log p_j ),   p_j = eigenvalue j / trace. All eigenvalues are computed: O(n^3).

    Parameters and result are those of `radius`.

    References
    ----------
    O. Roy, M. Vetterli, "The effective rank: a measure of effective dimensionality", EUSIPCO 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import measures
    >>> round(measures.effective_rank(np.diag([1.0, 1.0, 0.0])), 6)
    2.0
    """
    given = given_kernels(K, weights)
    return given.answer(effective_ranks(given.kernels))


def radii(kernels: KernelBank, tol: float) -> Array:
    """(F,) radii."""
    found = run_blocks(lambda k: _radius(single_kernel(kernels, k), tol), range(kernels.n_kernels), kernels.n_jobs)
    for (_, gap), name in zip(found, kernels.names, strict=True):
        warn_of_gap(gap, tol, f"the radius by {name!r}")
    return np.array([value for value, _ in found])


def spectral_ratios(kernels: KernelBank, normalized: bool) -> Array:
    """(F,) ratios of trace and norm."""
    traces = np.array([kernels.diag(one).sum() for one in np.eye(kernels.n_kernels)])
    sizes = norms(kernels)
    ratios = np.divide(traces, sizes, out=np.zeros_like(traces), where=sizes > 0.0)
    if not normalized:
        return ratios
    most = np.sqrt(kernels.n_samples)
    return np.clip((ratios - 1.0) / (most - 1.0), 0.0, 1.0) if most > 1.0 else np.zeros_like(ratios)


def effective_ranks(kernels: KernelBank) -> Array:
    """(F,) exponentials of the entropies."""
    every = range(kernels.n_kernels)
    return np.array(run_blocks(lambda k: _effective_rank(single_kernel(kernels, k)), every, kernels.n_jobs))


def _radius(K: NDArray[Any], tol: float) -> tuple[float, float]:
    """Radius, and by which share at most it is too large."""
    diagonal = np.diagonal(K).astype(np.float64)
    nothing = _ROUNDING * float(diagonal.max())

    def bounds(a: Array, gradient: Array) -> tuple[float, float]:
        """Squared radius of the ball around sum_i a_i phi(x_i) that holds all samples, and of none that is smaller."""
        at_least = -float(a @ gradient) + 0.5 * float(a @ diagonal)  # a' diag(K) - a'Ka
        spread = 2.0 * (float(a @ gradient) - float(gradient.min()))
        return at_least + spread, at_least

    def enough(a: Array, gradient: Array) -> bool:
        upper, lower = bounds(a, gradient)
        return upper <= nothing or bool(np.sqrt(upper) * (1.0 - tol) <= np.sqrt(max(lower, 0.0)))

    upper, lower = bounds(*descend(K, np.ones(len(K)), 0.5 * diagonal, enough))
    if upper <= nothing:
        return 0.0, 0.0
    return float(np.sqrt(upper)), 1.0 - float(np.sqrt(max(lower, 0.0) / upper))


def _effective_rank(K: NDArray[Any]) -> float:
    values = np.linalg.eigvalsh(K.astype(np.float64))
    there = values[values > _NEGLIGIBLE[K.dtype] * max(values[-1], 0.0)]
    if not there.size or there[-1] <= 0.0:
        return 0.0
    shares = there / there.sum()
    return float(np.exp(-(shares @ np.log(shares))))
