"""What a model of another library takes: rows as its matrix, weights by its name, fewer checks."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import numpy as np

from olscale.compiled.csr import CSR, Rows, rows_of, slice_rows, to_dense, trim
from olscale.learners.contract.learner import FloatArray

_MOST_DENSE_COLUMNS = 1024


def matrix_of(X: Rows, columns: int) -> Any:
    """Return rows of `columns` features as scikit-learn takes them, shape (rows, columns).

    Wide sparse rows are a SciPy matrix, all others an array.
    """
    if not isinstance(X, CSR):
        return X
    if columns <= _MOST_DENSE_COLUMNS:
        return to_dense(X, columns)
    from scipy.sparse import csr_matrix

    indptr, indices, data = trim(X)
    return csr_matrix((data, indices, indptr), (rows_of(X), columns))


def single_rows(X: Rows, columns: int) -> Iterator[Any]:
    """Yield each row as a matrix of its own, shape (1, columns), as `matrix_of` gives it."""
    for i in range(rows_of(X)):
        yield matrix_of(slice_rows(X, i, i + 1), columns)


def weight_argument(
    weights: FloatArray | None, row: int, *, of_river: bool
) -> dict[str, Any]:
    """Return the weight of row `row` as the keyword argument of the model's method."""
    if weights is None:
        return {}
    if of_river:
        return {"w": float(weights[row])}
    return {"sample_weight": weights[row : row + 1]}


def unchecked(*, of_river: bool) -> AbstractContextManager[Any]:
    """Make scikit-learn skip costly checks, and keep estimators from writing output."""
    stack = ExitStack()
    stack.enter_context(np.errstate(all="ignore"))
    if not of_river:
        from sklearn import config_context

        stack.enter_context(
            config_context(assume_finite=True, skip_parameter_validation=True)
        )
    return stack
