"""Parameters of a learner: how its class declares them, and the values that each may have.

A parameter is a field of the class, and needs nothing else::

    class NORMA(KernelLearner):
        eta: float = param(0.5, Real(0.0, open_="low"), "First step.")

Its default, domain and meaning make the argument of the constructor, the check of a value and its
error message, the *Parameters* section of the docstring and of ``olscale learners show``, and what
scikit-learn lists, sets, clones and shows (`InitParameters`). Subclasses inherit it; one that sets
another value changes the default.

A class may also write its ``__init__``, domains and docstring by hand, in scikit-learn's style.
Estimators have `InitParameters` before their base class of scikit-learn is imported, and use
nothing of `BaseEstimator` later.
"""

import inspect
import math
import numbers
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Protocol, Self

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
        if self.open_ in ("low", "both"):
            above = number > self.low
        else:
            above = number >= self.low
        if self.open_ in ("high", "both"):
            below = number < self.high
        else:
            below = number <= self.high
        if not (above and below):
            raise _refuse(name, value, self)
        return number

    def __str__(self) -> str:
        if self.open_ in ("low", "both") or self.low == -math.inf:
            opening = "("
        else:
            opening = "["
        if self.open_ in ("high", "both") or self.high == math.inf:
            closing = ")"
        else:
            closing = "]"
        interval = f"a number in {opening}{self.low:g}, {self.high:g}{closing}"
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
        # 2.0 is as good as 2: both name the same run.
        if not _finite(value).is_integer() or value < self.low:
            raise _refuse(name, value, self)
        return int(value)

    def __str__(self) -> str:
        return f"a whole number >= {self.low}" + "".join(
            f", or {word!r}" for word in self.words
        )


@dataclass(frozen=True, slots=True)
class Maybe:
    """A value of another domain, or None."""

    domain: Domain

    def accept(self, name: str, value: Any) -> Any:
        """Return None unchanged, another value as its domain returns it."""
        if value is None:
            return None
        return self.domain.accept(name, value)

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
        # TOML and the command line turn these words into other types before we see them.
        word = str(value).lower()
        if (value is None or isinstance(value, bool)) and word in self.words:
            return word
        return value

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
        # True is an int to Python, but hardly a meant number.
        if isinstance(value, numbers.Real) and not isinstance(value, bool):
            number = float(value)
        else:
            number = math.nan
    except OverflowError:
        return math.nan
    if math.isfinite(number):
        return number
    return math.nan


def _refuse(name: str, value: Any, domain: Domain) -> ParameterError:
    return ParameterError(f"parameter {name} was {value!r}, expected {domain}")


