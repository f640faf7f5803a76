"""What a compiled loop gets of a learner's parameters: a named tuple, whose fields are named after them."""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, get_type_hints

import numpy as np

from olscale.learners.contract.learner import Learner

Rule = TypeVar("Rule")


def rule_of(rule_type: Callable[..., Rule], learner: Learner, **computed: Any) -> Rule:
    """Return the rule of a learner: its parameters in the types that the fields of the rule have.

    A field of an array gets one element: such rules have a value for each setting of a pass.

    Parameters
    ----------
    rule_type : type
        A named tuple.
    learner : Learner
    **computed : object
        Values of the fields that are no parameters, or have another value than the parameter.

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
        value = computed[name] if name in computed else getattr(learner, name)
        values.append(kind(value))
    return rule_type(*values)


@cache
def _kinds(rule_type: Any) -> dict[str, Callable[[Any], Any]]:
    hints = get_type_hints(rule_type)
    return {name: kind if kind in (bool, float, int) else _setting for name, kind in hints.items()}


def _setting(value: float) -> Any:
    return np.array([value], dtype=np.float64)
