"""When rows are scored and learned from, where these are not successive steps for each row.

The definition goes row by row. At row t the model predicts x_t, if t is one of its test rows. Then
it learns from the training rows whose labels arrive at t: row t - delay, or all rows s with
s + (delay of s) = t, in their order. The way in which the stream is cut into chunks does not change
this order. In batches the labels of a batch arrive at its last row; a learner that
`learns_in_batches` predicts and learns each batch in one piece.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from olscale.arrays import Array, BoolArray, FloatArray, IntArray
from olscale.compiled.csr import CSR, Rows, read_only, slice_rows, take_rows
from olscale.data.chunk import Chunk, join_chunks
from olscale.evaluation.batches import rows_to_batch_end
from olscale.evaluation.metrics import StreamShape
from olscale.evaluation.protocol import Scoring
from olscale.learners.contract.capability import LearnsBatches
from olscale.learners.contract.learner import Learner, hide_labels
from olscale.learners.contract.usable_rows import (
    diverged_at,
    learn_usable,
    score_usable,
    usable_rows,
)


class Arrivals(NamedTuple):
    """Labels in order of arrival, for `olscale.evaluation.metrics.base.Metric.arrive`.

    Attributes
    ----------
    labels, asked
        As there.
    scores : ndarray of shape (events, outputs)
        The scores of the row of each event, before it is learned.
    taught : ndarray of shape (events,)
        The labels, each once: `UNKNOWN` where a row is learned once more.
    weights : float64 array of shape (events,), optional
        The weights of the rows, where the dataset has them.
    """

    labels: Array
    asked: IntArray
    scores: FloatArray
    taught: Array
    weights: FloatArray | None


class Scored(NamedTuple):
    """Rows of a chunk that were scored, and the labels that arrived between them.

    Attributes
    ----------
    rows : ndarray of shape (rows,)
        Indices of the scored rows in the chunk, ascending.
    scores : ndarray of shape (rows, outputs)
    arrivals : Arrivals, optional
        None if the label of each row arrives once the row is predicted.
    """

    rows: IntArray
    scores: FloatArray
    arrivals: Arrivals | None = None


class _Waiting(NamedTuple):
    """Rows whose labels have not arrived yet, in the order of the stream."""

    rows: Chunk
    # number of the row after whose prediction each label arrives
    arrival: IntArray
    times: IntArray  # how often each row is learned from
    numbers: IntArray  # which row of the stream each is


class Schedule:
    """The order of predictions and updates of one run.

    Rows that are only learned from are checked as well: an unusable one ends the run in the same
    way as a scored one.

    Parameters
    ----------
    scoring : Scoring
        The protocol's options.
    fold : int, optional
        Number of the model, where several process the stream together.
    names : sequence of str
        Names of the first features, if they have names.
    blind : bool
        Whether the learner gets no labels, as a novelty detector does.
    rows : int
        Length of the stream: labels that come later never arrive. `shape` notes it as well.
    """

    def __init__(
        self,
        scoring: Scoring,
        fold: int | None = None,
        names: Sequence[str] = (),
        *,
        blind: bool = False,
        rows: int = np.iinfo(np.int64).max,
    ) -> None:
        self._scoring = scoring
        self._fold = fold
        self._names = names
        self._blind = blind
        self._waiting: _Waiting | None = None
        self._rows = rows

    def shape(self, stream: StreamShape) -> StreamShape:
        """Return the shape of the counted part of a stream, and note the length of the stream."""
        self._rows = stream.rows
        if self._scoring.folds is None and not self._scoring.burn_in:
            return stream
        # Curves and segments of metrics are numbered by counted rows, not by rows of the stream.
        counted = self._tested(0, stream.rows)
        counted[: self._scoring.burn_in] = False
        scored = np.concatenate([[0], np.cumsum(counted)])
        segments = tuple((name, int(scored[first])) for name, first in stream.segments)
        return replace(stream, rows=int(scored[-1]), segments=segments)

    def compile(self, chunk: Chunk) -> None:
        """Compile what `learn` needs for rows like those of `chunk`, outside any measured time."""
        if self._scoring.interrupts:
            # Taking no rows compiles the loops of `take_rows`, which `learn` runs at each event.
            take_rows(chunk.X, np.empty(0, dtype=np.int64))

    def learn(self, learner: Learner, chunk: Chunk, first: int) -> Scored:
        """Score and learn what is due while `chunk` arrives, whose first row has number `first`.

        A learner that learns in batches gets chunks of whole batches, as `BatchedRows` makes them.

        Raises
        ------
        DivergedError
            At the first row or score that is not finite, where not all rows are scored and learned
            in order.
        """
        count = len(chunk)
        # Learners that check their rows themselves are called directly.
        learn = learner.learn if learner.checks_rows else partial(learn_usable, learner)
        if not self._scoring.interrupts:
            scores = learn(chunk.X, self._seen(chunk.y), *self._weights(learner, chunk))
            return Scored(np.arange(count), scores)
        tested = np.flatnonzero(self._tested(first, first + count))
        times = self.times(first, first + count)
        delayed = self._scoring.has_late_labels
        batch = self._scoring.batch
        # Each row is learned once, right after its prediction: one call does without the queue.
        if not delayed and times.all() and times.sum() == count:
            scores = learn(chunk.X, self._seen(chunk.y), *self._weights(learner, chunk))
            numbers = np.arange(first, first + count)
            self._check(learner, chunk.X, scores, tested, numbers)
            return Scored(
                tested,
                scores[tested],
                Arrivals(chunk.y, tested, scores, chunk.y, chunk.weights),
            )
        numbers = np.arange(first, first + count)
        if (
            isinstance(learner, LearnsBatches)
            and batch is not None
            and self._scoring.folds is None
        ):
            return self._batches(learner, batch, chunk, numbers)
        # Delays are only needed for the arrivals, and rows that wait would carry them along.
        chunk_alone = replace(chunk, delays=None)
        arrival = numbers + self.delays(chunk, first)
        waiting = self._joined(_Waiting(chunk_alone, arrival, times, numbers))
        before = len(waiting.rows) - count
        # A label that arrives at row t is learned after that row is predicted; labels that arrive
        # together are learned in the order of their rows.
        due = np.flatnonzero(waiting.arrival < first + count)
        trained = np.repeat(due, waiting.times[due])
        # Without delay, a row that is both tested on and learned from is one event: `learn`
        # predicts it first.
        tested_rows = tested if delayed else tested[times[tested] == 0]
        order, times_of_events = _in_order(
            tested_rows, waiting.arrival[trained] - first
        )
        row = np.concatenate([tested_rows + before, trained])[order]
        learning = order >= len(tested_rows)
        rows = waiting.rows
        events = waiting.rows.take(row)
        labels = hide_labels(events.y, ~learning)
        weights = self._weights(learner, events)
        seen = self._seen(events.y)
        # Learners that skip rows without a label take all events in one call.
        if learner.takes_unknown:
            scores = learn(events.X, hide_labels(seen, ~learning), *weights)
        else:
            batches = None
            if batch is not None and isinstance(learner, LearnsBatches):
                batches = (first + times_of_events) // batch
            scores = follow(
                learner, events.X, seen, learning, *weights, batches=batches
            )
        # The first event of each row precedes any update by the row.
        first_events = np.searchsorted(times_of_events, tested)
        self._check(learner, events.X, scores, first_events, waiting.numbers[row])
        if delayed:
            waits = (
                (waiting.arrival >= first + count)
                & (waiting.arrival < self._rows)
                & (waiting.times > 0)
            )
            index = np.flatnonzero(waits)
            self._waiting = _Waiting(
                rows.take(index),
                waiting.arrival[index],
                waiting.times[index],
                waiting.numbers[index],
            )
        again = learning[1:] & learning[:-1] & (row[1:] == row[:-1])
        taught = hide_labels(labels, np.concatenate([[False], again])[: len(row)])
        return Scored(
            tested,
            scores[first_events],
            Arrivals(labels, first_events, scores, taught, events.weights),
        )

    def _batches(
        self, learner: Learner, batch: int, chunk: Chunk, numbers: IntArray
    ) -> Scored:
        """Predict and learn each batch of `chunk` in one piece; `numbers` are those of its rows.

        As if the labels came late, with the score of its prediction for each row that is learned.
        """
        rows = np.arange(len(chunk))
        weights = chunk.weights if self.weighs(learner) else None
        scores = learn_usable(
            learner, chunk.X, self._seen(chunk.y), weights, batch=batch
        )
        self._check(learner, chunk.X, scores, rows, numbers)
        order, times = _in_order(rows, rows + self.delays(chunk, int(numbers[0])))
        row = np.concatenate([rows, rows])[order]
        labels = hide_labels(chunk.y[row], order < len(rows))
        counts = None
        if chunk.weights is not None:
            counts = chunk.weights[row]
        asked = np.searchsorted(times, rows)
        return Scored(
            rows, scores, Arrivals(labels, asked, scores[row], labels, counts)
        )

    def weighs(self, learner: Learner) -> bool:
        """Return whether the learner uses the weights of rows; baselines never do."""
        return self._scoring.weights is not None and learner.takes_weights

    def _weights(self, learner: Learner, rows: Chunk) -> tuple[FloatArray, ...]:
        """Return the weights as arguments of a learner that uses them; otherwise nothing."""
        if rows.weights is None or not self.weighs(learner):
            return ()
        return (rows.weights,)

    def _seen(self, y: Array) -> Array:
        """Return the labels that the learner may see."""
        if self._blind:
            return read_only(np.zeros_like(y))
        return y

    def _check(
        self,
        learner: Learner,
        X: Rows,
        scores: FloatArray,
        scored: IntArray,
        rows: IntArray,
    ) -> None:
        """Raise at the first of the events `X` with an unusable row or a score that is not finite.

        Only the scores of the events `scored` count; `rows` holds the row of the stream of each
        event.
        """
        odd = np.flatnonzero(~np.isfinite(scores).all(axis=1))
        # Most chunks end here, so rows are only checked where a score is not finite.
        if not len(odd):
            return
        usable = usable_rows(take_rows(X, odd), learner.norm_limits())
        # A usable row that is only learned from may have any score: nothing reads it.
        unusable = odd[np.isin(odd, scored) | ~usable]
        if len(unusable):
            event = int(unusable[0])
            raise diverged_at(learner, X, event, int(rows[event]), names=self._names)

    def delays(self, chunk: Chunk, first: int) -> IntArray | int:
        """Return how many rows later each label arrives; row number `first` is the first."""
        if self._scoring.batch is not None:
            return rows_to_batch_end(self._scoring.batch, self._rows, first, len(chunk))
        if isinstance(self._scoring.delay, int):
            return self._scoring.delay
        assert chunk.delays is not None, (
            "the stream was opened without its delay column"
        )
        return chunk.delays

    def _tested(self, first: int, stop: int) -> BoolArray:
        if self._scoring.folds is None:
            return np.ones(stop - first, dtype=bool)
        return np.equal(self.times(first, stop), 0)

    def times(self, first: int, stop: int) -> IntArray:
        """Return how many times each row is learned from."""
        folds = self._scoring.folds
        every = self._scoring.holdout_every
        held = self._scoring.holdout_rows
        if folds is not None and self._fold is not None:
            return folds.weights(self._fold, first, stop)
        if every and held:
            row = np.arange(first, stop) - self._scoring.burn_in
            # Rows of the burn-in come before the first period, and all of them are learned.
            learned = (row % (every + held) < every) | (row < 0)
            return learned.astype(np.int64)
        return np.ones(stop - first, dtype=np.int64)

    def _joined(self, new: _Waiting) -> _Waiting:
        """Return the rows whose labels have not arrived in order of the stream, `new` ones last."""
        old = self._waiting
        if old is None:
            return new
        return _Waiting(
            join_chunks([old.rows, new.rows]),
            np.concatenate([old.arrival, new.arrival]),
            np.concatenate([old.times, new.times]),
            np.concatenate([old.numbers, new.numbers]),
        )

    def state(self) -> dict[str, Array]:
        """Return the rows whose labels have not arrived as plain arrays; empty without any."""
        if self._waiting is None:
            return {}
        rows, arrival, times, numbers = self._waiting
        X = rows.X._asdict() if isinstance(rows.X, CSR) else {"X": rows.X}
        # The names date from olscale 0.1, where rows had no weights of their own.
        arrays: dict[str, Array] = {
            "arrival": arrival,
            "weights": times,
            "numbers": numbers,
        }
        if rows.weights is not None:
            arrays["row_weights"] = rows.weights
        return {**X, "y": rows.y, "columns": np.array([rows.columns]), **arrays}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from a `state`."""
        self._waiting = None
        if state:
            X: Rows = (
                state["X"]
                if "X" in state
                else CSR(state["indptr"], state["indices"], state["data"])
            )
            columns = int(state["columns"][0])
            rows = Chunk(X, state["y"], columns, weights=state.get("row_weights"))
            # Checkpoints of olscale 0.1 lack the numbers, which only affect the reason of a
            # failure.
            delay = 0
            if isinstance(self._scoring.delay, int):
                delay = self._scoring.delay
            numbers = state.get("numbers", state["arrival"] - delay)
            self._waiting = _Waiting(rows, state["arrival"], state["weights"], numbers)


