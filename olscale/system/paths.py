"""Paths from users: an empty one is a mistake, since it means the working directory."""

import os
from typing import Any

from olscale.errors import ParameterError


def path_text(path: Any, what: str = "path") -> str:
    """Return `path`, a path or an address, as text; `what` says in errors whose it is.

    Raises
    ------
    ParameterError
        If it is empty, as an unset variable is, or no path.

    Examples
    --------
    >>> path_text("data/letter")
    'data/letter'
    >>> path_text("", "store")
    Traceback (most recent call last):
    ...
    olscale.errors.ParameterError: store is an empty path: a variable that is not set?
    """
    if not isinstance(path, str | os.PathLike) or not isinstance(
        text := os.fspath(path), str
    ):
        cure = _cure(path)
        raise ParameterError(
            f"{what} is a {type(path).__name__}, expected a path{cure}"
        )
    if not text.strip():
        raise ParameterError(f"{what} is an empty path: a variable that is not set?")
    if "\0" in text:
        raise ParameterError(f"no path holds a null character, {what} does")
    return text


def text_of_path(value: Any) -> Any:
    """Return the text of a path, and anything else as it is: for values that are checked later.

    Examples
    --------
    >>> from pathlib import PurePosixPath
    >>> text_of_path(PurePosixPath("data/letter")), text_of_path(5)
    ('data/letter', 5)
    """
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value


def _cure(value: Any) -> str:
    """Return what to do with rows in memory, where `value` is some."""
    # A lazy frame of polars would resolve its query to say what its schema is.
    for method in ("to_parquet", "write_parquet", "sink_parquet"):
        if hasattr(value, method):
            return f" to files: write it to one, rows.{method}('rows.parquet'), and give that"
    if hasattr(value, "schema"):
        return (
            " to files: write it to one, pyarrow.parquet.write_table(rows, 'rows.parquet'), "
            "and give that"
        )
    if hasattr(value, "__array__") or hasattr(value, "tocsr"):
        return " to files: write it to one, numpy.savez('rows.npz', X=X, y=y), and give that"
    return ""
