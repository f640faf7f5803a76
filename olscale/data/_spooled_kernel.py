"""The loops that make few bytes of sparse rows, and rows of them again; without branches, which would be mispredicted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from olscale.jit import kernel

__all__ = ["pack", "unpack"]

_FAR, _OTHER = 0x7FFF, 0x8000


@kernel
def pack(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
    steps: NDArray[np.uint16],
    far: NDArray[np.int32],
    values: NDArray[np.float64],
) -> tuple[int, int]:
    """Write how many features each entry passes over; return how many are far and how many values are not 1.

    A step of 15 bits that are all ones stands for an index in `far`, the highest bit for a value in `values`. Both have
    room for one more.
    """
    jumps, others = np.uint64(0), np.uint64(0)
    first = np.uint64(indptr[0])
    for i in range(len(indptr) - 1):
        following = 0
        for j in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            index = int(indices[j])
            step = min(index - following, _FAR)
            other = data[j] != 1.0
            far[jumps] = index
            values[others] = data[j]
            steps[j - first] = step | (_OTHER if other else 0)
            jumps += np.uint64(step == _FAR)
            others += np.uint64(other)
            following = index + 1
    return int(jumps), int(others)


@kernel
def unpack(
    indptr: NDArray[np.int64],
    steps: NDArray[np.uint16],
    far: NDArray[np.int32],
    values: NDArray[np.float64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
) -> None:
    """Write the rows that `pack` was given; `far` and `values` have one more entry than it said."""
    jumps, others = np.uint64(0), np.uint64(0)
    for i in range(len(indptr) - 1):
        following = 0
        for j in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            step, jump, value = int(steps[j]), int(far[jumps]), values[others]
            distant, other = (step & _FAR) == _FAR, step >= _OTHER
            index = jump if distant else following + (step & _FAR)
            indices[j] = index
            data[j] = value if other else 1.0
            jumps += np.uint64(distant)
            others += np.uint64(other)
            following = index + 1
