"""What is given for rows and holds none: a path, a query that is still to run, a dataset."""

import os
from typing import Any

from olscale.data.dataset import Dataset
from olscale.errors import ParameterError

_RUN_A_QUERY = ("toPandas", "collect", "compute")
"""Methods that give the rows of a lazy frame: of Spark, of polars, of Dask.

Frames in memory have none of them.
"""


def refuse_rows_elsewhere(X: Any) -> None:
    """Refuse what has no rows in memory, and say how to get them.

    Raises
    ------
    ParameterError
        If `X` is a path, a `Dataset`, or a lazy frame of polars, Spark or Dask.

    Examples
    --------
    >>> refuse_rows_elsewhere([[1.0, 2.0]])
    >>> refuse_rows_elsewhere("new.csv")
    Traceback (most recent call last):
    ...
    olscale.errors.ParameterError: X is a path, expected rows; read it as a data frame, or ...
    """
    if isinstance(X, str | os.PathLike):
        raise ParameterError(
            "X is a path, expected rows; read it as a data frame, or call olscale predict"
        )
    if isinstance(X, Dataset):
        raise ParameterError(
            "X is a Dataset, expected rows; give its chunks, dataset.chunks(split)"
        )
    for method in _RUN_A_QUERY:
        if hasattr(type(X), method):
            raise ParameterError(
                f"X is a {type(X).__name__} whose rows are not in memory, expected rows; give "
                f"X.{method}()"
            )
