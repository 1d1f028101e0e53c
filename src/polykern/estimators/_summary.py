"""A fitted model as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from polykern.regularizers import GroupedNorm
from polykern.regularizers.grouping import group_of_each

_TOP = 10
_BAR = 24


def summary(model: Any) -> str:
    """Data, problem, status with its certified gap, memory, the largest kernel weights, and those of groups."""
    lines = [type(model).__name__, *_facts(model), "", *_weight_lines(model), *_group_lines(model)]
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
    if "largest_margin" in result.details:
        facts["margin"] = _margin(result.details)
    if hasattr(model, "cv_results_"):
        facts["search"] = _search(model)
    return [f"  {name:<9}{text}" for name, text in facts.items()]


def _margin(details: Mapping[str, float]) -> str:
    """What gamma0 came to, and whether it made a difference."""
    margin, least = details["margin"], details["gamma0"]
    span = details["largest_margin"] - details["smallest_margin"]
    active = "active" if margin - least <= 1e-3 * span else "not active"
    return (
        f"{margin:.4g}, gamma0 {least:.4g} is {active} (single kernels from {details['smallest_margin']:.4g}, mixtures "
        f"up to {details['largest_margin']:.4g})"
    )


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
    how = {"joint": "all classes together", "ovo": "one-vs-one", "ovr": "one-vs-rest"}[model._strategy]
    return [how, "kernel weights shared" if model.weights_.ndim == 1 else "kernel weights per output"]


def _shown(value: Any) -> str:
    if isinstance(value, GroupedNorm):
        n_groups = len(_group_names(value.groups))
        return f"GroupedNorm({n_groups} {'group' if n_groups == 1 else 'groups'}, q={value.q:g})"
    return value if isinstance(value, str) else repr(value)


def _weight_lines(model: Any) -> list[str]:
    """The largest weights with bars; where every output has its own, their mean."""
    weights = _mean_weights(model)
    kept, zero = int(np.count_nonzero(weights)), int(np.count_nonzero(weights == 0))
    averaged = ", mean over outputs" if model.weights_.ndim == 2 else ""
    title = f"  kernel weights ({kept} of {len(weights)} kernels kept{averaged})"
    without = [f"    {zero} {'kernel has' if zero == 1 else 'kernels have'} weight 0"] if zero else []
    return [title, *_bars(model.kernel_names_, weights), *without]


def _group_lines(model: Any) -> list[str]:
    """The weights of groups of kernels, as shares of all weight."""
    regularizer = getattr(model, "regularizer", None)
    if not isinstance(regularizer, GroupedNorm):
        return []
    weights, names = _mean_weights(model), _group_names(regularizer.groups)
    group_of = group_of_each(regularizer.groups, len(weights), tuple(model.kernel_names_))
    sums = np.bincount(group_of, weights=weights, minlength=len(names))
    title = f"  group weights (shares of their sum{_what_groups_weigh(float(regularizer.q))})"
    return ["", title, *_bars(names, sums / (sums.sum() or 1.0))]


def _what_groups_weigh(q: float) -> str:
    """How large sums are not to be misread: from q = 1 on they do not say that a group matters."""
    if q < 1.0:
        return ""
    return "; the same for all at q = 1" if q == 1.0 else "; above q = 1 the less a group does, the more it weighs"


def _group_names(groups: Any) -> list[str]:
    """Names of groups in the order of their numbers; those without a name are numbered."""
    if isinstance(groups, Mapping):
        return [str(name) for name in groups]
    labels = all(isinstance(item, str | Integral) for item in groups)
    numbered = dict.fromkeys(groups) if labels else range(len(groups))
    return [name if isinstance(name, str) else f"group {name}" for name in numbered]


def _mean_weights(model: Any) -> np.ndarray:
    """(F,) weights; their mean where every output has its own."""
    return np.asarray(np.atleast_2d(model.weights_).mean(axis=0))


def _bars(names: Sequence[str], values: np.ndarray) -> list[str]:
    """A line for each of the largest values above 0, and how many more there are."""
    positive = int(np.count_nonzero(values))
    order = np.argsort(-values, kind="stable")[: min(_TOP, positive)]
    width = max((len(names[k]) for k in order), default=0)
    rows = [f"    {names[k]:<{width}}  {values[k]:.4f}  {_bar(values[k] / values[order[0]])}".rstrip() for k in order]
    return [*rows, *([f"    ... and {positive - len(order)} more"] if positive > len(order) else [])]


def _bar(share: float) -> str:
    return "#" * round(_BAR * share)


def table(rows: list[list[str]]) -> list[str]:
    """Rows of texts in columns that are as wide as their widest text, numbers and all to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in rows]
