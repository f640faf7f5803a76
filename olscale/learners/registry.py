"""Names of learners and how to get the class behind a name.

A learner is named by its registry name (``pa1``) or, for one that lives elsewhere, by ``module:Class``: a class that keeps
the learner contract is used as it is, any scikit-learn or River estimator is wrapped. Packages add names of their own
with the entry point group ``olscale.learners``.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from olscale.errors import OlscaleError, ParameterError, UnknownNameError
from olscale.learners.base import Learner
from olscale.raised import let_interrupt_out, text_of

__all__ = ["asked", "is_ours", "learner_class", "learner_names", "make_learner"]

T = TypeVar("T")

_OURS = {
    "perceptron": "olscale.learners.perceptron:Perceptron",
    "pa": "olscale.learners.passive_aggressive:PA",
    "pa1": "olscale.learners.passive_aggressive:PA1",
    "pa2": "olscale.learners.passive_aggressive:PA2",
    "ogd": "olscale.learners.gradient_descent:OGD",
    "pegasos": "olscale.learners.pegasos:Pegasos",
    "cw": "olscale.learners.confidence_weighted:CW",
    "arow": "olscale.learners.arow:AROW",
    "scw1": "olscale.learners.soft_confidence_weighted:SCW1",
    "scw2": "olscale.learners.soft_confidence_weighted:SCW2",
    "lol": "olscale.learners.local:LOL",
    "ilol": "olscale.learners.local:ILOL",
    "soft-lol": "olscale.learners.soft_local:SoftLOL",
    "ollc": "olscale.learners.two_regions:OLLC",
    "pamo1": "olscale.learners.max_out:PAMO1",
    "pamo2": "olscale.learners.max_out:PAMO2",
}


@cache
def _targets() -> dict[str, str]:
    found = {point.name: point.value for point in importlib.metadata.entry_points(group="olscale.learners")}
    return {**found, **_OURS}


def learner_names() -> list[str]:
    """Return the registered names, families together."""
    return list(_targets())


def learner_class(name: str) -> type[Any]:
    """Return the class behind `name`.

    Raises
    ------
    UnknownNameError
        If the name is not registered.
    ParameterError
        If ``module:Class`` cannot be imported.

    Examples
    --------
    >>> learner_class("pa1").__name__
    'PA1'
    """
    target = name if ":" in name else _targets().get(name)
    if target is None:
        raise UnknownNameError("learner", name, learner_names())
    module, _, attribute = target.partition(":")
    try:
        found: type[Any] = getattr(importlib.import_module(module), attribute)
        if not isinstance(found, type):
            raise AttributeError(f"{target} is no class")
    except BaseException as error:  # a module may raise anything when it is imported, and end the process with sys.exit
        let_interrupt_out(error)
        why = error if isinstance(error, ImportError | AttributeError | ValueError) else text_of(error)
        raise ParameterError(
            f"learner {name!r} cannot be imported ({why}); expected module:Class that Python finds, or one of "
            f"{', '.join(learner_names())}"
        ) from None
    return found


def is_ours(name: str) -> bool:
    """Return whether a learner is one of olscale's own."""
    return name in _OURS


def asked(name: str, what: str, call: Callable[[], T]) -> T:
    """Return what learner `name` says when it is asked for `what` while an evaluation is planned.

    Raises
    ------
    OlscaleError
        If the learner raises one.
    ParameterError
        If it raises anything else.
    """
    try:
        return call()
    except OlscaleError:
        raise
    except BaseException as error:
        let_interrupt_out(error)
        raise ParameterError(f"learner {name}: {what} raised {text_of(error)}; mend it or leave it out") from None


def is_restorable(name: str) -> bool:
    """Return whether a run of the learner can be continued from a checkpoint."""
    found = learner_class(name)
    return issubclass(found, Learner) and found.restorable


def make_learner(name: str, params: dict[str, Any]) -> Learner:
    """Return an untrained learner with its parameters checked.

    Raises
    ------
    ParameterError
        If a parameter does not exist or is outside its domain.

    Examples
    --------
    >>> make_learner("pa1", {"C": 0.5}).resolved_params()
    {'C': 0.5, 'dtype': 'float64', 'multiclass': 'max-score'}
    """
    return asked(name, "making it", lambda: _made(name, params))


def _made(name: str, params: dict[str, Any]) -> Learner:
    found = learner_class(name)
    if not issubclass(found, Learner):
        from olscale.learners.foreign import ForeignLearner

        return ForeignLearner(name, found, params)
    known = found().get_params()
    for key in params:
        if key not in known:
            raise UnknownNameError(f"parameter of learner {name}", key, known)
    learner = found(**params)
    learner.resolved_params()
    return learner
