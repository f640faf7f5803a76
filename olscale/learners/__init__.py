"""Single-pass learners: an algorithm or family a file, what all promise in `contract`, names in `registry`.

>>> from olscale.learners import PA1
>>> PA1(C=0.5)
PA1(C=0.5)

Names below are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from olscale.learners.arow import AROW
    from olscale.learners.confidence_weighted import CW
    from olscale.learners.contract.estimator import Classifier
    from olscale.learners.contract.learner import Learner
    from olscale.learners.contract.one_pass import OnePassLearner
    from olscale.learners.gradient_descent import OGD
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
    "Classifier",
    "Learner",
    "OnePassLearner",
    "Pegasos",
    "Perceptron",
    "SoftLOL",
]

_HOMES = {
    "AROW": "olscale.learners.arow",
    "CW": "olscale.learners.confidence_weighted",
    "Classifier": "olscale.learners.contract.estimator",
    "ILOL": "olscale.learners.lol",
    "LOL": "olscale.learners.lol",
    "Learner": "olscale.learners.contract.learner",
    "OGD": "olscale.learners.gradient_descent",
    "OLLC": "olscale.learners.ollc",
    "OnePassLearner": "olscale.learners.contract.one_pass",
    "PA": "olscale.learners.passive_aggressive",
    "PA1": "olscale.learners.passive_aggressive",
    "PA2": "olscale.learners.passive_aggressive",
    "PAMO1": "olscale.learners.pamo",
    "PAMO2": "olscale.learners.pamo",
    "Pegasos": "olscale.learners.pegasos",
    "Perceptron": "olscale.learners.perceptron",
    "SCW1": "olscale.learners.soft_confidence_weighted",
    "SCW2": "olscale.learners.soft_confidence_weighted",
    "SoftLOL": "olscale.learners.soft_lol",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'olscale.learners' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
