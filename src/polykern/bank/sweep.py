"""One pass over many matrices in compiled code: their weighted sum, their products with a vector, their forms.

The matrices are symmetric, of one type and (n, n) each; they are given by their addresses, so that one call goes
through a stack as well as through a list of the user's own matrices. Of each only the upper triangle is read, every
entry once, whatever is made of it: products are memory-bound, and half of the bytes is half of the time. Sums of
products are float64, whatever the type of the entries (see `products`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern._jit import array_at, jit
from polykern.parallel import run_compiled

Array = NDArray[np.float64]

# Pieces of a pass: a fixed number, never that of the threads, so that sums are made in the same order on any machine.
PIECES = 8
# Entries below which one piece is as fast as several.
SMALL = 1 << 18
# Entries of the combined matrix that are worked on at once: they stay in the cache of one core.
BAND_ENTRIES = 1 << 17
# Shorter rows are read whole: loops over parts of them, and adding up the pieces, would cost more than is saved.
SHORT_ROWS = 512
# Entries of short rows that are added up at once where the rows follow each other: they stay in the first cache.
FLAT_ENTRIES = 4096
# Side of the squares in which a triangle is mirrored.
SQUARE = 16


@dataclass(frozen=True)
class Matrices:
    """Symmetric (n, n) matrices in memory: where each begins, and entries from row to row."""

    addresses: NDArray[np.int64]
    n_samples: int
    stride: int
    like: NDArray[Any]  # an empty array of their type
    keep: Any  # what the addresses point into

    @classmethod
    def of(cls, matrices: Sequence[NDArray[Any]] | NDArray[Any], start: int, n_samples: int) -> Matrices | None:
        """Samples start .. start + n_samples of every matrix; None where they do not lie in one and the same way."""
        kinds = {(one.dtype, one.strides) for one in matrices}
        if len(kinds) != 1:
            return None
        dtype, (step, width) = kinds.pop()
        if dtype not in (np.float32, np.float64) or width != dtype.itemsize or step % width or step < 0:
            return None
        first = start * (step + width)
        addresses = np.array([one.__array_interface__["data"][0] + first for one in matrices], dtype=np.int64)
        return cls(addresses, n_samples, step // width, np.empty(0, dtype), matrices)

    def take(self, wanted: NDArray[np.intp]) -> Matrices:
        """Some of the matrices."""
        return Matrices(self.addresses[wanted], self.n_samples, self.stride, self.like, self.keep)

    @property
    def place(self) -> tuple[NDArray[np.int64], NDArray[Any], int, int]:
        """What compiled code wants to know."""
        return self.addresses, self.like, self.n_samples, self.stride

    @property
    def n_entries(self) -> int:
        """Entries of all matrices."""
        return len(self.addresses) * self.n_samples**2


def add_up(some: Matrices, factors: Array, combined: NDArray[Any], n_jobs: int | None) -> None:
    """combined += sum_k factors_k K_k on and above the diagonal, and below it where the rows are short."""
    weights = factors.astype(combined.dtype)
    n_pieces = PIECES if some.n_entries > SMALL else 1
    if some.n_samples < SHORT_ROWS and some.stride == some.n_samples and combined.flags.c_contiguous:
        flat = combined.reshape(-1)
        cuts = _even_cuts(len(flat), n_pieces)

        def work(cut: tuple[int, int]) -> None:
            for first in range(*cut, FLAT_ENTRIES):
                _add_up_flat(some.place, weights, (first, min(first + FLAT_ENTRIES, cut[1])), flat)
    else:
        cuts = _rows_of_equal_area(some.n_samples, n_pieces)

        def work(cut: tuple[int, int]) -> None:
            for band in _bands(cut, some.n_samples):
                _add_up(some.place, weights, band, combined)

    run_compiled(work, cuts, n_jobs if len(cuts) > 1 else 1)


def add_and_multiply(
    some: Matrices, factors: Array, vector: Array, combined: NDArray[Any], n_jobs: int | None
) -> Array:
    """combined += sum_k factors_k K_k on and above the diagonal; returns K_k @ vector, (F, n)."""
    weights = factors.astype(combined.dtype)
    add = _add_and_multiply_rows if some.n_samples < SHORT_ROWS else _add_and_multiply_triangle

    def work(cut: tuple[int, int], products: Array) -> None:
        for band in _bands(cut, some.n_samples):
            add(some.place, weights, vector, band, combined, products)

    return _products(some, work, n_jobs)


def multiply(some: Matrices, vector: Array, n_jobs: int | None) -> Array:
    """K_k @ vector for every matrix: (F, n)."""
    one = _multiply_rows if some.n_samples < SHORT_ROWS else _multiply_triangle
    return _products(some, lambda cut, products: one(some.place, vector, cut, products), n_jobs)


def _products(some: Matrices, work: Callable[[tuple[int, int], Array], None], n_jobs: int | None) -> Array:
    """(F, n) products that `work` makes of spans of rows: whole rows into one array, triangles into one array each."""
    by_rows = some.n_samples < SHORT_ROWS
    n_pieces = PIECES if some.n_entries > SMALL else 1
    cuts = _even_cuts(some.n_samples, n_pieces) if by_rows else _rows_of_equal_area(some.n_samples, n_pieces)
    shape = (len(some.addresses), some.n_samples)
    parts = np.empty((1, *shape)) if by_rows else np.zeros((len(cuts), *shape))
    pieces = [(cut, parts[0 if by_rows else place]) for place, cut in enumerate(cuts)]
    run_compiled(lambda piece: work(*piece), pieces, n_jobs if n_pieces > 1 else 1)
    return parts[0] if len(parts) == 1 else np.asarray(parts.sum(axis=0))


def quadratic(some: Matrices, vector: Array, n_jobs: int | None) -> Array:
    """vector' K_k vector for every matrix: (F,)."""
    out = np.empty(len(some.addresses))
    n_pieces = PIECES if some.n_entries > SMALL else 1
    if len(out) < 4 * n_pieces:  # few large matrices: cut the rows, otherwise the list
        rows = _rows_of_equal_area(some.n_samples, n_pieces)
        parts = np.empty((len(rows), len(out)))
        work = [(slice(0, len(out)), span, part) for span, part in zip(rows, parts, strict=True)]
    else:
        cuts = 4 * (np.arange(n_pieces + 1) * len(out) // (4 * n_pieces))
        cuts[-1] = len(out)
        spans = [slice(first, last) for first, last in zip(cuts[:-1], cuts[1:], strict=True)]
        parts = out[np.newaxis]
        work = [(span, (0, some.n_samples), out[span]) for span in spans]

    def one(task: tuple[slice, tuple[int, int], Array]) -> None:
        span, rows, result = task
        _quadratic((some.addresses[span], *some.place[1:]), vector, rows, result)

    run_compiled(one, work, n_jobs if n_pieces > 1 else 1)
    return np.asarray(parts.sum(axis=0))


def mirror_upper(matrix: NDArray[Any], n_jobs: int | None) -> bool:
    """Copy what is above the diagonal below it; whether all of it is finite."""
    n = len(matrix)
    cuts = _rows_of_equal_area(n, PIECES if n * n > SMALL else 1)

    def work(cut: tuple[int, int]) -> bool:
        _mirror(matrix, cut)
        return _is_finite(matrix, cut)

    return all(run_compiled(work, cuts, n_jobs if len(cuts) > 1 else 1))


def _bands(span: tuple[int, int], n: int) -> Iterator[tuple[int, int]]:
    """Consecutive parts of a span of rows, each with few enough entries for the cache."""
    height = max(1, BAND_ENTRIES // n)
    for first in range(span[0], span[1], height):
        yield first, min(first + height, span[1])


def _even_cuts(n: int, pieces: int) -> list[tuple[int, int]]:
    """Consecutive spans of nearly equal length."""
    cuts = (np.arange(pieces + 1) * n // pieces).tolist()
    return [(first, last) for first, last in zip(cuts[:-1], cuts[1:], strict=True) if last > first]


def _rows_of_equal_area(n: int, pieces: int) -> list[tuple[int, int]]:
    """Spans of rows that hold equal parts of the upper triangle."""
    cuts = np.round(n * (1.0 - np.sqrt(1.0 - np.arange(pieces + 1) / pieces))).astype(int).tolist()
    return [(first, last) for first, last in zip(cuts[:-1], cuts[1:], strict=True) if last > first]


@jit
def _add_and_multiply_triangle(matrices, weights, vector, span, combined, products):
    """Rows `span` of the upper triangles, four matrices at a time; `products` gets their share of K_k @ vector."""
    addresses, like, n, stride = matrices
    k = 0
    while k + 4 <= addresses.size:
        A, B = array_at(addresses[k], like, n, stride), array_at(addresses[k + 1], like, n, stride)
        C, D = array_at(addresses[k + 2], like, n, stride), array_at(addresses[k + 3], like, n, stride)
        wa, wb, wc, wd = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        for i in range(span[0], span[1]):
            a, b, c, d = A[i, i:n], B[i, i:n], C[i, i:n], D[i, i:n]
            target, right, here = combined[i, i:n], vector[i:n], vector[i]
            pa, pb, pc, pd = products[k, i:n], products[k + 1, i:n], products[k + 2, i:n], products[k + 3, i:n]
            sa, sb, sc, sd = -a[0] * here, -b[0] * here, -c[0] * here, -d[0] * here
            for j in range(n - i):
                ea, eb, ec, ed, v = a[j], b[j], c[j], d[j], right[j]
                target[j] += (wa * ea + wb * eb) + (wc * ec + wd * ed)
                sa += ea * v
                sb += eb * v
                sc += ec * v
                sd += ed * v
                pa[j] += ea * here
                pb[j] += eb * here
                pc[j] += ec * here
                pd[j] += ed * here
            pa[0] += sa
            pb[0] += sb
            pc[0] += sc
            pd[0] += sd
        k += 4
    while k < addresses.size:
        A, wa = array_at(addresses[k], like, n, stride), weights[k]
        for i in range(span[0], span[1]):
            a, target, right, here, pa = A[i, i:n], combined[i, i:n], vector[i:n], vector[i], products[k, i:n]
            sa = -a[0] * here
            for j in range(n - i):
                ea = a[j]
                target[j] += wa * ea
                sa += ea * right[j]
                pa[j] += ea * here
            pa[0] += sa
        k += 1


@jit
def _add_and_multiply_rows(matrices, weights, vector, span, combined, products):
    """The same from whole rows: no other piece writes to the rows `span` of the products."""
    addresses, like, n, stride = matrices
    k = 0
    while k + 4 <= addresses.size:
        A, B = array_at(addresses[k], like, n, stride), array_at(addresses[k + 1], like, n, stride)
        C, D = array_at(addresses[k + 2], like, n, stride), array_at(addresses[k + 3], like, n, stride)
        wa, wb, wc, wd = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        for i in range(span[0], span[1]):
            a, b, c, d, target = A[i, :n], B[i, :n], C[i, :n], D[i, :n], combined[i]
            sa, sb, sc, sd = 0.0, 0.0, 0.0, 0.0
            for j in range(n):
                ea, eb, ec, ed, v = a[j], b[j], c[j], d[j], vector[j]
                target[j] += (wa * ea + wb * eb) + (wc * ec + wd * ed)
                sa += ea * v
                sb += eb * v
                sc += ec * v
                sd += ed * v
            products[k, i], products[k + 1, i], products[k + 2, i], products[k + 3, i] = sa, sb, sc, sd
        k += 4
    while k < addresses.size:
        A, wa = array_at(addresses[k], like, n, stride), weights[k]
        for i in range(span[0], span[1]):
            a, target, sa = A[i, :n], combined[i], 0.0
            for j in range(n):
                ea = a[j]
                target[j] += wa * ea
                sa += ea * vector[j]
            products[k, i] = sa
        k += 1


@jit
def _multiply_triangle(matrices, vector, span, products):
    """Share of the rows `span` of the upper triangles in K_k @ vector, four rows for one pass over the products."""
    addresses, like, n, stride = matrices
    for k in range(addresses.size):
        A, p = array_at(addresses[k], like, n, stride), products[k]
        i = span[0]
        while i + 4 <= span[1]:
            for row in range(i, i + 4):  # the corner at the diagonal
                p[row] += A[row, row] * vector[row]
                for j in range(row + 1, i + 4):
                    p[row] += A[row, j] * vector[j]
                    p[j] += A[row, j] * vector[row]
            a, b, c, d = A[i, i + 4 : n], A[i + 1, i + 4 : n], A[i + 2, i + 4 : n], A[i + 3, i + 4 : n]
            va, vb, vc, vd = vector[i], vector[i + 1], vector[i + 2], vector[i + 3]
            right, below = vector[i + 4 : n], p[i + 4 : n]
            sa, sb, sc, sd = 0.0, 0.0, 0.0, 0.0
            for j in range(n - i - 4):
                ea, eb, ec, ed, v = a[j], b[j], c[j], d[j], right[j]
                sa += ea * v
                sb += eb * v
                sc += ec * v
                sd += ed * v
                below[j] += (ea * va + eb * vb) + (ec * vc + ed * vd)
            p[i] += sa
            p[i + 1] += sb
            p[i + 2] += sc
            p[i + 3] += sd
            i += 4
        while i < span[1]:
            a, right, below, va = A[i, i + 1 : n], vector[i + 1 : n], p[i + 1 : n], vector[i]
            sa = A[i, i] * va
            for j in range(n - i - 1):
                sa += a[j] * right[j]
                below[j] += a[j] * va
            p[i] += sa
            i += 1


@jit
def _multiply_rows(matrices, vector, span, products):
    """Rows `span` of K_k @ vector, four rows at a time."""
    addresses, like, n, stride = matrices
    for k in range(addresses.size):
        A = array_at(addresses[k], like, n, stride)
        i = span[0]
        while i + 4 <= span[1]:
            a, b, c, d = A[i, :n], A[i + 1, :n], A[i + 2, :n], A[i + 3, :n]
            sa, sb, sc, sd = 0.0, 0.0, 0.0, 0.0
            for j in range(n):
                v = vector[j]
                sa += a[j] * v
                sb += b[j] * v
                sc += c[j] * v
                sd += d[j] * v
            products[k, i], products[k, i + 1], products[k, i + 2], products[k, i + 3] = sa, sb, sc, sd
            i += 4
        while i < span[1]:
            a, sa = A[i, :n], 0.0
            for j in range(n):
                sa += a[j] * vector[j]
            products[k, i] = sa
            i += 1


@jit
def _quadratic(matrices, vector, span, out):
    """Share of the rows `span` in the forms, four matrices at a time; rows where the vector is zero are not read."""
    addresses, like, n, stride = matrices
    k = 0
    while k + 4 <= addresses.size:
        A, B = array_at(addresses[k], like, n, stride), array_at(addresses[k + 1], like, n, stride)
        C, D = array_at(addresses[k + 2], like, n, stride), array_at(addresses[k + 3], like, n, stride)
        ta, tb, tc, td = 0.0, 0.0, 0.0, 0.0
        for i in range(span[0], span[1]):
            here = vector[i]
            if here == 0.0:
                continue
            a, b, c, d, right = A[i, i:n], B[i, i:n], C[i, i:n], D[i, i:n], vector[i:n]
            sa, sb, sc, sd = -0.5 * a[0] * here, -0.5 * b[0] * here, -0.5 * c[0] * here, -0.5 * d[0] * here
            for j in range(n - i):
                v = right[j]
                sa += a[j] * v
                sb += b[j] * v
                sc += c[j] * v
                sd += d[j] * v
            ta += here * sa
            tb += here * sb
            tc += here * sc
            td += here * sd
        out[k], out[k + 1], out[k + 2], out[k + 3] = 2.0 * ta, 2.0 * tb, 2.0 * tc, 2.0 * td
        k += 4
    while k < addresses.size:
        A, ta = array_at(addresses[k], like, n, stride), 0.0
        for i in range(span[0], span[1]):
            here = vector[i]
            if here == 0.0:
                continue
            a, right = A[i, i:n], vector[i:n]
            sa = -0.5 * a[0] * here
            for j in range(n - i):
                sa += a[j] * right[j]
            ta += here * sa
        out[k] = 2.0 * ta
        k += 1


@jit
def _mirror(matrix, span):
    """Columns left of the diagonal from the rows `span`, in squares that fit the cache: written along the rows, which
    costs a third of writing down the columns."""
    n = matrix.shape[0]
    for top in range(span[0], span[1], SQUARE):
        bottom = min(top + SQUARE, span[1])
        for left in range(top, n, SQUARE):
            for j in range(left, min(left + SQUARE, n)):
                row = matrix[j]
                for i in range(top, min(bottom, j)):
                    row[i] = matrix[i, j]


@jit
def _is_finite(matrix, span):
    """Every entry on and above the diagonal of the rows `span` is finite."""
    n = matrix.shape[0]
    for i in range(span[0], span[1]):
        row, zero = matrix[i, i:n], 0.0
        for j in range(n - i):
            zero += 0.0 * row[j]
        if zero != 0.0:
            return False
    return True


@jit
def _add_up(matrices, weights, span, combined):
    """Rows `span` of the upper triangles, four matrices at a time."""
    addresses, like, n, stride = matrices
    k = 0
    while k + 4 <= addresses.size:
        A, B = array_at(addresses[k], like, n, stride), array_at(addresses[k + 1], like, n, stride)
        C, D = array_at(addresses[k + 2], like, n, stride), array_at(addresses[k + 3], like, n, stride)
        wa, wb, wc, wd = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        for i in range(span[0], span[1]):
            a, b, c, d, target = A[i, i:n], B[i, i:n], C[i, i:n], D[i, i:n], combined[i, i:n]
            for j in range(n - i):
                target[j] += (wa * a[j] + wb * b[j]) + (wc * c[j] + wd * d[j])
        k += 4
    while k < addresses.size:
        A, wa = array_at(addresses[k], like, n, stride), weights[k]
        for i in range(span[0], span[1]):
            a, target = A[i, i:n], combined[i, i:n]
            for j in range(n - i):
                target[j] += wa * a[j]
        k += 1


@jit
def _add_up_flat(matrices, weights, span, flat):
    """Entries `span` of whole matrices whose rows follow each other, eight matrices at a time."""
    addresses, like, n, _ = matrices
    first, last = span
    total, k = flat[first:last], 0
    while k + 8 <= addresses.size:
        a, b = (
            array_at(addresses[k], like, 1, n * n)[0, first:last],
            array_at(addresses[k + 1], like, 1, n * n)[0, first:last],
        )
        c, d = (
            array_at(addresses[k + 2], like, 1, n * n)[0, first:last],
            array_at(addresses[k + 3], like, 1, n * n)[0, first:last],
        )
        e, f = (
            array_at(addresses[k + 4], like, 1, n * n)[0, first:last],
            array_at(addresses[k + 5], like, 1, n * n)[0, first:last],
        )
        g, h = (
            array_at(addresses[k + 6], like, 1, n * n)[0, first:last],
            array_at(addresses[k + 7], like, 1, n * n)[0, first:last],
        )
        wa, wb, wc, wd = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        we, wf, wg, wh = weights[k + 4], weights[k + 5], weights[k + 6], weights[k + 7]
        for j in range(last - first):
            half = (wa * a[j] + wb * b[j]) + (wc * c[j] + wd * d[j])
            total[j] += half + ((we * e[j] + wf * f[j]) + (wg * g[j] + wh * h[j]))
        k += 8
    while k < addresses.size:
        a, wa = array_at(addresses[k], like, 1, n * n)[0, first:last], weights[k]
        for j in range(last - first):
            total[j] += wa * a[j]
        k += 1
