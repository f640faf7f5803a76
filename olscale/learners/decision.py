"""Decisions by probabilities of classes: for the best F1, or the least expected cost."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from olscale.arrays import Array, FloatArray, IntArray

FIRST_SUMS = (25.0, 50.0)
"""What the threshold of F1 begins with: 1/2, with the weight of some rows."""

_NO_CODES = np.empty(0, dtype=np.int64)
_NO_WEIGHTS = np.empty(0)


class Decision(ABC):
    """How probabilities of classes become a class; `decision_of` makes one from its state.

    Attributes
    ----------
    classes : int
        Number of classes.
    """

    classes = 2

    @abstractmethod
    def follow(
        self, probabilities: FloatArray, y: Array, weights: FloatArray | None = None
    ) -> IntArray:
        """Return the classes of rows, each by what the rows before it have taught.

        Parameters
        ----------
        probabilities : ndarray of shape (rows, classes)
        y : int array of shape (rows,)
            Class codes; a row with a negative one is decided and teaches nothing.
        weights : float64 array of shape (rows,), optional
            How much each row counts, 0 or more.

        Returns
        -------
        int64 array of shape (rows,)
        """

    @abstractmethod
    def decide(self, probabilities: FloatArray) -> IntArray:
        """Return the classes of rows, shape (rows,), and learn nothing."""

    @abstractmethod
    def state(self) -> dict[str, Array]:
        """Return all that decisions depend on, as copies of plain arrays."""


class F1Threshold(Decision):
    """Decides between two classes for the F1 of one of them.

    Rows are taken for positive from a probability on that is half the F1 of the decisions so far,
    which is where the best threshold lies. Those sums fade with a memory of 2,000 rows.

    Parameters
    ----------
    positive : {0, 1}
        Code of the class whose F1 counts.

    References
    ----------
    R. Busa-Fekete, B. Szorenyi, K. Dembczynski, E. Hullermeier, Online F-measure optimization, NIPS
    2015, algorithm 1; here its sums fade.

    Examples
    --------
    A rare class that is never likely is found all the same:

    >>> threshold = F1Threshold(1)
    >>> probabilities = np.tile([[0.7, 0.3], [0.95, 0.05]], (500, 1))
    >>> y = np.arange(1000) % 6 == 0
    >>> codes = threshold.follow(probabilities, y)
    >>> threshold.decide(np.array([[0.7, 0.3], [0.95, 0.05]]))
    array([1, 0])
    """

    def __init__(self, positive: int) -> None:
        self._positive = positive
        self._sums = np.array(FIRST_SUMS)

    @property
    def positive(self) -> int:
        """Code of the class whose F1 counts."""
        return self._positive

    def threshold(self) -> float:
        """Return the probability above which rows are taken for positive."""
        return float(self._sums[0] / self._sums[1])

    def follow(
        self, probabilities: FloatArray, y: Array, weights: FloatArray | None = None
    ) -> IntArray:
        codes = np.require(y, np.int64, ("C", "W"))
        if weights is None:
            weights = _NO_WEIGHTS
        return self._decide(
            probabilities, codes, np.require(weights, np.float64, ("C", "W"))
        )

    def decide(self, probabilities: FloatArray) -> IntArray:
        return self._decide(probabilities, _NO_CODES, _NO_WEIGHTS)

    def _decide(
        self, probabilities: FloatArray, y: Array, weights: FloatArray
    ) -> IntArray:
        codes = np.empty(len(probabilities), dtype=np.int64)
        # Read-only or strided arrays would compile the loop once more.
        rows = np.require(probabilities, np.float64, ("C", "W"))
        # Only runs with a threshold need the loop, and Numba for it.
        from olscale.compiled.thresholds import follow_f1

        follow_f1(rows, y, weights, self._positive, self._sums, codes)
        return codes

    def state(self) -> dict[str, Array]:
        return {"f1": self._sums.copy(), "positive": np.array([self._positive])}


class CostMatrix(Decision):
    """Decides for the class with the least expected cost, the first among equals.

    Parameters
    ----------
    costs : array of shape (classes, classes)
        What it costs to take a row of the class of the row for the class of the column.

    References
    ----------
    C. Elkan, The foundations of cost-sensitive learning, IJCAI 2001, equation 1.

    Examples
    --------
    >>> decision = CostMatrix(np.array([[0.0, 1.0], [10.0, 0.0]]))
    >>> decision.decide(np.array([[0.95, 0.05], [0.85, 0.15]]))
    array([0, 1])
    """

    def __init__(self, costs: FloatArray) -> None:
        self._costs = np.array(costs, dtype=np.float64)
        self.classes = len(costs)

    def follow(
        self, probabilities: FloatArray, y: Array, weights: FloatArray | None = None
    ) -> IntArray:
        del y, weights  # it has nothing to learn
        return self.decide(probabilities)

    def decide(self, probabilities: FloatArray) -> IntArray:
        # Sums without BLAS, whose bits depend on the number of rows and threads.
        expected = np.zeros_like(probabilities)
        for true_class, costs in enumerate(self._costs):
            expected += probabilities[:, true_class, np.newaxis] * costs
        codes: IntArray = expected.argmin(axis=1)
        return codes

    def state(self) -> dict[str, Array]:
        return {"costs": self._costs.copy()}


def decision_of(state: Mapping[str, Array]) -> Decision:
    """Return a decision that continues from a `state`, to the same bits.

    Raises
    ------
    ValueError
        If the arrays are not those of a decision.
    """
    if not all(
        array.dtype.kind in "if" and np.isfinite(array).all()
        for array in state.values()
    ):
        raise ValueError("a decision has an array that is not of finite numbers")
    # States come from model files as well, which anybody may have written.
    if state.keys() == {"costs"}:
        costs = state["costs"]
        if costs.ndim != 2 or len(set(costs.shape)) > 1:
            raise ValueError(
                f"costs of a decision have shape {costs.shape}, expected a square"
            )
        return CostMatrix(costs)
    if state.keys() != {"f1", "positive"}:
        raise ValueError(
            f"a decision has the arrays f1 and positive, or costs, got {', '.join(sorted(state))}"
        )
    sums = state["f1"]
    positive = state["positive"].tolist()
    if positive not in ([0], [1]) or sums.shape != (2,) or not sums[1] > 0.0:
        raise ValueError(
            f"f1 of a decision is {sums.tolist()} for the class {positive}"
        )
    threshold = F1Threshold(positive[0])
    threshold._sums = np.array(sums, dtype=np.float64)
    return threshold
