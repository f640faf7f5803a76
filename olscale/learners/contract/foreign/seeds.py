"""Seeds that an external model leaves open, anywhere within it: they are found and set.

Open seeds are drawn from the clock, and then every evaluation has other figures.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from inspect import signature
from typing import Any

import numpy as np

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
    draws = np.random.Generator(np.random.PCG64(np.random.SeedSequence([_TAG, *entropy])))
    count = 0
    for way, part in list(parts_of(model, into_functions=True)):
        if isinstance(part, GENERATORS):
            if not is_global_generator(part) and _state(part) != _state(states.get(way, part)):
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
        return repr([np.asarray(part).tolist() for part in generator.get_state(legacy=True)])
    if isinstance(generator, random.Random) and not isinstance(generator, random.SystemRandom):
        return repr(generator.getstate())
    return ""


def _seed(generator: Any, seed: int) -> None:
    if isinstance(generator, np.random.Generator):
        kind = type(generator.bit_generator)
        generator.bit_generator.state = kind(seed).state
    else:
        generator.seed(seed)
