"""The multi-class kernel margin: how much nearer samples are to their own class than to the next one.

    eta_k(x_i, y_i, y) = mean of K_k(x_i, x') over class y_i  -  mean of K_k(x_i, x') over class y
    margin_i(b)        = min over y != y_i of  b . eta(x_i, y_i, y)
    margin(b)          = mean over i of margin_i(b)                                          (6)

The class of x_i contains x_i itself. Kernels enter through their products with the classes' mean columns alone: one
pass over them, F n (c - 1) numbers are kept, and the linear program (5) with its n (c - 1) rows is never written out.
In its place every visited b gives a cut: the margin is concave, piecewise linear and positively homogeneous in b, so
with y*_i the closest class of x_i at b, the mean over i of eta(x_i, y_i, y*_i) is a slope with
margin(b') <= slope . b' everywhere and equality at b.

Cortes, Mohri, Rostamizadeh: Multi-class classification with maximum margin multiple kernel, ICML 2013, sections 3-4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polykern.parallel import run_blocks, spans, worth_threads

if TYPE_CHECKING:
    from polykern.bank import KernelBank

Array = NDArray[np.float64]

# Where at most this share of the kernels is in use, they are summed one by one: the others are not read.
_FEW = 0.5
# Up to so many classes their means are products with as many columns; beyond, adding up the rows of one class after the
# other reads every entry once, whatever the number of classes.
_FEW_CLASSES = 20
_BLOCK_ENTRIES = 1 << 22  # numbers, of all kernels


class KernelMargin:
    """The empirical margin of every mixture of the kernels of `bank`, for classes y = 0 .. c - 1.

    Parameters
    ----------
    bank : KernelBank
        F kernels on n samples.
    y : (n,) array of int
        Class of each sample, two classes or more, none empty.

    Attributes
    ----------
    n_kernels, n_classes : int
    null : (F,) array of bool
        Kernels that are zero everywhere; their margin is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from polykern.bank import build_bank
    >>> from polykern.kernels import Linear
    >>> X = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> bank = build_bank([Linear()], X, normalize=None)
    >>> KernelMargin(bank, np.array([0, 1, 0, 1])).mean([1.0])
    2.0
    """

    def __init__(self, bank: KernelBank, y: NDArray[np.generic]) -> None:
        self.y = checked_classes(y, bank.n_samples)
        self.n_classes = int(self.y.max()) + 1
        self.n_kernels = bank.n_kernels
        self.null = bank.null
        # (F, c - 1, n): row j is about class j, or j + 1 from the own class on. Classes before samples: minima over the
        # classes of all samples at once are what every call asks for.
        self._eta = self._against_rivals(class_means(bank, self.y))
        self._rows = self._eta.reshape(len(self._eta), -1)

    def __repr__(self) -> str:
        return f"KernelMargin({self.n_kernels} kernels, {len(self.y)} samples, {self.n_classes} classes)"

    def _against_rivals(self, means: Array) -> Array:
        eta = np.empty((len(means), self.n_classes - 1, len(self.y)))
        samples = np.arange(len(self.y))
        for one, of_classes in zip(eta, means, strict=True):
            own = of_classes[self.y, samples]
            for j in range(self.n_classes - 1):
                np.subtract(own, of_classes[j + (j >= self.y), samples], out=one[j])
        return eta

    @property
    def differences(self) -> Array:
        """(F, n, c) eta_k(x_i, y_i, y), made anew; +inf for the own class, which is no rival."""
        found = np.full((self.n_kernels, len(self.y), self.n_classes), np.inf)
        samples = np.arange(len(self.y))
        for j in range(self.n_classes - 1):
            found[:, samples, j + (j >= self.y)] = self._eta[:, j]
        return found

    def of_samples(self, weights: ArrayLike) -> Array:
        """(n,) margin of each sample for these kernel weights."""
        return np.asarray(self._mixed(weights).min(axis=0))

    def mean(self, weights: ArrayLike) -> float:
        """The empirical margin (6)."""
        return float(self.of_samples(weights).mean())

    def cut(self, weights: ArrayLike) -> tuple[float, Array]:
        """The empirical margin, and the (F,) slope of a plane that touches it here and is above it everywhere."""
        mixed = self._mixed(weights)
        closest = mixed.argmin(axis=0)
        samples = np.arange(len(self.y))
        return float(mixed[closest, samples].mean()), self._eta[:, closest, samples].mean(axis=1)

    def minimum(self, weights: ArrayLike) -> tuple[float, Array]:
        """The smallest margin of a sample, and the (F,) slope of a plane that touches it here and is above it."""
        mixed = self._mixed(weights)
        row, sample = np.unravel_index(int(mixed.argmin()), mixed.shape)
        return float(mixed[row, sample]), self._eta[:, row, sample].copy()

    def _mixed(self, weights: ArrayLike) -> Array:
        """(c - 1, n): weights . eta."""
        given = np.asarray(weights, dtype=np.float64)
        if given.shape != (self.n_kernels,):
            raise ValueError(f"weights have shape {given.shape}, expected {(self.n_kernels,)}: one for each kernel.")
        used = np.flatnonzero(given)
        if len(used) > _FEW * len(given):
            return np.asarray((given @ self._rows).reshape(self._eta.shape[1:]))
        mixed, term = np.zeros(self._eta.shape[1:]), np.empty(self._eta.shape[1:])
        for k in used:
            mixed += np.multiply(self._eta[k], given[k], out=term)
        return mixed


def checked_classes(y: NDArray[np.generic], n_samples: int) -> NDArray[np.intp]:
    """`y` if it names the class of each sample, 0 .. c - 1, with two classes or more and none empty."""
    given = np.asarray(y)
    if given.shape != (n_samples,):
        raise ValueError(f"y has shape {given.shape}, expected {(n_samples,)}: one class for each sample of the bank.")
    if given.dtype.kind not in "iu":
        raise ValueError(
            f"y is of type {given.dtype}, expected integers 0 .. c - 1; "
            "np.unique(labels, return_inverse=True)[1] makes them of any labels."
        )
    if given.min() < 0:
        raise ValueError(f"y has the class {given.min()}, expected integers 0 .. c - 1; np.unique makes them.")
    counts = np.bincount(given)
    if len(counts) < 2:
        raise ValueError("y has one class, expected two or more: there is nothing to tell apart.")
    if not counts.all():
        empty = int(np.flatnonzero(counts == 0)[0])
        raise ValueError(
            f"y has no sample of class {empty}, expected classes 0 .. {len(counts) - 1} to have one each; "
            "np.unique(labels, return_inverse=True)[1] numbers labels without gaps."
        )
    return given.astype(np.intp)


def class_means(bank: KernelBank, y: NDArray[np.intp]) -> Array:
    """(F, c, n): mean of K_k(x_i, x') over the x' of each class."""
    counts = np.bincount(y)
    if len(counts) <= _FEW_CLASSES:
        members = y[:, np.newaxis] == np.arange(len(counts))
        return bank.scores(members / counts).transpose(0, 2, 1)
    height = max(1, _BLOCK_ENTRIES // (bank.n_kernels * bank.n_samples))
    means = np.zeros((bank.n_kernels, len(counts), bank.n_samples))

    def add_up(j: int) -> None:
        members = np.flatnonzero(y == j)
        for span in spans(len(members), height):
            block = bank.blocks(members[span], slice(0, bank.n_samples))
            means[:, j] += (np.ones((1, block.shape[1]), dtype=block.dtype) @ block)[:, 0]
        means[:, j] /= counts[j]

    work = bank.n_kernels * bank.n_samples**2
    run_blocks(add_up, range(len(counts)), worth_threads(bank.n_jobs, work))
    return means
