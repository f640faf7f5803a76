"""Columns of numbered values, as they are or with a column for each value."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray


class NumberedColumns:
    """The columns of a generator some of whose features are one of several values.

    Parameters
    ----------
    names : sequence of str
        Of all columns.
    values : mapping of str to sequence of str
        The values of the columns that have some, in the order of their numbers.
    expanded : bool
        Whether each value has a column of its own; else the columns are left as they are.

    Examples
    --------
    >>> columns = NumberedColumns(("size", "price"), {"size": ("small", "large")}, expanded=True)
    >>> columns.names
    ('size=small', 'size=large', 'price')
    >>> columns.apply(np.array([[1.0, 9.5]]))
    array([[0. , 1. , 9.5]])
    """

    def __init__(
        self, names: Sequence[str], values: Mapping[str, Sequence[str]], expanded: bool
    ) -> None:
        self._counts = [len(values.get(name, ())) if expanded else 0 for name in names]
        self.names: tuple[str, ...] = tuple(
            column
            for name, count in zip(names, self._counts, strict=True)
            for column in (
                [f"{name}={value}" for value in values[name]] if count else [name]
            )
        )

    def apply(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rows `X`, of shape (rows, columns), with the columns of `names`."""
        if not any(self._counts):
            return X
        parts = []
        for column, count in enumerate(self._counts):
            part = X[:, column, None]
            if count:
                part = (part == np.arange(count)).astype(np.float64)
            parts.append(part)
        return np.concatenate(parts, axis=1)
