"""Single-pass learners: an algorithm or family a file, what all promise in `contract`, names in `registry`.

>>> from olscale.learners import PA1
>>> PA1(C=0.5)
PA1(C=0.5)

Whoever writes a learner finds here all that it needs. Names below are imported when they are first
used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from olscale.compiled.csr import Rows
    from olscale.compiled.decorator import compiled
    from olscale.compiled.row_layout import by_layout
    from olscale.compiled.row_weights import weight_of
    from olscale.compiled.rows import add_column, add_row, column_sums, row_scores, set_column
    from olscale.learners.amm import AMM
    from olscale.learners.arow import AROW
    from olscale.learners.baselines import LastValue, Majority, Mean, NoChange
    from olscale.learners.bogd import BOGD
    from olscale.learners.bpas import BPAS
    from olscale.learners.bsgd import BSGD
    from olscale.learners.confidence_weighted import CW
    from olscale.learners.contract.class_axes import ShardsClasses, class_axis
    from olscale.learners.contract.class_shards import count_update
    from olscale.learners.contract.compilation import CompilesLoops
    from olscale.learners.contract.cost import EstimatesCost
    from olscale.learners.contract.detector import Detector, OnePassDetector
    from olscale.learners.contract.estimator import Classifier, OnePassLearner
    from olscale.learners.contract.fused_settings import FusedSettings, FusesSettings
    from olscale.learners.contract.learner import UNKNOWN, FloatArray, Learner, State
    from olscale.learners.contract.look_ahead import LooksAhead
    from olscale.learners.contract.parameters import Choice, Domain, Flag, Real, Whole
    from olscale.learners.contract.regressor import OnePassRegressor, Regressor
    from olscale.learners.contract.usable_rows import unusable
    from olscale.learners.contract.weighted import WeightedClassifier, WeightedRegressor
    from olscale.learners.fogd import FOGD
    from olscale.learners.forgetron import Forgetron
    from olscale.learners.gradient_descent import OGD
    from olscale.learners.ipca_lda import IPCALDA
    from olscale.learners.kernel_perceptron import KernelPerceptron, OGDKernel
    from olscale.learners.kernel_perceptron_r import KernelPerceptronR
    from olscale.learners.krls import KRLS
    from olscale.learners.linear import LinearLearner, implements
    from olscale.learners.linear_regression import PA1R, PA2R, PAR, SGDR, LinearRegressor
    from olscale.learners.lol import ILOL, LOL
    from olscale.learners.ls_svm import LSSVM
    from olscale.learners.nogd import NOGD
    from olscale.learners.norma import NORMA
    from olscale.learners.norma_n import NORMAN
    from olscale.learners.norma_r import NORMAR
    from olscale.learners.olk import OLK
    from olscale.learners.olk_n import OLKN
    from olscale.learners.olk_r import OLKR
    from olscale.learners.ollc import OLLC
    from olscale.learners.one_class_svm import OneClassSVM
    from olscale.learners.oselm import OSELM, OSELMR
    from olscale.learners.ospvm import OSPVM
    from olscale.learners.pamo import PAMO1, PAMO2
    from olscale.learners.passive_aggressive import PA, PA1, PA2
    from olscale.learners.pegasos import Pegasos
    from olscale.learners.perceptron import Perceptron
    from olscale.learners.projectron import Projectron, ProjectronPlusPlus
    from olscale.learners.pvm import PVM
    from olscale.learners.rbp import RBP
    from olscale.learners.rff_rls import RFFRLS, RFFRLSR
    from olscale.learners.ridge import Ridge
    from olscale.learners.rls import RLS
    from olscale.learners.soft_confidence_weighted import SCW1, SCW2
    from olscale.learners.soft_lol import SoftLOL
    from olscale.learners.svd_oselm import SVDOSELM
    from olscale.learners.svm import SVM
    from olscale.learners.svr import SVR

__all__ = [
    "AMM",
    "AROW",
    "BOGD",
    "BPAS",
    "BSGD",
    "CW",
    "FOGD",
    "ILOL",
    "IPCALDA",
    "KRLS",
    "LOL",
    "LSSVM",
    "NOGD",
    "NORMA",
    "NORMAN",
    "NORMAR",
    "OGD",
    "OLK",
    "OLKN",
    "OLKR",
    "OLLC",
    "OSELM",
    "OSELMR",
    "OSPVM",
    "PA",
    "PA1",
    "PA1R",
    "PA2",
    "PA2R",
    "PAMO1",
    "PAMO2",
    "PAR",
    "PVM",
    "RBP",
    "RFFRLS",
    "RFFRLSR",
    "RLS",
    "SCW1",
    "SCW2",
    "SGDR",
    "SVDOSELM",
    "SVM",
    "SVR",
    "UNKNOWN",
    "Choice",
    "Classifier",
    "CompilesLoops",
    "Detector",
    "Domain",
    "EstimatesCost",
    "Flag",
    "FloatArray",
    "Forgetron",
    "FusedSettings",
    "FusesSettings",
    "KernelPerceptron",
    "KernelPerceptronR",
    "LastValue",
    "Learner",
    "LinearLearner",
    "LinearRegressor",
    "LooksAhead",
    "Majority",
    "Mean",
    "NoChange",
    "OGDKernel",
    "OneClassSVM",
    "OnePassDetector",
    "OnePassLearner",
    "OnePassRegressor",
    "Pegasos",
    "Perceptron",
    "Projectron",
    "ProjectronPlusPlus",
    "Real",
    "Regressor",
    "Ridge",
    "Rows",
    "ShardsClasses",
    "SoftLOL",
    "State",
    "WeightedClassifier",
    "WeightedRegressor",
    "Whole",
    "add_column",
    "add_row",
    "by_layout",
    "class_axis",
    "column_sums",
    "compiled",
    "count_update",
    "implements",
    "row_scores",
    "set_column",
    "unusable",
    "weight_of",
]

_NAMES = {
    "olscale.compiled.csr": "Rows",
    "olscale.compiled.decorator": "compiled",
    "olscale.compiled.row_layout": "by_layout",
    "olscale.compiled.row_weights": "weight_of",
    "olscale.compiled.rows": "add_column add_row column_sums row_scores set_column",
    "olscale.learners.amm": "AMM",
    "olscale.learners.arow": "AROW",
    "olscale.learners.baselines": "LastValue Majority Mean NoChange",
    "olscale.learners.bogd": "BOGD",
    "olscale.learners.bpas": "BPAS",
    "olscale.learners.bsgd": "BSGD",
    "olscale.learners.confidence_weighted": "CW",
    "olscale.learners.contract.class_axes": "ShardsClasses class_axis",
    "olscale.learners.contract.class_shards": "count_update",
    "olscale.learners.contract.compilation": "CompilesLoops",
    "olscale.learners.contract.cost": "EstimatesCost",
    "olscale.learners.contract.detector": "Detector OnePassDetector",
    "olscale.learners.contract.estimator": "Classifier OnePassLearner",
    "olscale.learners.contract.fused_settings": "FusedSettings FusesSettings",
    "olscale.learners.contract.learner": "FloatArray Learner State UNKNOWN",
    "olscale.learners.contract.look_ahead": "LooksAhead",
    "olscale.learners.contract.parameters": "Choice Domain Flag Real Whole",
    "olscale.learners.contract.regressor": "OnePassRegressor Regressor",
    "olscale.learners.contract.usable_rows": "unusable",
    "olscale.learners.contract.weighted": "WeightedClassifier WeightedRegressor",
    "olscale.learners.fogd": "FOGD",
    "olscale.learners.forgetron": "Forgetron",
    "olscale.learners.gradient_descent": "OGD",
    "olscale.learners.ipca_lda": "IPCALDA",
    "olscale.learners.kernel_perceptron": "KernelPerceptron OGDKernel",
    "olscale.learners.kernel_perceptron_r": "KernelPerceptronR",
    "olscale.learners.krls": "KRLS",
    "olscale.learners.linear": "LinearLearner implements",
    "olscale.learners.linear_regression": "LinearRegressor PA1R PA2R PAR SGDR",
    "olscale.learners.lol": "ILOL LOL",
    "olscale.learners.ls_svm": "LSSVM",
    "olscale.learners.nogd": "NOGD",
    "olscale.learners.norma": "NORMA",
    "olscale.learners.norma_n": "NORMAN",
    "olscale.learners.norma_r": "NORMAR",
    "olscale.learners.olk": "OLK",
    "olscale.learners.olk_n": "OLKN",
    "olscale.learners.olk_r": "OLKR",
    "olscale.learners.ollc": "OLLC",
    "olscale.learners.one_class_svm": "OneClassSVM",
    "olscale.learners.oselm": "OSELM OSELMR",
    "olscale.learners.ospvm": "OSPVM",
    "olscale.learners.pamo": "PAMO1 PAMO2",
    "olscale.learners.passive_aggressive": "PA PA1 PA2",
    "olscale.learners.pegasos": "Pegasos",
    "olscale.learners.perceptron": "Perceptron",
    "olscale.learners.projectron": "Projectron ProjectronPlusPlus",
    "olscale.learners.pvm": "PVM",
    "olscale.learners.rbp": "RBP",
    "olscale.learners.rff_rls": "RFFRLS RFFRLSR",
    "olscale.learners.ridge": "Ridge",
    "olscale.learners.rls": "RLS",
    "olscale.learners.soft_confidence_weighted": "SCW1 SCW2",
    "olscale.learners.soft_lol": "SoftLOL",
    "olscale.learners.svd_oselm": "SVDOSELM",
    "olscale.learners.svm": "SVM",
    "olscale.learners.svr": "SVR",
}
"""Modules, and the names here that they are the home of."""

_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'olscale.learners' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
