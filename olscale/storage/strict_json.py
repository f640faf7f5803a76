"""Frozen dataclasses as JSON: read strictly by their annotations, and written in one form.

A number written as text is damage, and an unknown field belongs to a later version: nothing is
converted, and nothing is passed over. pydantic does the same for what users write; importing it and
building its models takes as long as importing NumPy, which an ingest of a small table does not get
back.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from json.encoder import encode_basestring
from types import MappingProxyType, NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from olscale.errors import OlscaleError

T = TypeVar("T")

_Where: TypeAlias = tuple[str | int, ...]

LATER = MappingProxyType({"later": True})
"""Metadata of a field that is not written where it is None: files of before keep their bytes."""
_LEAVES = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
_SHOWN = 40


class WrongFieldError(OlscaleError, ValueError):
    """A field that does not hold what its annotation says.

    Attributes
    ----------
    where : str
        Names and positions on the way to the field, between points.
    """

    def __init__(self, where: _Where, problem: str) -> None:
        super().__init__(problem)
        self.where = ".".join(map(str, where))


@dataclass(frozen=True, slots=True)
class AtLeast:
    """In an annotation: the smallest number allowed."""

    least: int

    def check(self, value: Any) -> str | None:
        """Return what is wrong with a value, if anything is."""
        if value >= self.least:
            return None
        return f"is {value}, expected at least {self.least}"


@dataclass(frozen=True, slots=True)
class Matching:
    """In an annotation: the form of a text."""

    pattern: str

    def check(self, value: Any) -> str | None:
        """Return what is wrong with a value, if anything is."""
        if re.fullmatch(self.pattern, value):
            return None
        return f"is {_shown(value)}, expected {self.pattern}"


@dataclass(frozen=True, slots=True)
class Passing:
    """In an annotation: a function that raises `ValueError` for a wrong value."""

    function: Callable[[Any], None]

    def check(self, value: Any) -> str | None:
        """Return what is wrong with a value, if anything is."""
        try:
            self.function(value)
        except ValueError as fault:
            return str(fault)
        return None


@dataclass(frozen=True, slots=True)
class Formerly:
    """In an annotation: a function that turns what earlier versions wrote into today's value."""

    function: Callable[[Any], Any]


def read_strictly(kind: type[T], value: Any) -> T:
    """Return a JSON value as an object of a dataclass.

    Parameters
    ----------
    kind : type
        A dataclass. Its fields are ``int``, ``float``, ``str``, ``bool``, dataclasses,
        ``tuple[X, ...]``, ``dict[str, X]``, ``Literal``, unions of these, and `Annotated` with
        the rules of this module.
    value : object
        As ``json.loads`` returns it.

    Raises
    ------
    WrongFieldError
        Naming the first wrong field. A `ValueError` of ``__post_init__`` becomes one as well.

    Examples
    --------
    >>> from dataclasses import field
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Shelf:
    ...     books: Annotated[int, AtLeast(0)]
    ...     label: str | None = field(default=None, metadata=LATER)
    >>> read_strictly(Shelf, {"books": 3})
    Shelf(books=3, label=None)
    >>> read_strictly(Shelf, {"books": "3"})
    Traceback (most recent call last):
    ...
    olscale.storage.strict_json.WrongFieldError: is '3', expected a whole number
    """
    read: T = _read(kind, value, ())
    return read


def _read(hint: Any, value: Any, where: _Where) -> Any:
    origin = get_origin(hint)
    if hint in _LEAVES:
        return _leaf(hint, value, where)
    if origin is Annotated:
        return _annotated(hint, value, where)
    if origin in (Union, UnionType):
        return _union(get_args(hint), value, where)
    if origin is Literal:
        choices = get_args(hint)
        if not any(
            type(value) is type(choice) and value == choice for choice in choices
        ):
            expected = " or ".join(map(repr, choices))
            raise WrongFieldError(where, f"is {_shown(value)}, expected {expected}")
        return value
    if origin is tuple:
        _require(list, value, where)
        part = get_args(hint)[0]
        return tuple(_read(part, item, (*where, i)) for i, item in enumerate(value))
    _require(dict, value, where)
    if origin is dict:
        part = get_args(hint)[1]
        return {name: _read(part, item, (*where, name)) for name, item in value.items()}
    return _object(hint, value, where)


