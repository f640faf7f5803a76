"""How a model is made: from a class, from a function, or as a copy of a module's model.

Seeds that the model leaves open, anywhere within it, are set: they are otherwise drawn from the
clock, and every evaluation has other figures.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from inspect import Parameter, signature
from typing import Any, NamedTuple

import numpy as np

from olscale.errors import OlscaleError, ParameterError, UnknownNameError
from olscale.learners.contract.foreign.freshness import (
    check_untrained,
    copy_of,
    new_models,
)
from olscale.learners.contract.foreign.kind import task_of
from olscale.learners.contract.foreign.parts import (
    GENERATORS,
    attributes_of,
    is_global_generator,
    parts_of,
)
from olscale.system.user_source import is_installed

SEEDS = ("random_state", "seed")
"""The name of the parameter in scikit-learn and River."""

_TAG = 0x5EED


def set_open_seeds(model: Any, other: Any, entropy: Sequence[int]) -> int:
    """Set the seeds that are open within `model`; return their number.

    Parameters
    ----------
    model, other : object
        Two new models, made in the same way: generators whose states differ are seeded by the
        clock.
    entropy : sequence of int
        The source of the seeds, in the order of the parts.
    """
    states = {part.way: part.value for part in parts_of(other, into_functions=True)}
    sequence = np.random.SeedSequence([_TAG, *entropy])
    draws = np.random.Generator(np.random.PCG64(sequence))
    count = 0
    for way, part in list(parts_of(model, into_functions=True)):
        if isinstance(part, GENERATORS):
            if not is_global_generator(part) and _state(part) != _state(
                states.get(way, part)
            ):
                _seed(part, _draw(draws))
                count += 1
            continue
        own = attributes_of(part)
        for name in SEEDS:
            if name in own and own[name] is None and _is_open(name, type(part)):
                setattr(part, name, _draw(draws))
                count += 1
        for name, generator in _generators_of_class(part):
            if name not in own:  # one shared by all models: each gets its own
                setattr(part, name, copy.deepcopy(generator))
                _seed(getattr(part, name), _draw(draws))
                count += 1
    return count


def _generators_of_class(part: Any) -> Iterator[tuple[str, Any]]:
    """Yield the generators that are attributes of a user's class, with their names."""
    for kind in type(part).__mro__:
        for name, value in list(vars(kind).items()):
            if (
                isinstance(value, GENERATORS)
                and not is_global_generator(value)
                and not is_installed(kind.__module__)
            ):
                yield name, value


def _draw(draws: np.random.Generator) -> int:
    return int(draws.integers(2**31))


def _is_open(name: str, kind: type) -> bool:
    """Return whether a class draws from the clock where its seed `name` is None.

    scikit-learn draws from the process-wide numbers then, and these belong to the run.
    """
    if name == "random_state" and any(
        _is_of_scikit_learn(base.__module__) for base in kind.__mro__
    ):
        return False
    try:
        return name in signature(kind).parameters
    except (TypeError, ValueError):  # compiled, without a signature
        return False


def _is_of_scikit_learn(module: str) -> bool:
    """Return whether a module has algorithms of scikit-learn, not what any estimator inherits."""
    return module.startswith("sklearn.") and not module.startswith(
        ("sklearn.base", "sklearn.utils")
    )


def _state(generator: Any) -> str:
    """Return a text of the state; empty for a generator without one, as the system's."""
    if isinstance(generator, np.random.Generator):
        return repr(generator.bit_generator.state)
    if isinstance(generator, np.random.RandomState):
        return repr(
            [np.asarray(part).tolist() for part in generator.get_state(legacy=True)]
        )
    if isinstance(generator, random.Random) and not isinstance(
        generator, random.SystemRandom
    ):
        return repr(generator.getstate())
    return ""


def _seed(generator: Any, seed: int) -> None:
    if isinstance(generator, np.random.Generator):
        kind = type(generator.bit_generator)
        generator.bit_generator.state = kind(seed).state
    else:
        generator.seed(seed)


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
    model, twin = _new_models(name, target, params)
    if callable(target):
        for seed in SEEDS:
            if getattr(model, seed, 0) is None and seed in _arguments(target):
                # Seeded by the clock it would give other results each time: the run has seed 0, and
                # records it.
                params = {**params, seed: 0}
                model, twin = _new_models(name, target, params)
    for new_model in (model, twin):
        _seed_inner(new_model)
    seeds = set_open_seeds(model, twin, entropy)
    task_of(name, model)
    return MadeModel(model, params, seeds)


def _new_models(name: str, target: Any, params: dict[str, Any]) -> tuple[Any, Any]:
    if not callable(target):
        check_untrained(name, target)
    # A list in the experiment must not be shared by two models.
    return new_models(
        name,
        lambda: _call(name, target, copy.deepcopy(params)),
        isinstance(target, type),
    )


def check_arguments(name: str, target: Any, params: Mapping[str, Any]) -> None:
    """Refuse parameters that a class or function does not take, and missing ones that it needs.

    Raises
    ------
    UnknownNameError, ParameterError
    """
    arguments = _arguments(target)
    if not any(
        argument.kind is Parameter.VAR_KEYWORD for argument in arguments.values()
    ):
        for key in params:
            if key not in arguments:
                raise UnknownNameError(f"parameter of learner {name}", key, arguments)
    missing = [
        key
        for key, argument in arguments.items()
        if _is_needed(argument) and key not in params
    ]
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
        # scikit-learn's own check: now, not in the middle of a run
        if hasattr(model, "_parameter_constraints"):
            model._validate_params()
        return model
    except OlscaleError as error:
        raise error from None
    except Exception as error:
        if isinstance(error, TypeError | ValueError):
            text = str(error)
        else:
            text = f"{type(error).__name__}: {error}"
        raise ParameterError(f"learner {name} cannot be made: {text}") from None


def _copy(model: Any, params: dict[str, Any]) -> Any:
    """Return an untrained copy of a model with other parameters."""
    if hasattr(model, "learn_one") and hasattr(model, "clone"):
        if params:
            return model.clone(params)
        return model.clone()
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
    if params:
        return fresh.set_params(**params)
    return fresh


def _arguments(target: Any) -> dict[str, Parameter]:
    try:
        if isinstance(target, type):
            parameters = _parameters(target)
        else:
            parameters = signature(target).parameters
        return {
            name: parameter
            for name, parameter in parameters.items()
            if parameter.kind
            in (
                Parameter.POSITIONAL_OR_KEYWORD,
                Parameter.KEYWORD_ONLY,
                Parameter.VAR_KEYWORD,
            )
        }
    except (TypeError, ValueError):  # compiled, without a signature
        return {"": Parameter("parameters", Parameter.VAR_KEYWORD)}


@cache
def _parameters(target: type) -> Mapping[str, Parameter]:
    return signature(target).parameters


def _is_needed(argument: Parameter) -> bool:
    return (
        argument.default is Parameter.empty
        and argument.kind is not Parameter.VAR_KEYWORD
    )


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
