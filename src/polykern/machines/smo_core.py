"""The compiled loops of sequential minimal optimisation, on one dense matrix.

    min_a  1/2 a'Ka - linear'a + sum_i kink_i |a_i|      lower <= a <= upper,  sum(a) kept or free

K (m, m) is float32 or float64, everything else float64 (m,); gradient = Ka - linear leaves the kinks out. At a = 0 a
kink makes the slope one-sided, so every variable has an upward and a downward slope:

    up_i   = gradient_i + (kink_i if a_i >= 0 else -kink_i)      +inf at the upper bound
    down_i = gradient_i + (kink_i if a_i >  0 else -kink_i)      -inf at the lower bound

and a is optimal when max(down) <= min(up). `up_offset` and `down_offset` hold the second terms, which turns the
selection loops into plain streams without branches. The position of an extreme value is found in the same pass: its
bits, read as an integer of the same order, carry the index in their lowest bits, and minima of integers vectorise
under any floating-point rules. The chosen variable is the best one up to rounding in the bits that the index took,
and any violating pair makes a valid step.

Selection: R.-E. Fan, P.-H. Chen, C.-J. Lin, "Working set selection using second order information for training support
vector machines", JMLR 6, 2005 (WSS 2), here with one-sided slopes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polykern._jit import jit

Vector = NDArray[np.float64]

_TINY_CURVATURE = (
    1e-12  # of the largest diagonal entry: the curvature of directions in which K is flat or rounds below 0
)
_BISECTIONS = 30


class Box(NamedTuple):
    """What stays fixed while the variables move; all float64 (m,)."""

    diagonal: Vector
    lower: Vector
    upper: Vector
    kink: Vector


class Point(NamedTuple):
    """What moves, in place; all float64 (m,)."""

    coef: Vector
    gradient: Vector
    up_offset: Vector
    down_offset: Vector


@jit
def _set_offsets(i, coef, box, up_offset, down_offset):
    kink = box.kink[i]
    up_offset[i] = np.inf if coef[i] >= box.upper[i] else (kink if coef[i] >= 0.0 else -kink)
    down_offset[i] = -np.inf if coef[i] <= box.lower[i] else (kink if coef[i] > 0.0 else -kink)


@jit
def fill_offsets(coef, box, up_offset, down_offset):
    """Write the second terms of up and down for every variable."""
    for i in range(coef.shape[0]):
        _set_offsets(i, coef, box, up_offset, down_offset)


@jit
def _lowest_up(gradient, up_offset, row_i, row_j, step, mask):
    """Apply a pair step to the gradient; the index of the lowest upward slope."""
    best = np.int64(0x7FFFFFFFFFFFFFFF)
    for k in range(gradient.shape[0]):
        slope = gradient[k] + step * (np.float64(row_i[k]) - np.float64(row_j[k]))
        gradient[k] = slope
        bits = np.float64(slope + up_offset[k]).view(np.int64)
        bits = bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)  # negative numbers sort backwards as integers: flip them
        best = min(best, (bits & ~mask) | k)
    return best & mask


@jit
def _best_partner(gradient, down_offset, row_i, diagonal, diagonal_i, up_i, flat, mask):
    """The index j of the largest gain (down_j - up_i)^2 / (K_ii + K_jj - 2 K_ij) among down_j > up_i."""
    best = np.int32(0)
    for k in range(gradient.shape[0]):
        violation = np.float32(gradient[k] + down_offset[k] - up_i)
        violation = violation if violation > np.float32(0.0) else np.float32(0.0)
        curvature = np.float32(diagonal[k] + diagonal_i - 2.0 * row_i[k])
        curvature = curvature if curvature > flat else flat
        bits = np.float32(violation * violation / curvature).view(np.int32)
        best = max(best, (bits & ~mask) | np.int32(k))
    return np.int64(best & mask)


@jit
def _best_single(gradient, up_offset, down_offset, row, step, inverse_diagonal, mask):
    """Apply a single step to the gradient; the index of the largest gain slope^2 / K_kk of a single step."""
    best = np.int64(0)
    for k in range(gradient.shape[0]):
        slope = gradient[k] + step * np.float64(row[k])
        gradient[k] = slope
        upward = -(slope + up_offset[k])
        downward = slope + down_offset[k]
        violation = upward if upward > downward else downward
        violation = violation if violation > 0.0 else 0.0
        bits = np.float64(violation * violation * inverse_diagonal[k]).view(np.int64)
        best = max(best, (bits & ~mask) | k)
    return best & mask


@jit
def _step_length(slope, curvature, room, first_kink, first_jump, second_kink, second_jump):
    """Where the slope of a convex piecewise quadratic turns positive along the step, at most `room`.

    At the distances first_kink and second_kink (inf: none) the slope jumps up.
    """
    length = 0.0
    while True:
        end = min(room, min(first_kink, second_kink))
        reach = length - slope / curvature
        if reach <= end or end >= room:
            return min(reach, room)
        slope += curvature * (end - length)
        length = end
        if end == first_kink:
            slope += first_jump
            first_kink = np.inf
        if end == second_kink:
            slope += second_jump
            second_kink = np.inf
        if slope >= 0.0:
            return length


@jit
def _moved(value, step, lower, upper):
    """value + step, put exactly on a bound or on 0 when it lands there up to rounding."""
    target = value + step
    rounding = 4e-16 * max(abs(value), abs(step))
    if target >= upper - rounding:
        return upper
    if target <= lower + rounding:
        return lower
    return 0.0 if abs(target) <= rounding else target


@jit
def _index_mask(m):
    """As many low bits set as an index below m needs."""
    mask = 1
    while mask < m:
        mask *= 2
    return mask - 1


@jit
def pair_steps(matrix, box, point, n_steps):
    """Up to n_steps of SMO that keep sum(a); returns how many: fewer when no pair violates optimality any more."""
    coef, gradient, up_offset, down_offset = point
    diagonal, lower, upper, kink = box
    mask = np.int64(_index_mask(coef.shape[0]))
    tiny = _TINY_CURVATURE * np.max(diagonal) + 1e-300
    flat = np.float32(max(1e-7 * np.max(diagonal), 1e-30))
    i, j, step = 0, 0, 0.0
    for taken in range(n_steps):
        i = _lowest_up(gradient, up_offset, matrix[i], matrix[j], step, mask)
        step = 0.0
        up_i = gradient[i] + up_offset[i]
        j_best = _best_partner(gradient, down_offset, matrix[i], diagonal, diagonal[i], up_i, flat, np.int32(mask))
        slope = up_i - gradient[j_best] - down_offset[j_best]
        if not slope < 0.0:
            return taken
        j = j_best
        step = _step_length(
            slope,
            max(diagonal[i] + diagonal[j] - 2.0 * matrix[i, j], tiny),
            min(upper[i] - coef[i], coef[j] - lower[j]),
            -coef[i] if coef[i] < 0.0 else np.inf,
            2.0 * kink[i],
            coef[j] if coef[j] > 0.0 else np.inf,
            2.0 * kink[j],
        )
        coef[i] = _moved(coef[i], step, lower[i], upper[i])
        coef[j] = _moved(coef[j], -step, lower[j], upper[j])
        _set_offsets(i, coef, box, up_offset, down_offset)
        _set_offsets(j, coef, box, up_offset, down_offset)
    _lowest_up(gradient, up_offset, matrix[i], matrix[j], step, mask)
    return n_steps


@jit
def single_steps(matrix, box, point, n_steps):
    """Up to n_steps of coordinate descent, best gain first; returns how many: fewer when every slope is optimal."""
    coef, gradient, up_offset, down_offset = point
    diagonal, lower, upper, kink = box
    mask = np.int64(_index_mask(coef.shape[0]))
    tiny = _TINY_CURVATURE * np.max(diagonal) + 1e-300
    inverse_diagonal = 1.0 / np.maximum(diagonal, tiny)
    i, step = 0, 0.0
    for taken in range(n_steps):
        i = _best_single(gradient, up_offset, down_offset, matrix[i], step, inverse_diagonal, mask)
        step = 0.0
        up, down = gradient[i] + up_offset[i], gradient[i] + down_offset[i]
        curvature = max(diagonal[i], tiny)
        if up < 0.0:
            turn = -coef[i] if coef[i] < 0.0 else np.inf
            step = _step_length(up, curvature, upper[i] - coef[i], turn, 2.0 * kink[i], np.inf, 0.0)
        elif down > 0.0:
            turn = coef[i] if coef[i] > 0.0 else np.inf
            step = -_step_length(-down, curvature, coef[i] - lower[i], turn, 2.0 * kink[i], np.inf, 0.0)
        else:
            return taken
        coef[i] = _moved(coef[i], step, lower[i], upper[i])
        _set_offsets(i, coef, box, up_offset, down_offset)
    _best_single(gradient, up_offset, down_offset, matrix[i], step, inverse_diagonal, mask)
    return n_steps


@jit
def _residual(coef, gradient, box, bias):
    """The duality gap at this bias, and its slope in the bias.

    sum_i max_v phi_i(a_i) - phi_i(v),   phi_i(v) = v (gradient_i + bias) + kink_i |v|,   v between the bounds.
    """
    gap, slope = 0.0, 0.0
    for i in range(coef.shape[0]):
        pull = gradient[i] + bias
        target = box.lower[i] if pull > box.kink[i] else min(max(0.0, box.lower[i]), box.upper[i])
        target = box.upper[i] if pull < -box.kink[i] else target
        gap += (coef[i] - target) * pull + box.kink[i] * (abs(coef[i]) - abs(target))
        slope += coef[i] - target
    return gap, slope


@jit
def gap_and_bias(box, point, with_bias):
    """The duality gap of the sub-problem and the bias that makes it smallest (0 without a bias).

    It is convex and piecewise linear in the bias, least between -max(down) and -min(up): bisection on the slope.
    """
    coef, gradient, up_offset, down_offset = point
    if not with_bias:
        return _residual(coef, gradient, box, 0.0)[0], 0.0
    low, high = -np.max(gradient + down_offset), -np.min(gradient + up_offset)
    if not low < high:  # optimal; one end may be infinite where every variable is at one bound
        bias = 0.5 * (low + high) if np.isfinite(low) and np.isfinite(high) else (low if np.isfinite(low) else high)
        bias = bias if np.isfinite(bias) else 0.0
        return _residual(coef, gradient, box, bias)[0], bias
    bias = 0.5 * (low + high)
    for _ in range(_BISECTIONS):
        slope = _residual(coef, gradient, box, bias)[1]
        if slope > 0.0:
            high = bias
        elif slope < 0.0:
            low = bias
        else:
            break
        bias = 0.5 * (low + high)
    return _residual(coef, gradient, box, bias)[0], bias
