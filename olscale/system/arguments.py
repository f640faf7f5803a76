"""Arguments of the functions that users call: one of a wrong type is named where it is written.

A number in place of a text would otherwise fail far from the call, and a text in place of a list of
names would be read letter by letter.
"""

import functools
import inspect
import os
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal, ParamSpec, TypeVar, Union

from olscale.errors import ParameterError

P = ParamSpec("P")
T = TypeVar("T")

_LONGEST = 40
_NAMES: dict[str, object] = {
    "Collection": Collection,
    "Iterable": Iterable,
    "Mapping": Mapping,
    "Sequence": Sequence,
    "os": os,
}
"""What annotations may name that a module imports for type checkers alone."""
_WORDS = {
    type(None): "None",
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "a text",
    Mapping: "a mapping",
    Sequence: "a list of texts",
    Callable: "a function",
}


def checked_arguments(*others: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that compares arguments with their annotations.

    Numbers of NumPy become those of Python, and one-dimensional arrays and columns of frames lists,
    where texts are listed.

    Parameters
    ----------
    *others : str
        Parameters that the function checks itself, as it does all that take paths.

    Examples
    --------
    >>> @checked_arguments()
    ... def draw(rows: int, names: Sequence[str] = ()) -> tuple[int, int]:
    ...     return rows, len(names)
    >>> draw(3, ["pa1"])
    (3, 1)
    >>> draw(3, "pa1")
    Traceback (most recent call last):
    ...
    olscale.errors.ParameterError: names of draw is 'pa1', expected a list of texts: ['pa1']
    >>> draw("3")
    Traceback (most recent call last):
    ...
    olscale.errors.ParameterError: rows of draw is '3', expected a whole number
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(function)

        @functools.lru_cache(1)
        def kinds() -> dict[str, tuple[Any, ...]]:
            return {
                name: kinds
                for name, parameter in signature.parameters.items()
                if name not in others
                and parameter.kind is not inspect.Parameter.VAR_KEYWORD
                and (kinds := _kinds(parameter.annotation, function))
            }

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError:
                # Python's own message names the argument that is missing or too many.
                return function(*args, **kwargs)
            for name, expected in kinds().items():
                if name in bound.arguments:
                    where = f"{name} of {function.__name__}"
                    bound.arguments[name] = _checked(
                        bound.arguments[name], expected, where
                    )
            return function(*bound.args, **bound.kwargs)

        return call

    return decorate


def _kinds(annotation: Any, function: Callable[..., Any]) -> tuple[Any, ...]:
    """Return what an argument may be, nothing where that is not understood."""
    if isinstance(annotation, str):
        namespace = {**_NAMES, **inspect.unwrap(function).__globals__}
        try:
            annotation = eval(annotation, namespace)
        except NameError:
            return ()
    kinds = tuple(dict.fromkeys(_alternatives(annotation)))
    return () if object in kinds else kinds


def _alternatives(annotation: Any) -> Iterable[Any]:
    origin = typing.get_origin(annotation) or annotation
    inner = typing.get_args(annotation)
    if origin in (Union, types.UnionType):
        for alternative in inner:
            yield from _alternatives(alternative)
    elif origin is Literal:
        # Which of the texts there are, the function says better.
        yield from (value if value is False else type(value) for value in inner)
    elif annotation is None or annotation is type(None):
        yield type(None)
    elif origin in (Sequence, Collection) and inner == (str,):
        yield Sequence
    elif origin in (Mapping, dict):
        yield Mapping
    elif origin is Callable:
        yield Callable
    elif origin in (Any, inspect.Parameter.empty):
        yield object
    elif isinstance(origin, type) and (
        _is_protocol(origin) or not inspect.isabstract(origin)
    ):
        yield origin
    else:
        yield object


def _checked(value: Any, kinds: tuple[Any, ...], where: str) -> Any:
    """Return `value` as one of `kinds`, or refuse it."""
    for kind in kinds:
        if _fits(value, kind):
            return _plain(value, kind)
    expected = " or ".join(_word(kind) for kind in kinds if kind is not type(None))
    cure = ""
    if Sequence in kinds and isinstance(value, str):
        cure = f": [{value!r}]"
    raise ParameterError(f"{where} is {_shown(value)}, expected {expected}{cure}")


def _fits(value: Any, kind: Any) -> bool:
    if kind is False:
        return value is False
    if kind is bool:
        return type(value).__name__ in ("bool", "bool_")
    if kind in (int, float):
        abstract = Integral if kind is int else Real
        return isinstance(value, abstract) and not isinstance(value, bool)
    if kind is Sequence:
        return _are_texts(value)
    if kind is Callable:
        return callable(value)
    if _is_protocol(kind):
        return all(hasattr(value, name) for name in vars(kind) if name[0] != "_")
    return isinstance(value, kind)


def _is_protocol(kind: type) -> bool:
    return bool(getattr(kind, "_is_protocol", False))


def _are_texts(value: Any) -> bool:
    if isinstance(value, str | bytes | Mapping):
        return False
    if hasattr(value, "ndim"):
        value = value.tolist() if value.ndim == 1 else None
    return isinstance(value, Collection) and all(
        isinstance(each, str) for each in value
    )


def _plain(value: Any, kind: Any) -> Any:
    """Return `value` as Python writes it, since not all that takes 5 takes an int64 of NumPy."""
    if kind in (bool, int, float) and not isinstance(value, bool | int | float):
        return kind(value)
    if kind is Sequence and hasattr(value, "tolist"):
        return value.tolist()
    return value


def _word(kind: Any) -> str:
    if kind is False:
        return "False"
    if kind in _WORDS:
        return _WORDS[kind]
    return _with_article(kind.__name__)


def _shown(value: Any) -> str:
    if value is None or isinstance(value, str | bytes | int | float):
        shown = repr(value)
        if len(shown) > _LONGEST:
            shown = f"{shown[: _LONGEST - 4]} ..."
        return shown
    if isinstance(value, list | tuple) and len(repr(value)) <= _LONGEST:
        return repr(value)
    return _with_article(type(value).__name__)


def _with_article(name: str) -> str:
    article = "a"
    if name[:1].lower() in "aeiou":
        article = "an"
    return f"{article} {name}"
