"""The compiled steps of the multiclass hinge: exact in the row of one sample; outputs stand class by class, (c, n)."""

from __future__ import annotations

import numpy as np

from polykern._jit import jit


@jit
def residuals(labels, costs, coef, outputs):
    """(n,) part of each sample in the duality gap: C loss(outputs_i) - a_i . y_i + a_i . outputs_i >= 0."""
    c, n = outputs.shape
    largest, products = np.empty(n), np.zeros(n)
    for i in range(n):
        largest[i] = outputs[labels[i], i]
    for j in range(c):
        row = outputs[j]
        for i in range(n):
            products[i] += coef[i, j] * row[i]
            if j != labels[i]:
                largest[i] = max(largest[i], row[i] + 1.0)
    for i in range(n):
        own = labels[i]
        products[i] = max(costs[i] * (largest[i] - outputs[own, i]) - coef[i, own] + products[i], 0.0)
    return products


@jit
def _residual(own, cost, row, outputs, i):
    """The same for one sample."""
    largest = outputs[own, i]
    product = row[own] * outputs[own, i]
    for j in range(row.size):
        if j != own:
            largest = max(largest, outputs[j, i] + 1.0)
            product += row[j] * outputs[j, i]
    return cost * (largest - outputs[own, i]) - row[own] + product


@jit
def _threshold(values, size):
    """t with sum_j max(0, values_j - t) = size, by Newton's method from below: t rises, and ends at the root exactly.

    The sum is convex and piecewise linear in t, with few pieces between here and the root.
    """
    n = values.size
    total = 0.0
    for j in range(n):
        total += values[j]
    t = (total - size) / n
    count = n
    while True:
        above, inside = 0.0, 0
        for j in range(n):
            if values[j] > t:
                above += values[j]
                inside += 1
        if inside == 0 or inside == count:
            return t
        t, count = max((above - size) / inside, t), inside


@jit
def best_row(own, cost, curvature, row, values):
    """The best row of one sample, the others fixed, from its outputs, in their place: C y_j - shares.

    The shares max(0, v_j - t) / curvature sum to C. All is multiplied by the curvature, which may be next to nothing:
    then the problem is linear, and the share of the largest v_j is all of C.
    """
    c, best = row.size, own
    for j in range(c):
        values[j] += 1.0 - curvature * row[j]
    values[own] += curvature * cost - 1.0
    for j in range(c):
        if values[j] > values[best]:
            best = j
    size, total = abs(values[best]), 0.0
    t = _threshold(values, curvature * cost)
    for j in range(c):
        values[j] = max(0.0, values[j] - t)
        total += values[j]
    if total <= 1e-12 * size or total == 0.0:
        values[:] = 0.0
        values[best] = total = 1.0
    for j in range(c):
        values[j] *= -cost / total
    values[own] += cost


@jit
def sweep(block, labels, costs, coef, outputs, least, backward):
    """One step on every row of a block whose part of the gap is above `least`; coef and outputs follow."""
    b, c = coef.shape
    values = np.empty(c)
    for place in range(b):
        i = b - 1 - place if backward else place
        own, cost, column = labels[i], costs[i], block[i]
        if cost <= 0.0 or _residual(own, cost, coef[i], outputs, i) <= least:
            continue
        values[:] = outputs[:, i]
        best_row(own, cost, max(np.float64(column[i]), 0.0), coef[i], values)
        for j in range(c):
            change = values[j] - coef[i, j]
            if change != 0.0:
                coef[i, j] = values[j]
                target = outputs[j]
                for k in range(b):
                    target[k] += change * column[k]
