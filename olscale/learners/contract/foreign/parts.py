"""The objects that an external model consists of, and how two models differ in them."""

from __future__ import annotations

import enum
import functools
import itertools
import logging
import random
from collections import deque
from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

GENERATORS = (random.Random, np.random.Generator, np.random.RandomState)
"""Classes of random number generators: each object has its own state."""

_MOST = 100_000
_ATOMS = (
    str,
    bytes,
    int,
    float,
    complex,
    type(None),
    type,
    ModuleType,
    BuiltinFunctionType,
    np.generic,
    np.dtype,
)
_FUNCTIONS = (FunctionType, MethodType, functools.partial)
_CONTAINERS = (dict, list, set, deque, bytearray)
_WITHOUT_STATE = (enum.Enum, logging.Logger, *_FUNCTIONS)


class ModelPart(NamedTuple):
    """An object in a model, and its path: ``.steps['scale'].counts``, empty for the model."""

    way: str
    value: Any


def parts_of(model: Any, into_functions: bool = False) -> Iterator[ModelPart]:
    """Yield a model and the objects within it, each once, closest first.

    Parameters
    ----------
    model : object
    into_functions : bool
        Whether to examine what functions hold: variables of the enclosing function, bound
        arguments, their object.

    Examples
    --------
    >>> [part.way for part in parts_of({"rates": [0.1], "name": "x"})]
    ['', "['rates']"]
    """
    ids: set[int] = set()
    waiting = deque([ModelPart("", model)])
    while waiting and len(ids) < _MOST:
        part = waiting.popleft()
        if isinstance(part.value, _ATOMS) or id(part.value) in ids:
            continue
        # By identity: equal parts may be shared or not, and that is the question.
        ids.add(id(part.value))
        yield part
        waiting.extend(_inner(part, into_functions))


def _inner(part: ModelPart, into_functions: bool) -> Iterator[ModelPart]:
    way, value = part
    # Their contents are numbers only; walking them would take longer than learning.
    if isinstance(value, (*GENERATORS, np.ndarray)):
        return
    if isinstance(value, _FUNCTIONS):
        if into_functions:
            yield from (
                ModelPart(f"{way}.<{name}>", held) for name, held in _held_by(value)
            )
        return
    if isinstance(value, Mapping):
        yield from (
            ModelPart(f"{way}[{key!r}]", inner) for key, inner in list(value.items())
        )
    elif isinstance(value, list | tuple | deque):
        yield from (
            ModelPart(f"{way}[{i}]", inner) for i, inner in enumerate(list(value))
        )
    yield from (
        ModelPart(f"{way}.{name}", inner)
        for name, inner in attributes_of(value).items()
    )


def attributes_of(value: Any) -> dict[str, Any]:
    """Return an object's own attributes, by name."""
    # Not vars(): an object with slots has none.
    own = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                own.setdefault(name, getattr(value, name))
    return own


def _held_by(function: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(function, functools.partial):
        yield "function", function.func
        yield from ((str(i), argument) for i, argument in enumerate(function.args))
        yield from function.keywords.items()
    elif isinstance(function, MethodType):
        yield "object", function.__self__
    else:
        names = function.__code__.co_freevars
        for name, cell in zip(names, function.__closure__ or (), strict=False):
            try:
                yield name, cell.cell_contents
            except ValueError:  # not filled yet
                continue


def shared_parts(one: Any, other: Any) -> list[ModelPart]:
    """Return the mutable parts of a model that another model shares: identical objects."""
    ids_of_other = {id(part.value) for part in parts_of(other)}
    return [
        part
        for part in parts_of(one)
        if id(part.value) in ids_of_other and _can_change(part.value)
    ]


def _can_change(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.flags.writeable and value.size > 0
    if isinstance(value, GENERATORS):
        return not is_global_generator(value)
    if isinstance(value, _CONTAINERS):
        return True
    is_function = callable(value) and hasattr(value, "__name__")
    is_frozen = getattr(type(value), "__dataclass_params__", None) is not None and (
        type(value).__dataclass_params__.frozen
    )
    return (
        not isinstance(value, _WITHOUT_STATE)
        and not is_function
        and not is_frozen
        and bool(attributes_of(value))
    )


def is_global_generator(value: Any) -> bool:
    """Return whether random numbers are the process-wide ones, which are set for each run."""
    return value is np.random.mtrand._rand or value is getattr(random, "_inst", None)


def differences(left_part: Any, other: Any, way: str = "") -> Iterator[str]:
    """Yield the paths to unequal parts of two models.

    Random numbers, functions and opaque objects are skipped.

    Examples
    --------
    >>> list(differences({"w": [1.0, 2.0], "n": 3}, {"w": [1.0, 2.5], "n": 3}))
    ["['w'][1]"]
    """
    # Models may contain themselves.
    pairs: set[tuple[int, int]] = set()
    waiting = deque([(way, left_part, other)])
    while waiting and len(pairs) < _MOST:
        way, left_part, other = waiting.popleft()
        if (
            left_part is other
            or (id(left_part), id(other)) in pairs
            or isinstance(left_part, (*GENERATORS, *_FUNCTIONS))
        ):
            continue
        pairs.add((id(left_part), id(other)))
        if type(left_part) is not type(other):
            yield way
        elif isinstance(left_part, np.ndarray):
            if not _equal_arrays(left_part, other):
                yield way
        elif isinstance(left_part, (*_ATOMS, set, frozenset, bytearray)):
            if not _equal(left_part, other):
                yield way
        else:
            parts, others = (
                dict(_inner(ModelPart(way, value), False))
                for value in (left_part, other)
            )
            yield from sorted(parts.keys() ^ others.keys())
            waiting.extend(
                (name, parts[name], others[name]) for name in parts if name in others
            )


def _equal_arrays(one: Any, other: Any) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype.kind in "fc":
        return bool(np.array_equal(one, other, equal_nan=True))
    return one.dtype.kind == "O" or bool(np.array_equal(one, other))


def _equal(one: Any, other: Any) -> bool:
    is_nan = isinstance(one, float) and one != one
    return (is_nan and other != other) or bool(one == other)


def first_few(paths: Iterator[str], count: int = 1000) -> list[str]:
    """Return the first of many paths."""
    return list(itertools.islice(paths, count))
