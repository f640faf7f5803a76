"""The dual machines of replay-svm: their scores, their steps, and the rows that they keep.

Several machines share landmarks and stored rows. Machine e has the kernel ``k^(2^e)``, k being the
Gaussian kernel of the widest, so that one exponential serves all of them. Slots of the support
vectors below ``counts[0]`` of the model are landmarks, the others stored rows. Sums over slots run
in the eight groups of `olscale.compiled.dot`, and no bit depends on how a stream is cut.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import inlined, nested
from olscale.compiled.dot import vector_dot
from olscale.compiled.elementary import exponential
from olscale.compiled.intrinsics import prefetch
from olscale.compiled.philox import philox
from olscale.compiled.simd.lines import (
    add_squares,
    combine_lines,
    combine_lines_twice,
    square_repeatedly,
)
from olscale.compiled.support_vectors import (
    WIDTH,
    SupportVectors,
    first_least,
    put,
    take_out,
)

MACHINES = 4
"""Widths and largest steps that race: kernels ``k, k^2, k^4, k^8`` and C of `LARGEST_STEP`."""

LARGEST_STEP = np.array([1.0, 3.0, 10.0, 30.0])

RIDGE = 1e-3
"""Added to the diagonal of the landmarks' kernel matrix before it is inverted."""

LEAST_SHARE = 1e-3
"""Least share of a stored row that counts as not spanned by the landmarks."""

_LINE = 16
"""Kernel values of a line of the cache."""

_LEAST_GAIN = 1e-3
"""Least violation for which a step between two classes is made."""

STALE = 1000
"""Rows after which a stored row makes no more steps while the stream drifts."""

# log 2: what a stored row is worth halves in 500 rows
_FADING = 0.6931471805599453 / 500.0


class Machines(NamedTuple):
    """What the machines know.

    Parameters
    ----------
    support : SupportVectors
        Landmarks, then stored rows.
    alpha, late : float64 array of shape (machines, outputs, slots)
        Coefficients, and the sums of their steps times the third power of the step's row number.
    label : int64 array of shape (slots,)
    share : float64 array of shape (machines, slots)
        How much of a stored row its landmarks do not span.
    alive : int64 array of shape (machines,)
        1 for a machine that is still in the race.
    stored_at : int64 array of shape (slots,)
        Number of the row in a slot; no slots where the machines never heed the age of rows.
    drifting : int64 array of shape (1,)
        1 while old rows count less.
    counts : int64 array of shape (1,)
        Number of landmarks.
    key : uint64 array of shape (2,)
        Of the random numbers.
    inverse : float64 array of shape (machines, landmarks, landmarks)
        Inverses of the landmarks' kernel matrices; not part of the state.
    matrix : float32 array of shape (blocks of slots, slots, slots of a block)
        Values of the widest kernel between rows and all slots; not part of the state. A new row
        changes a line and a column: in blocks, both are in few pages of memory.
    """

    support: SupportVectors
    alpha: NDArray[np.float64]
    late: NDArray[np.float64]
    label: NDArray[np.int64]
    share: NDArray[np.float64]
    alive: NDArray[np.int64]
    stored_at: NDArray[np.int64]
    drifting: NDArray[np.int64]
    counts: NDArray[np.int64]
    key: NDArray[np.uint64]
    inverse: NDArray[np.float64]
    matrix: NDArray[np.float32]


@nested
def set_powers(alive: Any, k: Any, count: int, powers: Any) -> None:
    """Set ``powers[e]`` to the kernel values of each machine e that is alive."""
    first = _first_alive(alive)
    square_repeatedly(k[:count], first, powers[first])
    _square_up(alive, first, count, powers)


@nested
def set_scores(
    model: Any, powers: Any, count: int, cube: float, current: Any, mean: Any
) -> None:
    """Set the scores of each machine: by its coefficients, and by their mean over the rows so far.

    `cube` is the third power of the number of rows.
    """
    for e in range(model.alive.shape[0]):
        if model.alive[e]:
            values = powers[e, :count]
            for c in range(current.shape[1]):
                current[e, c] = vector_dot(values, model.alpha[e, c])
                mean[e, c] = current[e, c] - vector_dot(values, model.late[e, c]) / cube


@inlined
def margin_of(f: Any, y: int) -> float:
    """Return the score of the class less that of its best rival; of two classes, ``y f``."""
    if f.shape[0] == 1:
        return f[0] if y == 1 else -f[0]  # type: ignore[no-any-return]
    rival = -np.inf
    for c in range(f.shape[0]):
        if c != y and f[c] > rival:
            rival = f[c]
    return f[y] - rival  # type: ignore[no-any-return]


