"""Given matrices that are kernel matrices beyond doubt, found among many in one compiled pass.

Problem   Is K (n, n) finite, symmetric and positive semidefinite up to a tolerance t?
              |K_ij - K_ji| <= t max|K|      and      smallest eigenvalue of (K + K') / 2  >=  -t * largest
Symbols   L (r, n), rows of a Cholesky factor with pivots; R = K - L'L, what it leaves, and d, the diagonal of R;
          |.| the Euclidean norm (of all entries, for a matrix).
Given     matrices of up to a few hundred samples, many of them; few features or wide kernels make their rank low.
Step      p = argmax d;   l = (K_p - sum_s L_sp L_s) / sqrt(d_p),   the next row of L;   d <- d - l^2
Stop      when sum |d| and max d are so small that R passes the test below if it is positive semidefinite, or when
          most rows are used up.
Output    True, if all of R, computed entry by entry, shows it:
              |R| <= t (b - |R|),  b = |L l|^2 / |l|^2 for the longest row l of L,      2 max_i |R_i| <= t max_i K_ii.
          (K + K') / 2 = L'L + (R + R') / 2 has no eigenvalue below -|R|, while l'K l / l'l >= b - |R|; and
          |K_ij - K_ji| = |R_ij - R_ji| <= 2 max_i |R_i|. NaN or infinity anywhere in K makes |R| the same.
          False says nothing about K: an exact test has to look at it (matrix_checks.py).

O(n^2 r) per matrix, one reading of it from memory, sums in float64.
H. Harbrecht, M. Peters, R. Schneider (2012): On the low-rank approximation by the pivoted Cholesky decomposition,
Applied Numerical Mathematics 62, 428-440, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polykern._jit import array_at, jit
from polykern.kernels.layout import Alike, Location, alike
from polykern.parallel import run_compiled

# Rows of L: beyond, an exact test by LAPACK is not much slower.
MOST_ROWS = 64
# Entries of the matrices that one thread takes at a time.
PIECE_ENTRIES = 1 << 19


def surely_kernels(
    matrices: Sequence[Location], tolerance: float, largest_size: int, n_jobs: int | None = None
) -> NDArray[np.bool_]:
    """(F,) whether each matrix certainly is a kernel matrix; False where nobody knows, as above `largest_size`."""
    sure = np.zeros(len(matrices), dtype=bool)
    groups = [group for group in alike(matrices) if group.size <= largest_size]
    pieces = [piece for group in groups for piece in group.pieces(PIECE_ENTRIES)]

    def look(piece: Alike) -> None:
        found = np.zeros(len(piece.where), dtype=np.bool_)
        _look_through(piece.place, tolerance, MOST_ROWS, found)
        sure[piece.where] = found

    run_compiled(look, pieces, n_jobs)
    return sure


@jit
def _look_through(place, tolerance, most, found):
    """found[k] = whether matrix k passes."""
    addresses, like, n, stride = place
    # Rows are read by fours below, so there is room for a multiple of four.
    L, d, line = np.empty((most, n)), np.empty(n), np.empty(n)
    for k in range(addresses.size):
        K = array_at(addresses[k], like, n, stride)
        rank = _factor(K, tolerance, L, d)
        if rank <= most:
            left, worst = _remainder(K, L, rank, line)
            largest = 0.0
            for i in range(n):
                largest = max(largest, K[i, i])
            low = left <= tolerance * (_largest_eigenvalue(L, rank) - left)
            found[k] = low and 2.0 * worst <= tolerance * largest


@jit
def _factor(K, tolerance, L, d):
    """Rows of L from K; their number, or one more than there is room for."""
    n, most = d.size, L.shape[0]
    bound, largest = 0.0, 0.0
    for i in range(n):
        d[i] = K[i, i]
    for r in range(most + 1):
        trace, p = 0.0, 0
        for i in range(n):
            trace += abs(d[i])
        for i in range(n):
            if d[i] > d[p]:
                p = i
        pivot = d[p]
        if r == 0:
            largest = pivot
        # For R positive semidefinite, |R| <= trace and |R_i|^2 <= max d * trace.
        settled = trace <= 0.5 * tolerance * bound and 16.0 * pivot * trace <= (tolerance * largest) ** 2
        if settled or not pivot > 0.0:
            return r
        if r < most:
            bound = max(bound, _next_row(K, L, d, r, p))
    return most + 1


@jit
def _next_row(K, L, d, r, p):
    """Row r of L from the pivot p, taken off the diagonal d of what is left; its squared norm."""
    n = d.size
    for j in range(n):
        L[r, j] = K[p, j]
    for s in range(r):
        c = L[s, p]
        for j in range(n):
            L[r, j] -= c * L[s, j]
    scale, square = 1.0 / np.sqrt(d[p]), 0.0
    for j in range(n):
        L[r, j] *= scale
        square += L[r, j] * L[r, j]
        d[j] -= L[r, j] * L[r, j]
    d[p] = 0.0
    return square


@jit
def _remainder(K, L, rank, line):
    """|R| and max_i |R_i|."""
    n = line.size
    total, worst = 0.0, 0.0
    last = max(0, (rank - 1) // 4 * 4)
    for s in range(rank, last + 4):
        L[s] = 0.0
    for i in range(n):
        if last == 0:
            square = _square_less_four(K[i], L, 0, i)
        else:
            for j in range(n):
                line[j] = K[i, j]
            for s in range(0, last, 4):
                _take_four(line, L, s, i)
            square = _square_less_four(line, L, last, i)
        total += square
        worst = max(worst, square)
    return np.sqrt(total), np.sqrt(worst)


@jit
def _square_less_four(row, L, s, i):
    """|row - L_si L_s - .. of four rows of L|^2."""
    p, q, r, t = L[s], L[s + 1], L[s + 2], L[s + 3]
    a, b, c, d = p[i], q[i], r[i], t[i]
    total = 0.0
    for j in range(row.size):
        left = row[j] - ((a * p[j] + b * q[j]) + (c * r[j] + d * t[j]))
        total += left * left
    return total


@jit
def _take_four(line, L, s, i):
    """line -= L_si L_s + .. of four rows of L."""
    p, q, r, t = L[s], L[s + 1], L[s + 2], L[s + 3]
    a, b, c, d = p[i], q[i], r[i], t[i]
    for j in range(line.size):
        line[j] -= (a * p[j] + b * q[j]) + (c * r[j] + d * t[j])


@jit
def _largest_eigenvalue(L, rank):
    """|L l|^2 / |l|^2 for the longest row l of L: a lower bound on the largest eigenvalue of L'L."""
    longest, top = 0, 0.0
    for r in range(rank):
        square = 0.0
        for j in range(L.shape[1]):
            square += L[r, j] * L[r, j]
        if square > top:
            longest, top = r, square
    total = 0.0
    for r in range(rank):
        product = 0.0
        for j in range(L.shape[1]):
            product += L[r, j] * L[longest, j]
        total += product * product
    return total / top if top > 0.0 else 0.0
