"""The compiled steps on one sample after another: subgradient steps in the primal, exact steps in the dual.

Everything is kept in one coefficient matrix a (n, T), the paper's theta_k = q sum_i a_i phi_k(x_i) for every kernel k:

    S_k = tr(a' K_k a)      u_k = (sqrt(S_k) - l1)_+      b_k = (u_k / |u|_q)^(q - 2) u_k / sqrt(S_k)
    f_k = b_k K_k a         |f|_{2,r} = |u|_q             so the weights b and a alone are the solution

A block of coming samples is gathered beforehand, the scores (K_k a)_i of all kernels (B, F, T). A step on one of them
changes those of the samples behind it through the entries K_k between them, and S_k through the scores at hand:
S_k(a + d e_i) = S_k + 2 d . (K_k a)_i + |d|^2 K_k(i, i). Common factors of all coefficients are one number, `SCALE`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polykern._jit import array_at, jit
from polykern.machines.crammer_singer_core import best_row as best_row_of_classes

Array = NDArray[np.float64]

# Losses by number, and what the numbers of a model mean.
MULTICLASS, HINGE, SQUARED_HINGE, SMOOTH_HINGE, LOGISTIC, EPSILON_INSENSITIVE, SQUARED = range(7)
SCALE, STEPS, PROXIMAL, UPDATES, SIZE, MISSING, RESTARTED = range(7)
ONLINE, PROJECTED, HARMONIC = range(3)

_MOST_NEWTON, _MOST_SEARCHES = 40, 12
_OVERSHOOT = 0.3  # of the slope at the beginning of a dual step may be left at its end
_LEAST_CURVATURE = 1e-12
_ROUNDING = 1e-9  # of the slope at the beginning: a step that ends at the peak may be past it by that


class Model(NamedTuple):
    """What the steps read, and what they change in place (`coef`, `forms`, `weights`, `numbers`)."""

    coef: Array  # (n, T), over numbers[SCALE]
    forms: Array  # (F,) S_k, true
    weights: Array  # (F,) b_k
    numbers: Array  # SCALE .. RESTARTED
    diagonals: Array  # (F, n)
    reach: Array  # (n,) (sum_k K_k(i, i)^(q / 2))^(1 / q): the size of a sample in all kernels together
    targets: Array  # (n, T)
    costs: Array  # (n, T)
    loss: tuple[int, float]  # number and parameter
    norm: tuple[float, float]  # q and l1


class Block(NamedTuple):
    """Coming samples, their scores over numbers[SCALE], and what their coefficients change by, over the same."""

    samples: NDArray[np.intp]  # (B,)
    scores: Array  # (B, F, T)
    changes: Array  # (B, T)


class Rule(NamedTuple):
    """How far a subgradient step goes; `size` is eta of the online stage and R of the projected one."""

    kind: int
    size: float
    n_samples: int
    total: float  # sum of the costs, 1 / lambda


# ---- weights ---------------------------------------------------------------------------------------------------------


@jit
def weigh(forms, norm, weights):
    """Weights that belong to the forms; returns |u|_q."""
    q, l1 = norm
    largest = 0.0
    for k in range(forms.size):
        weights[k] = max(0.0, np.sqrt(max(forms[k], 0.0)) - l1)
        largest = max(largest, weights[k])
    if largest == 0.0:
        uniform = forms.size ** (2.0 / q - 1.0) if l1 == 0.0 else 0.0
        for k in range(forms.size):
            weights[k] = uniform
        return 0.0
    total = 0.0
    for k in range(forms.size):
        u = weights[k] / largest
        power = u ** (q - 2.0) if q > 2.0 else 1.0
        total += power * u * u
        weights[k] = power * (weights[k] / np.sqrt(forms[k]) if weights[k] > 0.0 and l1 > 0.0 else 1.0)
        if u == 0.0 and l1 > 0.0:
            weights[k] = 0.0
    for k in range(forms.size):
        weights[k] /= total ** (1.0 - 2.0 / q)
    return largest * total ** (1.0 / q)


@jit
def gather(products, block):
    """Scores of the samples of a block from those of all samples, (F, T, n)."""
    for k in range(products.shape[0]):
        for t in range(products.shape[1]):
            row = products[k, t]
            for v in range(block.samples.size):
                block.scores[v, k, t] = row[block.samples[v]]


@jit
def _outputs(scores, weights, scale, out):
    """f_t = scale * sum_k b_k scores_kt."""
    for t in range(out.size):
        out[t] = 0.0
    for k in range(weights.size):
        weight = weights[k] * scale
        if weight != 0.0:
            for t in range(out.size):
                out[t] += weight * scores[k, t]


# ---- losses ----------------------------------------------------------------------------------------------------------


@jit
def _share(loss, margin):
    """Minus the slope of the two logistic losses at a margin, between 0 and 1."""
    steepness, shift = (loss[1], 1.0) if loss[0] == SMOOTH_HINGE else (1.0, 0.0)
    return 1.0 / (1.0 + np.exp(steepness * (margin - shift)))


@jit
def slopes(loss, outputs, targets, costs, out):
    """out_t = slope of C loss at the outputs of one sample; whether any is not zero."""
    if loss[0] == MULTICLASS:
        return _multiclass_slopes(outputs, targets, costs[0], out)
    active = False
    for t in range(outputs.size):
        f, y = outputs[t], targets[t]
        if loss[0] == HINGE:
            slope = -y if y * f < 1.0 else 0.0
        elif loss[0] == SQUARED_HINGE:
            slope = -2.0 * y * max(0.0, 1.0 - y * f)
        elif loss[0] == EPSILON_INSENSITIVE:
            slope = np.sign(f - y) if abs(f - y) > loss[1] else 0.0
        elif loss[0] == SQUARED:
            slope = 2.0 * (f - y)
        else:
            slope = -y * _share(loss, y * f)
        out[t] = costs[t] * slope
        active = active or out[t] != 0.0
    return active


@jit
def _multiclass_slopes(outputs, targets, cost, out):
    own, other = 0, -1
    for t in range(outputs.size):
        out[t] = 0.0
        if targets[t] > 0.0:
            own = t
    for t in range(outputs.size):
        if t != own and (other < 0 or outputs[t] > outputs[other]):
            other = t
    if other < 0 or outputs[own] - outputs[other] >= 1.0:
        return False
    out[own], out[other] = -cost, cost
    return cost > 0.0


# ---- steps in the primal ---------------------------------------------------------------------------------------------


@jit
def _share_of_step(rule, model, sample, slope_size):
    """(factor of all coefficients, factor of the new slopes) of a step: 1 - gamma and gamma n, or the online ones."""
    numbers, total = model.numbers, rule.total
    numbers[STEPS] += 1.0
    if rule.kind == ONLINE:
        return 1.0, rule.size / model.norm[0] * rule.n_samples / total
    t = numbers[STEPS] / total  # lambda t
    if rule.kind == PROJECTED:
        reach = slope_size * rule.n_samples / total * model.reach[sample]
        length = (numbers[SIZE] / total + reach) / rule.size
        d = t + numbers[PROXIMAL]
        numbers[PROXIMAL] += 0.5 * (np.sqrt(d * d + model.norm[0] * length * length) - d)
        t += numbers[PROXIMAL]
    gamma = 1.0 / (total * t)
    return 1.0 - gamma, gamma * rule.n_samples


@jit
def _rescale(model, block, factor):
    """All coefficients times `factor`, by number only; where it is 0, everything begins anew."""
    numbers = model.numbers
    if factor <= 0.0:
        numbers[SCALE], factor = 1.0, 0.0
        model.coef[:] = 0.0
        block.scores[:] = 0.0
        block.changes[:] = 0.0
        numbers[RESTARTED] = 1.0
    else:
        numbers[SCALE] *= factor
    for k in range(model.forms.size):
        model.forms[k] *= factor * factor
    if model.norm[1] > 0.0:
        numbers[SIZE] = weigh(model.forms, model.norm, model.weights)
    else:
        numbers[SIZE] *= factor


@jit
def _move(model, block, entries, v, step):
    """Coefficients of the sample at place v change by `step`; scores behind it in the block follow."""
    scale, sample = model.numbers[SCALE], block.samples[v]
    size = 0.0
    for t in range(step.size):
        size += step[t] * step[t]
    for k in range(model.forms.size):
        product = 0.0
        for t in range(step.size):
            product += step[t] * block.scores[v, k, t]
        grown = model.forms[k] + 2.0 * scale * product + size * model.diagonals[k, sample]
        model.forms[k] = max(0.0, grown)
    model.numbers[SIZE] = weigh(model.forms, model.norm, model.weights)
    model.numbers[UPDATES] += 1.0
    for t in range(step.size):
        if step[t] != 0.0:
            model.coef[sample, t] += step[t] / scale
            block.changes[v, t] += step[t] / scale
    for k in range(model.forms.size):
        matrix = array_at(entries.addresses[k], entries.store, entries.n_rows, entries.stride)
        row = matrix[entries.places[v]]
        for t in range(step.size):
            factor = entries.scales[k] * step[t] / scale
            if factor != 0.0:
                for w in range(v + 1, block.samples.size):
                    block.scores[w, k, t] += factor * row[entries.places[w]]


@jit
def descend(block, entries, model, rule):
    """One subgradient step on every sample of a block."""
    n_outputs = model.coef.shape[1]
    outputs, step = np.empty(n_outputs), np.empty(n_outputs)
    for v in range(block.samples.size):
        i = block.samples[v]
        _outputs(block.scores[v], model.weights, model.numbers[SCALE], outputs)
        active = slopes(model.loss, outputs, model.targets[i], model.costs[i], step)
        size = 0.0
        for t in range(n_outputs):
            size += step[t] * step[t]
        keep, take = _share_of_step(rule, model, i, np.sqrt(size))
        if active and (model.loss[0] == SQUARED or model.loss[0] == SQUARED_HINGE):
            _implicit(model, i, take, step)
        if keep != 1.0:
            _rescale(model, block, keep)
        if active:
            for t in range(n_outputs):
                step[t] *= -take
            _move(model, block, entries, v, step)
        if rule.kind == PROJECTED and model.numbers[SIZE] > rule.size:
            _rescale(model, block, rule.size / model.numbers[SIZE])


@jit
def _implicit(model, sample, take, step):
    """Slopes of a squared loss after the step, not before it: they have no bound, and a step must not overshoot."""
    reach = 0.0
    for k in range(model.weights.size):
        reach += model.weights[k] * model.diagonals[k, sample]
    for t in range(step.size):
        step[t] /= 1.0 + 2.0 * take * model.costs[sample, t] * reach


# ---- steps in the dual -----------------------------------------------------------------------------------------------


@jit
def _logistic_coef(loss, margin, coef, cost, curvature):
    """alpha = C share(z) with z = margin + curvature (alpha - coef): Newton's method in a bracket of z."""
    low, high = margin - curvature * coef, margin + curvature * (cost - coef)
    steepness = loss[1] if loss[0] == SMOOTH_HINGE else 1.0
    z = min(max(margin, low), high)
    for _ in range(_MOST_NEWTON):
        share = _share(loss, z)
        excess = z - margin - curvature * (cost * share - coef)
        if excess > 0.0:
            high = z
        else:
            low = z
        following = z - excess / (1.0 + curvature * cost * steepness * share * (1.0 - share))
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - z) <= 1e-14 * (1.0 + abs(z)):
            break
        z = following
    return cost * _share(loss, z)


