"""Base classes of scikit-learn, added to our classes as soon as scikit-learn is imported.

Importing `sklearn.base` takes longer than a small evaluation, which does not need it. Code that
asks whether a learner is a `BaseEstimator` has imported it, though. So a class names the base here,
and has it from then on: at once, or when an import hook sees the import.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TypeVar

Class = TypeVar("Class", bound=type)

_MODULE = "sklearn.base"
_BASES: list[tuple[type, str]] = []
"""Classes with the names of their bases, in the order in which they were defined."""


def inherits(base: str) -> Callable[[Class], Class]:
    """Return a decorator that gives a class the class `base` of `sklearn.base`.

    A mixin comes before the existing bases, as scikit-learn requires; another base comes after
    them, so that the import changes no method.

    Examples
    --------
    >>> from olscale.learners import PA1
    >>> learner = PA1()
    >>> from sklearn.base import BaseEstimator
    >>> isinstance(learner, BaseEstimator)
    True
    """

    def register(cls: Class) -> Class:
        _BASES.append((cls, base))
        if _MODULE in sys.modules:
            _add_base(cls, base)
        elif _FINDER not in sys.meta_path:
            sys.meta_path.insert(0, _FINDER)
        return cls

    return register


def _add_base(cls: type, name: str) -> None:
    base: type = getattr(import_module(_MODULE), name)
    if name.endswith("Mixin"):
        cls.__bases__ = (base, *cls.__bases__)
        return
    cls.__bases__ = (*cls.__bases__, base)
    # scikit-learn runs this where such a class is defined, for instance to add `set_score_request`.
    for member in _family(cls):
        base.__init_subclass__.__func__(member)  # type: ignore[attr-defined]


def _family(cls: type) -> Iterator[type]:
    """Yield a class and its subclasses, bases first."""
    yield cls
    subclasses: list[type] = cls.__subclasses__()
    for derived in subclasses:
        yield from _family(derived)


class _Finder(MetaPathFinder):
    """Import hook that leaves the module to other finders and adds the bases after its import."""

    def __init__(self) -> None:
        self._asks_others = False

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname != _MODULE or self._asks_others:
            return None
        # `find_spec` calls all finders, this one included, which must not answer now.
        self._asks_others = True
        try:
            spec = find_spec(fullname)
        finally:
            self._asks_others = False
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                if module.__name__ == _MODULE:
                    self._add_bases()

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def _add_bases(self) -> None:
        sys.meta_path.remove(self)
        for cls, base in _BASES:
            _add_base(cls, base)


_FINDER = _Finder()
