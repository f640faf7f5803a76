"""Every name in the pages is the name of something: code, command, option, file, variable of the environment."""

from __future__ import annotations

import ast
import builtins
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from olscale.measures import FORMS, MEASURES

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "cluster" / "README.md",
]
ELSEWHERE = {
    *("du", "df", "hostname", "svm", "nice", "diff"),  # programs
    # other variables
    *(
        "TMPDIR",
        "PYTHONPATH",
        "XDG_CACHE_HOME",
        "DASK_CONFIG",
        "NUMBA_CACHE_DIR",
        "O_TMPFILE",
    ),
    *(
        "matplotlib",
        "matplotlibrc",
        "loadmat",
        "mallopt",
        "FeatureTypes",
        "ConvergenceWarning",
        "derandomize",
    ),
    *(
        "check_estimator",
        "averaged_perceptron",
        "olscale/learners/linear/averaged_perceptron.py",
        "x.labels",
        "x.data",
        "X_train",
        "X_test",
        "y_train",
        "y_test",
        "seen",
        "basket",  # of guides
        "patient.py",
    ),
    *(
        "none",
        "nan",
        "NaN",
        "NA",
        "null",
        "true",
        "false",
        "i",
        "idx",
        "DIR",
        "FILE",
        "Target",
        "Day2",
        "Day10",
    ),
}
"""Names that are not ours: of programs, libraries, files from elsewhere, and placeholders that a page explains."""

GROUPS = {
    f"olscale.{kind}s"
    for kind in ("learner", "format", "layout", "transform", "metric", "generator")
}
"""Groups of entry points."""

FOLDERS = (
    "olscale/",
    "tests/",
    "docs/",
    "pipelines/",
    "cluster/",
    "notebooks/",
    ".ci/",
)


def spans(page: Path) -> list[str]:
    """Return what stands in backticks, without blocks of code."""
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S
    )
    return list(dict.fromkeys(re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)))


@cache
def names_of_code() -> frozenset[str]:
    """Return what code defines or calls by name: no local variables, for a page cannot mean those."""
    found = set(dir(builtins)) | {
        form + measure for form in FORMS for measure in MEASURES
    }
    for folder in ("olscale", "tests"):
        for file in (ROOT / folder).rglob("*.py"):
            if file != Path(__file__):
                found.add(file.stem)
                found.update(_names(ast.parse(file.read_text(encoding="utf-8"))))
    for file in [
        *ROOT.glob("olscale/**/*.toml"),
        *ROOT.glob("pipelines/*.toml"),
        *ROOT.glob("*.toml"),
    ]:
        found.update(re.findall(r"\w+", file.read_text(encoding="utf-8")))
    return frozenset(found)


def _names(tree: ast.Module) -> Iterator[str]:
    for outer in (
        tree,
        *(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)),
    ):
        for node in outer.body:
            targets = (
                node.targets
                if isinstance(node, ast.Assign)
                else [getattr(node, "target", None)]
            )
            yield from (target.id for target in targets if isinstance(target, ast.Name))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.arg | ast.keyword) and node.arg:
            yield node.arg
        elif isinstance(node, ast.alias):
            yield from node.name.split(".")
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and len(node.value) < 100
        ):
            yield from re.findall(r"\w+", node.value)


@cache
def files() -> frozenset[str]:
    """Return the names of our files: an environment in the same folder has a hundred thousand more."""
    return frozenset(
        path.name
        for folder in (*FOLDERS, "")
        for path in (ROOT / folder).glob("**/*" if folder else "*")
    )


@cache
def options() -> frozenset[str]:
    """Return the options of all commands."""
    return frozenset(
        option for _, command in commands() for option in _options(command)
    )


def _options(command: click.Command) -> list[str]:
    context = click.Context(command)
    return [
        word
        for parameter in command.get_params(context)
        for word in (*parameter.opts, *parameter.secondary_opts)
    ]


@cache
def commands() -> tuple[tuple[str, click.Command], ...]:
    """Return every command with the words it is called by."""
    from olscale.cli import olscale

    def below(
        words: str, command: click.Command
    ) -> Iterator[tuple[str, click.Command]]:
        yield words, command
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                assert inner is not None
                yield from below(f"{words} {name}", inner)

    return tuple(below("olscale", olscale))


def wrong(span: str) -> str:
    """Say what is wrong with a name; empty if nothing is, or it is no name."""
    if span in ELSEWHERE | GROUPS:
        return ""
    if re.fullmatch(r"olscale(\.\w+)+(\(.*)?", span):
        return _wrong_object(re.match(r"[\w.]+", span)[0])  # type: ignore[index]
    if span.startswith("olscale "):
        return _wrong_command(span)
    if re.match(r"--[a-z]", span):
        strange = [
            word
            for word in span.split()
            if word.startswith("--") and word not in options() | OTHERS
        ]
        return f"no command has {strange}" if strange else ""
    if span.startswith(FOLDERS) and re.fullmatch(r"[\w./*-]+", span):
        return "" if any(ROOT.glob(span.rstrip("/"))) else "no such file"
    if match := re.fullmatch(r"((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(\(.*\))?", span):
        return _wrong_name(match[1])
    return ""


OTHERS = frozenset({"--host", "--sgd", "--nn", "--binary", "--first", "--inputs"})
"""Options of Dask, Vowpal Wabbit, and of ``python -m tests.fuzz``."""


def _wrong_object(path: str) -> str:
    module, *rest = path.split(".")
    found = importlib.import_module(module)
    for name in rest:
        try:
            found = (
                getattr(found, name)
                if hasattr(found, name)
                else importlib.import_module(f"{found.__name__}.{name}")
            )
        except (ImportError, AttributeError):
            return f"{path} is not there: {found} has no {name}"
    return ""


def _wrong_command(span: str) -> str:
    words, command = max(
        (found for found in commands() if f"{span} ".startswith(f"{found[0]} ")),
        key=lambda f: len(f[0]),
    )
    rest = span[len(words) :].split()
    if isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        return f"{words} has no command {rest[0]}"
    known = {*_options(command), "--help"}
    strange = [word for word in rest if word.startswith("--") and word not in known]
    return f"{words} has no option {strange}" if strange else ""


def _wrong_name(path: str) -> str:
    if path in ELSEWHERE or path.startswith(
        ("OLSCALE_", "np.", "numpy.", "pandas.", "pyarrow.", "anndata.")
    ):
        return ""  # variables of ours: tests/test_environment.py
    if "." in path and path in files():
        return ""
    missing = [part for part in path.split(".") if part not in names_of_code()]
    return f"nothing is called {missing}" if missing else ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_name_of_a_page_is_there(page: Path) -> None:
    faults = {span: said for span in spans(page) if (said := wrong(span))}
    assert not faults


@pytest.mark.parametrize(
    "span",
    [
        "square_norm",
        "olscale.compiled.rows.square_norm",
        "olscale.learnerz",
        "olscale reslts STORE",
        "olscale datasets lst",
        "olscale evaluate --retri all",
        "--skip-damage",
        "olscale/learners/perceptrons.py",
        "Dataset.fingerprimt",
    ],
)
def test_a_name_that_is_not_there_is_found(span: str) -> None:
    assert wrong(span)