@jit
def best_row(loss, coef, outputs, targets, costs, curvature, out):
    """The coefficients of one sample that maximise the dual where it curves by `curvature` in each of them."""
    if loss[0] == MULTICLASS:
        out[:] = outputs
        best_row_of_classes(np.argmax(targets), costs[0], curvature, coef, out)
        return
    for t in range(coef.size):
        a, f, y, cost = coef[t], outputs[t], targets[t], costs[t]
        if cost == 0.0:
            out[t] = 0.0
        elif loss[0] == HINGE:
            out[t] = y * min(max(a * y + (1.0 - y * f) / curvature, 0.0), cost)
        elif loss[0] == SQUARED_HINGE:
            out[t] = y * max(0.0, 2.0 * cost * (1.0 - y * f + curvature * a * y) / (1.0 + 2.0 * cost * curvature))
        elif loss[0] == SQUARED:
            out[t] = 2.0 * cost * (y - f + curvature * a) / (1.0 + 2.0 * cost * curvature)
        elif loss[0] == EPSILON_INSENSITIVE:
            free = a + (y - f) / curvature
            out[t] = min(max(np.sign(free) * max(0.0, abs(free) - loss[1] / curvature), -cost), cost)
        else:
            out[t] = y * _logistic_coef(loss, y * f, a * y, cost, curvature)


