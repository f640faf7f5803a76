"""The averaged perceptron."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from olscale.jit import kernel
from olscale.learners.base import FloatArray, State
from olscale.learners.domain import Domain, Real
from olscale.learners.estimator import Classifier
from olscale.learners.rows import add_column, row_scores

from olscale.data.chunk import Rows, rows_of


@kernel
def _sweep(
    X: Any,
    y: Any,
    W: Any,
    V: Any,
    seen: Any,
    updates: Any,
    eta: float,
    learning: bool,
    scores: FloatArray,
) -> None:
    outputs = W.shape[1]
    late = np.empty(outputs)
    for i in range(scores.shape[0]):
        f = scores[i]
        square = row_scores(X, i, W, f)
        row_scores(X, i, V, late)
        moved = 0
        for c in range(outputs):
            current = f[c]
            f[c] -= late[c] / max(1, seen[0])
            if learning and square > 0.0:
                true = c if outputs > 1 else 1
                target = 1.0 if y[i] == true else -1.0
                if (current >= 0.0) != (target > 0.0):
                    moved = 1
                    add_column(X, i, W, c, eta * target)
                    add_column(X, i, V, c, eta * target * seen[0])
        if learning:
            seen[0] += 1
            updates[0] += moved


class AveragedPerceptron(Classifier):
    """The averaged perceptron: the perceptron learns, the mean of its weights over all rows predicts.

    With weights ``w_s`` after row s the mean over t rows is ``w_t - v_t / t``, where v sums ``(s -
    1) eta y x`` over the rows s with a mistake. More than two classes: one-vs-all.

    Parameters
    ----------
    eta : float
        Step; > 0.

    References
    ----------
    M. Collins, Discriminative training methods for hidden Markov models, EMNLP 2002.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]]), np.array([0, 1, 1])
    >>> AveragedPerceptron().fit(X, y).predict(X)
    array([0, 1, 1])
    """

    name = "averaged-perceptron"
    domains: ClassVar[dict[str, Domain]] = {"eta": Real(0.0, open_="low")}

    def __init__(self, eta: float = 1.0) -> None:
        self.eta = eta

    def _allocate(self, columns: int, outputs: int) -> State:
        return {"W": np.zeros((columns, outputs)), "V": np.zeros((columns, outputs))}

    def learn(self, X: Rows, y: NDArray[np.int64]) -> FloatArray:
        """Predict, then update, row by row; return the scores before each update, shape (rows, outputs)."""
        return self._swept(X, y, learning=True)

    def scores(self, X: Rows) -> FloatArray:
        """Return the scores of the mean weights, shape (rows, outputs)."""
        return self._swept(X, np.empty(0, dtype=np.int64), learning=False)

    def _swept(self, X: Rows, y: NDArray[np.int64], learning: bool) -> FloatArray:
        s = self.state_
        scores = np.empty((rows_of(X), s["W"].shape[1]))
        _sweep(X, y, s["W"], s["V"], s["seen"], s["updates"], float(self.eta), learning, scores)
        return scores
