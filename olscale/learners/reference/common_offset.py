"""Remove an offset common to all rows, for libraries that compute distances from products.

scikit-learn computes ``|x|^2 + |s|^2 - 2 x.s``, which is mere rounding where rows differ by far
less than their length. Subtracting the first row leaves the distances unchanged.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.differences import LONG
from olscale.errors import DivergedError

_BLURRED = 1e-3
"""Error of a kernel value above which rounding matters."""

_COMPARED = 1_000
"""Number of long rows whose kernel values are compared."""

_FAR_OFF = 2.0**26
"""Ratio of the mean square of rows to their variance from which an offset is suspected."""


def first_row_everywhere(X: Any) -> Any:
    """Return the first row as a sparse matrix, at the features that every row has.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> first_row_everywhere(csr_matrix([[5.0, 0.0, 2.0], [6.0, 1.0, 0.0]])).toarray().tolist()
    [[5.0, 0.0, 0.0]]
    """
    everywhere = np.bincount(X.nonzero()[1], minlength=X.shape[1]) == X.shape[0]
    return X[:1].multiply(everywhere).tocsr()


def take_off(X: Any, offset: Any) -> Any:
    """Return the rows of a sparse matrix minus the row `offset`."""
    from scipy.sparse import csr_matrix

    return (X - csr_matrix(np.ones((X.shape[0], 1))) @ offset).tocsr()


def is_far_off(X: Any) -> bool:
    """Return whether the rows of a sparse matrix differ by a small part of their length only."""
    mean = np.asarray(X.mean(axis=0)).ravel()
    square = float(X.multiply(X).sum() / max(1, X.shape[0]))
    variance = square - float(np.sum(mean * mean))
    return square > _FAR_OFF * variance


def is_blurred(X: Any, gamma: float) -> bool:
    """Return whether rounding changes Gaussian kernel values of the rows of a sparse matrix.

    Only long rows can be affected; their distances are compared with those after subtracting the
    first row.
    """
    from sklearn.metrics.pairwise import rbf_kernel

    long = gamma * np.asarray(X.multiply(X).sum(axis=1)).ravel() > LONG
    if np.count_nonzero(long) < 2:
        return False
    rows = X[np.flatnonzero(long)[:_COMPARED]]
    error = rbf_kernel(rows, gamma=gamma) - rbf_kernel(take_off(rows, rows[:1]), gamma=gamma)
    return bool(np.max(np.abs(error)) > _BLURRED)


class WithoutOffset:
    """A machine with the interface of scikit-learn that sees rows minus its first training row.

    Parameters
    ----------
    machine : object
        An untrained estimator with a Gaussian kernel.
    gamma : float
        Width of the kernel.
    """

    def __init__(self, machine: Any, gamma: float) -> None:
        self._machine = machine
        self._gamma = gamma

    def fit(self, X: Any, y: NDArray[Any], **weights: NDArray[Any]) -> Self:
        """Train the machine on rows minus the first one, at the features that every row has.

        `weights` are passed on if there are any.

        Raises
        ------
        DivergedError
            If rounding loses the distances even so.
        """
        self._offset = first_row_everywhere(X)
        rows = take_off(X, self._offset)
        if is_blurred(rows, self._gamma):
            raise DivergedError(
                "distances are lost in rounding, for rows differ by far less than their length; "
                "scale "
                "the features, for example with the transform standardize",
                X.shape[0],
            )
        self._machine.fit(rows, y, **weights)
        return self

    def predict(self, X: Any) -> Any:
        """Return the predictions of the machine."""
        return self._machine.predict(take_off(X, self._offset))

    def decision_function(self, X: Any) -> Any:
        """Return the decision values of the machine."""
        return self._machine.decision_function(take_off(X, self._offset))
