"""Users start here: estimators with scikit-learn's interface."""

from polykern.estimators._classifier import MKLClassifier
from polykern.estimators._cv import MKLClassifierCV, MKLRegressorCV
from polykern.estimators._lp_beta import LPBetaClassifier
from polykern.estimators._one_class import MKLOneClass
from polykern.estimators._path import MKLPath, mkl_path
from polykern.estimators._regressor import MKLRegressor
from polykern.estimators._two_stage import TwoStageMKL

__all__ = [
    "LPBetaClassifier",
    "MKLClassifier",
    "MKLClassifierCV",
    "MKLOneClass",
    "MKLPath",
    "MKLRegressor",
    "MKLRegressorCV",
    "TwoStageMKL",
    "mkl_path",
]
