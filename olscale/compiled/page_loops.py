"""Compiled loops over the blocks of an array; `olscale.compiled.pages` imports them on demand."""

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled


@compiled
def mark(words: NDArray[np.uint64], size: int, marks: NDArray[np.bool_]) -> None:
    """Mark blocks of `size` words that have a set bit."""
    for block in range(len(marks)):
        word = block * size
        stop = min((block + 1) * size, len(words))
        while word < stop and words[word] == 0:
            word += 1
        marks[block] = word < stop


@compiled
def gather(data: NDArray[np.uint8], numbers: NDArray[np.int64], blocks: NDArray[np.uint8]) -> None:
    """Copy the blocks of `data` with these numbers; past its end there are zeros."""
    most = blocks.shape[1]
    for n in range(len(numbers)):
        start = numbers[n] * most
        size = min(most, len(data) - start)
        for byte in range(size):
            blocks[n, byte] = data[start + byte]
        blocks[n, size:] = 0


@compiled
def scatter(data: NDArray[np.uint8], numbers: NDArray[np.int64], blocks: NDArray[np.uint8]) -> None:
    """Copy blocks to the positions of these numbers in `data`."""
    most = blocks.shape[1]
    for n in range(len(numbers)):
        start = numbers[n] * most
        size = min(most, len(data) - start)
        for byte in range(size):
            data[start + byte] = blocks[n, byte]
