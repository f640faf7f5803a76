"""Copies of numbers by loops.

Where an array is assigned to a slice (``a[i] = b``), numba compiles the error message for shapes
that differ: 37 string functions, 2 s of every first use. A loop needs none of them.
"""

from typing import Any

from olscale.compiled.decorator import inlined


@inlined
def copy_numbers(source: Any, target: Any, count: int) -> None:
    """Copy the first `count` numbers of a 1-D array into another one."""
    for place in range(count):
        target[place] = source[place]


@inlined
def add_numbers(source: Any, target: Any) -> None:
    """Add the numbers of a 1-D array to those of another one."""
    for place in range(target.shape[0]):
        target[place] += source[place]