@jit
def _conjugate_slope(loss, coef, way, tau, targets, costs):
    """Slope of -sum_t (C loss)^*(-a_t) along a + tau * way; to the left of tau where it jumps."""
    total = 0.0
    for t in range(coef.size):
        a, y, d = coef[t] + tau * way[t], targets[t], way[t]
        if d == 0.0:
            continue
        slope = y
        if loss[0] == SQUARED_HINGE or loss[0] == SQUARED:
            slope -= a / (2.0 * costs[t])
        elif loss[0] == EPSILON_INSENSITIVE:
            slope -= loss[1] * (np.sign(a) if a != 0.0 else -np.sign(d))
        elif loss[0] == LOGISTIC or loss[0] == SMOOTH_HINGE:
            share = min(max(a * y / costs[t], 1e-300), 1.0 - 1e-16)
            odds = np.log(share / (1.0 - share))
            slope = -y * odds if loss[0] == LOGISTIC else y - y * odds / loss[1]
        total += d * slope
    return total


@jit
def missing(loss, coef, outputs, targets, costs):
    """What a sample adds to the duality gap, C loss(f) + (C loss)^*(-a) + a . f >= 0; not for the smooth losses."""
    if loss[0] == MULTICLASS:
        best, own, product = -np.inf, 0.0, 0.0
        for t in range(coef.size):
            best = max(best, outputs[t] + 1.0 - targets[t])
            own += targets[t] * outputs[t]
            product += coef[t] * (outputs[t] - targets[t])
        return costs[0] * (best - own) + product
    total = 0.0
    for t in range(coef.size):
        a, f, y, cost = coef[t], outputs[t], targets[t], costs[t]
        if loss[0] == HINGE:
            total += cost * max(0.0, 1.0 - y * f) + a * (f - y)
        elif loss[0] == EPSILON_INSENSITIVE:
            total += cost * max(0.0, abs(f - y) - loss[1]) + loss[1] * abs(a) + a * (f - y)
        elif cost > 0.0:  # a lower bound of the others: the slope that is missing, over the curvature 2 C of the loss
            slope = -2.0 * y * max(0.0, 1.0 - y * f) if loss[0] == SQUARED_HINGE else 2.0 * (f - y)
            if loss[0] == LOGISTIC or loss[0] == SMOOTH_HINGE:
                slope = -y * _share(loss, y * f)
            total += (a + cost * slope) ** 2 / (4.0 * cost)
    return total


