"""The experts of drift-ensemble besides its dual machines, and the mixture of all.

One row of two classes, in numpy form; `s` are the scores of all experts, each as it was before this
row, and `f` and `y` are signs::

    s[linear] = [W_C @ (x, 1) / norm((x, 1)) for C in 10, 0.3, 0.05, 0.01], and the mean of C = 10
    s[neighbours] = [votes of the five nearest of the last w rows for w in window / 16, / 4, / 1]
    s[tiles] = [2 * sigmoid(T_a[cells(x)].sum()) - 1 for a in 16, 4, 1, 0.25]
    s[votes] = [share of one class minus that of the other in the leaf of each tree]
               and [the same by the leaf's naive Bayes]
    s = clip(s, -2, 2)
    p = sigmoid(2 * u @ s)                        # of the stack
    f = w @ (s, 2 * p - 1)                        # what is predicted
    w = w * exp(-0.5 * wrong); w /= w.sum(); w = (1 - 1e-3) * w + 1e-3 / len(w)
    u = u + 0.02 * ((y + 1) / 2 - p) * s
    e = e + (wrong - e) / 200                     # of neighbours and machines
    drifting = min(e[neighbours]) < min(e[machines])
    worth = worth + (w[machines].sum() + w[stack] * share - worth) / 500
    rests = worth < (0.03 if rests else 0.02)     # share: that of abs(u * s) of the machines

While machines rest, they take part in every fourth row only.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.copies import copy_numbers
from olscale.compiled.decorator import nested
from olscale.learners.contract.learner import FloatArray
from olscale.learners.ensemble.expert_forest import VOTES
from olscale.learners.kernel.linear_expert import learn_unit_row, score_unit_row
from olscale.learners.kernel.replay_experts import (
    judge,
    learn_others,
    mix_scores,
    mixes,
    score_others,
    sit_out,
    trust_experts,
)
from olscale.learners.kernel.replay_machine import MACHINES, is_wrong
from olscale.learners.neighbour.rows_ahead import (
    RowsAhead,
    look_ahead,
    note_learned,
)
from olscale.learners.neighbour.window_loop import (
    Voting,
    set_votes,
    take_nearest,
)
from olscale.learners.tiles.pair_tiles_loop import (
    set_bins,
    set_cells,
    set_probabilities,
    set_scores,
    step,
    turn_into_probabilities,
)

LARGEST_STEPS = np.array([10.0, 0.3, 0.05, 0.01])
"""C of the linear experts; the mean of the first one's weights is an expert, too."""

TILE_RATES = np.array([16.0, 4.0, 1.0, 0.25])

WINDOW_SHARES = (16, 4, 1)
"""The windows of the neighbours are these shares of the longest."""

NEIGHBOURS = 5

# Places of the experts behind the machines, and their number.
MEAN = len(LARGEST_STEPS)
FIRST_WINDOW = MEAN + 1
FIRST_TILES = FIRST_WINDOW + len(WINDOW_SHARES)
FIRST_VOTE = FIRST_TILES + len(TILE_RATES)
STACK = FIRST_VOTE + VOTES
OTHERS = STACK + 1

EXPERTS = 2 * MACHINES + STACK
"""Experts that the stack combines: all but itself."""

LARGEST_SCORE = 2.0
"""Scores are clipped to this before they are mixed."""

_STACK_STEP = 0.02
# Means over about the last 200, and 500, rows.
_LAPSE_SHARE = 1.0 / 200.0

_WORTH_SHARE = 1.0 / 500.0
_WAKING = 1.5  # They wake at a worth so many times that at which they rest.

PROBE = 4
"""Machines that rest take part in one of so many rows."""


class Neighbours(NamedTuple):
    """The window of the last rows, and space for what is known of a row.

    Parameters
    ----------
    rows : float64 array of shape (columns, places)
    labels : int64 array of shape (places,)
    windows : int64 array of shape (experts,)
        How many of the last rows each expert looks at, ascending.
    voting : Voting
    scale : float64 array of shape (columns,)
        Factors of the features, all 1.
    ahead : RowsAhead
        Squared distances of the next rows.
    nearest, places : arrays of shape (k,)
        Squared distances of the nearest rows, and their places.
    votes : float64 array of shape (classes,)
    """

    rows: FloatArray
    labels: NDArray[np.int64]
    windows: NDArray[np.int64]
    voting: Voting
    scale: FloatArray
    ahead: RowsAhead
    nearest: FloatArray
    places: NDArray[np.int64]
    votes: FloatArray


