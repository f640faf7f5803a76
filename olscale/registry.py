"""Things that have a name: learners, formats, layouts, transforms, metrics and generators.

A registry maps a name to where its object stands, ``module:attribute`` or ``module``, and imports
it when it is asked for. Packages add names of their own with entry points in the registry's group
(see ``docs/extending.md``); a name of olscale's own stays olscale's.
"""

from __future__ import annotations

from functools import cache, reduce
from importlib import import_module
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from olscale.errors import ParameterError, UnknownNameError
from olscale.system.entry_point_files import may_have_group
from olscale.system.interrupts import let_interrupt_out, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.metadata import EntryPoint

T = TypeVar("T")

_OURS = "olscale."


@cache
def all_installed() -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return olscale's entry point groups, sorted by name; it reads files of all packages."""
    # Most installations have none, and importing what reads them takes longer than to see that.
    if not may_have_group(_OURS):
        return {}
    from importlib.metadata import entry_points

    # All groups at once: the metadata of every installed package is read for each call.
    points = entry_points()
    groups = [group for group in points.groups if group.startswith(_OURS)]
    return {
        group: tuple(sorted(points.select(group=group), key=lambda point: point.name))
        for group in groups
    }


def installed(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group, sorted by name, as of this process's first call."""
    return all_installed().get(group, ())


class Registry(Generic[T]):
    """Names and what they stand for, olscale's own first, then those of other packages.

    Parameters
    ----------
    kind : str
        What messages call one: ``"format"``.
    ours : mapping of str to str
        Name -> ``module:attribute``, or ``module``, of olscale's own.

    Examples
    --------
    >>> registry = Registry("number", {"pi": "math:pi"})
    >>> registry.load("pi"), list(registry), registry.group
    (3.141592653589793, ['pi'], 'olscale.numbers')
    """

    def __init__(self, kind: str, ours: Mapping[str, str]) -> None:
        self.kind = kind
        self.ours = dict(ours)
        self._loaded: tuple[tuple[EntryPoint, ...], list[T]] | None = None

    @property
    def group(self) -> str:
        """The group of entry points."""
        return f"{_OURS}{self.kind}s"

    def __iter__(self) -> Iterator[str]:
        # A package that takes a name of olscale's own does not change what experiments mean.
        yield from self.ours
        yield from dict.fromkeys(
            point.name for point in installed(self.group) if point.name not in self.ours
        )

    def __contains__(self, name: object) -> bool:
        return name in self.ours or any(
            point.name == name for point in installed(self.group)
        )

    def check(self, name: str) -> None:
        """Raise `UnknownNameError`, with the nearest name and a list, for an unknown name."""
        if name not in self:
            raise UnknownNameError(self.kind, name, self)

    def target(self, name: str) -> str:
        """Return the ``module:attribute`` behind a name.

        Raises
        ------
        UnknownNameError
            If there is no such name.
        """
        self.check(name)
        return self.ours.get(name) or next(
            point.value for point in installed(self.group) if point.name == name
        )

    def load(self, name: str) -> T:
        """Import and return what a name stands for.

        Raises
        ------
        UnknownNameError
            If there is no such name.
        ParameterError
            If it is another package's and cannot be imported.
        """
        # A fault of olscale's own is a bug, which should have its traceback.
        if name in self.ours:
            module, _, attribute = self.ours[name].partition(":")
            parts = filter(None, attribute.split("."))
            return cast(T, reduce(getattr, parts, import_module(module)))
        self.check(name)
        point = next(point for point in installed(self.group) if point.name == name)
        try:
            return cast(T, point.load())
        except BaseException as fault:  # importing a module may raise anything
            let_interrupt_out(fault)
            raise ParameterError(
                f"{self.kind} {name!r} cannot be imported from {point.value} ({text_of(fault)}); "
                "fix or uninstall the package that provides it"
            ) from None

    def load_all(self) -> list[T]:
        """Import and return all, in the order of their names here."""
        points = installed(self.group)
        if self._loaded is None or self._loaded[0] is not points:
            self._loaded = points, [self.load(name) for name in self]
        return list(self._loaded[1])
