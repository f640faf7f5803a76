"""Rules of the house: what a newcomer may rely on wherever they open the code."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import FunctionType

import olscale
from olscale import errors
from olscale.learners import Learner
from olscale.learners.contract.parameters import InitParameters
from olscale.system.garbage import seldom_collected
from tests.house import long_files

ROOT = Path(olscale.__file__).parent

NOT_ERRORS = {
    "UserInterrupt": "Ctrl-C must pass every `except Exception`, as Python's KeyboardInterrupt "
    "does",
    "TimeUp": "ends a learner that is over its time, and a learner may catch any Exception",
}
"""Exceptions outside the tree of `olscale.errors`, and why they must be."""


MODULE = re.compile(r"olscale(\.\w+)+(:\w+)?")
"""What names a module of olscale, or something in one."""


@cache
def modules() -> dict[str, ast.Module]:
    """Return the syntax tree of each module of olscale."""
    # All nodes stay: to look for garbage among them takes longer than parsing.
    with seldom_collected():
        return {
            _name(file): ast.parse(file.read_text(encoding="utf-8"))
            for file in sorted(ROOT.rglob("*.py"))
        }


def _name(file: Path) -> str:
    parts = ("olscale", *file.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(trees: Mapping[str, ast.Module]) -> dict[str, set[str]]:
    """Return the modules that each module imports: at its top, within functions or for type checkers only."""
    graph: dict[str, set[str]] = {module: set() for module in trees}
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                graph[module] |= {alias.name for alias in node.names} & trees.keys()
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = (f"{node.module}.{alias.name}" for alias in node.names)
                graph[module] |= {
                    name if name in trees else node.module for name in names
                } & trees.keys()
        graph[module].discard(module)
    return graph


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Return a way along imports from a module back to itself, empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def classes(trees: Mapping[str, ast.Module]) -> Iterator[tuple[str, ast.ClassDef]]:
    """Yield every class, with its module."""
    for module, tree in trees.items():
        yield from (
            (module, node) for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
        )


def doubles(trees: Mapping[str, ast.Module]) -> dict[str, list[str]]:
    """Return the names that several public classes have, with the modules of those."""
    homes: dict[str, list[str]] = {}
    for module, node in classes(trees):
        if not node.name.startswith("_") and node in trees[module].body:
            homes.setdefault(node.name, []).append(module)
    return {name: where for name, where in homes.items() if len(where) > 1}


def strangers(trees: Mapping[str, ast.Module]) -> set[str]:
    """Return the public exceptions that descend from no class of `olscale.errors`."""
    kinds = {
        name: kind for name, kind in vars(builtins).items() if isinstance(kind, type)
    }
    raised = {name for name, kind in kinds.items() if issubclass(kind, BaseException)}
    tree = {node.name for _, node in classes({"": trees["olscale.errors"]})}
    return {
        name
        for name in descendants(trees, raised) - descendants(trees, tree) - raised
        if name[0] != "_"
    }


def descendants(trees: Mapping[str, ast.Module], names: set[str]) -> set[str]:
    """Return `names` with those of all classes that inherit from one of them."""
    bases = [
        (node.name, {ast.unparse(base).rpartition(".")[2] for base in node.bases})
        for _, node in classes(trees)
    ]
    while more := {name for name, of in bases if of & names} - names:
        names = names | more
    return names


def test_no_import_goes_in_a_circle() -> None:
    graph = imports(modules())
    # Methods of the store that stand in files of their own.
    graph["olscale.results.store"] -= {
        "olscale.results.forget",
        "olscale.results.records_by_id",
    }
    assert circle(graph) == []


def floors() -> list[str]:
    """Return the packages and modules of each floor, the top one first, as import-linter checks them."""
    settings = tomllib.loads((ROOT.parent / "pyproject.toml").read_text("utf-8"))
    [layers] = [
        contract["layers"]
        for contract in settings["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    ]
    return list(layers)


def named_higher(trees: Mapping[str, ast.Module], layers: list[str]) -> list[str]:
    """Return the modules that name, in a text, a module of a floor above: to import it unseen."""
    floor_of = {
        name: n for n, layer in enumerate(layers) for name in layer.split(" | ")
    }

    def floor(module: str) -> int | None:
        return next(
            (n for name, n in floor_of.items() if f"{module}.".startswith(f"{name}.")),
            None,
        )

    climbs = []
    for module, tree in trees.items():
        here = floor(module)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                there = floor(node.value) if MODULE.fullmatch(node.value) else None
                if here is not None and there is not None and there < here:
                    climbs.append(f"{module} -> {node.value}")
    return climbs


def test_no_floor_names_a_module_of_a_higher_one() -> None:
    """An import by name is an import; `olscale.views` is how reports are reached from below."""
    assert named_higher(modules(), floors()) == []


def test_no_file_is_longer_than_an_idea() -> None:
    """A file over the limit holds several ideas: split it along them."""
    assert long_files() == {}


def test_no_two_public_classes_share_a_name() -> None:
    assert doubles(modules()) == {}


def test_every_exception_is_in_the_tree_of_errors() -> None:
    assert strangers(modules()) == NOT_ERRORS.keys()


def test_the_tree_of_errors_is_drawn_as_it_is() -> None:
    drawn = {node.name for _, node in classes({"": modules()["olscale.errors"]})}
    assert all(
        f"{name} " in f"{errors.__doc__} " or f"{name}\n" in str(errors.__doc__)
        for name in drawn
    )


def test_the_core_of_the_learner_contract_is_small() -> None:
    methods = {
        name
        for name, value in vars(Learner).items()
        if callable(value) or isinstance(value, property)
    }
    public = {name for name in methods if not name.startswith("_")}
    assert public == {
        "begin",
        "learn",
        "scores",
        "state",
        "restore",
        "measures",
        "resolved_params",
        "norm_limits",
    }
    assert set(Learner.__mro__) == {Learner, InitParameters, object}


def undocumented(namespace: Mapping[str, object], module: str) -> set[str]:
    """Return the public methods, of public classes that a module defines, without a docstring of their own or a base's."""
    found = set()
    for kind in [
        value
        for value in namespace.values()
        if isinstance(value, type) and value.__module__ == module
    ]:
        for name in [] if kind.__name__.startswith("_") else vars(kind):
            method = inspect.getattr_static(kind, name)
            known = isinstance(
                method,
                FunctionType | property | classmethod | staticmethod | cached_property,
            )
            if (
                known
                and not name.startswith("_")
                and not inspect.getdoc(getattr(kind, name))
            ):
                found.add(f"{kind.__name__}.{name}")
    return found