@inlined
def is_wrong(f: Any, y: int) -> bool:
    """Return whether the prediction is wrong: 0 is the second of two classes, ties the first."""
    if f.shape[0] == 1:
        return bool((f[0] >= 0.0) != (y == 1))
    best = 0
    for c in range(1, f.shape[0]):
        if f[c] > f[best]:
            best = c
    return bool(best != y)


@nested
def step(
    alpha: Any, late: Any, slot: int, f: Any, y: int, most: float, cube: float
) -> None:
    """Make the dual step of the stored row in a slot, whose kernel with itself is 1."""
    if f.shape[0] == 1:
        sign = 1.0 if y == 1 else -1.0
        size = sign * alpha[0, slot] + 1.0 - sign * f[0]
        change = sign * min(max(size, 0.0), most) - alpha[0, slot]
        alpha[0, slot] += change
        late[0, slot] += cube * change
        return
    up = -1
    down = -1
    highest = -np.inf
    lowest = np.inf
    for c in range(f.shape[0]):
        gain = (1.0 if c == y else 0.0) - f[c]
        bound = most if c == y else 0.0
        if alpha[c, slot] < bound and gain > highest:
            highest = gain
            up = c
        if gain < lowest:
            lowest = gain
            down = c
    if up < 0 or highest - lowest <= _LEAST_GAIN:
        return
    room = (most if up == y else 0.0) - alpha[up, slot]
    change = min(0.5 * (highest - lowest), room)
    alpha[up, slot] += change
    alpha[down, slot] -= change
    late[up, slot] += cube * change
    late[down, slot] -= cube * change


@nested
def keep(
    model: Any,
    budget: int,
    X: Any,
    i: int,
    size: float,
    y: int,
    t: int,
    space: Any,
) -> int:
    """Put row `i`, number `t`, among the stored rows; where they are full, fold one.

    The landmarks take on what is folded. Return the slot of the row.
    """
    support = model.support
    landmarks = model.counts[0]
    slot = support.counts[0]
    folds = slot - landmarks >= budget
    if folds:
        slot = _least_needed(model, t, space.share[0])
        _set_powers_of(model.matrix, model.alive, slot, landmarks, space.dropped)
    for e in range(model.alive.shape[0]):
        if model.alive[e]:
            values = space.powers[e, :landmarks]
            if folds:
                combine_lines_twice(
                    model.inverse[e],
                    values,
                    space.dropped[e],
                    space.share[0],
                    space.share[1],
                )
                _fold(model, e, slot, space.share[1])
            else:
                combine_lines(model.inverse[e], values, space.share[0])
            spanned = 0.0
            for a in range(landmarks):
                spanned += values[a] * space.share[0, a]
            model.share[e, slot] = max(LEAST_SHARE, 1.0 - spanned)
    if folds:
        take_out(support, slot)
    put(support, slot, X, i, size)
    model.label[slot] = y
    if model.stored_at.shape[0] > 0:
        model.stored_at[slot] = t
    for e in range(model.alpha.shape[0]):
        for c in range(model.alpha.shape[1]):
            model.alpha[e, c, slot] = 0.0
            model.late[e, c, slot] = 0.0
        space.powers[e, slot] = 1.0
    space.k[slot] = 1.0
    set_values(model.matrix, slot, support.counts[0], landmarks, space.k)
    return slot  # type: ignore[no-any-return]


