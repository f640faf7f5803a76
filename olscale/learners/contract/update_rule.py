"""The parameters of a learner for a compiled loop: a named tuple with fields of the same names."""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, get_type_hints

import numpy as np

from olscale.learners.contract.learner import Learner

Rule = TypeVar("Rule")


def rule_of(rule_type: Callable[..., Rule], learner: Learner, **computed: Any) -> Rule:
    """Return the rule of a learner: its parameters in the types of the rule's fields.

    An array field gets one element: such rules have a value per setting of a pass.

    Parameters
    ----------
    rule_type : type
        A named tuple.
    learner : Learner
    **computed : object
        Values of the fields that are not parameters, or differ from the parameter.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from olscale.learners import BPAS
    >>> class Budget(NamedTuple):
    ...     B: int
    ...     C: float
    ...     hinge: bool
    >>> rule_of(Budget, BPAS(B=20, C=2), hinge=True)
    Budget(B=20, C=2.0, hinge=True)
    """
    values = []
    for name, kind in _kinds(rule_type).items():
        if name in computed:
            value = computed[name]
        else:
            value = getattr(learner, name)
        values.append(kind(value))
    return rule_type(*values)


@cache
def _kinds(rule_type: Any) -> dict[str, Callable[[Any], Any]]:
    hints = get_type_hints(rule_type)
    return {
        name: kind if kind in (bool, float, int) else _setting
        for name, kind in hints.items()
    }


def _setting(value: float) -> Any:
    return np.array([value], dtype=np.float64)
