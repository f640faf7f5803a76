"""Compiled loops of ours call neither BLAS nor LAPACK: their cached machine code is loaded without numba's links to them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import olscale

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
        if isinstance(getattr(node, "op", None), ast.MatMult)
        or (
            isinstance(node, ast.Attribute)
            and node.attr in BLAS
            and isinstance(node.value, ast.Name)
            and node.value.id == "np"
        )
    ]


@pytest.mark.parametrize(
    "line", ["return x @ w", "return np.dot(x, w)", "return np.linalg.norm(x)", "x @= w"]
)
def test_it_would_be_found(line: str) -> None:
    assert calls_blas(f"@compiled\ndef f(x, w):\n    {line}\n") == ["f"]


def test_compiled_loops_call_no_blas() -> None:
    texts = [
        path.read_text()
        for path in Path(olscale.__file__).parent.rglob("*.py")
        if "bench" not in path.parts
    ]
    assert sum(len(list(compiled_code(text))) for text in texts) > 60
    assert [name for text in texts for name in calls_blas(text)] == []
