"""Weights of rows: how much each counts, and the error messages that all formats share."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from olscale.data.formats.table_columns import column_positions, label_positions
from olscale.errors import FormatError

EXPECTED = "a finite number, 0 or more"
_CURE = "mend it, or take the row out"


def first_wrong_weight(weights: NDArray[np.float64]) -> int | None:
    """Return the position of the first weight that is negative, infinite or missing, or None.

    Examples
    --------
    >>> first_wrong_weight(np.array([0.0, 2.5, -1.0, np.nan]))
    2
    """
    right = (weights >= 0.0) & (weights < np.inf)
    if right.all():
        return None
    return int(np.argmin(right))


def weight_problem(weight: float, column: str) -> str:
    """Return what is wrong with a weight, NaN if it is missing, and what to do.

    Examples
    --------
    >>> problem, cure = weight_problem(-1.0, "w").split("; ")
    >>> problem
    "the weight is -1 (column 'w'), expected a finite number, 0 or more"
    >>> cure
    'mend it, or take the row out'
    """
    if np.isnan(weight):
        return (
            f"the weight is missing (column {column!r}), expected {EXPECTED}; {_CURE}"
        )
    return f"the weight is {weight:g} (column {column!r}), expected {EXPECTED}; {_CURE}"


def checked_weights(
    source: str, weights: NDArray[np.float64], column: str
) -> NDArray[np.float64]:
    """Return weights with -0 replaced by 0.

    Raises
    ------
    FormatError
        At the first invalid weight, with its row, counted from 1.
    """
    wrong = first_wrong_weight(weights)
    if wrong is not None:
        raise FormatError(
            source,
            f"row {1 + wrong}: {weight_problem(float(weights[wrong]), column)}",
        )
    return weights + 0.0


def weights_position(
    source: str,
    names: Sequence[str],
    weights: str | None,
    label: str | int | None,
    dropped: frozenset[int],
    width: int,
) -> int | None:
    """Return the position of the column of weights among `names`; None if `weights` is None.

    Parameters
    ----------
    source : str
        Named in errors.
    names : sequence of str
        Column names.
    weights : str, optional
        Name or position of the column.
    label : str or int, optional
        The label option.
    dropped : frozenset of int
        Columns that are left out.
    width : int
        How many of the columns are in the file.

    Raises
    ------
    UnknownNameError
        When there is no column of that name.
    FormatError
        When it is the label, or is dropped, or several are named.
    """
    if weights is None:
        return None
    positions = column_positions(source, names, [weights], "for the weights", width)
    if len(positions) != 1:
        raise FormatError(
            source,
            f"{len(positions)} columns are named for the weights, {weights!r}; name one",
        )
    [position] = positions
    conflict = ""
    if position in dropped:
        conflict = "is to be dropped"
    if label is not None and position in label_positions(
        source, names, label, width=width
    ):
        conflict = "is the label"
    if conflict:
        raise FormatError(
            source,
            f"column {names[position]!r} has the weights and {conflict}; choose one of them",
        )
    return position
