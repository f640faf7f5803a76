"""Single-pass learners: one folder per kind.

What all learners promise is in `contract`, their names are in `registry`.

>>> from olscale.learners import PA1
>>> PA1(C=0.5)
PA1(C=0.5)

The classes of all names in the registry are here, with all that a new learner needs. They are
imported on first use; `__init__.pyi` names them for type checkers.
"""

from functools import cache
from importlib import import_module
from typing import Any

_FOR_AUTHORS = {
    "olscale.compiled.csr": "Rows",
    "olscale.compiled.decorator": "compiled",
    "olscale.compiled.row_layout": "by_layout",
    "olscale.compiled.rows": "add_column add_row column_sums row_scores set_column weight_of",
    "olscale.learners.contract.class_axes": "ShardsClasses class_axis",
    "olscale.learners.contract.class_shards": "count_update",
    "olscale.learners.contract.compilation": "CompilesLoops",
    "olscale.learners.contract.cost": "EstimatesCost",
    "olscale.learners.contract.detector": "Detector OnePassDetector",
    "olscale.learners.contract.estimator": "Classifier OnePassLearner",
    "olscale.learners.contract.fused_settings": "FusedSettings FusesSettings",
    "olscale.learners.contract.learner": "FloatArray Learner State UNKNOWN",
    "olscale.learners.contract.capability": "LooksAhead",
    "olscale.learners.contract.parameters": "Choice Domain Flag Maybe Real Whole param",
    "olscale.learners.contract.regressor": "OnePassRegressor Regressor",
    "olscale.learners.contract.update_rule": "rule_of",
    "olscale.learners.contract.usable_rows": "unusable",
    "olscale.learners.contract.weighted": "WeightedClassifier WeightedRegressor",
    "olscale.learners.linear.first_order": "LinearLearner implements",
    "olscale.learners.linear.regression": "LinearRegressor",
}
"""The modules, each with the names that authors of learners use."""


@cache
def _homes() -> dict[str, str]:
    """Return the module of each name."""
    from olscale.learners.registry import LEARNERS

    targets = (target.split(":") for target in LEARNERS.ours.values())
    homes = {name: module for module, name in targets}
    for module, names in _FOR_AUTHORS.items():
        homes.update(dict.fromkeys(names.split(), module))
    return homes


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    home = _homes().get(name)
    if home is None:
        raise AttributeError(f"module 'olscale.learners' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(_homes())
