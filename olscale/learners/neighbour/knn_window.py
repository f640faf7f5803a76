"""The k nearest neighbours in a window of the last rows."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.adwin import are_windows, empty_windows, windows_of
from olscale.compiled.csr import Rows
from olscale.learners.contract.capability import ShiftFree
from olscale.learners.contract.class_distribution import ClassShares
from olscale.learners.contract.cost import EstimatesCost, require_memory
from olscale.learners.contract.estimator import OnePassLearner
from olscale.learners.contract.learner import FloatArray, State
from olscale.learners.contract.parameters import Choice, Maybe, Real, Whole, param
from olscale.learners.neighbour.rows_ahead import no_rows_ahead
from olscale.learners.neighbour.window_loop import (
    Shortening,
    Voting,
    Window,
    learn_and_score,
)


class KNNWindow(OnePassLearner, ClassShares, EstimatesCost, ShiftFree):
    """The k nearest neighbours among the last rows: they vote for the class of a row.

    The newest row takes the place of the oldest. What is older than the window does not count, so
    the learner follows any drift within a window's length. Of rows equally near the newer ones are
    neighbours; of classes with equally many votes the first wins. Distances are Euclidean.

    Notes
    -----
    The score of a class is its share s_c of the votes, that of two classes ``s_1 - s_0``. With
    ``weights = "distance"`` a neighbour at distance r has ``1 / (gamma r^2 + 0.001)`` votes.

    ``scaling = "range"`` is MOA's ``lazy.kNN``: distances of features divided by their ranges
    within the window. MOA also counts all rows that are as near as the last neighbour, and takes
    features of categories to differ by 1; elsewhere the predictions are the same.

    With `adwin` the window is shortened where the accuracy changes: ADWIN sees whether each row's
    class is that of its neighbours once it is one of them, and if it drops what is old, so does the
    window, down to ADWIN's own length. It is the rule of ``KNNADWINClassifier`` of scikit-multiflow
    and of earlier versions of River, with the predictions of the former once its ADWIN is MOA's.

    State: ``window d`` numbers for d features, and the labels. Cost of a row: O(window d), on
    sparse rows too.

    References
    ----------
    J. Read, A. Bifet, B. Pfahringer, G. Holmes, Batch-incremental versus instance-incremental
    learning in dynamic and evolving data, IDA 2012, section 3.

    A. Bifet, B. Pfahringer, J. Read, G. Holmes, Efficient data stream classification via
    probabilistic adaptive windows, SAC 2013, section 3 (windows shortened by ADWIN).

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[0.0], [0.1], [1.0], [1.1]]), np.array([0, 0, 1, 1])
    >>> KNNWindow(k=1).fit(X, y).predict([[0.2], [0.9]])
    array([0, 1])
    """

    name = "knn-window"
    numbers_per_second = 2.3e10
    layout_exact = True
    takes_unknown = True
    checks_rows = True

    k: int = param(5, Whole(1), "Number of neighbours.")
    window: int = param(1_000, Whole(1), "Rows that are kept, the last ones.")
    weights: str = param(
        "uniform",
        Choice(("uniform", "distance")),
        "Whether each neighbour has one vote, or nearer ones have more.",
    )
    scaling: str = param(
        "none",
        Choice(("none", "range")),
        "What features are divided by: nothing, or their range within the window.",
    )
    gamma: float | str = param(
        "auto",
        Real(0.0, open_="low", words=("auto",)),
        "Scale of squared distances in votes by distance. ``'auto'`` is one over the number of "
        "features.",
    )
    adwin: float | None = param(
        None,
        Maybe(Real(0.0, 1.0, open_="both")),
        "Probability of a false alarm of ADWIN, which shortens the window where the accuracy "
        "changes; none keeps all rows of it.",
    )

    def resolved_params(self) -> dict[str, Any]:
        """Return all parameters in canonical form, without `adwin` if there is none."""
        params = super().resolved_params()
        # Runs of windows that nothing shortens are those of before there was ADWIN.
        if params["adwin"] is None:
            del params["adwin"]
        return params

    @property
    def shift_free(self) -> bool:
        """Whether distances only matter: always."""
        return True

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: all of a full window."""
        del classes, values
        return float(self.window) * (columns + 34.0)

    def stream_numbers(
        self, columns: int, classes: int, values: float, rows: int
    ) -> float:
        """Return how many numbers `rows` rows go through: the window fills with the first ones."""
        del classes, values
        filling = min(rows, int(self.window))
        compared = 0.5 * filling**2 + (rows - filling) * float(self.window)
        return compared * (columns + 34.0)

    def state_bytes(self, columns: int, classes: int) -> int:
        """Return the bytes of the window."""
        del classes
        return 8 * int(self.window) * (columns + 1)

    def check_memory(self, columns: int, classes: int) -> None:
        """Refuse a window that this machine cannot hold."""
        what = f"a window of {self.window:,} rows of {columns:,} features needs"
        require_memory(self, self.state_bytes(columns, classes), what)

    def cheaper(self) -> str:
        """Return what to do if a run takes too much time or memory, as half a sentence."""
        return "take a shorter window, or fewer features, as by the transform project"

    def _allocate(self, columns: int, outputs: int) -> State:
        shortening: State = {}
        if self.adwin is not None:
            shortening = {
                "length": np.zeros(1, dtype=np.int64),
                **empty_windows(1)._asdict(),
            }
        return {
            **shortening,
            "rows": np.zeros((columns, int(self.window))),
            "labels": np.zeros(int(self.window), dtype=np.int64),
            "low": np.zeros(columns),
            "high": np.zeros(columns),
        }

    def _can_continue(self) -> bool:
        labels = self.state_["labels"]
        classes = max(2, self._outputs)
        is_known = bool(((labels >= 0) & (labels < classes)).all())
        if self.adwin is not None:
            rows = min(int(self.state_["seen"][0]), int(self.window))
            is_known &= bool(0 <= self._length() <= rows)
            is_known &= are_windows(windows_of(self.state_))
        return super()._can_continue() and is_known

    def _length(self) -> int:
        """Return how many of the newest rows count."""
        if self.adwin is not None:
            return int(self.state_["length"][0])
        return min(int(self.state_["seen"][0]), int(self.window))

    def _shortening(self, state: State) -> Shortening:
        """Return what shortens the window."""
        if self.adwin is None:
            return _nothing_shortens()
        return Shortening(float(self.adwin), state["length"], windows_of(state))

    def _pass(
        self,
        X: Rows,
        y: NDArray[np.int64],
        state: State,
        learning: bool,
        scores: FloatArray,
    ) -> None:
        window = Window(
            state["rows"], state["labels"], state["low"], state["high"], state["seen"]
        )
        ahead = no_rows_ahead(*state["rows"].shape)
        form = (self.norm_limits(), learning, state["updates"])
        parts = (self.voting(), ahead, self._shortening(state))
        learn_and_score(X, y, window, *parts, *form, scores)

    def voting(self) -> Voting:
        """Return how neighbours vote."""
        gamma = 1.0 / max(1, self._columns)
        if self.gamma != "auto":
            gamma = float(self.gamma)
        return Voting(
            min(int(self.k), int(self.window)),
            self.weights == "distance",
            self.scaling == "range",
            gamma,
        )

    def newest_first(self) -> tuple[FloatArray, NDArray[np.int64], FloatArray]:
        """Return the rows of the window, the newest first, their labels, and factors of features.

        Examples
        --------
        >>> model = KNNWindow(window=2).fit([[1.0], [2.0], [3.0]], [0, 1, 0])
        >>> rows, labels, _ = model.newest_first()
        >>> rows.tolist(), labels.tolist()
        ([[3.0], [2.0]], [0, 1])
        """
        state = self.state_
        places = places_newest_first(int(state["seen"][0]), int(self.window))
        places = places[: self._length()]
        scale = np.ones(self._columns)
        if self.scaling == "range":
            widths = state["high"] - state["low"]
            # A feature of one value says nothing about distances: its factor is 0.
            scale = np.divide(
                1.0, widths, out=np.zeros(self._columns), where=widths > 0.0
            )
        return state["rows"][:, places].T, state["labels"][places], scale


@cache
def _nothing_shortens() -> Shortening:
    """Return arrays that loops do not look at."""
    return Shortening(0.0, np.zeros(1, dtype=np.int64), empty_windows(1))


def places_newest_first(seen: int, capacity: int) -> NDArray[np.int64]:
    """Return the places of the rows in a window after `seen` rows, the newest first.

    Examples
    --------
    >>> places_newest_first(4, 3).tolist()
    [0, 2, 1]
    """
    return np.arange(seen - 1, max(-1, seen - 1 - capacity), -1) % capacity
