"""The local expert of replay-svm, a `soft-lol`, and its arrays among those of the learner."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.arrays import part_of, with_mark
from olscale.compiled.csr import Rows, rows_of, slice_rows
from olscale.learners.contract.learner import FloatArray, State
from olscale.learners.local.soft_lol import SoftLOL

SHARE = 0.5
"""Trust at the start, and share of what is dealt anew, as a part of another expert's."""

_MOST_BYTES = 64_000_000
_PREFIX = "local_"


class LocalExpert(SoftLOL):
    """A `soft-lol` that scores rows for another learner.

    Examples
    --------
    >>> import numpy as np
    >>> expert = LocalExpert()
    >>> expert.begin(columns=2, classes=2)
    >>> X = np.ones((3, 2))
    >>> expert.scores_ahead(X, np.ones(3, dtype=np.int64), learning=True).ravel()
    array([0.       , 0.25     , 0.4140625])
    """

    name = "replay-svm"

    def scores_ahead(self, X: Rows, y: NDArray[np.int64], learning: bool) -> FloatArray:
        """Return the scores of rows, each as it was before the row; learn the rows if asked.

        A row so close to prototypes that rounding hides its distances has the score 0 and is not
        learned.
        """
        rows = rows_of(X)
        scores = np.empty((rows, self._outputs))
        first = 0
        while first < rows:
            part = slice_rows(X, first, rows)
            labels = y[first:] if learning else y
            self._pass(part, labels, self.state_, learning, scores[first:])
            finite = np.isfinite(scores[first:]).all(axis=1)
            if finite.all():
                break
            first += int(np.argmin(finite))
            scores[first] = 0.0
            first += 1
        return scores


def has_local_expert(columns: int, outputs: int) -> bool:
    """Return whether rows of so many features have a local expert: on wide rows it takes too much.

    Examples
    --------
    >>> has_local_expert(columns=784, outputs=10), has_local_expert(columns=50_000, outputs=20)
    (True, False)
    """
    return local_bytes(columns, outputs) <= _MOST_BYTES


def local_bytes(columns: int, outputs: int) -> int:
    """Return the bytes of the hyperplanes, each with the sums of its steps."""
    planes = int(SoftLOL.k) + 1
    return 16 * planes * outputs * columns


def with_prefix(state: State) -> State:
    """Return the arrays of the expert by their names in the learner.

    Examples
    --------
    >>> list(with_prefix({"V": np.zeros(2)}))
    ['local_V']
    """
    return with_mark(state, _PREFIX)


def local_state(state: Mapping[str, NDArray[Any]]) -> State:
    """Return the arrays of the expert among those of the learner, by their own names."""
    return part_of(state, _PREFIX)