@nested
def set_values(matrix: Any, slot: int, count: int, first: int, k: Any) -> None:
    """Set the kernel values of a slot with all others, and those of the others from `first` on."""
    for block in range((count + WIDTH - 1) // WIDTH):
        line = matrix[block, slot]
        for s in range(min(WIDTH, count - block * WIDTH)):
            line[s] = np.float32(k[block * WIDTH + s])
    column = slot % WIDTH
    lines = matrix[slot // WIDTH]
    for s in range(first, count):
        lines[s, column] = np.float32(k[s])


@nested
def _least_needed(model: Any, t: int, need: Any) -> int:
    """Return the slot of the stored row whose loss changes the machines least at row `t`."""
    landmarks = model.counts[0]
    count = model.support.counts[0]
    need[:count] = 0.0
    for e in range(model.alive.shape[0]):
        if model.alive[e]:
            add_squares(model.alpha[e], model.share[e], need[:count])
    if model.drifting[0]:
        for s in range(landmarks, count):
            need[s] *= exponential(-_FADING * float(t - model.stored_at[s]))
    stored = need[landmarks:]
    return landmarks + first_least(stored, count - landmarks)  # type: ignore[no-any-return]


@nested
def _fold(model: Any, e: int, slot: int, share: Any) -> None:
    """Give what machine e has for a stored row to the landmarks, each its share."""
    landmarks = model.counts[0]
    for c in range(model.alpha.shape[1]):
        for sums in (model.alpha[e, c], model.late[e, c]):
            _add_scaled(sums[:landmarks], sums[slot], share)


@nested
def _add_scaled(sums: Any, factor: float, numbers: Any) -> None:
    for a in range(sums.shape[0]):
        sums[a] += factor * numbers[a]


@nested
def _set_powers_of(matrix: Any, alive: Any, slot: int, count: int, powers: Any) -> None:
    """Do `set_powers` with the kernel values of a slot and the first `count` slots."""
    first = _first_alive(alive)
    for block in range((count + WIDTH - 1) // WIDTH):
        target = powers[first, block * WIDTH : (block + 1) * WIDTH]
        square_repeatedly(matrix[block, slot], first, target)
    _square_up(alive, first, count, powers)


@inlined
def _first_alive(alive: Any) -> int:
    first = 0
    while not alive[first]:
        first += 1
    return first


@inlined
def _square_up(alive: Any, first: int, count: int, powers: Any) -> None:
    """Set the powers of the machines that are alive after the first of them."""
    before = first
    for e in range(first + 1, alive.shape[0]):
        if alive[e]:
            square_repeatedly(powers[before, :count], e - before, powers[e])
            before = e


@inlined
def _drawn(model: Any, t: int, look: int, stored: Any) -> int:
    """Return the slot of the stored row that makes a step again as number `look` at row `t`."""
    number = np.uint64(t)
    low = number & np.uint64(0xFFFFFFFF)
    high = number >> np.uint64(32)
    words = philox(low, high, np.uint64(look), np.uint64(0), model.key[0], model.key[1])
    # The high half of the product: a division by 2^32, which needs no modulo.
    drawn = np.int64((words[0] * stored) >> np.uint64(32))
    return model.counts[0] + drawn  # type: ignore[no-any-return]


@nested
def fetch_drawn(model: Any, t: int, looks: int) -> None:
    """Fetch the kernel values that `replay` will need at row `t`, as most often it does.

    The matrix is larger than the caches, and the blocks of a line are too far apart for a
    processor to foresee them.
    """
    count = model.support.counts[0]
    stored = np.uint64(count - model.counts[0])
    if stored == 0:
        return
    for look in range(looks):
        slot = _drawn(model, t, look, stored)
        for block in range((count + WIDTH - 1) // WIDTH):
            line = model.matrix[block, slot]
            for s in range(0, WIDTH, _LINE):
                prefetch(line, np.uint64(s))


@nested
def replay(model: Any, t: int, looks: int, cube: float, powers: Any, f: Any) -> None:
    """Make `looks` steps on stored rows, drawn by the number of the row."""
    count = model.support.counts[0]
    stored = np.uint64(count - model.counts[0])
    if stored == 0:
        return
    for r in range(looks):
        slot = _drawn(model, t, r, stored)
        if model.drifting[0] and t - model.stored_at[slot] > STALE:
            continue
        _set_powers_of(model.matrix, model.alive, slot, count, powers)
        for e in range(model.alive.shape[0]):
            if model.alive[e]:
                for c in range(f.shape[0]):
                    f[c] = vector_dot(powers[e, :count], model.alpha[e, c])
                most = LARGEST_STEP[e]
                step(
                    model.alpha[e],
                    model.late[e],
                    slot,
                    f,
                    model.label[slot],
                    most,
                    cube,
                )


@nested
def invert(A: Any) -> None:
    """Replace a symmetric positive definite matrix by its inverse, by Cholesky's factors."""
    n = A.shape[0]
    L = np.zeros((n, n))
    for j in range(n):
        total = A[j, j]
        for m in range(j):
            total -= L[j, m] * L[j, m]
        L[j, j] = np.sqrt(total)
        for i in range(j + 1, n):
            total = A[i, j]
            for m in range(j):
                total -= L[i, m] * L[j, m]
            L[i, j] = total / L[j, j]
    # Columns of the inverse of L, then of the product of that with itself.
    G = np.zeros((n, n))
    for j in range(n):
        G[j, j] = 1.0 / L[j, j]
        for i in range(j + 1, n):
            total = 0.0
            for m in range(j, i):
                total -= L[i, m] * G[m, j]
            G[i, j] = total / L[i, i]
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for m in range(i, n):
                total += G[m, i] * G[m, j]
            A[i, j] = total
            A[j, i] = total
