"""Gradient boosting that learners of one pass are set against."""

from typing import Any, Self

from numpy.typing import NDArray

from olscale.learners.contract.learner import FloatArray, score_columns
from olscale.learners.contract.parameters import Real, Whole, param
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.reference.capped_machine import CappedMachine


class BatchBoosting(CappedMachine, WeightedClassifier):
    """Batch reference, not one-pass: scikit-learn's gradient boosting of trees on histograms.

    Notes
    -----
    State: all rows, as sparse ones; training makes them dense. Cost of training on n rows of d
    features: O(trees classes n d), for each doubling up to `along` and for the test.

    A row's weight multiplies its gradient, as scikit-learn's ``sample_weight`` does.

    References
    ----------
    J. H. Friedman, Greedy function approximation: a gradient boosting machine, The Annals of
    Statistics 29 (2001). G. Ke et al., LightGBM: a highly efficient gradient boosting decision
    tree, NIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(400, 2))
    >>> y = (X[:, 0] * X[:, 1] > 0.0).astype(int)
    >>> bool(np.mean(BatchBoosting().fit(X, y).predict(X) == y) > 0.95)
    True
    """

    name = "batch-boosting"
    numbers_per_second = 2.7e8

    trees: int = param(100, Whole(1), "Trees of each class; one for two classes.")
    learning_rate: float = param(
        0.1, Real(0.0, 1.0, open_="low"), "Share of a tree's step that is made."
    )
    leaves: int = param(31, Whole(2), "Most leaves of a tree.")

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: its features in each tree, at each level."""
        del values
        levels = 20.0
        return levels * float(self.trees) * score_columns(classes) * columns

    def _train(self, X: Any, y: NDArray[Any], weights: FloatArray | None = None) -> Any:
        return _OnDenseRows(self.trees, self.learning_rate, self.leaves).fit(
            X, y, weights
        )


class _OnDenseRows:
    """The estimator of scikit-learn, which takes no sparse rows."""

    def __init__(self, trees: int, learning_rate: float, leaves: int) -> None:
        from sklearn.ensemble import HistGradientBoostingClassifier

        # Stopping early would draw rows to stop by, and depend on their number.
        self._model = HistGradientBoostingClassifier(
            max_iter=trees,
            learning_rate=learning_rate,
            max_leaf_nodes=leaves,
            early_stopping=False,
            random_state=0,
        )

    def fit(self, X: Any, y: NDArray[Any], weights: FloatArray | None) -> Self:
        self._model.fit(X.toarray(), y, sample_weight=weights)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        decisions: FloatArray = self._model.decision_function(X.toarray())
        return decisions
