"""Batch references: learners that keep all rows and retrain whenever their number has doubled.

An offset common to all rows is removed first, since libraries compute distances from products:
scikit-learn's ``|x|^2 + |s|^2 - 2 x.s`` is mere rounding where rows differ by far less than their
length. Subtracting the first row leaves the distances unchanged.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import (
    CSR,
    Rows,
    is_consistent,
    rows_of,
    slice_rows,
    stack_rows,
    to_csr,
)
from olscale.compiled.differences import LONG
from olscale.errors import DivergedError, ParameterError
from olscale.learners.contract.capability import ShiftFree
from olscale.learners.contract.cost import EstimatesCost
from olscale.learners.contract.learner import FloatArray, Learner, State, score_columns
from olscale.learners.contract.parameters import Real, Whole, param
from olscale.learners.foresight import FIRST_MACHINE
from olscale.system.blas import one_thread_of_sklearn

# Rows that a learner may see beforehand have no labels, so a batch machine cannot be trained
# before the stream. Its test error is that of batch learning; its cumulative error is that of
# a machine trained ever more rarely.

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
    rows_with_feature = np.bincount(X.nonzero()[1], minlength=X.shape[1])
    everywhere = rows_with_feature == X.shape[0]
    return X[:1].multiply(everywhere).tocsr()


def take_off(X: Any, offset: Any) -> Any:
    """Return the rows of a sparse matrix minus the row `offset`."""
    from scipy.sparse import csr_matrix

    ones = csr_matrix(np.ones((X.shape[0], 1)))
    return (X - ones @ offset).tocsr()


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

    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    long = gamma * squares > LONG
    if np.count_nonzero(long) < 2:
        return False
    rows = X[np.flatnonzero(long)[:_COMPARED]]
    nearer = take_off(rows, rows[:1])
    error = rbf_kernel(rows, gamma=gamma) - rbf_kernel(nearer, gamma=gamma)
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


_WEIGHTS = "weights"

_PAIR_NUMBERS = 60
"""Numbers per row whose processing takes as long as one kernel value of scikit-learn."""


def trained_rows(seen: int) -> int:
    """Return how many of the rows seen train the machine for the next row: 64, 128, 256 and so on.

    Examples
    --------
    >>> [trained_rows(seen) for seen in (63, 64, 127, 128, 1000)]
    [0, 64, 64, 128, 512]
    """
    if seen >= FIRST_MACHINE:
        return FIRST_MACHINE << ((seen // FIRST_MACHINE).bit_length() - 1)
    return 0


class BatchMachine(Learner, EstimatesCost):
    """Base of batch references, next to that of a task; a subclass gives parameters and `_train`.

    Every row is kept. Test rows are scored by a machine trained on all rows. Along the stream a row
    is scored by the machine trained when the number of rows last doubled: at 64, 128, 256 and so
    on; before that there is no machine, and scores are 0. So the test error is that of batch
    learning, and the cumulative error that of a batch learner which is retrained ever more rarely.
    """

    layout_exact = True

    capacity: int = param(
        100_000, Whole(1), "Most rows that are kept; more end the run."
    )

    @abstractmethod
    def _train(self, X: Any, y: NDArray[Any]) -> Any:
        """Return a machine trained on the rows of a sparse matrix.

        Where the learner `takes_weights` and rows have some, the weights are the last argument.
        """

    def _start(self, columns: int, outputs: int) -> None:
        super()._start(columns, outputs)
        self._columns = columns
        self._machines: dict[int, Any] = {}  # by the number of rows, the last one only

    def _allocate(self, columns: int, outputs: int) -> State:
        return {
            "indptr": np.zeros(1, dtype=np.int64),
            "indices": np.zeros(0, dtype=np.int32),
            "data": np.zeros(0),
            "y": np.zeros(
                0, dtype=np.float64 if self.task == "regression" else np.int64
            ),
        }

    def learn(
        self, X: Rows, y: NDArray[Any], weights: FloatArray | None = None
    ) -> FloatArray:
        weights = self._weights_of(y, weights)
        scores = np.empty((rows_of(X), self._outputs))
        start = 0
        while start < len(y):
            rows_before = int(self.state_["seen"][0])
            trained = trained_rows(rows_before)
            # One machine predicts all rows until the next doubling.
            rows_at_next = 2 * trained or FIRST_MACHINE
            stop = min(len(y), start + rows_at_next - rows_before)
            part = slice_rows(X, start, stop)
            scores[start:stop] = self._scores_by(self._scoring(trained), part)
            own_weights = None if weights is None else weights[start:stop]
            self._keep(part, y[start:stop], own_weights)
            rows_after = rows_before + stop - start
            # An update is a machine that scores rows from now on.
            self.state_["updates"][0] += trained_rows(rows_after) > trained
            start = stop
        return scores

    def _scoring(self, trained: int) -> int:
        """Return how many rows train the machine that scores the stream, of at most `trained`."""
        return trained

    def scores(self, X: Rows) -> FloatArray:
        """Return the scores of the machine trained on all rows."""
        return self._scores_by(int(self.state_["seen"][0]), X)

    def _keep(self, X: Rows, y: NDArray[Any], weights: FloatArray | None) -> None:
        state = self.state_
        total = len(self.state_["y"]) + len(y)
        if total > self.capacity:
            raise ParameterError(
                f"learner {self.name} keeps all rows, and {total:,} are more than its parameter "
                "capacity allows; raise "
                "that, or take a one-pass learner"
            )
        # labels are not even kept
        y = np.zeros_like(y) if self.task == "novelty" else y
        # Rows that all weigh 1 need no array, whether or not they came with weights.
        if _WEIGHTS in state or (weights is not None and (weights != 1.0).any()):
            before = state.get(_WEIGHTS, np.ones(len(state["y"])))
            own_weights = np.ones(len(y)) if weights is None else weights
            state[_WEIGHTS] = np.append(before, own_weights)
        kept_rows = CSR(state["indptr"], state["indices"], state["data"])
        rows = stack_rows([kept_rows, to_csr(X)])
        assert isinstance(rows, CSR)
        state.update(rows._asdict(), y=np.concatenate([state["y"], y]))
        state["seen"][0] = total

    def _scores_by(self, count: int, X: Rows) -> FloatArray:
        """Return the scores of the machine trained on the first `count` rows; 0 if `count` is 0."""
        scores = np.zeros((rows_of(X), self._outputs))
        if len(scores) and self._weighing(count).any():
            matrix = self._matrix(to_csr(X))
            scores[:, 0] = self._score(self._trained(count), matrix)
        return scores

    def _score(self, machine: Any, X: Any) -> FloatArray:
        scores: FloatArray = machine.predict(X)
        return scores

    def _trained(self, count: int) -> Any:
        """Return the machine trained on the first `count` rows."""
        if count in self._machines:
            return self._machines[count]
        self._machines.clear()
        state = self.state_
        kept_rows = CSR(state["indptr"], state["indices"], state["data"])
        rows = slice_rows(kept_rows, 0, count)
        assert isinstance(rows, CSR)
        arguments: list[Any] = [self._matrix(rows), state["y"][:count]]
        if _WEIGHTS in state:
            arguments.append(state[_WEIGHTS][:count])
            # A weight of 0 says that the row is not there, and LS-SVM would divide by it.
            weighing = self._weighing(count)
            arguments = [of_rows[weighing] for of_rows in arguments]
        # Sums over several threads would have other bits.
        with one_thread_of_sklearn():
            self._machines[count] = self._train(*arguments)
        return self._machines[count]

    def _weighing(self, count: int) -> NDArray[np.bool_]:
        """Return which of the first `count` rows weigh anything: the machine trains on these."""
        weights = self.state_.get(_WEIGHTS)
        if weights is None:
            return np.ones(count, np.bool_)
        return weights[:count] > 0.0

    def _matrix(self, X: CSR) -> Any:
        from scipy.sparse import csr_matrix

        first = X.indptr[0]
        last = X.indptr[-1]
        data = X.data[first:last]
        indices = X.indices[first:last]
        shape = (rows_of(X), self._columns)
        return csr_matrix((data, indices, X.indptr - first), shape)

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state` and the rows it holds."""
        # The arrays grow with the rows, so those of a new learner have other lengths.
        for name in ("indptr", "indices", "data", "y"):
            if name in state and state[name].ndim == 1:
                self.state_[name] = np.zeros(len(state[name]), self.state_[name].dtype)
        if _WEIGHTS in state:
            self.state_[_WEIGHTS] = np.zeros(len(state[_WEIGHTS]))
        else:
            self.state_.pop(_WEIGHTS, None)
        super().restore(state)
        self._machines.clear()

    def _can_continue(self) -> bool:
        state = self.state_
        rows = CSR(state["indptr"], state["indices"], state["data"])
        if not (is_consistent(rows, self._columns) and rows.indptr[0] == 0):
            return False
        numbers = [rows.data, state["y"], state.get(_WEIGHTS, np.ones(rows_of(rows)))]
        # What scikit-learn would refuse, learners refused before they kept it.
        fits = all(np.isfinite(array).all() for array in numbers)
        if self.task == "classification":
            codes = state["y"]
            fits &= bool(((codes >= 0) & (codes < max(2, self._classes))).all())
        counts = {
            rows_of(rows),
            len(state["y"]),
            len(numbers[2]),
            int(state["seen"][0]),
        }
        is_weight = bool((numbers[2] >= 0.0).all())
        return len(counts) == 1 and fits and is_weight and super()._can_continue()

    def start_rows(self, apart: bool) -> tuple[int, str]:
        """Return how many rows come before the first machine along the stream.

        Rows that are only scored have a machine trained on all rows.
        """
        if apart:
            return (0, "")
        return (FIRST_MACHINE, "it is a batch learner: give it rows to test on")

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: its values times a tenth of 10,000 rows."""
        del columns, classes
        return 1_000.0 * values

    def cheaper(self) -> str:
        """Return what to do instead of training on all rows."""
        one_pass = {
            "classification": "bpas or fogd",
            "regression": "krls or olk-r",
            "novelty": "norma-n or olk-n",
        }
        return f"it is a batch learner: take fewer rows, or {one_pass[self.task]}"


class GaussianMachine(BatchMachine, ShiftFree):
    """Base of the machines with a Gaussian kernel; a subclass gives `_machine`."""

    gamma: float | str = param(
        "auto",
        Real(0.0, open_="low", words=("auto",)),
        "Width of the kernel ``exp(-gamma |x - s|^2)``; ``'auto'`` is one over the number of "
        "features.",
    )

    @property
    def shift_free(self) -> bool:
        """Whether the kernel depends on distances only: it does."""
        return True

    @abstractmethod
    def _machine(self, gamma: float) -> Any:
        """Return an untrained estimator of that width, with the interface of scikit-learn."""

    def _train(self, X: Any, y: NDArray[Any], weights: FloatArray | None = None) -> Any:
        gamma = self._gamma(X)
        machine = self._machine(gamma)
        # Unused, but without it scikit-learn draws a seed from NumPy's global state.
        machine.random_state = 0
        if is_blurred(X, gamma):
            machine = WithoutOffset(machine, gamma)
        if weights is None:
            return machine.fit(X, y)
        return machine.fit(X, y, sample_weight=weights)

    def _gamma(self, X: Any) -> float:
        """Return the width of a machine that is trained on the rows `X`."""
        del X
        if self.gamma == "auto":
            return 1.0 / max(1, self._columns)
        return float(self.gamma)

    def stream_numbers(
        self, columns: int, classes: int, values: float, rows: int
    ) -> float:
        """Return how many numbers `rows` rows go through: their pairs, in each training."""
        trained = trained_rows(rows)
        pairs = 4 * trained**2 // 3 + rows * trained // 2
        return pairs * (values + 3.0 * score_columns(classes) + _PAIR_NUMBERS)
