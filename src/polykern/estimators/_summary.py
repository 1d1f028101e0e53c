"""A fitted model as text."""

from __future__ import annotations

from typing import Any

import numpy as np

_TOP = 10
_BAR = 24


def summary(model: Any) -> str:
    """Data, problem, status with its certified gap, memory, and the largest kernel weights."""
    lines = [type(model).__name__, *_facts(model), "", *_weight_lines(model)]
    return "\n".join(lines)


def _facts(model: Any) -> list[str]:
    result = model.result_
    facts = {
        "data": _data(model),
        "problem": _problem(model),
        "status": result.status.value,
        "gap": f"{result.gap:.2e} (tol {model.tol:g}), primal {result.primal:.6g}, dual {result.dual:.6g}",
        "solver": f"{result.solver}, {result.n_iter} iterations, {result.n_kernel_products} kernel products, "
        f"{result.seconds:.3g} s",
        "support": f"{len(model.support_)} of {model._n_samples_fit} samples",
        "memory": f"{_planned(model.memory_plan_)} (memory_plan_ has the details)",
    }
    if hasattr(model, "cv_results_"):
        facts["search"] = _search(model)
    return [f"  {name:<9}{text}" for name, text in facts.items()]


def _search(model: Any) -> str:
    points, spread = len(model.cv_results_["params"]), model.cv_results_["std_test_score"][model.best_index_]
    return f"{points} points, {model.n_splits_} folds, best mean score {model.best_score_:.4f} (std {spread:.4f})"


def _planned(plan: str) -> str:
    """The total of the memory plan, its last line."""
    return " ".join(plan.splitlines()[-1].split()[1:])


def _data(model: Any) -> str:
    classes = getattr(model, "classes_", None)
    labels = "" if classes is None else f", {len(classes)} classes"
    return f"{model._n_samples_fit} samples, {len(model.kernel_names_)} kernels{labels}"


def _problem(model: Any) -> str:
    terms = [
        f"loss {_shown(getattr(model, 'loss', None))}" if hasattr(model, "loss") else f"one class, nu {model.nu:g}"
    ]
    if hasattr(model, "cv_results_"):
        terms.append(f"p {model.p_:g}, C {model.C_:g}")
    else:
        terms.append(f"regularizer {_shown(model.regularizer)}")
    if hasattr(model, "C"):
        terms.append(f"C {model.C:g}")
    terms.append("with intercept" if model.fit_intercept_ else "without intercept")
    return ", ".join(terms + _multiclass(model))


def _multiclass(model: Any) -> list[str]:
    n_outputs = np.atleast_2d(model.dual_coef_).shape[0]
    if n_outputs == 1:
        return []
    how = "one-vs-one" if model._one_vs_one else "one-vs-rest"
    return [how, "kernel weights shared" if model.weights_.ndim == 1 else "kernel weights per output"]


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _weight_lines(model: Any) -> list[str]:
    """The largest weights with bars; where every output has its own, their mean."""
    weights = np.atleast_2d(model.weights_).mean(axis=0)
    order = np.argsort(-weights, kind="stable")[:_TOP]
    kept = int(np.count_nonzero(weights))
    width = max(len(model.kernel_names_[k]) for k in order)
    averaged = ", mean over outputs" if model.weights_.ndim == 2 else ""
    title = f"  kernel weights ({kept} of {len(weights)} kernels kept{averaged})"
    largest = weights[order[0]] or 1.0
    rows = [
        f"    {model.kernel_names_[k]:<{width}}  {weights[k]:.4f}  {_bar(weights[k] / largest)}".rstrip() for k in order
    ]
    left = len(weights) - len(order)
    return [title, *rows, *([f"    ... and {left} more"] if left else [])]


def _bar(share: float) -> str:
    return "#" * round(_BAR * share)


def table(rows: list[list[str]]) -> list[str]:
    """Rows of texts in columns that are as wide as their widest text, numbers and all to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in rows]
