"""Nearest points of the convex hulls of two classes, with a ridge that keeps them away from the border.

Problem   min_g  a'K a + r |a|^2,   a_i = y_i g_i,   g >= 0 of sum 1 within each class
Symbols   K (n, n) kernel matrix, y = +1 / -1, r > 0 the ridge: r -> 0 is the squared distance between the hulls of the
          two classes, r -> inf that between their means.
Step      1. pairs of one class (SMO): the sample of the smallest slope gains what the one with the largest decrease
          loses, n steps at a time, from equal g
          2. where this is slow, one run of the Newton machine, from where it got
Why       a 2 / (a'K a + r |a|^2) is a dual point of the machine with squared hinge, bias and C = 1 / (2 r), the best
          multiple of a, and the optimal value there is 2 / (optimal value here): its certified gap is the one here.
Stop      the certified gap <= tol
Output    a, the gap

R.-E. Fan, P.-H. Chen, C.-J. Lin: Working set selection using second order information, JMLR 6, 2005.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polykern._jit import jit
from polykern.losses import SquaredHinge
from polykern.machines.base import certify
from polykern.machines.choice import machine_for
from polykern.machines.matrix import CombinedMatrix
from polykern.problems.machine import MachineProblem

Array = NDArray[np.float64]

_ROUNDS_BEFORE_NEWTON, _MOST_ROUNDS = 3, 300
_EVEN = 1e-13  # of the slopes: differences below this are rounding


class NearestPoints(NamedTuple):
    """a of both classes, and how far its value may be from the smallest one, relative to it."""

    coef: Array
    gap: float


def nearest_points(matrix: CombinedMatrix, signs: Array, ridge: float, tol: float) -> NearestPoints:
    """Solve the problem to a relative gap of `tol`, or as far as floating point allows."""
    machine = MachineProblem(SquaredHinge(), signs, np.full(len(signs), 0.5 / ridge), True)
    best = _certified(matrix, machine, _shares(np.ones(len(signs)), signs) * signs, ridge)
    if matrix.dense is None:
        return _by_newton(matrix, machine, best, ridge, tol)
    shares, diagonal = np.abs(best.coef), matrix.diag()
    for n_rounds in range(_MOST_ROUNDS):
        if best.gap <= tol:
            break
        if n_rounds == _ROUNDS_BEFORE_NEWTON:
            best = _by_newton(matrix, machine, best, ridge, tol)
            shares = np.abs(best.coef)
            continue
        slopes = signs * matrix.matvec(signs * shares) + ridge * shares
        taken = _descend(matrix.dense, signs, diagonal, ridge, shares, slopes, len(signs))
        shares = _shares(shares, signs)
        best = min(best, _certified(matrix, machine, signs * shares, ridge), key=lambda found: found.gap)
        if taken == 0:
            break
    return best


def _shares(values: Array, signs: Array) -> Array:
    """`values` >= 0 scaled to sum to one within each class."""
    return values / np.where(signs > 0, values[signs > 0].sum(), values[signs < 0].sum())


def _multiple(coef: Array, outputs: Array, ridge: float) -> float:
    """The best multiple of a for the machine."""
    return 2.0 / (float(coef @ outputs) + ridge * float(coef @ coef))


def _certified(matrix: CombinedMatrix, machine: MachineProblem, coef: Array, ridge: float) -> NearestPoints:
    outputs = matrix.matvec(coef)
    scale = _multiple(coef, outputs, ridge)
    return NearestPoints(coef, certify(machine, scale * coef, scale * outputs, 0).gap)


def _by_newton(
    matrix: CombinedMatrix, machine: MachineProblem, start: NearestPoints, ridge: float, tol: float
) -> NearestPoints:
    scale = _multiple(start.coef, matrix.matvec(start.coef), ridge)
    found = machine_for(machine.loss).solve(matrix, machine, coef=scale * start.coef, tol=tol)
    shares = np.abs(found.coef)
    if found.gap >= start.gap or not (shares[machine.y > 0].any() and shares[machine.y < 0].any()):
        return start
    return _certified(matrix, machine, _shares(shares, machine.y) * machine.y, ridge)


@jit
def _extremes(signs, shares, slopes):
    """Of each class the position of the smallest slope, and the largest slope among the positive shares."""
    lowest, highest = np.array([np.inf, np.inf]), np.array([-np.inf, -np.inf])
    places = np.zeros(2, dtype=np.int64)
    for t in range(len(signs)):
        side = 0 if signs[t] > 0 else 1
        if slopes[t] < lowest[side]:
            lowest[side] = slopes[t]
            places[side] = t
        if shares[t] > 0.0 and slopes[t] > highest[side]:
            highest[side] = slopes[t]
    side = 0 if highest[0] - lowest[0] > highest[1] - lowest[1] else 1
    return places[side], highest[side] - lowest[side], max(abs(highest[side]), abs(lowest[side]))


@jit
def _partner(i, row, signs, diagonal, ridge, shares, slopes):
    """The j of the class of i whose share goes to i with the largest decrease, and the curvature of that step."""
    best, j, curved = -1.0, i, 1.0
    for t in range(len(signs)):
        if signs[t] == signs[i] and shares[t] > 0.0 and slopes[t] > slopes[i]:
            curvature = diagonal[i] + diagonal[t] - 2.0 * row[t] + 2.0 * ridge
            gain = (slopes[t] - slopes[i]) ** 2 / curvature
            if gain > best:
                best, j, curved = gain, t, curvature
    return j, curved


@jit
def _descend(matrix, signs, diagonal, ridge, shares, slopes, n_steps):
    """Up to n_steps of SMO within the classes, in place; returns how many: fewer where all slopes are even.

    matrix (n, n) float32 or float64; all others (n,) float64; slopes = y K (y shares) + ridge shares.
    """
    for taken in range(n_steps):
        i, difference, size = _extremes(signs, shares, slopes)
        if not difference > _EVEN * size:
            return taken
        j, curvature = _partner(i, matrix[i], signs, diagonal, ridge, shares, slopes)
        step = min((slopes[j] - slopes[i]) / curvature, shares[j])
        shares[i] += step
        shares[j] = shares[j] - step if step < shares[j] else 0.0
        signed, first, second = step * signs[i], matrix[i], matrix[j]
        for t in range(len(signs)):
            slopes[t] += signs[t] * signed * (np.float64(first[t]) - np.float64(second[t]))
        slopes[i] += ridge * step
        slopes[j] -= ridge * step
    return n_steps
