"""Naive Bayes with a normal distribution of each feature in each class."""

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.learners.bayes.gaussian_loop import ClassMoments, learn_and_score
from olscale.learners.contract.cost import EstimatesCost
from olscale.learners.contract.estimator import OnePassLearner
from olscale.learners.contract.learner import FloatArray, State, array_of
from olscale.learners.contract.score_probabilities import LogProbabilities
from olscale.learners.contract.weighted import WeightedClassifier


class NaiveBayes(OnePassLearner, WeightedClassifier, LogProbabilities, EstimatesCost):
    """Gaussian naive Bayes: the features of a class are normal and independent of each other.

    Each class has its number of rows, and the mean and variance of each feature in them, which
    move with every row (Welford). The score of a class is ``log(n_c / n) + sum_j log N(x_j;
    mean_cj, var_cj)``, that of two classes the difference. It has no parameters.

    Notes
    -----
    A feature contributes at least -700, the log of about the least number, so that scores are
    finite. Where all rows of a class have one value of a feature, that value contributes 0 and any
    other -700, as MOA's density of 1 or 0. Variances divide by the number of rows less 1.

    A row's weight multiplies what it adds: one of weight 2 counts as two equal rows.

    State: 4 numbers for each feature and class. Cost of a row: O(classes d), on sparse rows too.

    References
    ----------
    B. P. Welford, Note on a method for calculating corrected sums of squares and products,
    Technometrics 4 (1962).

    G. H. John, P. Langley, Estimating continuous distributions in Bayesian classifiers, UAI 1995.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[0.0], [0.2], [1.0], [1.3]]), np.array([0, 0, 1, 1])
    >>> NaiveBayes().fit(X, y).predict([[0.3], [0.9]])
    array([0, 1])
    """

    name = "naive-bayes"
    numbers_per_second = 3.2e9
    row_seconds = 240e-9
    layout_exact = True
    takes_unknown = True
    checks_rows = True

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: all features of all classes."""
        del values
        return float(columns) * (max(2, classes) + 40.0)

    def _allocate(self, columns: int, outputs: int) -> State:
        shape = (columns, max(2, outputs))
        return {
            "counts": np.zeros(shape[1]),
            "means": np.zeros(shape),
            "squares": np.zeros(shape),
            "heights": np.zeros(shape),
            "falls": np.zeros(shape),
        }

    def _pass(
        self,
        X: Rows,
        y: NDArray[np.int64],
        state: State,
        learning: bool,
        scores: FloatArray,
        weights: FloatArray | None = None,
    ) -> None:
        moments = ClassMoments(
            state["counts"],
            state["means"],
            state["squares"],
            state["heights"],
            state["falls"],
        )
        counts = (state["seen"], state["updates"])
        ends = (scores, array_of(weights))
        learn_and_score(X, y, moments, self.norm_limits(), learning, *counts, *ends)
