"""Loops that copy numbers, rows and blocks.

Where an array is assigned to a slice (``a[i] = b``), numba compiles the error message for shapes
that differ: 37 string functions, 2 s of every first use. A loop needs none of them.

`olscale.compiled.csr` and `olscale.compiled.pages` import this file on demand, since it imports
numba.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.arrays import BoolArray, IntArray
from olscale.compiled.decorator import compiled, inlined
from olscale.compiled.intrinsics import prefetch


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


_AHEAD = 4  # rows fetched ahead: each row in random order would otherwise stall
_LINE = np.uint64(8)
_ONE = np.uint64(1)


@compiled
def gather_rows(
    indptr: Any,
    indices: Any,
    data: Any,
    index: Any,
    new_indptr: Any,
    new_indices: Any,
    new_data: Any,
) -> None:
    """Copy the entries of the rows at `index` to where `new_indptr` says."""
    for i in range(len(index)):
        if i + _AHEAD < len(index):
            row_ahead = index[i + _AHEAD]
            start_ahead = np.uint64(indptr[row_ahead])
            stop_ahead = np.uint64(indptr[row_ahead + 1])
            for p in range(start_ahead, stop_ahead, _LINE):
                prefetch(data, p)
                prefetch(indices, p)
        to = np.uint64(new_indptr[i])
        row = index[i]
        start = np.uint64(indptr[row])
        stop = np.uint64(indptr[row + 1])
        for p in range(start, stop):
            new_indices[to] = indices[p]
            new_data[to] = data[p]
            to += _ONE


@compiled
def count_nonzeros(X: Any, indptr: Any) -> None:
    """Set ``indptr[i + 1]`` to the number of non-zero entries of the first `i + 1` dense rows."""
    for i in range(X.shape[0]):
        count = 0
        for value in X[i]:
            count += value != 0.0
        indptr[i + 1] = indptr[i] + count


@compiled
def copy_nonzeros(X: Any, indices: Any, data: Any) -> None:
    """Copy the non-zero entries of dense rows, row by row."""
    to = 0
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            value = X[i, j]
            # Always written, and kept unless the next one overwrites it: this avoids an
            # unpredictable branch.
            indices[to] = j
            data[to] = value
            to += value != 0.0


@compiled
def mark_blocks(words: NDArray[np.uint64], size: int, marks: BoolArray) -> None:
    """Mark blocks of `size` words that have a set bit."""
    for block in range(len(marks)):
        word = block * size
        stop = min((block + 1) * size, len(words))
        while word < stop and words[word] == 0:
            word += 1
        marks[block] = word < stop


@compiled
def gather_blocks(
    data: NDArray[np.uint8], numbers: IntArray, blocks: NDArray[np.uint8]
) -> None:
    """Copy the blocks of `data` with these numbers; past its end there are zeros."""
    most = blocks.shape[1]
    for n in range(len(numbers)):
        start = numbers[n] * most
        size = min(most, len(data) - start)
        for byte in range(size):
            blocks[n, byte] = data[start + byte]
        blocks[n, size:] = 0


@compiled
def scatter_blocks(
    data: NDArray[np.uint8], numbers: IntArray, blocks: NDArray[np.uint8]
) -> None:
    """Copy blocks to the positions of these numbers in `data`."""
    most = blocks.shape[1]
    for n in range(len(numbers)):
        start = numbers[n] * most
        size = min(most, len(data) - start)
        for byte in range(size):
            data[start + byte] = blocks[n, byte]
