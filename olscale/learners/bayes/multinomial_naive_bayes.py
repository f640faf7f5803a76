"""Naive Bayes of counts, with a multinomial distribution of the features in each class."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, rows_of, slice_rows, to_csr
from olscale.errors import ParameterError
from olscale.learners.bayes.multinomial_loop import WordCounts, learn_and_score
from olscale.learners.bayes.pair_counts import learn_and_score_pairs, new_space
from olscale.learners.contract.capability import ExplainsNoScore
from olscale.learners.contract.cost import EstimatesCost
from olscale.learners.contract.estimator import OnePassLearner
from olscale.learners.contract.learner import (
    FloatArray,
    State,
    array_of,
    score_columns,
)
from olscale.learners.contract.parameters import Real, param
from olscale.learners.contract.score_probabilities import LogProbabilityScores
from olscale.learners.contract.weighted import WeightedClassifier


class MultinomialNaiveBayes(
    OnePassLearner,
    WeightedClassifier,
    LogProbabilityScores,
    EstimatesCost,
    ExplainsNoScore,
):
    """Multinomial naive Bayes, for rows of counts, such as those of words in a text.

    Each class has its number of rows n_c, and the sum N_cj of each of the d features in them. The
    score of a class is the logarithm of the probability of the class and the row::

        log(n_c / n) + sum_j x_j log((N_cj + alpha) / (N_c + alpha d)),  N_c = sum_j N_cj

    that of two classes the difference. Probabilities are those of these scores.

    Notes
    -----
    Values may be any numbers from 0 on, such as frequencies. A row with one below 0 ends the run.
    A class without rows is e^-700 times as likely as the least likely of the others.

    The same are scikit-learn's ``MultinomialNB(alpha=alpha)`` by ``partial_fit``, to rounding.
    MOA's ``bayes.NaiveBayesMultinomial`` starts with `alpha` rows in each class and counts the
    class as a feature, ``n_c + alpha`` and ``alpha (d + 1)``, and votes for one class. River's
    ``MultinomialNB`` counts as d the features that have come so far.

    A row's weight multiplies what it adds: one of weight 2 counts as two equal rows.

    State: twice as many numbers as features and classes; 2 for a feature with two classes. Cost of
    a row: ``O(nonzeros classes)`` to predict it, ``O(nonzeros)`` to learn it. Of two classes values
    of 1, 2 and 3 are the fastest.

    References
    ----------
    A. McCallum, K. Nigam, A comparison of event models for naive Bayes text classification, AAAI-98
    workshop on learning for text categorization: equations 5 and 6.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]]), np.array([0, 1])
    >>> learner = MultinomialNaiveBayes().fit(X, y)
    >>> learner.predict([[1.0, 0.0, 0.0]]), learner.predict_proba([[1.0, 0.0, 0.0]]).round(3)
    (array([0]), array([[0.778, 0.222]]))
    """

    name = "multinomial-naive-bayes"
    version = 2
    numbers_per_second = 3.75e9
    row_seconds = 48e-9
    layout_exact = True
    takes_unknown = True
    checks_rows = True
    takes_negative = False

    alpha: float = param(
        1.0,
        Real(1e-10),
        "What is added to each count, so that no feature has the probability 0.",
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: logarithms cost as much as some products."""
        del columns
        return values * (score_columns(classes) + 5.0)

    def _allocate(self, columns: int, outputs: int) -> State:
        classes = max(2, outputs)
        state = {
            "rows": np.zeros(classes),
            "totals": np.zeros(classes),
            "counts": np.zeros((columns, classes)),
        }
        if outputs > 1:
            state["logs"] = np.zeros((columns, outputs))
        return state

    def _pass(
        self,
        X: Rows,
        y: NDArray[np.int64],
        state: State,
        learning: bool,
        scores: FloatArray,
        weights: FloatArray | None = None,
    ) -> None:
        logs = state.get("logs", np.empty((0, 1)))
        words = WordCounts(state["rows"], state["totals"], state["counts"], logs)
        form = (float(self.alpha), self.norm_limits(), learning)
        counts = (state["seen"], state["updates"])
        arguments = (X, y, words, *form, *counts, scores, array_of(weights))
        if scores.shape[1] > 1:
            learn_and_score(*arguments)
        else:
            learn_and_score_pairs(*arguments, new_space())

    def learn(
        self, X: Rows, y: NDArray[Any], weights: FloatArray | None = None
    ) -> FloatArray:
        return self.with_probabilities(super().learn(X, y, weights))

    def scores(self, X: Rows) -> FloatArray:
        return self.with_probabilities(super().scores(X))

    def _learn_rows(
        self, rows: Rows, y: NDArray[Any], weights: FloatArray | None = None
    ) -> Self:
        values = rows.data if isinstance(rows, CSR) else rows
        # `fit` gets all rows: nothing is learned from earlier ones.
        if values.min(initial=0.0) < 0.0:
            of_rows = (
                self.why_no_score(slice_rows(rows, i, i + 1))
                for i in range(rows_of(rows))
            )
            why = next(filter(None, of_rows))
            raise ParameterError(f"learner {self.name}: {why}")
        return super()._learn_rows(rows, y, weights)

    def why_no_score(self, row: Rows) -> str:
        """Return which value is below 0, if one is."""
        values = to_csr(row)
        below = np.flatnonzero(values.data[values.indptr[0] : values.indptr[-1]] < 0.0)
        if not len(below):
            return ""
        place = int(values.indptr[0]) + int(below[0])
        return (
            f"Negative values in data: feature {values.indices[place]} was "
            f"{values.data[place]:g}, expected counts of 0 or more; leave out transforms that "
            "centre rows, such as standardize, or take minmax, or the learner naive-bayes"
        )
