"""Whether a model is new: it shares no part with another model and has learned nothing yet.

Each run begins with a new model. What can be cloned is cloned, so that no model learns another's
rows; a model that still shares a part, or has learned before, is refused.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Sized
from inspect import Parameter, signature
from types import FrameType
from typing import Any

from olscale.errors import ParameterError
from olscale.learners.contract.foreign.parts import (
    differences,
    first_few,
    parts_of,
    shared_parts,
)

_LEARNING = frozenset({"fit", "partial_fit", "learn_one", "learn_many"})


def new_models(name: str, make: Callable[[], Any], is_class: bool) -> tuple[Any, Any]:
    """Return two models that have learned nothing and share nothing.

    Parameters
    ----------
    name : str
        The learner, as written in the experiment.
    make : callable
        Makes a model, perhaps the same one every time.
    is_class : bool
        Whether the class alone makes it, and so determines its start.

    Raises
    ------
    ParameterError
        If they share something that cannot be cloned, or have learned before.
    """
    pupils: list[Any] = []
    model = make() if is_class else _watched(make, pupils)
    if any(part.value is pupil for part in parts_of(model) for pupil in pupils):
        raise ParameterError(
            f"learner {name}: {type(model).__name__} is trained where it is made; {_CURE}"
        )
    twin = make()
    shared = shared_parts(model, twin)
    if not is_class and (shared or is_clonable(model)):
        check_untrained(name, model)
    if not shared:
        return model, twin
    fresh, second = (_cloned(name, model, shared[0].way) for _ in range(2))
    for parts in (shared_parts(fresh, model), shared_parts(fresh, second)):
        if parts:
            raise ParameterError(
                f"learner {name}: {_shared_text(model, parts[0].way)}; {_CURE}"
            )
    return fresh, second


def is_clonable(model: Any) -> bool:
    """Return whether a model's library can clone it."""
    return hasattr(model, "get_params") or (
        hasattr(model, "learn_one") and hasattr(model, "clone")
    )


def copy_of(model: Any) -> Any:
    """Return an untrained copy of a model with the same parameters, made by its library.

    Raises
    ------
    TypeError
        If it is from neither library, and its arguments are not attributes of the same names, with
        the default values if omitted.
    Exception
        Any exception of its own class.
    """
    if hasattr(model, "learn_one") and hasattr(model, "clone"):
        return model.clone()
    if hasattr(model, "get_params"):
        from sklearn.base import clone

        return clone(model)
    return type(model)(**_arguments_of(model))


def _arguments_of(model: Any) -> dict[str, Any]:
    """Return copies of the arguments of a plain object, unless they may have learned something."""
    arguments = {}
    for argument in signature(type(model)).parameters.values():
        if argument.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
            continue
        if not hasattr(model, argument.name):
            if argument.default is Parameter.empty:
                raise TypeError(f"its argument {argument.name} is no attribute of it")
            continue
        value = getattr(model, argument.name)
        is_default = not any(differences(value, argument.default))
        if not is_default or (
            isinstance(value, Sized) and not isinstance(value, str) and len(value)
        ):
            raise TypeError(f"it may have learned its {argument.name}")
        arguments[argument.name] = copy.deepcopy(value)
    return arguments


_CURE = (
    "expected an untrained model for each run: name a class, or a function that builds all of "
    "it anew in each call"
)


def _shared_text(model: Any, way: str) -> str:
    if not way:
        return f"it is one and the same {type(model).__name__} in each call"
    return f"models of it share {type(model).__name__}{way}, so that what one learns others know"


def _cloned(name: str, model: Any, way: str) -> Any:
    try:
        return copy_of(model)
    except Exception as error:
        why = f"and cannot be cloned ({type(error).__name__}: {error})"
        raise ParameterError(
            f"learner {name}: {_shared_text(model, way)}, {why}; {_CURE}"
        ) from None


def check_untrained(name: str, model: Any) -> None:
    """Refuse a model that differs from its copy: the difference is what it has learned.

    A model that cannot be copied passes: nothing is known of it.
    """
    try:
        clone = copy_of(model)
        second_clone = copy_of(model)
    except Exception:  # its class may raise anything
        return
    # what is random from the start
    drawn = set(first_few(differences(clone, second_clone)))
    learned = [way for way in first_few(differences(model, clone)) if way not in drawn]
    if learned:
        # the first public one, if any
        plainest = min(learned, key=lambda way: "._" in way)
        raise ParameterError(
            f"learner {name}: {type(model).__name__} has learned before, its "
            f"{plainest.lstrip('.')} is not that of an "
            f"untrained one; {_CURE}"
        )


def _watched(make: Callable[[], Any], pupils: list[Any]) -> Any:
    """Return a model; `pupils` collects the objects that were taught while it was made."""

    def note(frame: FrameType, event: str, argument: Any) -> None:
        del argument
        if (
            event == "call"
            and frame.f_code.co_name in _LEARNING
            and frame.f_code.co_argcount
        ):
            pupils.append(frame.f_locals.get(frame.f_code.co_varnames[0]))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        return make()
    finally:
        sys.setprofile(before)
