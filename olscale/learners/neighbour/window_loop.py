"""The loop of k nearest neighbours in a window of rows.

The window is feature-major, ``window[feature, place]``: the distances of a row to all places are
sums over the features in ascending order, each in vector code over the places. A new row overwrites
the oldest. Dense and CSR rows are copied into one array first, so both give the same bits. Where
ADWIN shortens the window, only the newest rows in it count.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.adwin import WIDTH, Windows, add_to_window
from olscale.compiled.decorator import compiled, nested
from olscale.learners.contract.learner import UNKNOWN, FloatArray
from olscale.learners.contract.usable_rows import unusable
from olscale.learners.neighbour.rows_ahead import look_ahead, note_learned

SOFT = 1e-3
"""Added to scaled squared distances, so that a copy of a row has no infinite weight."""

TIE = -1e-9
"""Score of two classes with equal votes: the first wins, as among more classes."""


class Window(NamedTuple):
    """The state of the learner.

    Parameters
    ----------
    rows : float64 array of shape (columns, places)
    labels : int64 array of shape (places,)
    low, high : float64 arrays of shape (columns,)
        Least and greatest value of each feature in the window; kept up where ranges scale.
    seen : int64 array of shape (1,)
        Rows learned so far: the next one goes to ``seen mod places``.
    """

    rows: FloatArray
    labels: NDArray[np.int64]
    low: FloatArray
    high: FloatArray
    seen: NDArray[np.int64]


class Shortening(NamedTuple):
    """What shortens the window where the learner's accuracy changes.

    Parameters
    ----------
    delta : float
        Probability of a false alarm; 0 where nothing shortens the window.
    length : int64 array of shape (1,)
        How many of the newest rows count.
    windows : Windows
        The window of ADWIN.
    """

    delta: float
    length: NDArray[np.int64]
    windows: Windows


class Voting(NamedTuple):
    """How neighbours vote.

    Parameters
    ----------
    k : int
        Number of neighbours.
    by_distance : bool
        Whether nearer ones count more.
    by_range : bool
        Whether each feature is divided by its range in the window.
    gamma : float
        Scale of squared distances, where nearer ones count more.
    """

    k: int
    by_distance: bool
    by_range: bool
    gamma: float


@nested
def _take_places(
    squares: Any, start: int, stop: int, k: int, nearest: Any, places: Any, size: int
) -> int:
    """Go from place `start` down to `stop` and keep the `k` nearest, nearest first.

    Of equal distances those that come first are kept. Return how many of them there are.
    """
    for s in range(start, stop - 1, -1):
        square = squares[s]
        if size == k and not square < nearest[size - 1]:
            continue
        at = size
        if size == k:
            at = k - 1
        else:
            size += 1
        while at > 0 and square < nearest[at - 1]:
            nearest[at] = nearest[at - 1]
            places[at] = places[at - 1]
            at -= 1
        nearest[at] = square
        places[at] = s
    return size


@nested
def take_nearest(
    squares: Any,
    newest: int,
    first: int,
    last: int,
    k: int,
    nearest: Any,
    places: Any,
    size: int,
) -> int:
    """Keep the `k` nearest of `size` known ones and of the rows of ages `first` to `last`.

    The row at place `newest` has age 0, and age `last` is left out. Of equal distances the newer
    is kept. Return how many are known then.
    """
    # Rows older than the one at place 0 continue at the last place.
    oldest_before = newest + 1
    stop = newest - min(last, oldest_before) + 1
    size = _take_places(squares, newest - first, stop, k, nearest, places, size)
    behind = newest + squares.shape[0]
    start = behind - max(first, oldest_before)
    return _take_places(squares, start, behind - last + 1, k, nearest, places, size)


@nested
def set_votes(
    labels: Any,
    voting: Any,
    nearest: Any,
    places: Any,
    size: int,
    votes: Any,
    scores: Any,
) -> None:
    """Set the scores of a row with `size` known neighbours."""
    votes[:] = 0.0
    total = 0.0
    for n in range(size):
        vote = 1.0
        if voting.by_distance:
            vote = 1.0 / (voting.gamma * nearest[n] + SOFT)
        votes[labels[places[n]]] += vote
        total += vote
    # No row is known yet, or all are infinitely far.
    if total == 0.0:
        total = 1.0
    if scores.shape[0] > 1:
        for c in range(scores.shape[0]):
            scores[c] = votes[c] / total
    elif votes[1] == votes[0]:
        scores[0] = TIE
    else:
        scores[0] = (votes[1] - votes[0]) / total


@nested
def _widen(window: Any, j: int, value: float, old: float, length: int) -> None:
    """Keep up the range of feature `j`, whose value `old` the row has just overwritten.

    Before it so many rows counted.
    """
    rows = window.rows
    if length == 0:
        window.low[j] = value
        window.high[j] = value
        return
    full = length >= rows.shape[1]
    # Only the least or greatest value narrows the range as it leaves: all others are looked at
    # then.
    if full and (old <= window.low[j] or old >= window.high[j]):
        low = value
        high = value
        for s in range(rows.shape[1]):
            low = min(low, rows[j, s])
            high = max(high, rows[j, s])
        window.low[j] = low
        window.high[j] = high
        return
    window.low[j] = min(window.low[j], value)
    window.high[j] = max(window.high[j], value)


@nested
def _set_scale(window: Any, by_range: bool, scale: Any) -> None:
    for j in range(scale.shape[0]):
        scale[j] = 1.0
        if by_range:
            # A feature of one value says nothing about distances: its factor is 0.
            width = window.high[j] - window.low[j]
            scale[j] = 0.0
            if width > 0.0:
                scale[j] = 1.0 / width


@nested
def _set_ranges(window: Any, newest: int, length: int) -> None:
    """Set the ranges of features anew, of the newest rows."""
    rows = window.rows
    for j in range(rows.shape[0]):
        low = rows[j, newest]
        high = low
        for age in range(1, length):
            value = rows[j, (newest - age) % rows.shape[1]]
            low = min(low, value)
            high = max(high, value)
        window.low[j] = low
        window.high[j] = high


@nested
def _shorten(shortening: Any, knows: bool) -> bool:
    """Tell ADWIN whether a row's class is known; return whether fewer rows count from now on."""
    windows = shortening.windows
    if not add_to_window(windows, 0, 1.0 if knows else 0.0, shortening.delta):
        return False
    width = windows.window_counts[0, WIDTH]
    if width >= shortening.length[0]:
        return False
    shortening.length[0] = width
    return True