class Tiles(NamedTuple):
    """The tables of all rates, and space for what is known of a row.

    Parameters
    ----------
    tables : float64 array of shape (rates, cells, outputs)
    pairs : int64 array of shape (pairs, 2)
    singles : int
        Features with cells of their own.
    bins : int64 array of shape (columns,)
    cells : int64 array of shape (cells of a row,)
    p : float64 array of shape (rates, outputs)
        Probabilities of the classes by each table.
    change : float64 array of shape (outputs,)
    """

    tables: FloatArray
    pairs: NDArray[np.int64]
    singles: int
    bins: NDArray[np.int64]
    cells: NDArray[np.int64]
    p: FloatArray
    change: FloatArray


class DriftExperts(NamedTuple):
    """All experts but the machines, and what is known of all.

    Parameters
    ----------
    trust : float64 array of shape (experts + 1,)
        Weights of the experts: each machine now, each machine's mean, the linear experts, the mean
        of the first, neighbours, tiles, trees, and the stack.
    errors : int64 array of shape (2, machines)
        Mistakes of the machines so far, now and of their mean.
    W : float64 array of shape (linear experts, columns + 1, outputs)
    late : float64 array of shape (columns + 1, outputs)
        Sums of the steps of the first, times the third power of the step's row number.
    stack : float64 array of shape (experts,)
        Weights of the stack.
    lapses : float64 array of shape (2 machines + windows,)
        Mistakes of machines and neighbours in the last rows, as means that fade.
    drifting : int64 array of shape (1,)
        Whether neighbours err less than machines.
    worth : float64 array of shape (1,)
        Part of the machines in what is predicted, as a mean that fades.
    resting : int64 array of shape (1,)
        Whether the machines rest.
    rests_from : int
        Rows before which they never do.
    rests_below : float
        Worth below which they do.
    neighbours : Neighbours
    tiles : Tiles
    votes : float64 array of shape (rows, votes, outputs)
        Scores of the trees for the rows of a chunk, each before it is learned.
    others : float64 array of shape (experts behind the machines, outputs)
        Space for their scores.
    clipped : float64 array of shape (experts + 1, outputs)
        Space for the scores of all, as they are mixed.
    p : float64 array of shape (outputs,)
        Space for the probabilities by the stack.
    """

    trust: FloatArray
    errors: NDArray[np.int64]
    W: FloatArray
    late: FloatArray
    stack: FloatArray
    lapses: FloatArray
    drifting: NDArray[np.int64]
    worth: FloatArray
    resting: NDArray[np.int64]
    rests_from: int
    rests_below: float
    neighbours: Neighbours
    tiles: Tiles
    votes: FloatArray
    others: FloatArray
    clipped: FloatArray
    p: FloatArray


@nested
def _score_linear(
    X: Any, i: int, W: Any, late: Any, length: float, rows: int, scores: Any
) -> None:
    for a in range(W.shape[0]):
        score_unit_row(X, i, W[a], length, scores[a])
    mean = scores[MEAN]
    t = max(1.0, float(rows))
    score_unit_row(X, i, late, length, mean)
    for c in range(mean.shape[0]):
        mean[c] = scores[0, c] - mean[c] / (t * t * t)


@nested
def _score_neighbours(window: Any, X: Any, i: int, rows: int, scores: Any) -> None:
    capacity = window.rows.shape[1]
    count = min(rows, capacity)
    newest = (rows - 1) % capacity
    last = X.indptr.shape[0] - 1
    own = look_ahead(window.ahead, X, i, last, window.rows, count, window.scale)
    squares = window.ahead.squares[own]
    known = (window.nearest, window.places)
    size = 0
    first = 0
    # The windows are nested: each continues from the nearest rows of the one before.
    for n in range(window.windows.shape[0]):
        last = min(count, window.windows[n])
        size = take_nearest(squares, newest, first, last, window.voting.k, *known, size)
        first = last
        set_votes(window.labels, window.voting, *known, size, window.votes, scores[n])


