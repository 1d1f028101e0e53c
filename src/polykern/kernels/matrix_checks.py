"""Is a given matrix a kernel matrix? Exact where it is small, cheap and honest about it where it is large."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern.kernels.layout import Location
from polykern.parallel import one_blas_thread, run_blocks, spans

MANY = 32  # matrices from which compiled passes are used: fewer are not worth the seconds that compiling takes once
PSD_TOLERANCE = 1e-5  # a smallest eigenvalue above -PSD_TOLERANCE * largest passes
_SYMMETRY_TOLERANCE = 1e-5  # relative to the largest entry looked at
_EXACT = 512  # matrices up to this size are checked in full
_FINITE = 2048  # up to this size every entry is looked at for NaN and infinity
_SAMPLE = 256  # rows of the principal submatrix that stands for a large matrix
_PAIRS = 4096  # further pairs (i, j), (j, i) compared in a large matrix
_SEED = 0
_WORTH_THREADS = 1 << 22  # entries below which starting threads costs more than it saves
_TILE = 1 << 17  # entries looked at for NaN and infinity at once: they stay in the cache


def check_matrices(
    matrices: Sequence[NDArray[Any]],
    places: Sequence[Location],
    label: Callable[[int], str],
    n_jobs: int | None = None,
) -> None:
    """`check_matrix` for many; `label(k)` names the k-th. Of many, those of low rank take one compiled pass.

    `places` are the locations of the matrices.
    """
    sure = np.zeros(len(matrices), dtype=bool)
    if len(matrices) >= MANY:
        from polykern.kernels.low_rank import surely_kernels  # loads Numba

        sure = surely_kernels(places, min(PSD_TOLERANCE, _SYMMETRY_TOLERANCE), _EXACT, n_jobs)
    left = np.flatnonzero(~sure).tolist()
    entries = sum(min(matrices[k].size, _FINITE**2) for k in left)
    with one_blas_thread():  # several threads are slower on blocks of this size
        run_blocks(lambda k: check_matrix(matrices[k], label(k)), left, n_jobs if entries > _WORTH_THREADS else 1)


def check_matrix(K: Any, label: str = "K") -> None:
    """Raise a ValueError unless K can be a kernel matrix: square, finite, symmetric, positive semidefinite.

    Up to 512 samples the check is exact. Larger matrices are checked on a principal submatrix of at most 256 samples
    drawn with a fixed seed, and for symmetry on 4096 further pairs: far less than one pass over the matrix. By
    interlacing, an eigenvalue of the submatrix below zero means that K has one at least as far below zero; the
    opposite does not hold, so a large indefinite matrix can pass. NaN and infinity are searched everywhere up to 2048
    samples; beyond, only in the entries looked at. `label` names the kernel in messages, such as "kernel 3 ('rna')".
    """
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"{label} has shape {K.shape}, expected a square matrix (n, n).")
    n = len(K)
    if n == 0:
        raise ValueError(f"{label} has shape (0, 0), expected at least one sample.")
    if _EXACT < n <= _FINITE:
        _check_finite(K, np.arange(n), label)
    sample = np.arange(n) if n <= _EXACT else _sample(n)
    block = np.array(K if n <= _EXACT else K[sample[:, None], sample], dtype=np.float64, subok=False)
    _check_finite(block, sample, label)
    _check_symmetric(block, sample, label)
    if n > _EXACT:
        _check_pairs(K, label)
    check_psd(block, label, n)


def check_psd(block: np.ndarray, label: str = "K", n_samples: int | None = None) -> None:
    """Raise a ValueError if a principal submatrix (or the whole) of a kernel matrix has a clearly negative eigenvalue.

    smallest eigenvalue < -1e-5 * largest. For a submatrix of `n_samples` samples in all, the largest eigenvalue of
    the whole is taken as (n_samples / size) times that of the submatrix.
    """
    size = len(block)
    if size == 0:
        return
    n_samples = size if n_samples is None else n_samples
    symmetric = block.astype(np.float64, copy=False) + block.T
    symmetric *= 0.5
    if _has_factor(symmetric, n_samples / size):
        return
    eigenvalues = np.linalg.eigvalsh(symmetric)
    smallest, largest = float(eigenvalues[0]), float(eigenvalues[-1]) * n_samples / size
    if smallest >= -PSD_TOLERANCE * max(largest, 0.0):
        return
    if size == n_samples:
        found = f"its most negative eigenvalue is {smallest:.4g}, its largest {largest:.4g}"
        way_out = (
            f"add at least {-smallest:.3g} to its diagonal, or clip its spectrum with polykern.kernels.nearest_psd(K)"
        )
    else:
        found = (
            f"{size} of its {n_samples} samples alone give a most negative eigenvalue of {smallest:.4g}, "
            "and that of the whole is at least as negative"
        )
        way_out = (
            "shift its diagonal, or clip its spectrum with polykern.kernels.nearest_psd(K), which takes O(n^3) time"
        )
    raise ValueError(f"{label} is not positive semidefinite: {found}; {way_out}.")


def _has_factor(block: np.ndarray, share: float) -> bool:
    """Whether a Cholesky factor shows that no eigenvalue is below -1e-5 * share * the largest; False settles nothing.

    block + shift * I has one only if no eigenvalue is below -shift, up to rounding. The shift is half of what is
    allowed, with |B x| / |x|, below the eigenvalue that is largest in size, in the place of the largest; if the former
    were a negative one, it would be far below -shift. A tenth of the time that all eigenvalues take.
    """
    diagonal = np.diagonal(block).copy()
    start = block[int(np.argmax(diagonal))]
    length = float(np.linalg.norm(start))
    largest = float(np.linalg.norm(block @ start)) / length if length > 0.0 else 0.0
    if not 0.0 < largest < np.inf:
        return False
    try:
        np.fill_diagonal(block, diagonal + 0.5 * PSD_TOLERANCE * share * largest)
        np.linalg.cholesky(block)
    except np.linalg.LinAlgError:
        return False
    finally:
        np.fill_diagonal(block, diagonal)
    return True


def nearest_psd(K: Any) -> np.ndarray:
    """The positive semidefinite matrix nearest to K in Frobenius norm.

    U max(Lambda, 0) U'  with  (K + K') / 2 = U Lambda U': negative eigenvalues of the symmetric part become 0.

    Takes O(n^3) time and works on a copy. It belongs to the samples given: new samples cannot be clipped the
    same way, so clip all samples at once.
    """
    matrix = np.asarray(K, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"K has shape {matrix.shape}, expected a square matrix (n, n).")
    _check_finite(matrix, np.arange(len(matrix)), "K")
    eigenvalues, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    positive = eigenvalues > 0
    scaled = vectors[:, positive] * np.sqrt(eigenvalues[positive])
    return scaled @ scaled.T


def _sample(n: int) -> np.ndarray:
    return np.sort(np.random.default_rng(_SEED).choice(n, min(n // 2, _SAMPLE), replace=False))


def _check_finite(block: np.ndarray, numbers: np.ndarray, label: str) -> None:
    for rows in spans(len(block), max(1, _TILE // max(1, len(block)))):
        finite = np.isfinite(block[rows])
        if finite.all():
            continue
        i, j = np.argwhere(~finite)[0] + (rows.start, 0)
        raise ValueError(f"{label} is {block[i, j]} at ({numbers[i]}, {numbers[j]}), expected finite kernel values.")


def _check_symmetric(block: np.ndarray, numbers: np.ndarray, label: str) -> None:
    if np.array_equal(block, block.T):
        return
    difference = np.abs(block - block.T)
    i, j = np.unravel_index(int(np.argmax(difference)), block.shape)
    if difference[i, j] > _SYMMETRY_TOLERANCE * np.abs(block).max():
        raise _asymmetric(label, numbers[i], numbers[j], block[i, j], block[j, i])


def _check_pairs(K: np.ndarray, label: str) -> None:
    i, j = np.random.default_rng(_SEED).integers(len(K), size=(2, _PAIRS))
    upper, lower = np.asarray(K[i, j], dtype=np.float64), np.asarray(K[j, i], dtype=np.float64)
    difference = np.abs(upper - lower)
    worst = int(np.argmax(difference))
    if difference[worst] > _SYMMETRY_TOLERANCE * max(np.abs(upper).max(), np.abs(lower).max()):
        raise _asymmetric(label, i[worst], j[worst], upper[worst], lower[worst])


def _asymmetric(label: str, i: int, j: int, upper: float, lower: float) -> ValueError:
    return ValueError(
        f"{label} is not symmetric: K[{i}, {j}] = {upper:.6g} but K[{j}, {i}] = {lower:.6g}; if that is rounding, "
        "pass (K + K.T) / 2."
    )
