"""Learners of a hundred trees with five: what tests show of many, they show of these."""

from __future__ import annotations

from typing import Any

from olscale.learners.contract.parameters import Whole, param
from olscale.learners.registry import learner_class

_TREES = 5


def few_trees(name: str) -> dict[str, Any]:
    """Return the parameters with which a learner of many trees has few; none for others."""
    if "trees" in learner_class(name).domains:
        return {"trees": _TREES}
    return {}


def class_with_few_trees(name: str) -> type[Any]:
    """Return the class of a learner, or one that differs from it in the default number of trees."""
    learner: type[Any] = learner_class(name)
    if not few_trees(name):
        return learner
    few = param(_TREES, Whole(1), "Trees.")
    members = {"trees": few, "__annotations__": {"trees": int}}
    return type(learner.__name__, (learner,), members | {"__module__": __name__})