@nested
def _row_of(window: Any, i: int) -> Any:
    """Return row `i`, which is one of those whose distances are known."""
    return window.ahead.rows[:, i - window.ahead.bounds[0]]


@nested
def _add_cells(tables: Any, cells: Any, p: Any) -> None:
    """Set the sums of a row's cells in each of four tables, of one number a cell."""
    first = 0.0
    second = 0.0
    third = 0.0
    fourth = 0.0
    # Together: each addition waits for the one before it in its own sum only.
    for n in range(cells.shape[0]):
        cell = np.uint64(cells[n])
        first += tables[0, cell, 0]
        second += tables[1, cell, 0]
        third += tables[2, cell, 0]
        fourth += tables[3, cell, 0]
    p[0, 0] = first
    p[1, 0] = second
    p[2, 0] = third
    p[3, 0] = fourth


@nested
def _score_tiles(tiles: Any, x: Any, scores: Any) -> None:
    set_bins(x, tiles.bins)
    set_cells(tiles.bins, tiles.singles, tiles.pairs, tiles.cells)
    if tiles.p.shape[1] == 1:
        _add_cells(tiles.tables, tiles.cells, tiles.p)
    for a in range(tiles.tables.shape[0]):
        if tiles.p.shape[1] == 1:
            turn_into_probabilities(tiles.p[a])
        else:
            set_probabilities(tiles.tables[a], tiles.cells, tiles.p[a])
        set_scores(tiles.p[a], scores[a])


def _score_others(experts: Any, X: Any, i: int, length: float, rows: int) -> None:
    others = experts.others
    window = experts.neighbours
    _score_linear(X, i, experts.W, experts.late, length, rows, others)
    _score_neighbours(window, X, i, rows, others[FIRST_WINDOW:])
    _score_tiles(experts.tiles, _row_of(window, i), others[FIRST_TILES:])
    votes = experts.votes[i]
    for v in range(votes.shape[0]):
        copy_numbers(votes[v], others[FIRST_VOTE + v], votes.shape[1])


@nested
def _clip(scores: Any, clipped: Any) -> None:
    for c in range(scores.shape[0]):
        clipped[c] = min(max(scores[c], -LARGEST_SCORE), LARGEST_SCORE)


@nested
def _clip_scores(alive: Any, runs: bool, space: Any, others: Any, clipped: Any) -> None:
    """Set the scores of all experts as they are mixed; a machine that does not run has 0."""
    for e in range(MACHINES):
        if runs and alive[e]:
            _clip(space.current[e], clipped[e])
            _clip(space.mean[e], clipped[MACHINES + e])
        else:
            clipped[e, :] = 0.0
            clipped[MACHINES + e, :] = 0.0
    for j in range(STACK):
        _clip(others[j], clipped[2 * MACHINES + j])


@nested
def _score_stack(stack: Any, clipped: Any, p: Any, scores: Any) -> None:
    for c in range(p.shape[0]):
        total = 0.0
        for k in range(stack.shape[0]):
            total += stack[k] * clipped[k, c]
        p[c] = 2.0 * total
    turn_into_probabilities(p)
    set_scores(p, scores)


def _mix(experts: Any, alive: Any, runs: bool, space: Any, scores: Any) -> None:
    clipped = experts.clipped
    trust = experts.trust
    _clip_scores(alive, runs, space, experts.others, clipped)
    _score_stack(experts.stack, clipped, experts.p, experts.others[STACK])
    for c in range(scores.shape[0]):
        # The stack is the last of those that are mixed, and none of its own experts.
        clipped[EXPERTS, c] = experts.others[STACK, c]
        total = 0.0
        for k in range(trust.shape[0]):
            total += trust[k] * clipped[k, c]
        scores[c] = total


@nested
def _note_lapses(
    alive: Any, runs: bool, space: Any, neighbours: Any, lapses: Any, y: int
) -> bool:
    """Follow the mistakes of machines and neighbours; return whether neighbours err less."""
    least = np.inf
    for e in range(MACHINES):
        if runs and alive[e]:
            _note_lapse(lapses, e, is_wrong(space.current[e], y))
            _note_lapse(lapses, MACHINES + e, is_wrong(space.mean[e], y))
            least = min(least, lapses[e], lapses[MACHINES + e])
    fewest = np.inf
    for n in range(neighbours.shape[0]):
        _note_lapse(lapses, 2 * MACHINES + n, is_wrong(neighbours[n], y))
        fewest = min(fewest, lapses[2 * MACHINES + n])
    return bool(fewest < least)


