"""The losses of the large-scale MKL paper (2006, section 2.2 and appendix B) through SILP, in the paper's own letters.

The paper minimises gamma + T(alpha) subject to  1/2 |sum_i alpha_i Phi_k(x_i)|^2 <= gamma  for every kernel k (its
conic dual; equation 10 moves T into the constraints), where T is what S_k(alpha) has besides the kernel. The minimum is
minus our dual value, and its alpha is minus our a, except for the epsilon-insensitive loss (alpha - alpha* is a) and
one class (alpha is a). Written down for cvxpy from the corrected formulas: see the misprints in docs/notation.md.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from oracles.mkl_cases import LOSSES, PARAMETERS, REGULARIZERS, small_problem
from oracles.mkl_cvxpy import factor, optimal_value
from polykern.solvers import SILP

PAPER_LOSSES = ["hinge", "smooth_hinge", "logistic", "squared", "epsilon_insensitive", "one_class"]


def paper_terms(name, alpha, y, C):
    """T(alpha) of S_k = 1/2 |sum alpha Phi_k|^2 + T, and the constraints on alpha: (term, constraints)."""
    share = cp.multiply(-alpha, y / C)  # where the loss is one of margins, alpha = -C y share
    in_range = [share >= 0, share <= 1]
    minus_entropies = -cp.sum(cp.multiply(C, cp.entr(share) + cp.entr(1 - share)))
    if name == "hinge":  # 2.2, sigma to infinity
        return cp.sum(cp.multiply(alpha, y)), [*in_range, cp.sum(alpha) == 0]
    if name == "smooth_hinge":  # B.3
        sigma = PARAMETERS[name]["sigma"]
        return minus_entropies / sigma + cp.sum(cp.multiply(alpha, y)), [*in_range, cp.sum(alpha) == 0]
    if name == "logistic":  # B.2
        return minus_entropies, [*in_range, cp.sum(alpha) == 0]
    if name == "squared":  # B.1
        return cp.sum(cp.multiply(1 / (4 * C), cp.square(alpha)) + cp.multiply(alpha, y)), [cp.sum(alpha) == 0]
    if name == "one_class":
        return cp.Constant(0.0), [alpha >= 0, alpha <= C, cp.sum(alpha) == 1]
    epsilon = PARAMETERS[name]["epsilon"]  # alpha stands for alpha - alpha*, of which one is zero
    term = epsilon * cp.norm1(alpha) - cp.sum(cp.multiply(alpha, y))
    return term, [alpha >= -C, alpha <= C, cp.sum(alpha) == 0]


@pytest.mark.parametrize("name", PAPER_LOSSES)
def test_minimum_of_the_paper_is_minus_the_dual_value_of_silp(name):
    problem, matrices = small_problem(name, REGULARIZERS["simplex"], n=24, n_kernels=5, seed=4)
    result = SILP().solve(problem, tol=1e-6)
    assert result.status.converged
    alpha, gamma = cp.Variable(problem.bank.n_samples), cp.Variable()
    term, constraints = paper_terms(name, alpha, problem.targets[:, 0], problem.costs[:, 0])
    lengths = [0.5 * cp.sum_squares(factor(K).T @ alpha) <= gamma for K in matrices]
    least = optimal_value(cp.Problem(cp.Minimize(gamma + term), [*constraints, *lengths]))
    assert -least == pytest.approx(result.dual, rel=1e-5, abs=1e-8)
    assert -least == pytest.approx(result.primal, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("y", [1.0, -1.0])
@pytest.mark.parametrize("C", [0.5, 3.0])
def test_conjugates_are_the_corrected_formulas_of_the_appendix(y, C):
    """T(alpha) as printed, the slips mended, for alpha inside its range: (C loss)^*(alpha) = C conjugate(alpha / C)."""
    alpha = -y * C * np.linspace(0.02, 0.98, 25)
    sigma = LOSSES["smooth_hinge"].sigma
    ratio = -alpha / (C * y + alpha)
    printed = {
        "squared": alpha**2 / (4 * C) + alpha * y,  # B.1
        "smooth_hinge": -(C / sigma) * np.log(C * y / (alpha + C * y))
        + (alpha / y) * (1 - np.log(ratio) / sigma),  # B.3
        "hinge": alpha * y,
    }
    for name, values in printed.items():
        np.testing.assert_allclose(values, C * LOSSES[name].conjugate(alpha / C, y), atol=1e-12, err_msg=name)
    once = alpha / C  # B.2 has no C
    logistic = -np.log(1 - once / (y + once)) - (once / y) * np.log(-once / (y + once))
    np.testing.assert_allclose(logistic, LOSSES["logistic"].conjugate(once, y), atol=1e-12)
