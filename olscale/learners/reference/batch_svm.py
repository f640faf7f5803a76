"""The support vector machine that learners of one pass are set against."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from olscale.learners.contract.learner import FloatArray
from olscale.learners.contract.parameters import Choice, Real, param
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.reference.batch_machine import (
    GaussianMachine,
    first_row_everywhere,
    take_off,
)
from olscale.learners.reference.capped_machine import CappedMachine

_MEASURED = 400
"""First rows whose distances give the unit of the width, as in `replay-svm`."""


class BatchSVM(CappedMachine, GaussianMachine, WeightedClassifier):
    """Batch reference, not one-pass: scikit-learn's SVC, its width in units of the data.

    The kernel is ``exp(-gamma |x - s|^2 / m)`` for the median squared distance m of the first 400
    rows that train, so that one grid of `gamma` suits all data. Otherwise it is `svm`, with a
    limit on the rows that train and either way to decide between more than two classes.

    Notes
    -----
    State: all rows, as sparse ones. Cost of training on n rows: O(n^2) kernel values or more, for
    each doubling up to `along` and for the test.

    A row's weight multiplies `C`, as scikit-learn's ``sample_weight`` does.

    References
    ----------
    C. Cortes, V. Vapnik, Support-vector networks, Machine Learning 20 (1995). C.-W. Hsu, C.-J. Lin,
    A comparison of methods for multiclass support vector machines, IEEE Transactions on Neural
    Networks 13 (2002).

    Examples
    --------
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> BatchSVM().fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "batch-svm"
    numbers_per_second = 0.57e9

    C: float = param(1.0, Real(0.0, open_="low"), "Penalty of a row's loss.")
    gamma: float = param(
        1.0,
        Real(0.0, open_="low"),
        "Width of the kernel ``exp(-gamma |x - s|^2 / m)`` for the median squared distance m of "
        "the first 400 rows that train.",
    )
    multiclass: str = param(
        "one-vs-one",
        Choice(("one-vs-one", "one-vs-rest")),
        "Of more than two classes: a machine for each pair, whose votes decide, or one for each "
        "class.",
    )

    def _gamma(self, X: Any) -> float:
        return self.gamma / _median_square(X[:_MEASURED])

    def _machine(self, gamma: float) -> Any:
        from sklearn.svm import SVC

        machine = SVC(C=self.C, gamma=gamma)
        if self.multiclass == "one-vs-rest":
            return _OneVsRest(machine)
        return machine


def _median_square(X: Any) -> float:
    """Return the median squared distance of the rows of a sparse matrix; 1 if it is 0."""
    from sklearn.metrics import euclidean_distances

    # Rows far from 0 would lose their distances in rounding.
    rows = take_off(X, first_row_everywhere(X))
    squares = euclidean_distances(rows, squared=True)
    pairs = squares[np.triu_indices_from(squares, 1)]
    return float(np.median(pairs)) if pairs.any() else 1.0


class _OneVsRest:
    """A machine for each class, whose decision value is the score of the class."""

    def __init__(self, machine: Any) -> None:
        self._machine = machine

    def fit(self, X: Any, y: NDArray[Any], **weights: NDArray[Any]) -> Self:
        from sklearn.base import clone

        classes = np.unique(y)
        if len(classes) == 2:
            classes = classes[1:]
        self._machines = [
            clone(self._machine).fit(X, y == code, **weights) for code in classes
        ]
        return self

    def decision_function(self, X: Any) -> FloatArray:
        columns = [machine.decision_function(X) for machine in self._machines]
        return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