@nested
def _note_lapse(lapses: Any, k: int, wrong: bool) -> None:
    lapses[k] += ((1.0 if wrong else 0.0) - lapses[k]) * _LAPSE_SHARE


@nested
def _learn_stack(stack: Any, clipped: Any, p: Any, y: int) -> None:
    outputs = p.shape[0]
    for k in range(stack.shape[0]):
        gain = 0.0
        for c in range(outputs):
            scored = c
            if outputs == 1:
                scored = 1  # one score of two classes is that of the second
            target = 1.0 if y == scored else 0.0
            gain += (target - p[c]) * clipped[k, c]
        stack[k] += _STACK_STEP * gain


def _judge(experts: Any, alive: Any, runs: bool, space: Any, y: int) -> None:
    others = experts.others
    trust_experts(alive, runs, experts.trust, experts.errors, others, space, y, 1.0)
    _learn_stack(experts.stack, experts.clipped, experts.p, y)
    neighbours = others[FIRST_WINDOW:FIRST_TILES]
    drifting = _note_lapses(alive, runs, space, neighbours, experts.lapses, y)
    if runs:
        experts.drifting[0] = drifting
        worth = _worth_now(experts.trust, experts.stack, experts.clipped)
        experts.worth[0] += (worth - experts.worth[0]) * _WORTH_SHARE
        bound = experts.rests_below
        if experts.resting[0]:
            bound *= _WAKING
        experts.resting[0] = experts.worth[0] < bound


@nested
def _worth_now(trust: Any, stack: Any, clipped: Any) -> float:
    """Return the part of the machines in the mixture, by themselves and in the stack."""
    of_machines = 0.0
    of_all = 0.0
    own_trust = 0.0
    for k in range(EXPERTS):
        size = 0.0
        for c in range(clipped.shape[1]):
            size += abs(stack[k] * clipped[k, c])
        of_all += size
        if k < 2 * MACHINES:
            of_machines += size
            own_trust += trust[k]
    if of_all > 0.0:
        own_trust += trust[EXPERTS] * (of_machines / of_all)
    return own_trust


def _rest(experts: Any, rows: int) -> bool:
    return bool(experts.resting[0] and rows >= experts.rests_from and rows % PROBE != 0)


@nested
def _learn_linear(
    X: Any, i: int, W: Any, late: Any, length: float, rows: int, scores: Any, y: int
) -> None:
    t = float(rows)
    learn_unit_row(X, i, W[0], late, length, LARGEST_STEPS[0], t * t * t, scores[0], y)
    # Of the others no mean is taken, so nothing is summed up for one.
    for a in range(1, W.shape[0]):
        learn_unit_row(
            X, i, W[a], late[:0], length, LARGEST_STEPS[a], 0.0, scores[a], y
        )


@nested
def _learn_neighbour(window: Any, i: int, rows: int, y: int) -> None:
    place = (rows - 1) % window.rows.shape[1]
    x = _row_of(window, i)
    for j in range(x.shape[0]):
        window.rows[j, place] = x[j]
    window.labels[place] = y
    note_learned(window.ahead, i, place)


@nested
def _learn_tiles(tiles: Any, y: int) -> None:
    for a in range(tiles.tables.shape[0]):
        step(tiles.tables[a], tiles.cells, y, TILE_RATES[a], tiles.p[a], tiles.change)


def _learn_others(
    experts: Any, X: Any, i: int, length: float, rows: int, y: int
) -> None:
    _learn_linear(X, i, experts.W, experts.late, length, rows, experts.others, y)
    _learn_neighbour(experts.neighbours, i, rows, y)
    _learn_tiles(experts.tiles, y)


mixes(
    DriftExperts,
    {
        sit_out: _rest,
        score_others: _score_others,
        mix_scores: _mix,
        judge: _judge,
        learn_others: _learn_others,
    },
)
