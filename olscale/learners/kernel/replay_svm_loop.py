"""The loop of replay-svm: a row is scored by all experts, then learned by each of them.

One row of two classes, once the width is known, with the machines of `replay_machine` (numpy form;
`K` is the kernel of machine e, `a` its coefficients, `s` the sum of their steps times ``t^3``)::

    f = a @ K(x)                                  # score of the machine now
    g = f - s @ K(x) / t**3                       # score of the mean of its coefficients
    score = sum(w * scores)                       # of f and g of each machine, PA-I, soft-lol
    w = w * exp(-0.5 * wrong); w /= w.sum(); w = (1 - 1e-3) * w + 1e-3 * v / v.sum()
    if min(y * f) < theta:                        # of any machine; v is 1, of soft-lol 1/2
        if full: a[landmarks] += a[i] * inv(K_aa + 1e-3 I) @ K(s_i), for the least needed row i
        store x, and step: a[x] = y * clip(1 - y * f, 0, C)
    for i in R random stored rows:
        a[i] = y_i * clip(y_i * a[i] + 1 - y_i * (a @ K(s_i)), 0, C)
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR
from olscale.compiled.decorator import compiled, inlined, nested
from olscale.compiled.differences import finish_long_row, is_long
from olscale.compiled.intrinsics import borrowed
from olscale.compiled.pages import aligned_space
from olscale.compiled.row_layout import borrowed_rows
from olscale.compiled.rows_together import (
    RowsTogether,
    may_go_together,
    multiply_together,
    renew,
    take_products,
    together_space,
)
from olscale.compiled.simd.features import gaussian_values
from olscale.compiled.simd.row_tiles import ROWS
from olscale.compiled.support_vectors import (
    WIDTH,
    SupportVectors,
    find_places,
    products,
    put,
    vector_places,
)
from olscale.learners.contract.learner import UNKNOWN, FloatArray
from olscale.learners.contract.usable_rows import unusable
from olscale.learners.kernel.linear_expert import learn_unit_row, score_unit_row
from olscale.learners.kernel.local_expert import SHARE
from olscale.learners.kernel.replay_experts import (
    end_race,
    judge,
    learn_others,
    mix_scores,
    mixes,
    score_others,
    sit_out,
    trust_experts,
)
from olscale.learners.kernel.replay_machine import (
    LARGEST_STEP,
    MACHINES,
    RIDGE,
    Machines,
    fetch_drawn,
    invert,
    keep,
    margin_of,
    replay,
    set_powers,
    set_scores,
    step,
)

SAMPLE = 400
"""Rows after which the width is final."""

_LINEAR_STEP = 10.0
_LOCAL = 2
"""Place of the local expert behind the machines."""

_NEVER = np.zeros(0, dtype=np.int64)


class Experts(NamedTuple):
    """The linear expert and the scores of the local one, and how far each expert is trusted.

    Parameters
    ----------
    W, late : float64 array of shape (features + 1, outputs)
        Weights of the linear expert, and the sums of their steps times the third power of the
        step's row number. The last are those of the constant 1.
    trust : float64 array of shape (2 machines + 2,) or (2 machines + 3,)
        Weights of the experts: each machine now, each machine's mean, the linear one, its mean, and
        the local one, if there is one.
    errors : int64 array of shape (2, machines)
        Mistakes of the machines so far, now and of their mean.
    local : float64 array of shape (rows, 1, outputs)
        Scores of the local expert for the rows of a chunk, each before it is learned; of no rows
        without such an expert.
    scores : float64 array of shape (2, outputs) or (3, outputs)
        Space for the scores of the linear expert, its mean and the local expert.
    """

    W: FloatArray
    late: FloatArray
    trust: FloatArray
    errors: NDArray[np.int64]
    local: FloatArray
    scores: FloatArray


class ReplayRule(NamedTuple):
    """Parameters: budget `B`, looks `R`, threshold `theta`, and the row that ends the `race`."""

    B: int
    R: int
    theta: float
    race: int


class ReplaySpace(NamedTuple):
    """Space for what the loop knows of a row."""

    at: NDArray[np.int32]
    value: FloatArray
    k: FloatArray
    powers: FloatArray
    dropped: FloatArray
    share: FloatArray
    current: FloatArray
    mean: FloatArray
    f: FloatArray
    together: RowsTogether


def open_space(entries: int, slots: int, outputs: int) -> ReplaySpace:
    """Return the space for rows of at most `entries` values."""
    return ReplaySpace(
        np.empty(entries, dtype=np.int32),
        np.empty(entries),
        aligned_space(slots),
        aligned_space(MACHINES, slots),
        aligned_space(MACHINES, slots),
        aligned_space(2, slots),
        np.zeros((MACHINES, outputs)),
        np.zeros((MACHINES, outputs)),
        np.zeros(outputs),
        together_space(entries, slots),
    )


@inlined
def _places_left(support: Any, entries: int) -> bool:
    needed = min(entries, support.place.shape[0] - support.counts[1])
    return bool(support.feature.shape[0] - support.counts[1] >= needed)


@compiled
def learn_and_score(
    X: Any,
    y: NDArray[np.int64],
    first: int,
    opening: int,
    machines: Any,
    experts: Any,
    rule: Any,
    gamma: float,
    space: Any,
    limits: Any,
    learning: bool,
    again: bool,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    scores: FloatArray,
) -> int:
    """Score rows from `first` on and learn them; return the row to continue with.

    That is the number of rows, or a row before which the caller makes room for features or, once
    the sample is complete, for the machines; or the one after row number `opening`, when it opens
    machines early. These then learn all rows so far, which were predicted and counted before: rows
    that come `again`.
    """
    X, (low, high) = borrowed_rows(X), limits
    machines = borrowed(machines)
    experts = borrowed(experts)
    y = borrowed(y)
    scores = borrowed(scores)
    space = borrowed(space)
    support = machines.support
    rows = scores.shape[0]
    block = space.together
    # Bounds of the rows whose products were computed last.
    begun = first
    end_of_block = first
    for i in range(first, rows):
        learns = learning and y[i] != UNKNOWN
        entries = X.indptr[i + 1] - X.indptr[i]
        if learns and not again:
            if not _places_left(support, entries):
                return i
            closed = machines.counts[0] == 0
            if closed and support.counts[0] == min(SAMPLE, support.counts[3]):
                return i
        opened = gamma > 0.0
        runs = opened and (again or not sit_out(experts, seen[0]))
        if runs and learns:
            fetch_drawn(machines, i + 1 if again else seen[0] + 1, rule.R)
        begins = runs and i >= end_of_block and may_go_together(support, X, i, rows)
        # Of machines that sit out most rows, the products of the next ones are not needed.
        begins = begins and not sit_out(experts, seen[0] + 1)
        if begins and multiply_together(support, X, i, space.at, block):
            begun = i
            end_of_block = i + ROWS
        if i < end_of_block:
            square = take_products(block, i - begun, support.counts[0], space.k)
        else:
            places, square = find_places(support, X, i, space.at, space.value)
            if runs:
                products(support, space.at, space.value, places, space.k)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            for j in range(i, rows):
                for c in range(scores.shape[1]):
                    scores[j, c] = np.nan
            break
        # Of the row and the constant 1: the linear expert sees rows of length 1.
        length = np.sqrt(square + 1.0)
        if not again:
            # Rows that come again had their scores when they came first.
            score_others(experts, X, i, length, seen[0])
        if runs:
            finish(support, X, i, gamma, square, space)
            _score_machines(machines, space, max(1.0, float(i if again else seen[0])))
        mix_scores(experts, machines.alive, runs, space, scores[i])
        if again:
            learn_row(machines, rule, space, X, i, square, y[i], i + 1)
        elif learns:
            seen[0] += 1
            judge(experts, machines.alive, runs, space, y[i])
            if opened:
                stores = runs and learn_row(
                    machines, rule, space, X, i, square, y[i], seen[0]
                )
                if stores and machines.counts[0] > 0:
                    updates[0] += 1
                if seen[0] == rule.race:
                    end_race(machines.alive, experts)
            else:
                slot = support.counts[0]
                put(support, slot, X, i, square)
                machines.label[slot] = y[i]
            learn_others(experts, X, i, length, seen[0], y[i])
        if learns and i + 1 < end_of_block:
            renew(support, X, begun, space.at, block)
        if learns and not again and support.counts[0] == opening:
            return i + 1
    return rows  # type: ignore[no-any-return]


@nested
def finish(
    support: Any, X: Any, i: int, gamma: float, square: float, space: Any
) -> None:
    """Turn the products of row `i` and all vectors into the values of the widest kernel."""
    if is_long(gamma, square):
        finish_long_row(
            support, gamma, False, X, i, square, (space.at, space.value), space.k
        )
    else:
        gaussian_values(support.counts[0], gamma, square, support.sizes, space.k)


@inlined
def _score_machines(machines: Any, space: Any, t: float) -> None:
    count = machines.support.counts[0]
    set_powers(machines.alive, space.k, count, space.powers)
    set_scores(machines, space.powers, count, t * t * t, space.current, space.mean)


@nested
def learn_row(
    machines: Any, rule: Any, space: Any, X: Any, i: int, size: float, y: int, t: int
) -> bool:
    """Learn a row whose scores are in `space`; return whether it is stored."""
    cube = float(t) * float(t) * float(t)
    stored = False
    for e in range(MACHINES):
        if machines.alive[e] and margin_of(space.current[e], y) < rule.theta:
            stored = True
    if stored:
        slot = keep(machines, rule.B, X, i, size, y, t, space)
        for e in range(MACHINES):
            if machines.alive[e]:
                most = LARGEST_STEP[e]
                step(
                    machines.alpha[e],
                    machines.late[e],
                    slot,
                    space.current[e],
                    y,
                    most,
                    cube,
                )
    replay(machines, t, rule.R, cube, space.powers, space.f)
    return stored


def _score_others(experts: Any, X: Any, i: int, length: float, rows: int) -> None:
    f = experts.scores[0]
    mean = experts.scores[1]
    t = max(1.0, float(rows))
    score_unit_row(X, i, experts.W, length, f)
    score_unit_row(X, i, experts.late, length, mean)
    for c in range(f.shape[0]):
        mean[c] = f[c] - mean[c] / (t * t * t)
    if experts.scores.shape[0] > _LOCAL:
        for c in range(f.shape[0]):
            experts.scores[_LOCAL, c] = experts.local[i, 0, c]


def _mix(experts: Any, alive: Any, runs: bool, space: Any, scores: Any) -> None:
    trust = experts.trust
    others = experts.scores
    for c in range(scores.shape[0]):
        if not runs:
            # Until the machines open the linear expert predicts alone.
            scores[c] = others[0, c]
            continue
        total = trust[2 * MACHINES] * others[0, c]
        for j in range(1, others.shape[0]):
            total += trust[2 * MACHINES + j] * others[j, c]
        for e in range(MACHINES):
            if alive[e]:
                total += trust[e] * space.current[e, c]
                total += trust[MACHINES + e] * space.mean[e, c]
        scores[c] = total


def _judge(experts: Any, alive: Any, runs: bool, space: Any, y: int) -> None:
    if runs:
        others = experts.scores
        last_share = 1.0
        if others.shape[0] > _LOCAL:
            last_share = SHARE
        trust_experts(
            alive, runs, experts.trust, experts.errors, others, space, y, last_share
        )


def _learn_linear(
    experts: Any, X: Any, i: int, length: float, rows: int, y: int
) -> None:
    t = float(rows)
    f = experts.scores[0]
    learn_unit_row(X, i, experts.W, experts.late, length, _LINEAR_STEP, t * t * t, f, y)


def _always_run(experts: Any, rows: int) -> bool:
    return False


mixes(
    Experts,
    {
        sit_out: _always_run,
        score_others: _score_others,
        mix_scores: _mix,
        judge: _judge,
        learn_others: _learn_linear,
    },
)


@compiled
def squared_distances(support: Any, space: Any) -> FloatArray:
    """Return the squared distances of all pairs of vectors."""
    count = support.counts[0]
    squares = np.empty(count * (count - 1) // 2)
    pair = 0
    for j in range(count):
        entries = vector_places(support, j, space.at, space.value)
        size = support.sizes[j]
        products(support, space.at, space.value, entries, space.k)
        for s in range(j):
            # Of equal rows rounding may leave less than nothing.
            squares[pair] = max(0.0, size + support.sizes[s] - 2.0 * space.k[s])
            pair += 1
    return squares


@compiled
def derive(
    X: Any,
    support: Any,
    gamma: float,
    landmarks: int,
    space: Any,
    matrix: Any,
    inverse: Any,
) -> None:
    """Set what follows from the vectors, which are the rows `X`.

    That is the kernel values between all vectors, each as when the later of the two came, and the
    inverses of the landmarks' kernel matrices.
    """
    for j in range(support.counts[0]):
        places, square = find_places(support, X, j, space.at, space.value)
        products(support, space.at, space.value, places, space.k)
        finish(support, X, j, gamma, square, space)
        space.k[j] = 1.0
        matrix[j // WIDTH, j, j % WIDTH] = 1.0
        for s in range(support.counts[0]):
            if support.born[s] < support.born[j]:
                value = np.float32(space.k[s])
                matrix[s // WIDTH, j, s % WIDTH] = value
                matrix[j // WIDTH, s, j % WIDTH] = value
        for s in range(min(j + 1, landmarks) if j < landmarks else 0):
            power = space.k[s]
            for e in range(inverse.shape[0]):
                if e > 0:
                    # Each machine's kernel is the square of the one before.
                    power *= power
                inverse[e, j, s] = power
                inverse[e, s, j] = power
    for e in range(inverse.shape[0]):
        for j in range(landmarks):
            inverse[e, j, j] += RIDGE
        invert(inverse[e])


def csr_of_vectors(support: SupportVectors) -> CSR:
    """Return the vectors as rows, in the order of their slots; features ascend."""
    count = int(support.counts[0])
    held = np.unpackbits(support.held[:count].view(np.uint8), axis=1, bitorder="little")
    slots, places = np.nonzero(held)
    features = support.feature[places]
    # Places are in the order in which features came, rows in the order of their numbers.
    order = np.lexsort((features, slots))
    values = support.values[slots // WIDTH, places, slots % WIDTH]
    indptr = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(slots, minlength=count), out=indptr[1:])
    return CSR(indptr, features[order], values[order])


def machines_of(state: Any, support: SupportVectors, derived: Any) -> Machines:
    """Return the machines of a state, with the arrays that are derived from it."""
    names = (
        "alpha",
        "late",
        "label",
        "share",
        "alive",
        "stored_at",
        "drifting",
        "landmarks",
        "key",
    )
    # Machines that never heed the age of rows have no state of it.
    ages = {"stored_at": _NEVER, "drifting": np.zeros(1, dtype=np.int64)}
    every = ages | state
    return Machines(support, *(every[name] for name in names), *derived)
