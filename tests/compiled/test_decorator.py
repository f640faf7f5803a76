"""Compiled loops of ours call neither BLAS nor LAPACK, and no elementary function of the C library.

Their cached machine code is loaded without numba's links to the former; the bits of the latter
differ between versions of that library (`olscale.compiled.elementary` has ours).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import olscale

ELEMENTARY = {
    "exp",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "pow",
    "power",
    "sin",
    "cos",
    "tanh",
}
BLAS = {"dot", "vdot", "matmul", "linalg", "convolve", "correlate"}


def compiled_code(text: str) -> Iterator[ast.FunctionDef]:
    """Yield functions under a decorator of compiled code."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            words = {
                word.id
                for each in node.decorator_list
                for word in ast.walk(each)
                if isinstance(word, ast.Name)
            }
            if words & {"compiled", "inlined", "overload", "by_layout"}:
                yield node


def calls_blas(text: str) -> list[str]:
    """Return the compiled functions that multiply matrices or call numpy's linear algebra."""
    return [
        function.name
        for function in compiled_code(text)
        for node in ast.walk(function)
        if isinstance(getattr(node, "op", None), ast.MatMult) or is_named(node, BLAS)
    ]


def calls_c_library(text: str) -> list[str]:
    """Return the compiled functions that call an elementary function whose bits depend on the C library."""
    return [
        function.name
        for function in compiled_code(text)
        for node in ast.walk(function)
        if is_named(node, ELEMENTARY)
    ]


def is_named(node: ast.AST, names: set[str]) -> bool:
    """Tell whether a node is one of these functions of numpy or math."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr in names
        and isinstance(node.value, ast.Name)
        and node.value.id in ("np", "math")
    )


@pytest.mark.parametrize(
    "line",
    ["return x @ w", "return np.dot(x, w)", "return np.linalg.norm(x)", "x @= w"],
)
def test_it_would_be_found(line: str) -> None:
    assert calls_blas(f"@compiled\ndef f(x, w):\n    {line}\n") == ["f"]


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [
        path.read_text()
        for path in Path(olscale.__file__).parent.rglob("*.py")
        if "bench" not in path.parts
    ]


def test_elementary_functions_are_those_of_ours(texts: list[str]) -> None:
    assert calls_c_library("@compiled\ndef f(x):\n    return np.log1p(x)\n") == ["f"]
    assert [name for text in texts for name in calls_c_library(text)] == []


FIGURES = ("learners", "evaluation", "data")
# Its bits are those of LAPACK anyway.
OF_LAPACK = {"ipca_lda.py"}


def calls_vector_code(text: str) -> list[str]:
    """Return the names of numpy's functions that have other bits on processors with AVX-512."""
    vectorized = ELEMENTARY - {"pow", "sin", "cos"}
    return [
        node.attr
        for node in ast.walk(ast.parse(text))
        if is_named(node, vectorized) and node.value.id == "np"
    ]


def test_no_figure_depends_on_the_vector_instructions_of_a_processor() -> None:
    """Workers of one cluster may differ, and the tables of two machines."""
    assert calls_vector_code("y = -np.log(p)") == ["log"]
    package = Path(olscale.__file__).parent
    paths = [path for folder in FIGURES for path in (package / folder).rglob("*.py")]
    assert {path.name for path in paths} >= OF_LAPACK
    assert [
        path.name
        for path in paths
        if path.name not in OF_LAPACK and calls_vector_code(path.read_text())
    ] == []


def test_compiled_loops_call_no_blas(texts: list[str]) -> None:
    assert sum(len(list(compiled_code(text))) for text in texts) > 60
    assert [name for text in texts for name in calls_blas(text)] == []
