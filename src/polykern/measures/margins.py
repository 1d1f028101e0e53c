"""Margins of kernels: how far classes lie apart in feature space."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polykern.bank import KernelBank
from polykern.measures._certificate import checked_tol, warn_of_gap
from polykern.measures._input import classes_of, given_kernels, single_kernel
from polykern.measures.simplex_descent import descend
from polykern.parallel import run_blocks
from polykern.regularizers.kernel_margin import KernelMargin

Array = NDArray[np.float64]


def kernel_margin(K: Any, y: Any, *, weights: ArrayLike | None = None) -> Any:
    """Multi-class kernel margin: by how much samples are more similar to their own class than to the next one.

    mean over i of  ( mean of K(x_i, .) over the class of x_i  -  the largest mean of K(x_i, .) over another class )

    The class of x_i contains x_i itself. It grows with the scale of K: bring kernels to one scale before comparing.

    Parameters
    ----------
    K : (n, n) array, (F, n, n) array, list of matrices, or KernelBank
    y : (n,) array
        Labels of any kind.
    weights : (F,) array, optional
        Measure the kernel sum_k weights_k K_k in place of each kernel.

    Returns
    -------
    float, or (F,) array

    References
    ----------
    C. Cortes, M. Mohri, A. Rostamizadeh, "Multi-class classification with maximum margin multiple kernel", ICML 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import measures
    >>> measures.kernel_margin(np.eye(4), [0, 0, 1, 1])
    0.5
    """
    given = given_kernels(K, weights)
    return given.answer(sample_margins_of(given.kernels, classes_of(y, given.kernels.n_samples)).mean(axis=1))


def sample_margins(K: Any, y: Any, *, weights: ArrayLike | None = None) -> Array:
    """The kernel margin of every sample: (n,), or (F, n) for several kernels. Below 0: nearer to another class.

    Parameters are those of `kernel_margin`, which is the mean.

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import measures
    >>> x = np.array([1.0, 2.0, -1.0, -2.0])
    >>> measures.sample_margins(np.outer(x, x), [0, 0, 1, 1]).tolist()
    [3.0, 6.0, 3.0, 6.0]
    """
    given = given_kernels(K, weights)
    return np.asarray(given.answer(sample_margins_of(given.kernels, classes_of(y, given.kernels.n_samples))))


def hull_margin(K: Any, y: Any, *, weights: ArrayLike | None = None, tol: float = 1e-3) -> Any:
    """Distance between the convex hulls of the classes in feature space: 2 / |w| of the hard-margin machine.

    min | sum_i u_i phi(x_i) - sum_j v_j phi(x_j) |   over convex combinations u of one class and v of the others

    For more than two classes the smallest one, each class against all others together: what one-vs-rest machines face.

    Parameters
    ----------
    K, y, weights
        As in `kernel_margin`.
    tol : float
        The result is certified: two points of the hulls are that far apart, and no two are nearer by more than a share
        `tol`. Where the distance is below tol times the largest norm of a sample, the hulls meet, or nearly: 0.

    Returns
    -------
    float, or (F,) array

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import measures
    >>> x = np.array([1.0, 3.0, -1.0, -4.0])
    >>> round(measures.hull_margin(np.outer(x, x), [0, 0, 1, 1]), 6)
    2.0
    """
    given = given_kernels(K, weights)
    codes = classes_of(y, given.kernels.n_samples)
    return given.answer(hull_margins(given.kernels, codes, checked_tol(tol)))


def sample_margins_of(kernels: KernelBank, codes: NDArray[np.intp]) -> Array:
    """(F, n) kernel margins of every sample."""
    margins = KernelMargin(kernels, codes)
    return np.array([margins.of_samples(one) for one in np.eye(kernels.n_kernels)])


def hull_margins(kernels: KernelBank, codes: NDArray[np.intp], tol: float) -> Array:
    """(F,) distances of the nearest hulls."""
    n_classes = int(codes.max()) + 1
    singled_out = range(1 if n_classes == 2 else n_classes)
    distances = []
    for k in range(kernels.n_kernels):
        K = single_kernel(kernels, k)

        def of_class(c: int, K: NDArray[Any] = K) -> tuple[float, float]:
            return _hull_distance(K, np.where(codes == c, 1.0, -1.0), tol)

        found = run_blocks(of_class, singled_out, kernels.n_jobs)
        warn_of_gap(max(gap for _, gap in found), tol, f"the distance of hulls by {kernels.names[k]!r}")
        distances.append(min(distance for distance, _ in found))
    return np.array(distances)


def _hull_distance(K: NDArray[Any], signs: Array, tol: float) -> tuple[float, float]:
    """Distance, and by which share at most it is too large."""
    nothing = tol * np.sqrt(max(float(np.diagonal(K).max()), 0.0))

    def bounds(a: Array, gradient: Array) -> tuple[float, float]:
        """Distance of the two points, and the width of the gap between the hulls along the line through them."""
        distance = np.sqrt(max(float(a @ gradient), 0.0))
        between = float(gradient[signs > 0].min() + gradient[signs < 0].min())
        return distance, max(between, 0.0) / max(distance, 1e-300)

    def enough(a: Array, gradient: Array) -> bool:
        upper, lower = bounds(a, gradient)
        return upper - lower <= tol * upper or upper <= nothing

    upper, lower = bounds(*descend(K, signs, np.zeros(len(K)), enough))
    return (0.0, 0.0) if upper <= nothing else (upper, (upper - lower) / upper)
