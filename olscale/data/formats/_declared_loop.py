"""The loop that checks numbers against declared values, such as ``{0,1}`` in ARFF."""

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled


@compiled
def all_declared(
    numbers: NDArray[np.float64],
    others: NDArray[np.float64],
    row: int,
    rows: int,
    slots: NDArray[np.int32],
    ends: NDArray[np.int64],
    declared: NDArray[np.float64],
) -> bool:
    """Return whether some columns of rows `row` to `rows` hold only declared or missing numbers.

    The declared numbers of the column in ``slots[i]``, a place as in `parse_rows`, are
    ``declared[ends[i - 1] : ends[i]]``, sorted.
    """
    width = numbers.shape[1]
    begin = 0
    odd = False
    for i in range(len(slots)):
        slot = slots[i]
        first = declared[begin]
        last = declared[ends[i] - 1]
        column = numbers[:, slot] if slot < width else others[slot - width]
        known = declared[begin : ends[i]]
        # most often: 0 and 1, 1 to 5
        if last - first == len(known) - 1 and (np.floor(known) == known).all():
            for at in range(row, rows):
                value = column[at]
                odd |= (
                    (value < first)
                    | (value > last)
                    | ((value == value) & (np.floor(value) != value))
                )
        else:
            for at in range(row, rows):
                value = column[at]
                odd |= (
                    value == value
                    and declared[_place(declared, begin, ends[i] - 1, value)] != value
                )
        begin = ends[i]
    return not odd


@compiled
def entries_declared(
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
    ends: NDArray[np.int64],
    declared: NDArray[np.float64],
) -> bool:
    """Return whether each number of sparse rows is missing, declared, or in an undeclared column.

    The declared numbers of column `j` are ``declared[ends[j] : ends[j + 1]]``, sorted; if there are
    none, any number is allowed.
    """
    for i in range(len(indices)):
        first = ends[indices[i]]
        last = ends[indices[i] + 1]
        value = data[i]
        if (
            first < last
            and value == value
            and declared[_place(declared, first, last - 1, value)] != value
        ):
            return False
    return True


@compiled
def _place(values: NDArray[np.float64], low: int, high: int, value: float) -> int:
    """Return the position of the first of `values` from `low` to `high` not below `value`.

    The values are sorted; the result is `high` if all are below.
    """
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