@jit
def _along(model, products, sizes, tau, forms, weights):
    """Slope of Omega^*(sqrt(S)) at S_k(tau) = S_k + 2 tau x_k + tau^2 h_k; forms and weights there."""
    for k in range(forms.size):
        forms[k] = max(0.0, model.forms[k] + tau * (2.0 * products[k] + tau * sizes[k]))
    model.numbers[SIZE] = weigh(forms, model.norm, weights)
    slope = 0.0
    for k in range(forms.size):
        slope += weights[k] * (products[k] + tau * sizes[k])
    return slope


@jit
def _length(model, sample, way, products, sizes, forms, weights):
    """How much of a step to take, at most all: the dual value rises all the way."""
    loss, coef = model.loss, model.coef[sample]
    targets, costs = model.targets[sample], model.costs[sample]
    at_start = _conjugate_slope(loss, coef, way, 0.0, targets, costs)
    for k in range(products.size):
        at_start -= model.weights[k] * products[k]
    at_end = _conjugate_slope(loss, coef, way, 1.0, targets, costs)
    at_end -= _along(model, products, sizes, 1.0, forms, weights)
    if at_end >= -_ROUNDING * at_start:
        return 1.0
    low, high, rise, fall, tau = 0.0, 1.0, at_start, -at_end, 1.0
    for _ in range(_MOST_SEARCHES):
        share = rise / (rise + fall) if np.isfinite(rise) else 0.5
        tau = low + (high - low) * min(max(share, 0.1), 0.9)
        slope = _conjugate_slope(loss, coef, way, tau, targets, costs)
        slope -= _along(model, products, sizes, tau, forms, weights)
        if slope >= 0.0:
            if slope <= _OVERSHOOT * at_start:
                return tau
            low, rise = tau, slope
        else:
            high, fall = tau, -slope
    return low