class InitParameters:
    """An object defined by its parameters, which scikit-learn can list, set, clone and show.

    Attributes
    ----------
    declared : mapping of str to Param
        Parameters that the class and its bases declare as fields, its own first; empty if
        ``__init__`` is written by hand.
    domains : mapping of str to Domain
        Values that each parameter may have.
    """

    declared: ClassVar[Mapping[str, Param]] = {}
    domains: ClassVar[Mapping[str, Domain]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = [name for name, value in vars(cls).items() if isinstance(value, Param)]
        declared = _collect(cls)
        if "domains" not in vars(cls):
            cls.domains = {
                **cls.domains,
                **{name: parameter.domain for name, parameter in declared.items()},
            }
        if _is_made(cls.__init__):
            cls.declared = declared
        else:
            cls.declared = {}
        # Its parameters would be silently ignored by that __init__.
        if own and not cls.declared and "__init__" not in vars(cls):
            raise TypeError(
                f"{cls.__name__} declares {', '.join(own)}, but inherits an __init__ that is "
                "written by hand; declare the parameters of the base class, too"
            )
        if cls.declared:
            cls.__init__ = _make_init(cls)  # type: ignore[method-assign]
            cls.__doc__ = _describe(vars(cls).get("__doc__"), declared)

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of the arguments of ``__init__``, sorted."""
        return sorted(_defaults(cls))  # type: ignore[arg-type]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; none is an estimator, so `deep` changes nothing."""
        del deep
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name.

        Raises
        ------
        ValueError
            If there is no such parameter.
        """
        names = self._get_param_names()
        for name, value in params.items():
            if name not in names:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: "
                    f"{names!r}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """Return the call that makes this object, without parameters at their defaults."""
        defaults = _defaults(type(self))  # type: ignore[arg-type]
        shown = []
        for name in self._get_param_names():
            value = repr(getattr(self, name, None))
            if value != repr(defaults[name]):
                shown.append(f"{name}={value}")
        return f"{type(self).__name__}({', '.join(shown)})"


@cache  # inspecting a signature takes as long as a small run
def _defaults(of: type) -> dict[str, Any]:
    """Return the arguments of ``__init__`` with their defaults."""
    if of.__init__ is object.__init__:  # type: ignore[misc]
        return {}
    arguments = list(inspect.signature(of).parameters.values())
    return {
        argument.name: argument.default
        for argument in arguments
        if argument.kind is not argument.VAR_KEYWORD
    }


def _collect(cls: type[InitParameters]) -> dict[str, Param]:
    """Return the parameters of a class, its own first, and leave the defaults in its fields."""
    own = {name: value for name, value in vars(cls).items() if isinstance(value, Param)}
    for name, parameter in own.items():
        setattr(cls, name, parameter.default)
    declared = dict(own)
    for base in cls.__mro__[1:]:
        for name, parameter in vars(base).get("declared", {}).items():
            declared.setdefault(name, parameter)
    # A subclass may give a new default by a plain assignment.
    changed = declared.keys() & vars(cls).keys() - own.keys()
    new_defaults = {
        name: replace(declared[name], default=vars(cls)[name]) for name in changed
    }
    return declared | new_defaults


def _is_made(init: Callable[..., None]) -> bool:
    """Return whether ``__init__`` is made here or that of `object`, not written by hand."""
    return init is object.__init__ or hasattr(init, "declared")


def _make_init(cls: type[InitParameters]) -> Callable[..., None]:
    """Return an ``__init__`` that takes the declared parameters, by name only."""
    declared = cls.declared
    name_in_errors = f"{cls.__qualname__}.__init__"

    def init(self: InitParameters, **values: Any) -> None:
        for name in values:
            if name not in declared:
                raise TypeError(
                    f"{name_in_errors}() got an unexpected keyword argument {name!r}"
                )
        for name, parameter in declared.items():
            setattr(self, name, values.get(name, parameter.default))

    # scikit-learn, help() and editors read the signature, which **values alone would hide.
    arguments = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)]
    for name, parameter in declared.items():
        arguments.append(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=parameter.default
            )
        )
    attributes = {
        "__name__": "__init__",
        "__qualname__": name_in_errors,
        "__signature__": inspect.Signature(arguments),
        "declared": declared,
    }
    for name, value in attributes.items():
        setattr(init, name, value)
    return init


_PARAMETERS = re.compile(r"^Parameters\n---", re.MULTILINE)
_LATER_SECTIONS = re.compile(
    r"^(Attributes|Methods|Raises|Warnings|See Also|Notes|References|Examples)\n---",
    re.MULTILINE,
)


def _describe(doc: str | None, declared: Mapping[str, Param]) -> str | None:
    """Return a docstring with a numpydoc section of the declared parameters, if it has none."""
    if doc is None:
        return None
    text = inspect.cleandoc(doc)
    if _PARAMETERS.search(text):
        return text
    lines = ["Parameters", "----------"]
    for name, parameter in declared.items():
        lines.append(f"{name} : {parameter.domain}, default {parameter.default!r}")
        lines.append(_indent(parameter.meaning))
    later = _LATER_SECTIONS.search(text)
    if later:
        at = later.start()
    else:
        at = len(text)
    return "\n".join([text[:at].rstrip(), "", *lines, "", text[at:]]).rstrip()


@cache  # subclasses inherit parameters
def _indent(meaning: str) -> str:
    return textwrap.fill(meaning, 96, initial_indent="    ", subsequent_indent="    ")
