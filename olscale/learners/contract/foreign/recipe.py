"""How a model is made: from a class, from a function, or as a copy of a module's model."""

import copy
from collections.abc import Mapping, Sequence
from functools import cache
from inspect import Parameter, signature
from typing import Any, NamedTuple

from olscale.errors import OlscaleError, ParameterError, UnknownNameError
from olscale.learners.contract.foreign.freshness import check_untrained, copy_of, new_models
from olscale.learners.contract.foreign.kind import task_of
from olscale.learners.contract.foreign.seeds import SEEDS, set_open_seeds


class MadeModel(NamedTuple):
    """A new model.

    Parameters
    ----------
    model : object
    params : dict
        Its parameters, with a seed added where one was left open.
    seeds : int
        How many more seeds were open within it; they are set.
    """

    model: Any
    params: dict[str, Any]
    seeds: int


def make_model(
    name: str, target: Any, params: dict[str, Any], entropy: Sequence[int] = ()
) -> MadeModel:
    """Return a new, untrained model that shares no part with others.

    `target` is the object behind `name`, as written in the experiment: a class, a function or a
    model. Randomness within the model depends on `entropy`.

    Raises
    ------
    ParameterError
        If it cannot be made with these parameters, shares what it learns, has learned before, or
        does not learn row by row.
    """
    model, other = _new_models(name, target, params)
    if callable(target):
        for seed in SEEDS:
            if getattr(model, seed, 0) is None and seed in _arguments(target):
                # Seeded by the clock it would give other results each time: the run has seed 0, and
                # records it.
                params = {**params, seed: 0}
                model, other = _new_models(name, target, params)
    for each in (model, other):
        _seed_inner(each)
    seeds = set_open_seeds(model, other, entropy)
    task_of(name, model)
    return MadeModel(model, params, seeds)


def _new_models(name: str, target: Any, params: dict[str, Any]) -> tuple[Any, Any]:
    if not callable(target):
        check_untrained(name, target)
    # A list in the experiment must not be shared by two models.
    return new_models(
        name, lambda: _call(name, target, copy.deepcopy(params)), isinstance(target, type)
    )


def check_arguments(name: str, target: Any, params: Mapping[str, Any]) -> None:
    """Refuse parameters that a class or function does not take, and missing ones that it needs.

    Raises
    ------
    UnknownNameError, ParameterError
    """
    arguments = _arguments(target)
    if not any(one.kind is Parameter.VAR_KEYWORD for one in arguments.values()):
        for key in params:
            if key not in arguments:
                raise UnknownNameError(f"parameter of learner {name}", key, arguments)
    missing = [key for key, one in arguments.items() if _is_needed(one) and key not in params]
    if missing:
        words = ",".join(f"{key}=..." for key in missing)
        raise ParameterError(
            f"learner {name} needs {', '.join(missing)}: write {name}:{words}, or params in the "
            "experiment's file; for one "
            "that is itself a model, name a class or function of your own that builds the whole"
        )


def _call(name: str, target: Any, params: dict[str, Any]) -> Any:
    try:
        if not callable(target):
            return _copy(target, params)
        check_arguments(name, target, params)
        model = target(**params)
        if hasattr(
            model, "_parameter_constraints"
        ):  # scikit-learn's own check: now, not in the middle of a run
            model._validate_params()
        return model
    except OlscaleError as error:
        raise error from None
    except Exception as error:
        text = (
            str(error)
            if isinstance(error, TypeError | ValueError)
            else f"{type(error).__name__}: {error}"
        )
        raise ParameterError(f"learner {name} cannot be made: {text}") from None


def _copy(model: Any, params: dict[str, Any]) -> Any:
    """Return an untrained copy of a model with other parameters."""
    if hasattr(model, "learn_one") and hasattr(model, "clone"):
        return model.clone(params) if params else model.clone()
    if not hasattr(model, "get_params"):
        if params:
            raise ValueError(
                f"a {type(model).__name__} without set_params takes no parameters, got "
                f"{', '.join(params)}"
            )
        try:
            return copy_of(model)
        except Exception as error:
            raise ValueError(
                f"it is an object of class {type(model).__name__} without get_params, of which "
                "nobody "
                f"can say whether it has learned before ({error}); name its class, or a function "
                "that "
                "builds one"
            ) from None
    fresh = copy_of(model)
    return fresh.set_params(**params) if params else fresh


def _arguments(target: Any) -> dict[str, Parameter]:
    try:
        parameters = (
            _parameters(target) if isinstance(target, type) else signature(target).parameters
        )
        return {
            name: one
            for name, one in parameters.items()
            if one.kind
            in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD)
        }
    except (TypeError, ValueError):  # compiled, without a signature
        return {"": Parameter("parameters", Parameter.VAR_KEYWORD)}


@cache
def _parameters(target: type) -> Mapping[str, Parameter]:
    return signature(target).parameters


def _is_needed(argument: Parameter) -> bool:
    return argument.default is Parameter.empty and argument.kind is not Parameter.VAR_KEYWORD


def _seed_inner(model: Any) -> None:
    """Set the seed of the models within a model to 0 where it is open."""
    try:
        inner = {
            key: value
            for key, value in model.get_params(deep=True).items()
            if key.endswith("__random_state")
        }
        left_open = [key for key, value in inner.items() if value is None]
        if left_open:
            model.set_params(**dict.fromkeys(left_open, 0))
    except Exception:  # its get_params is not scikit-learn's
        return