def _in_order(predicted: IntArray, arrivals: IntArray) -> tuple[IntArray, IntArray]:
    """Return the order of events, predictions and then arrivals, and their times in that order.

    Examples
    --------
    >>> order, times = _in_order(np.array([0, 1]), np.array([1, 1]))
    >>> order.tolist(), times.tolist()
    ([0, 1, 2, 3], [0, 1, 1, 1])
    """
    # Even times are predictions and odd times are arrivals: those of a row follow its prediction.
    when = np.concatenate([2 * predicted, 2 * arrivals + 1])
    order = np.argsort(when, kind="stable")
    return order, when[order] // 2


def follow(
    learner: Learner,
    X: Rows,
    y: Array,
    learning: BoolArray,
    weights: FloatArray | None = None,
    *,
    batches: IntArray | None = None,
) -> FloatArray:
    """Learn from rows where `learning`, in order; return the score of each before its update.

    A learner that `LearnsBatches` learns rows of the same number of `batches` in one piece.

    Examples
    --------
    >>> from olscale.learners.registry import make_learner
    >>> learner = make_learner("pa", {})
    >>> learner.begin(1, 2)
    >>> X, y = np.array([[2.0], [2.0], [2.0]]), np.array([1, 1, 1])
    >>> follow(learner, X, y, np.array([False, True, False]))[:, 0]
    array([0., 0., 1.])
    """
    scores = []
    for start, stop in _pieces(learning, batches):
        rows = slice_rows(X, start, stop)
        if learning[start : start + 1].any():
            counts = None
            if weights is not None:
                counts = weights[start:stop]
            batch = None
            if batches is not None:
                batch = stop - start
            scores.append(
                learn_usable(learner, rows, y[start:stop], counts, batch=batch)
            )
        else:
            scores.append(score_usable(learner, rows))
        # the run ends here: nothing more is learned
        if not np.isfinite(scores[-1]).all():
            # The caller expects a score for each row; it fails at the first one that is not finite.
            outputs = scores[-1].shape[1]
            scores.append(np.full((len(y) - stop, outputs), np.nan))
            break
    return np.concatenate(scores)


def _pieces(learning: BoolArray, batches: IntArray | None) -> list[tuple[int, int]]:
    """Return where rows start and stop that are all learned or not, and of one batch if given.

    Examples
    --------
    >>> _pieces(np.array([False, True, True]), None)
    [(0, 1), (1, 3)]
    >>> _pieces(np.array([False, True, True]), np.array([0, 0, 1]))
    [(0, 1), (1, 2), (2, 3)]
    """
    turns = np.diff(learning)
    if batches is not None:
        turns |= np.diff(batches) > 0
    return list(pairwise([0, *(np.flatnonzero(turns) + 1).tolist(), len(learning)]))
