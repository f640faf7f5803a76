"""Code that stands where it is called: only there it is optimized, and it works as numba's own functions do."""

from __future__ import annotations

import gc
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import codegen, types

from olscale.compiled.decorator import compiled, inlined, nested


@inlined
def _half(x: Any, i: int) -> Any:
    """Raise, print and call another one."""
    if x[i] > 100:
        raise OverflowError("more than a hundred")
    if x[i] < 0:
        print("below zero", x[i : i + 2])
    return _twice(x[i]) / 4


@inlined
def _twice(value: Any) -> Any:
    return value + value


@nested
def _quarter(x: Any, i: int) -> Any:
    """Have a part of one's own."""
    return _half(x, i) / 2


def _sum_of_quarters(x: Any) -> Any:
    total = 0.0
    for i in range(x.shape[0]):
        total += _quarter(x, i) + _quarter(x, x.shape[0] - i - 1)
    return total


def _sum(x: Any) -> Any:
    total = 0.0
    for i in range(x.shape[0]):
        total += _half(x, i)
    return total


def test_it_does_what_python_does(capfd: pytest.CaptureFixture[str]) -> None:
    loop = numba.njit(_sum)
    for kind in (np.float64, np.int32):
        assert loop(np.array([3, 5, 8], kind)) == 8.0
    with pytest.raises(OverflowError, match="more than a hundred"):
        loop(np.array([1.0, 101.0]))
    assert loop(np.array([-2.0, 4.0])) == 1.0
    assert capfd.readouterr().out == "below zero [-2.  4.]\n"


def test_only_the_loop_is_optimized(monkeypatch: pytest.MonkeyPatch) -> None:
    optimized: list[str] = []
    run = codegen.CPUCodeLibrary._optimize_final_module

    def noted(library: Any) -> None:
        optimized.append(library.name)
        run(library)

    monkeypatch.setattr(codegen.CPUCodeLibrary, "_optimize_final_module", noted)
    assert numba.njit(_sum)(np.array([3, 5, 8], np.int16)) == 8.0
    assert numba.njit(_sum_of_quarters)(np.array([3, 5, 8], np.int16)) == 8.0
    assert {"_sum", "_sum_of_quarters"} <= set(optimized)
    assert not {"_half", "_twice", "_quarter"} & set(optimized)


def test_the_garbage_collector_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    met = []
    run = codegen.CPUCodeLibrary._optimize_final_module
    monkeypatch.setattr(
        codegen.CPUCodeLibrary,
        "_optimize_final_module",
        lambda library: (met.append(gc.get_threshold()), run(library)),
    )
    before = gc.get_threshold()
    try:
        for thresholds in ((701, 11, 12), (0, 11, 12)):
            gc.set_threshold(*thresholds)
            with pytest.raises(numba.core.errors.TypingError):
                numba.njit(lambda x: x.nothing)(1)
            numba.njit(lambda x: x + 1)(1)
            assert gc.get_threshold() == thresholds
    finally:
        gc.set_threshold(*before)
    assert len(met) == 2
    assert met[0][0] > 701
    assert met[1] == (0, 11, 12)


@compiled
def _next(count: int) -> int:
    return count + 1


def test_a_loop_is_compiled_for_the_types_of_its_arguments() -> None:
    """A count that begins at 0 is to numba the integer 0 before it is any integer."""
    loop: Any = _next
    for kind in (types.literal(0), types.literal(1), types.int64):
        loop.get_call_template((kind,), {})
    assert loop.signatures == [(types.int64,)]
