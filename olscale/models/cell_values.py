"""Cells of frames and dictionaries as the numbers and words that a model knows.

A cell may have any type that a data frame, a JSON document or ``csv.DictReader`` gives: numbers,
text, truth values, times, or one of the objects that stand for no value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.data.formats.cells import is_missing, is_number
from olscale.data.formats.spellings import is_truth_word
from olscale.errors import ParameterError

_NO_VALUES = frozenset(("NoneType", "NAType", "NaTType"))
"""Types of the objects by which Python and pandas say that there is no value."""

_SAME_WHOLE = 2.0**53
"""From here on float64 does not represent every whole number."""


def is_no_value(cell: Any) -> bool:
    """Return whether `cell` has no value: None, NaN, or ``NA`` and ``NaT`` of pandas.

    Examples
    --------
    >>> is_no_value(None), is_no_value(float("nan")), is_no_value("")
    (True, True, False)
    """
    # By name, so that pandas need not be imported to recognise its objects.
    return type(cell).__name__ in _NO_VALUES or (
        isinstance(cell, float) and cell != cell
    )


def number_of(cell: Any, column: str, row: int) -> float:
    """Return a cell of a column of numbers, NaN if it has no value.

    Parameters
    ----------
    cell : object
        A number, a truth value, text that is a number or means "no value", or no value.
    column : str
    row : int
        Named in the error.

    Raises
    ------
    ParameterError
        If the cell is no number.

    Examples
    --------
    >>> number_of("1.5", "a", 0), number_of(True, "a", 0), number_of("NA", "a", 0)
    (1.5, 1.0, nan)
    """
    # Exact types first: nearly all cells are of these, and a bool, which is an int as
    # well, goes through the conversion below.
    kind = type(cell)
    if kind is float or kind is int:
        return float(cell)
    if is_no_value(cell):
        return np.nan
    if isinstance(cell, str):
        if is_number(cell):
            return float(cell)
        if is_missing(cell):
            return np.nan
    # float() would drop an imaginary part, read the digits in bytes, and count the
    # nanoseconds of a time.
    elif not isinstance(cell, bytes | complex | np.complexfloating | np.datetime64):
        try:
            return float(cell)
        except (TypeError, ValueError):
            pass  # the error below names row and column
    cure = ""
    if is_truth_word(str(cell).strip()):
        cure = "; truth values are True and False, or 1 and 0, not words"
    raise ParameterError(
        f"column {column!r} of X was {str(cell)[:40]!r} in row {row}, expected a number as the "
        f"model learned{cure}"
    )


def words_of(cell: Any) -> Iterator[str]:
    """Yield the words that a cell of a column of text may be, the likeliest first.

    A frame reads ``5`` as a number where the table that the model learned from has a word, and
    makes it 5.0 where cells have no value.

    Examples
    --------
    >>> list(words_of(" red ")), list(words_of(5.0)), list(words_of(True))
    ([' red ', 'red'], ['5', '5.0'], ['True', 'true', '1'])
    """
    if isinstance(cell, str):
        yield cell
        if (stripped := cell.strip()) != cell:
            yield stripped
        return
    if isinstance(cell, bool | np.bool_):
        yield str(bool(cell))
        yield str(bool(cell)).lower()
        yield str(int(cell))
        return
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _SAME_WHOLE:
        yield str(int(cell))
    yield str(cell)


def numbers_in(cells: Any, column: str) -> NDArray[np.float64]:
    """Return a column of a frame, or a sequence of cells, as numbers.

    Raises
    ------
    ParameterError
        If a cell is no number; names column and row.
    """
    values = _plain_numbers(cells)
    if values is not None:
        return values
    return np.array(
        [number_of(cell, column, row) for row, cell in enumerate(cells_in(cells))],
        dtype=np.float64,
    )


def _plain_numbers(cells: Any) -> NDArray[np.float64] | None:
    """Return a column that is an array of numbers already, or None."""
    if isinstance(cells, list | tuple):
        return None
    values = np.asarray(cells)
    # Columns of objects, text or times go cell by cell, where an error can name the
    # row.
    if values.dtype.kind not in "biuf" or values.ndim != 1:
        return None
    return values.astype(np.float64, copy=False)


def cells_in(cells: Any) -> Iterable[Any]:
    """Return the cells of a column of pandas, polars or Arrow as objects of Python."""
    for name in ("to_pylist", "to_list", "tolist"):
        convert = getattr(cells, name, None)
        if convert is not None:
            objects: Iterable[Any] = convert()
            return objects
    return list(cells)


def pointed(cell: str | None, mark: str) -> str | None:
    """Return a number with the decimal mark `mark` with a point instead, other cells unchanged."""
    if cell is None or not is_number(cell, mark):
        return cell
    return cell.replace(mark, ".")


def number_or_nan(cell: float | str | None, mark: str) -> float:
    """Return a cell as a number, or NaN."""
    if cell is None:
        return np.nan
    if not isinstance(cell, str):
        return float(cell)
    if not is_number(cell, mark):
        return np.nan
    return float(cell.replace(mark, "."))
