"""The source of users' code: a digest that is equal on all machines and changes with edits.

A module is the user's own if it is neither Python's nor olscale's nor installed (in
``site-packages``). The digest covers the modules it begins with and all of the user's own that they
import, in functions too; it is made of their names and texts, not of paths. What a module reads or
imports by other means (data files, `importlib`) is not seen.

Python keeps what it has imported. A text is therefore read once for each import of its module, at
the first look: the digest stays that of what was loaded when the file is edited later, and `edited`
reports the edit.
"""

import ast
import importlib.util
import sys
import tokenize
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from olscale.system.source_digest import text_digest

DIGITS = 12
_INSTALLED = {"site-packages", "dist-packages"}


class _Source(NamedTuple):
    """Text of a module, and what it imports: modules, or names in modules."""

    text: str
    imports: tuple[tuple[str, str], ...]


_LOADED: dict[str, tuple[object, _Source | None]] = {}
"""Module name -> an object that identifies its import, and its source at the first look."""


def source_digest(modules: Iterable[str], packages: Collection[str] = ()) -> str | None:
    """Return twelve hexadecimal digits for `modules` and their imports; None if unreadable.

    Modules that are not the user's own are passed over; those of `packages` count as the user's
    although installed.
    """
    sources = _closure(modules, packages)
    if not sources:
        return None
    return text_digest(
        (name, source.text.encode()) for name, source in sorted(sources.items())
    )[:DIGITS]


def edited(modules: Iterable[str], packages: Collection[str] = ()) -> list[str]:
    """Return the modules under a digest whose files have been edited since the first look."""
    sources = _closure(modules, packages)
    return sorted(
        name
        for name, source in sources.items()
        if _read(name) not in (None, source.text)
    )


def is_installed(module: str) -> bool:
    """Return whether a module lies where installers put packages."""
    origin = _origin(module)
    return origin is not None and not _INSTALLED.isdisjoint(Path(origin).parts)


def _closure(modules: Iterable[str], packages: Collection[str]) -> dict[str, _Source]:
    sources: dict[str, _Source] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        source = None
        if name not in sources:
            source = _source(name, packages)
        if source is not None:
            sources[name] = source
            waiting += [
                _imported(module, attribute, packages)
                for module, attribute in source.imports
            ]
    return sources


def _imported(module: str, attribute: str, packages: Collection[str]) -> str:
    """Return the module that ``from module import attribute`` uses, possibly a submodule."""
    inner = f"{module}.{attribute}"
    if attribute and _source(inner, packages) is not None:
        return inner
    return module


def _source(name: str, packages: Collection[str]) -> _Source | None:
    """Return the source of a user's module as of the first look after this import."""
    if not _is_own(name, packages):
        return None
    key = _import_of(name)
    if name not in _LOADED or _LOADED[name][0] is not key:
        text = None
        if key is not None:
            text = _read(name)
        _LOADED[name] = (
            key,
            None if text is None else _Source(text, tuple(_imports(text, name))),
        )
    return _LOADED[name][1]


def _is_own(name: str, packages: Collection[str]) -> bool:
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or top == __name__.partition(".")[0]:
        return False
    # By the top of it alone: looking for a submodule imports its parents, which may take seconds in
    # others' packages.
    return top in packages or not is_installed(top)


def _import_of(name: str) -> Any:
    """Return an object that differs after each import of a module; None if it does not exist."""
    module = sys.modules.get(name)
    if module is None:
        return _spec(name)
    return getattr(module, "__spec__", None) or module


def _spec(name: str) -> Any:
    try:
        return importlib.util.find_spec(name)
    except Exception:  # of no package, or of one that cannot be imported
        return None


def _origin(name: str) -> str | None:
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None) or getattr(_spec(name), "origin", None)
    if isinstance(file, str):
        return file
    return None


def _read(name: str) -> str | None:
    """Return a module's text as now in its file; None if it has none that can be read."""
    spec = getattr(sys.modules.get(name), "__spec__", None) or _spec(name)
    try:
        if spec is not None:
            text = spec.loader.get_source(spec.name)
            if isinstance(text, str):
                return text
            return None
        file = sys.modules[name].__file__  # a script
        assert file is not None
        with tokenize.open(file) as source:
            return source.read()
    except Exception:  # compiled, in a notebook, or gone
        return None


def _imports(text: str, name: str) -> Iterator[tuple[str, str]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    is_package = hasattr(sys.modules.get(name), "__path__") or getattr(
        _spec(name), "submodule_search_locations", None
    )
    package = name
    if not is_package:
        package = name.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                module = ".".join([*above, module]).strip(".")
            yield from (
                (module, "" if alias.name == "*" else alias.name)
                for alias in node.names
                if module
            )