@jit
def _products(model, block, v, way, products, sizes):
    """x_k = d . (K_k a)_i and h_k = |d|^2 K_k(i, i): S_k(a + tau d e_i) = S_k + 2 tau x_k + tau^2 h_k."""
    size, sample = 0.0, block.samples[v]
    for t in range(way.size):
        size += way[t] * way[t]
    for k in range(products.size):
        product = 0.0
        for t in range(way.size):
            product += way[t] * block.scores[v, k, t]
        products[k] = model.numbers[SCALE] * product
        sizes[k] = size * model.diagonals[k, sample]
    return size


@jit
def _turning(model, products, size):
    """What Omega^* curves along a step, over |d|^2, because the weights turn with it."""
    spread, mean, total = 0.0, 0.0, 0.0
    for k in range(products.size):
        if model.forms[k] > 0.0:
            spread += model.weights[k] * products[k] * products[k] / model.forms[k]
        mean += model.weights[k] * products[k]
        total += model.weights[k] * model.forms[k]
    return (model.norm[0] - 2.0) * max(0.0, spread - mean * mean / total) / size if total > 0.0 else 0.0


@jit
def ascend(block, entries, model, least):
    """The best coefficients of every sample of a block, one after the other, whose part of the gap is above `least`."""
    n_outputs, n_kernels = model.coef.shape[1], model.forms.size
    outputs, way = np.empty(n_outputs), np.empty(n_outputs)
    products, sizes = np.empty(n_kernels), np.empty(n_kernels)
    forms, weights = np.empty(n_kernels), np.empty(n_kernels)
    for v in range(block.samples.size):
        i = block.samples[v]
        coef, targets, costs = model.coef[i], model.targets[i], model.costs[i]
        _outputs(block.scores[v], model.weights, model.numbers[SCALE], outputs)
        part = missing(model.loss, coef, outputs, targets, costs)
        model.numbers[MISSING] += part
        if part <= least:
            continue
        curvature = _LEAST_CURVATURE
        for k in range(n_kernels):
            curvature += model.weights[k] * model.diagonals[k, i]
        for attempt in range(2):
            best_row(model.loss, coef, outputs, targets, costs, curvature, way)
            for t in range(n_outputs):
                way[t] -= coef[t]
            size = _products(model, block, v, way, products, sizes)
            turning = _turning(model, products, size) if size > 0.0 and model.norm[0] > 2.0 else 0.0
            if attempt == 1 or turning <= 0.2 * curvature:
                break
            curvature += turning
        if size > 0.0:
            length = _length(model, i, way, products, sizes, forms, weights)
            for t in range(n_outputs):
                way[t] *= length
            _move(model, block, entries, v, way)