@compiled
def learn_and_score(
    X: Any,
    y: NDArray[np.int64],
    window: Any,
    voting: Any,
    ahead: Any,
    shortening: Any,
    limits: Any,
    learning: bool,
    updates: NDArray[np.int64],
    scores: FloatArray,
) -> None:
    """Score rows by their neighbours and, when `learning`, add each to the window.

    No row is `ahead` yet.
    """
    low, high = limits
    columns, capacity = window.rows.shape
    rows = scores.shape[0]
    scale = np.empty(columns)
    nearest = np.empty(voting.k)
    places = np.empty(voting.k, np.int64)
    votes = np.empty(max(2, scores.shape[1]))
    own_scores = np.empty(scores.shape[1])
    for i in range(rows):
        count = min(window.seen[0], capacity)
        length = count
        if shortening.delta > 0.0:
            length = shortening.length[0]
        newest = (window.seen[0] - 1) % capacity
        _set_scale(window, voting.by_range, scale)
        last = rows
        if voting.by_range:
            last = i + 1  # the next row may widen a range
        own = look_ahead(ahead, X, i, last, window.rows, count, scale)
        x = ahead.rows[:, own]
        square = 0.0
        for j in range(columns):
            square += x[j] * x[j]
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            break
        squares = ahead.squares[own]
        size = take_nearest(squares, newest, 0, length, voting.k, nearest, places, 0)
        set_votes(window.labels, voting, nearest, places, size, votes, scores[i])
        if learning and y[i] != UNKNOWN:
            place = window.seen[0] % capacity
            for j in range(columns):
                old = window.rows[j, place]
                window.rows[j, place] = x[j]
                if voting.by_range:
                    _widen(window, j, x[j], old, length)
            window.labels[place] = y[i]
            note_learned(ahead, i, place)
            window.seen[0] += 1
            updates[0] += 1
            if shortening.delta == 0.0:
                continue
            length = min(length + 1, capacity)
            shortening.length[0] = length
            # As in River, the row is a neighbour of its own by now, and k rows are needed.
            squares[place] = 0.0
            size = take_nearest(squares, place, 0, length, voting.k, nearest, places, 0)
            set_votes(window.labels, voting, nearest, places, size, votes, own_scores)
            knows = size == voting.k and votes.argmax() == y[i]
            if _shorten(shortening, knows) and voting.by_range:
                _set_ranges(window, place, shortening.length[0])