def test_every_public_method_has_a_docstring_of_its_own_or_of_its_base() -> None:
    names = set(modules()) - {"olscale.__main__"}
    assert {
        name: found
        for name in names
        if (found := undocumented(vars(importlib.import_module(name)), name))
    } == {}


class Base:
    def heir(self) -> None:
        """Do."""


class Mine(Base):
    def heir(self) -> None: ...

    def orphan(self) -> None: ...


def test_these_rules_can_be_broken() -> None:
    """Each finds what it is for, in imports within functions and for type checkers too."""
    trees = {
        name: ast.parse(text)
        for name, text in {
            "olscale.errors": "class OlscaleError(Exception): pass",
            "a": "def f():\n    from b import B\nclass Same: pass\nclass Lost(KeyError): pass",
            "b": "if TYPE_CHECKING:\n    import c\nclass B: pass\nclass _Own(Exception): pass",
            "c": "import a, d\nclass Same: pass\nclass Bad(OlscaleError): pass\nclass "
            "Worse(Lost): pass",
            "d": "x = 1",
        }.items()
    }
    assert set(circle(imports(trees))) == {"a", "b", "c"}
    reached = {"olscale.data.a": ast.parse("import_module('olscale.report.b:show')")}
    assert named_higher(reached, ["olscale.report", "olscale.jobs | olscale.data"]) == [
        "olscale.data.a -> olscale.report.b:show"
    ]
    assert doubles(trees) == {"Same": ["a", "c"]}
    assert strangers(trees) == {"Lost", "Worse"}
    assert undocumented({"Mine": Mine}, __name__) == {"Mine.orphan"}
