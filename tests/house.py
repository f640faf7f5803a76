"""The house in numbers: ``python -m tests.house`` counts what keeps the code easy to find one's way in.

::

    import circles            0      modules that import one another, in a ring
    loose files in data       10     beside its folders
    ...
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_LINES = 300
LIMIT_LINES = 500
"""Most lines of any file, of tests as well: more are more than one idea."""


def modules() -> dict[str, Path]:
    """Return the modules of olscale by name."""
    found = {}
    for path in sorted((ROOT / "olscale").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports() -> dict[str, set[str]]:
    """Return which modules each module imports, also inside functions; not those for type checking only."""
    known = modules()
    return {
        name: set(_imported(ast.parse(path.read_text("utf-8")), known)) - {name}
        for name, path in known.items()
    }


def _imported(node: ast.AST, known: dict[str, Path]) -> Iterator[str]:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        node = ast.Module(node.orelse, [])
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in known)
    elif isinstance(node, ast.ImportFrom) and node.module:
        for alias in node.names:
            whole = f"{node.module}.{alias.name}"
            if whole in known or node.module in known:
                yield whole if whole in known else node.module
    for child in ast.iter_child_nodes(node):
        yield from _imported(child, known)


def import_circles() -> list[list[str]]:
    """Return the groups of modules from each of which every other one is reached by imports (Tarjan)."""
    graph = imports()
    order = {}
    low = {}
    stack = []
    found = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in order:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == order[name]:
            at = stack.index(name)
            group = sorted(stack[at:])
            del stack[at:]
            if len(group) > 1:
                found.append(group)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    for name in graph:
        if name not in order:
            visit(name)
    sys.setrecursionlimit(limit)
    return found


def loose_files() -> list[str]:
    """Return the files that lie in `olscale/data` beside its folders."""
    return sorted(
        path.name
        for path in (ROOT / "olscale" / "data").glob("*.py")
        if path.name != "__init__.py"
    )


def lines() -> dict[str, int]:
    """Return the number of lines of each file of olscale."""
    return {
        str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines())
        for path in modules().values()
    }


def long_files() -> dict[str, int]:
    """Return the number of lines of each Python file of the repository above `LIMIT_LINES`."""
    folders = ("olscale", "tests", "docs", "pipelines", "recipe", "notebooks")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    counts = {
        str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines())
        for path in files
    }
    return {name: count for name, count in counts.items() if count > LIMIT_LINES}


def comment_share(folder: str = "olscale/compiled") -> float:
    """Return the comment lines of a folder a hundred lines of code, blank ones and docstrings left out."""
    comments = code = 0
    for path in (ROOT / folder).rglob("*.py"):
        text = path.read_text("utf-8")
        strings = _docstring_lines(ast.parse(text))
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        comments += len(
            {token.start[0] for token in tokens if token.type == tokenize.COMMENT}
        )
        code += sum(
            bool(line.strip()) and n not in strings
            for n, line in enumerate(text.splitlines(), 1)
        )
    return 100 * comments / code


def _docstring_lines(tree: ast.Module) -> set[int]:
    """Return the lines of docstrings, those below variables included."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def contract_methods() -> list[str]:
    """Return the public methods of the class `Learner` in `olscale/learners/contract/learner.py`."""
    tree = ast.parse(
        (ROOT / "olscale" / "learners" / "contract" / "learner.py").read_text("utf-8")
    )
    [learner] = [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name == "Learner"
    ]
    return [
        node.name
        for node in learner.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    ]


def main() -> None:
    """Print every count, and what is behind those that should be small."""
    sizes = lines()
    circles = import_circles()
    loose = loose_files()
    methods = contract_methods()
    long = {name: count for name, count in sizes.items() if count > MOST_LINES}
    ordered = sorted(sizes.values())
    for what, count, rest in (
        ("import circles", len(circles), [" <-> ".join(group) for group in circles]),
        ("loose files in olscale/data", len(loose), [" ".join(loose)]),
        ("files of olscale", len(sizes), []),
        ("lines of olscale", sum(ordered), []),
        ("median lines of a file", ordered[len(ordered) // 2], []),
        (
            f"files over {MOST_LINES} lines",
            len(long),
            [f"{name} {n}" for name, n in sorted(long.items())],
        ),
        (
            f"files over {LIMIT_LINES} lines, of tests as well",
            len(long_files()),
            [f"{name} {n}" for name, n in sorted(long_files().items())],
        ),
        ("comment lines a 100 lines of code, compiled", f"{comment_share():.1f}", []),
        (
            "comment lines a 100 lines of code, olscale",
            f"{comment_share('olscale'):.1f}",
            [],
        ),
        ("public methods of the learner contract", len(methods), [" ".join(methods)]),
    ):
        print(f"{what:45} {count:>6}")
        for line in rest:
            print(f"    {line}")


if __name__ == "__main__":
    main()
