"""Multiple kernel learning with a certificate: learn which kernels matter, and know how far the answer is from optimal.

    from polykern import MKLClassifier, kernels

    model = MKLClassifier(kernels=[("narrow", kernels.RBF(gamma=10.0)), ("wide", kernels.RBF(gamma=0.1))])
    model.fit(X, y)
    model.weights_, model.result_.gap

Every name below is loaded on first use, so `import polykern` costs next to nothing and compiles nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polykern import (
        bank,
        datasets,
        inspection,
        kernels,
        losses,
        measures,
        problems,
        regularizers,
        solvers,
        weighting,
    )
    from polykern.estimators import (
        LPBetaClassifier,
        MKLClassifier,
        MKLClassifierCV,
        MKLOneClass,
        MKLPath,
        MKLRegressor,
        MKLRegressorCV,
        TwoStageMKL,
        mkl_path,
    )
    from polykern.problems.result import MKLResult, Status

__version__ = "0.1.0"

__all__ = [
    "LPBetaClassifier",
    "MKLClassifier",
    "MKLClassifierCV",
    "MKLOneClass",
    "MKLPath",
    "MKLRegressor",
    "MKLRegressorCV",
    "MKLResult",
    "Status",
    "TwoStageMKL",
    "__version__",
    "bank",
    "datasets",
    "inspection",
    "kernels",
    "losses",
    "measures",
    "mkl_path",
    "problems",
    "regularizers",
    "solvers",
    "weighting",
]

# Where each lazy name lives; a public name that is not here is a submodule.
_HOMES = {
    "LPBetaClassifier": "polykern.estimators",
    "MKLClassifier": "polykern.estimators",
    "MKLClassifierCV": "polykern.estimators",
    "MKLOneClass": "polykern.estimators",
    "MKLPath": "polykern.estimators",
    "MKLRegressor": "polykern.estimators",
    "MKLRegressorCV": "polykern.estimators",
    "MKLResult": "polykern.problems.result",
    "Status": "polykern.problems.result",
    "TwoStageMKL": "polykern.estimators",
    "mkl_path": "polykern.estimators",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in __all__:
        value = import_module(f"polykern.{name}")
    else:
        raise AttributeError(f"module 'polykern' has no attribute {name!r}; its public names are {', '.join(__all__)}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
