"""Values of the options of generators: several in one text, and their checks."""

from collections.abc import Sequence
from typing import Any

from olscale.errors import ParameterError
from olscale.named_parameters import parse_value

_SEPARATOR = "/"


def is_several(value: Any) -> bool:
    """Return whether `value` is one for each of several concepts."""
    if isinstance(value, str):
        return _SEPARATOR in value
    return isinstance(value, Sequence)


def values_of(value: str | Sequence[Any]) -> list[Any]:
    """Return several values.

    Examples
    --------
    >>> values_of("1/0.5"), values_of((1, 2))
    ([1, 0.5], [1, 2])
    """
    if isinstance(value, str):
        return [parse_value(part.strip()) for part in value.split(_SEPARATOR)]
    return list(value)


def whole(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return `value`, a whole number from `low` to `high`.

    Raises
    ------
    ParameterError
        If it is anything else.
    """
    expected = f"a whole number of at least {low}"
    if high is not None:
        expected = f"a whole number from {low} to {high}"
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or value < low or (high is not None and value > high):
        raise ParameterError(f"{name} is {value!r}, expected {expected}")
    return int(value)


def real(name: str, value: Any, low: float, high: float) -> float:
    """Return `value`, a number from `low` to `high`.

    Raises
    ------
    ParameterError
        If it is anything else.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not low <= value <= high:
        raise ParameterError(
            f"{name} is {value!r}, expected a number from {low:g} to {high:g}"
        )
    return float(value)


def flag(name: str, value: Any) -> bool:
    """Return `value`, which is true or false.

    Raises
    ------
    ParameterError
        If it is anything else.
    """
    if not isinstance(value, bool):
        raise ParameterError(f"{name} is {value!r}, expected true or false")
    return value
