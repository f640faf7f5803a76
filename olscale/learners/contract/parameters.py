"""Parameters of a learner: how its class declares them, and the values that each may have.

A parameter is a field of the class, and needs nothing else::

    class NORMA(KernelLearner):
        eta: float = param(0.5, Real(0.0, open_="low"), "First step.")

Its default, domain and meaning make the argument of the constructor, the check of a value and its
error message, the *Parameters* section of the docstring and of ``olscale learners show``, and what
scikit-learn lists, sets, clones and shows (`olscale.learners.contract.init_parameters`). Subclasses
inherit it; one that sets another value changes the default.
"""

import math
import numbers
from dataclasses import dataclass
from typing import Any, Protocol

from olscale.errors import ParameterError


class Domain(Protocol):
    """Values of a parameter: `accept` returns one in canonical type, or raises `ParameterError`."""

    def accept(self, name: str, value: Any) -> Any:
        """Return `value` in canonical form (so that ``C=1`` and ``C=1.0`` are one run)."""
        ...

    def __str__(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter as a class declares it."""

    default: Any
    domain: Domain
    meaning: str


def param(default: Any, domain: Domain, meaning: str) -> Any:
    """Declare a parameter of a learner.

    Parameters
    ----------
    default : object
        The value when the parameter is omitted.
    domain : Domain
        Values that it may have.
    meaning : str
        The effect, for the docstring: one sentence or more, without default and domain.
    """
    return Param(default, domain, meaning)


@dataclass(frozen=True, slots=True)
class Real:
    """A finite number in an interval, open at the end(s) named in `open_`, or one of `words`.

    `open_` is ``"low"``, ``"high"``, ``"both"`` or ``""``.
    """

    low: float = -math.inf
    high: float = math.inf
    open_: str = ""
    words: tuple[str, ...] = ()

    def accept(self, name: str, value: Any) -> float | str:
        """Return `value` as a float, or a word unchanged."""
        if isinstance(value, str) and value in self.words:
            return value
        number = _finite(value)
        above = number > self.low if self.open_ in ("low", "both") else number >= self.low
        below = number < self.high if self.open_ in ("high", "both") else number <= self.high
        if not (above and below):
            raise _refuse(name, value, self)
        return number

    def __str__(self) -> str:
        left = "(" if self.open_ in ("low", "both") or self.low == -math.inf else "["
        right = ")" if self.open_ in ("high", "both") or self.high == math.inf else "]"
        interval = f"a number in {left}{self.low:g}, {self.high:g}{right}"
        return interval + "".join(f", or {word!r}" for word in self.words)


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number of at least `low`, or one of a few `words`."""

    low: int = 0
    words: tuple[str, ...] = ()

    def accept(self, name: str, value: Any) -> int | str:
        """Return `value` as an int, or a word unchanged."""
        if isinstance(value, str) and value in self.words:
            return value
        if not _finite(value).is_integer() or value < self.low:
            raise _refuse(name, value, self)
        return int(value)

    def __str__(self) -> str:
        return f"a whole number >= {self.low}" + "".join(f", or {word!r}" for word in self.words)


@dataclass(frozen=True, slots=True)
class Maybe:
    """A value of another domain, or None."""

    domain: Domain

    def accept(self, name: str, value: Any) -> Any:
        """Return None unchanged, another value as its domain returns it."""
        return None if value is None else self.domain.accept(name, value)

    def __str__(self) -> str:
        return f"{self.domain}, or nothing"


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words."""

    words: tuple[str, ...]

    def accept(self, name: str, value: Any) -> str:
        """Return `value` unchanged."""
        if value not in self.words:
            raise _refuse(name, value, self)
        return str(value)

    def word_of(self, value: Any) -> Any:
        """Return the word that an unquoted `value` (``true``, ``none``) is; else `value` itself."""
        word = str(value).lower()
        return word if (value is None or isinstance(value, bool)) and word in self.words else value

    def __str__(self) -> str:
        return "one of " + ", ".join(repr(word) for word in self.words)


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    def accept(self, name: str, value: Any) -> bool:
        """Return `value` as a bool."""
        if not isinstance(value, bool):
            raise _refuse(name, value, self)
        return value

    def __str__(self) -> str:
        return "true or false"


def _finite(value: Any) -> float:
    """Return a number as a float; NaN if it is not a finite number, which no record can hold."""
    try:
        number = (
            float(value)
            if isinstance(value, numbers.Real) and not isinstance(value, bool)
            else math.nan
        )
    except OverflowError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def _refuse(name: str, value: Any, domain: Domain) -> ParameterError:
    return ParameterError(f"parameter {name} was {value!r}, expected {domain}")
