"""Copies of numbers compile no strings."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from olscale.compiled.copies import add_numbers, copy_numbers
from tests.compiled_texts import StringWatch, event, watch


def by_loops(numbers, line):
    copy_numbers(numbers, line, 2)
    add_numbers(numbers, line)


def by_slices(numbers, lines):
    lines[0] = numbers


def greatest(numbers):
    return numbers.max()


def test_numbers_are_copied_and_added():
    numbers = np.array([1.0, 2.0, 3.0])
    line = np.zeros(3)
    numba.njit(by_loops)(numbers, line)
    np.testing.assert_array_equal(line, [2.0, 4.0, 3.0])


@pytest.mark.parametrize("module", ["olscale.compiled.copies", "elsewhere"])
def test_a_loop_that_copies_by_a_slice_is_noted(module, monkeypatch):
    """Of a loop of olscale alone: what users compile is theirs."""
    monkeypatch.setattr(by_slices, "__module__", module)
    own = StringWatch()
    with event.install_listener("numba:compile", own):
        numba.njit(by_slices)(np.zeros(3), np.zeros((2, 3)))
    assert own.loops == (
        {"olscale.compiled.copies.by_slices"} if module.startswith("olscale") else set()
    )
    watch.loops.clear()


def test_a_loop_that_takes_the_greatest_number_of_an_array_is_noted(monkeypatch):
    monkeypatch.setattr(greatest, "__module__", "olscale.compiled.copies")
    own = StringWatch()
    with event.install_listener("numba:compile", own):
        numba.njit(greatest)(np.zeros(3))
    assert own.loops == {"olscale.compiled.copies.greatest"}
    watch.loops.clear()
