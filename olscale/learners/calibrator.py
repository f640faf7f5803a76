"""Probabilities of the scores of a learner that has none of its own."""

from collections.abc import Mapping

import numpy as np

from olscale.arrays import Array, FloatArray
from olscale.compiled.calibration_arrays import CURVATURE, NODES, ROWS, SLOPE

_MOST = 1e100

_NO_CODES = np.empty(0, dtype=np.int64)
_NO_WEIGHTS = np.empty(0)


class Calibrator:
    """Makes scores probabilities as a stream goes by: each row is answered before it calibrates.

    The scores of a row, less their mean and relative to their typical spread, become a softmax with
    one slope for all and a bias for each class (temperature scaling with biases; for two classes it
    is Platt's scaling). Slope and biases follow the log loss by Newton steps along each axis. Then
    the probability of one class (the second of two, else the likeliest) is corrected by what became
    of earlier rows with about that probability, at nodes over the logarithm of its odds between
    which corrections are interpolated. All of this fades, since scores change while their learner
    learns: the slope with a memory of 2,000 rows, a node with one of 500 rows next to it.

    Scores far larger than typical ones are bent. Multiplying all scores by a number changes nothing
    beyond rounding, nor does a common weight of all rows.

    Parameters
    ----------
    classes : int
        Number of classes, at least 2.

    References
    ----------
    J. Platt, Probabilistic outputs for support vector machines, 1999. C. Guo, G. Pleiss, Y. Sun,
    K. Weinberger, On calibration of modern neural networks, ICML 2017 (temperature and vector
    scaling, equation 9). B. Zadrozny, C. Elkan, Obtaining calibrated probability estimates from
    decision trees and naive Bayesian classifiers, ICML 2001 (binning).

    Examples
    --------
    Of rows with the score 1, three in four belong to the second class:

    >>> scores = np.ones((800, 1))
    >>> y = np.arange(800) % 4 > 0
    >>> calibrator = Calibrator(2)
    >>> probabilities = calibrator.follow(scores, y)
    >>> calibrator.probabilities(scores[:1]).round(2)
    array([[0.25, 0.75]])
    """

    def __init__(self, classes: int) -> None:
        self._classes = classes
        self._numbers = np.zeros(ROWS + 1)
        self._numbers[SLOPE] = 1.0
        self._biases = np.zeros((2, classes))
        self._nodes = np.zeros((2, NODES))

    @property
    def classes(self) -> int:
        """Number of classes."""
        return self._classes

    @property
    def counts_weights(self) -> bool:
        """Whether it has learned rows with weights."""
        return bool(self._numbers[ROWS] > 0.0)

    def follow(
        self, scores: FloatArray, y: Array, weights: FloatArray | None = None
    ) -> FloatArray:
        """Return the probabilities of rows, each by what the rows before it have taught.

        Parameters
        ----------
        scores : ndarray of shape (rows, classes) or (rows, 1)
            One column, for two classes, has the score of the second one. A row with a score that is
            not finite has equal probabilities and teaches nothing.
        y : int array of shape (rows,)
            Class codes; a row with a negative one is answered and teaches nothing.
        weights : float64 array of shape (rows,), optional
            How much each row counts, 0 or more.

        Returns
        -------
        ndarray of shape (rows, classes)
            Each row sums to 1, and none is 0.
        """
        codes = np.require(y, np.int64, ("C", "W"))
        if weights is None:
            weights = _NO_WEIGHTS
        return self._answer(scores, codes, np.require(weights, np.float64, ("C", "W")))

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Return the probabilities of rows, shape (rows, classes), and learn nothing."""
        return self._answer(scores, _NO_CODES, _NO_WEIGHTS)

    def _answer(
        self, scores: FloatArray, codes: Array, weights: FloatArray
    ) -> FloatArray:
        # A model that only predicts classes never needs the loop, nor Numba for it.
        from olscale.compiled.calibration import calibrate

        probabilities = np.empty((len(scores), self._classes))
        # Read-only or strided arrays would compile the loop once more.
        calibrate(
            np.require(scores, np.float64, ("C", "W")),
            codes,
            weights,
            self._numbers,
            self._biases,
            self._nodes,
            probabilities,
        )
        return probabilities

    def state(self) -> dict[str, Array]:
        """Return all that has been learned, as copies of plain arrays."""
        return {
            "numbers": self._numbers.copy(),
            "biases": self._biases.copy(),
            "nodes": self._nodes.copy(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Array]) -> "Calibrator":
        """Return a calibrator that continues from a `state`, to the same bits.

        Raises
        ------
        ValueError
            If the arrays are not those of a calibrator.
        """
        biases = state.get("biases", np.empty(0))
        if biases.ndim != 2 or biases.shape[1] < 2:
            raise ValueError(
                f"biases of a calibrator have shape {biases.shape}, expected (2, classes)"
            )
        calibrator = cls(biases.shape[1])
        expected = calibrator.state()
        if state.keys() != expected.keys():
            raise ValueError(
                f"a calibrator has the arrays {', '.join(expected)}, got {', '.join(state)}"
            )
        for name, array in expected.items():
            stored = state[name]
            if stored.shape != array.shape or stored.dtype != array.dtype:
                raise ValueError(
                    f"{name} of a calibrator has shape {stored.shape} and type {stored.dtype}, "
                    f"expected {array.shape} and float64"
                )
            if not (np.abs(stored) < _MOST).all():  # NaN is no number below it either
                raise ValueError(
                    f"{name} of a calibrator has a number that it cannot have learned"
                )
        sums = (state["numbers"][CURVATURE], biases[1].min(), state["nodes"][1].min())
        if min(sums) < 0.0:
            raise ValueError("a calibrator has a sum of weights below 0")
        calibrator._numbers = np.array(state["numbers"])
        calibrator._biases = np.array(biases)
        calibrator._nodes = np.array(state["nodes"])
        return calibrator
