"""Sparse rows taken in any order, in one pass over their entries."""

from typing import Any

import numpy as np

from olscale.compiled.decorator import compiled
from olscale.compiled.intrinsics import prefetch

_AHEAD = 4  # rows fetched ahead: each row in random order would otherwise stall
_LINE = np.uint64(8)
_ONE = np.uint64(1)


@compiled
def gather(
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
            ahead = index[i + _AHEAD]
            for p in range(np.uint64(indptr[ahead]), np.uint64(indptr[ahead + 1]), _LINE):
                prefetch(data, p)
                prefetch(indices, p)
        to = np.uint64(new_indptr[i])
        for p in range(np.uint64(indptr[index[i]]), np.uint64(indptr[index[i] + 1])):
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
