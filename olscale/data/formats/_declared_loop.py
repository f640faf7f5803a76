"""The loop over numbers of which a table declares all that there may be, as ARFF does by ``{0,1}``."""

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
    """Return whether rows from `row` to `rows` have nothing but declared numbers, and missing values, in some columns.

    Those of the column in ``slots[i]``, a place as in `parse_rows`, are ``declared[ends[i - 1] :
    ends[i]]``, sorted.
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
        if (
            last - first == len(known) - 1 and (np.floor(known) == known).all()
        ):  # most often: 0 and 1, 1 to 5
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
    """Return whether each number of sparse rows is missing, or a declared one of its column where these are known.

    Those of column `j` are ``declared[ends[j] : ends[j + 1]]``, sorted; where there are none, any
    number may stand.
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
    """Return where among the sorted `values` from `low` to `high` the first that is not below `value` stands, or `high`."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
