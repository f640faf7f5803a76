"""The loop that writes numbers and one-hot columns as sparse rows."""

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled


@compiled
def fill_rows(
    numbers: NDArray[np.float64],
    codes: NDArray[np.int32],
    absent: int,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
) -> None:
    """Write the nonzero numbers of each row, then a 1 for each of its codes, in ascending order.

    Parameters
    ----------
    numbers : ndarray of shape (rows, width)
    codes : ndarray of shape (rows, text columns)
        Columns of the ones, from `width` on; `absent` for a missing value.
    absent : int
        Greater than any column.
    indptr : ndarray of shape (rows + 1,)
        Only the first value is set.
    indices, data : ndarray
        With room for all entries and one more.
    """
    width = numbers.shape[1]
    end = indptr[0]
    for row in range(len(numbers)):
        for column in range(width):
            # Always written, then kept or not: a branch would be mispredicted at every other
            # number.
            value = numbers[row, column]
            indices[end] = column
            data[end] = value
            end += value != 0
        end = _add_codes(codes[row], absent, end, indices, data)
        indptr[row + 1] = end


@compiled
def fill_sparse_rows(
    number_indptr: NDArray[np.int64],
    number_indices: NDArray[np.int32],
    number_data: NDArray[np.float64],
    codes: NDArray[np.int32],
    absent: int,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
) -> None:
    """Do what `fill_rows` does, for numbers in sparse rows."""
    end = indptr[0]
    for row in range(len(codes)):
        for i in range(number_indptr[row], number_indptr[row + 1]):
            value = number_data[i]
            indices[end] = number_indices[i]
            data[end] = value
            end += value != 0
        end = _add_codes(codes[row], absent, end, indices, data)
        indptr[row + 1] = end


@compiled
def _add_codes(
    codes: NDArray[np.int32],
    absent: int,
    end: int,
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
) -> int:
    """Write a 1 for each of `codes`, in ascending order, from `end` on; return the new end."""
    first = end
    for code in codes:
        if code == absent:
            continue
        place = end
        while place > first and indices[place - 1] > code:
            indices[place] = indices[place - 1]
            place -= 1
        indices[place] = code
        data[end] = 1.0
        end += 1
    return end