def _leaf(hint: type, value: Any, where: _Where) -> Any:
    if hint is float and type(value) is int:
        return float(value)
    is_finite = value == value and value not in (math.inf, -math.inf)
    if type(value) is not hint or not is_finite:
        raise WrongFieldError(where, f"is {_shown(value)}, expected {_LEAVES[hint]}")
    return value


def _annotated(hint: Any, value: Any, where: _Where) -> Any:
    kind, *rules = get_args(hint)
    for rule in rules:
        if isinstance(rule, Formerly):
            value = rule.function(value)
    result = _read(kind, value, where)
    for rule in rules:
        problem = None
        if not isinstance(rule, Formerly):
            problem = rule.check(result)
        if problem is not None:
            raise WrongFieldError(where, problem)
    return result


def _union(kinds: tuple[Any, ...], value: Any, where: _Where) -> Any:
    if value is None and NoneType in kinds:
        return None
    if type(value) in kinds:
        return _leaf(type(value), value, where)
    # Of what is not a leaf there is one kind, whose error says most.
    value_kinds = [kind for kind in kinds if kind is not NoneType]
    inner = [kind for kind in value_kinds if kind not in _LEAVES]
    return _read((inner or value_kinds)[0], value, where)


def _object(kind: type, value: dict[str, Any], where: _Where) -> Any:
    hints = _hints(kind)
    for name in value:
        if name not in hints:
            raise WrongFieldError((*where, name), "is no field of this format")
    for name in _required(kind):
        if name not in value:
            raise WrongFieldError((*where, name), "is missing")
    read = {
        name: _read(hints[name], item, (*where, name)) for name, item in value.items()
    }
    try:
        return kind(**read)
    except ValueError as fault:
        raise WrongFieldError(where, str(fault)) from None


def _require(kind: type, value: Any, where: _Where) -> None:
    if type(value) is not kind:
        expected = "an object" if kind is dict else "a list"
        raise WrongFieldError(where, f"is {_shown(value)}, expected {expected}")


def _shown(value: Any) -> str:
    text = repr(value)
    if len(text) <= _SHOWN:
        return text
    return f"{text[: _SHOWN - 3]}..."


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


@cache
def _required(kind: Any) -> tuple[str, ...]:
    return tuple(
        declared.name
        for declared in fields(kind)
        if declared.default is MISSING and declared.default_factory is MISSING
    )


def as_json(value: Any) -> Any:
    """Return an object of a dataclass, or a part of one, as ``json.loads`` would return it.

    Examples
    --------
    >>> from dataclasses import field
    >>> @dataclass
    ... class Shelf:
    ...     titles: tuple[str, ...]
    ...     label: str | None = field(default=None, metadata=LATER)
    >>> as_json(Shelf(("a", "b")))
    {'titles': ['a', 'b']}
    """
    if is_dataclass(value):
        return {name: as_json(item) for name, item in _written(value)}
    if isinstance(value, dict):
        return {name: as_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return list(map(as_json, value))
    return value


def _written(value: Any) -> Iterator[tuple[str, Any]]:
    for declared in fields(value):
        item = getattr(value, declared.name)
        if item is not None or "later" not in declared.metadata:
            yield declared.name, item


def json_text(value: Any, depth: int = 0) -> str:
    """Return the text of a JSON value, each part on a line, one space a level, no ASCII escapes.

    Floats have the form in which pydantic writes them: manifests keep their bytes.

    Examples
    --------
    >>> print(json_text({"a": [1, 1e-6], "b": {}}))
    {
     "a": [
      1,
      1e-6
     ],
     "b": {}
    }
    """
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, dict):
        lines = [
            f"{encode_basestring(name)}: {json_text(item, depth + 1)}"
            for name, item in value.items()
        ]
        return _between("{", lines, "}", depth)
    lines = [json_text(item, depth + 1) for item in value]
    return _between("[", lines, "]", depth)


def _between(begin: str, lines: list[str], end: str, depth: int) -> str:
    if not lines:
        return begin + end
    space = "\n" + " " * depth
    return f"{begin}{space} " + f",{space} ".join(lines) + space + end


def _float_text(value: float) -> str:
    text = float.__repr__(value)
    mantissa, mark, exponent = text.partition("e")
    if not mark:
        return text
    if int(exponent) == -5:
        sign = "-" * (value < 0)
        return f"{sign}0.0000{mantissa.lstrip('-').replace('.', '')}"
    return f"{mantissa}e{int(exponent):+d}"
