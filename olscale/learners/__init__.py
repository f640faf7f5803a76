"""Single-pass learners: an algorithm or family a file, what all promise in `contract`, names in `registry`.

>>> from olscale.learners import PA1
>>> PA1(C=0.5)
PA1(C=0.5)

Whoever writes a learner finds here all that it needs. Names below are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from olscale.compiled.csr import Rows
    from olscale.compiled.decorator import compiled
    from olscale.compiled.rows import add_column, add_row, column_sums, row_scores, set_column
    from olscale.learners.arow import AROW
    from olscale.learners.confidence_weighted import CW
    from olscale.learners.contract.class_axes import ShardsClasses, class_axis
    from olscale.learners.contract.class_shards import count_update
    from olscale.learners.contract.compilation import CompilesLoops
    from olscale.learners.contract.cost import EstimatesCost
    from olscale.learners.contract.estimator import Classifier
    from olscale.learners.contract.fused_settings import FusedSettings, FusesSettings
    from olscale.learners.contract.learner import UNKNOWN, FloatArray, Learner, State
    from olscale.learners.contract.look_ahead import LooksAhead
    from olscale.learners.contract.one_pass import OnePassLearner
    from olscale.learners.contract.parameters import Choice, Domain, Flag, Real, Whole
    from olscale.learners.contract.usable_rows import unusable
    from olscale.learners.gradient_descent import OGD
    from olscale.learners.linear import LinearLearner, implements
    from olscale.learners.lol import ILOL, LOL
    from olscale.learners.ollc import OLLC
    from olscale.learners.pamo import PAMO1, PAMO2
    from olscale.learners.passive_aggressive import PA, PA1, PA2
    from olscale.learners.pegasos import Pegasos
    from olscale.learners.perceptron import Perceptron
    from olscale.learners.soft_confidence_weighted import SCW1, SCW2
    from olscale.learners.soft_lol import SoftLOL

__all__ = [
    "AROW",
    "CW",
    "ILOL",
    "LOL",
    "OGD",
    "OLLC",
    "PA",
    "PA1",
    "PA2",
    "PAMO1",
    "PAMO2",
    "SCW1",
    "SCW2",
    "UNKNOWN",
    "Choice",
    "Classifier",
    "CompilesLoops",
    "Domain",
    "EstimatesCost",
    "Flag",
    "FloatArray",
    "FusedSettings",
    "FusesSettings",
    "Learner",
    "LinearLearner",
    "LooksAhead",
    "OnePassLearner",
    "Pegasos",
    "Perceptron",
    "Real",
    "Rows",
    "ShardsClasses",
    "SoftLOL",
    "State",
    "Whole",
    "add_column",
    "add_row",
    "class_axis",
    "column_sums",
    "compiled",
    "count_update",
    "implements",
    "row_scores",
    "set_column",
    "unusable",
]

_HOMES = {
    "AROW": "olscale.learners.arow",
    "CW": "olscale.learners.confidence_weighted",
    "ILOL": "olscale.learners.lol",
    "LOL": "olscale.learners.lol",
    "OGD": "olscale.learners.gradient_descent",
    "OLLC": "olscale.learners.ollc",
    "PA": "olscale.learners.passive_aggressive",
    "PA1": "olscale.learners.passive_aggressive",
    "PA2": "olscale.learners.passive_aggressive",
    "PAMO1": "olscale.learners.pamo",
    "PAMO2": "olscale.learners.pamo",
    "SCW1": "olscale.learners.soft_confidence_weighted",
    "SCW2": "olscale.learners.soft_confidence_weighted",
    "UNKNOWN": "olscale.learners.contract.learner",
    "Choice": "olscale.learners.contract.parameters",
    "Classifier": "olscale.learners.contract.estimator",
    "CompilesLoops": "olscale.learners.contract.compilation",
    "Domain": "olscale.learners.contract.parameters",
    "EstimatesCost": "olscale.learners.contract.cost",
    "Flag": "olscale.learners.contract.parameters",
    "FloatArray": "olscale.learners.contract.learner",
    "FusedSettings": "olscale.learners.contract.fused_settings",
    "FusesSettings": "olscale.learners.contract.fused_settings",
    "Learner": "olscale.learners.contract.learner",
    "LinearLearner": "olscale.learners.linear",
    "LooksAhead": "olscale.learners.contract.look_ahead",
    "OnePassLearner": "olscale.learners.contract.one_pass",
    "Pegasos": "olscale.learners.pegasos",
    "Perceptron": "olscale.learners.perceptron",
    "Real": "olscale.learners.contract.parameters",
    "Rows": "olscale.compiled.csr",
    "ShardsClasses": "olscale.learners.contract.class_axes",
    "SoftLOL": "olscale.learners.soft_lol",
    "State": "olscale.learners.contract.learner",
    "Whole": "olscale.learners.contract.parameters",
    "add_column": "olscale.compiled.rows",
    "add_row": "olscale.compiled.rows",
    "class_axis": "olscale.learners.contract.class_axes",
    "column_sums": "olscale.compiled.rows",
    "compiled": "olscale.compiled.decorator",
    "count_update": "olscale.learners.contract.class_shards",
    "implements": "olscale.learners.linear",
    "row_scores": "olscale.compiled.rows",
    "set_column": "olscale.compiled.rows",
    "unusable": "olscale.learners.contract.usable_rows",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'olscale.learners' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
