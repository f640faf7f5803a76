"""The loop of recursive least squares on features, with several outputs, by rows or blocks.

P is a scalar times a matrix, half of which is kept. What a row subtracts from the matrix waits
until 16 rows have done so: a row then only reads the matrix, and one pass applies the updates of 16
rows. All of that is in the state, so bits do not depend on the split of a stream.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled, nested
from olscale.compiled.dot import vector_dot
from olscale.compiled.half_matrix import invert, multiply, place, subtract
from olscale.compiled.rows import weight_of
from olscale.learners.contract.learner import FloatArray
from olscale.learners.linear.rls_loop import (
    FINE,
    GREW,
    LARGE_SCALE,
    LOST,
    NOT_FINITE,
    SINGULAR,
)

MOST_PENDING = 16
_EPS = 2.0**-52


# With several hundred features a row is bound by passes over P. The textbook update reads and
# writes all of P for every row, and loses symmetry with forgetting.
class LeastSquares(NamedTuple):
    """The state of the output weights, for `width` features; the last few may be 0 to fill vectors.

    Parameters
    ----------
    W : float64 array of shape (outputs, width)
        Weights; sums of products with the targets before the first solution.
    half : float64 array
        Half of ``P / scale``, without the pending updates; before the first solution, half of minus
        the sums of products.
    variances : float64 array of shape (features,)
        Diagonal of ``P / scale``.
    pending : float64 array of shape (16, width)
        Vectors h whose ``h h'`` is still to be subtracted.
    waiting, targets : float64 arrays of shape (block, width) and (block, outputs)
        Rows of a block that is not yet full.
    counts : int64 array of shape (2,)
        Numbers of pending vectors and of waiting rows.
    limits : float64 array of shape (2,)
        `scale`, and the variance beyond which there are no digits.
    """

    W: NDArray[np.float64]
    half: NDArray[np.float64]
    variances: NDArray[np.float64]
    pending: NDArray[np.float64]
    waiting: NDArray[np.float64]
    targets: NDArray[np.float64]
    counts: NDArray[np.int64]
    limits: NDArray[np.float64]


@compiled
def learn_features(
    Z: Any,
    T: Any,
    model: Any,
    forget: float,
    gathered: int,
    seen: Any,
    updates: Any,
    scores: FloatArray,
    weights: Any,
) -> tuple[int, int]:
    """Learn rows of features `Z` with targets `T`; return the breakdown, if any, and its row.

    For the first `gathered` rows only sums are kept, and their scores are 0. A row of weight w is
    learned as ``sqrt(w)`` times its features and targets: the square of its error is w times as
    large.
    """
    W = model.W
    waiting = model.waiting
    targets = model.targets
    counts = model.counts
    outputs, width = W.shape
    G = np.empty((MOST_PENDING, width))
    for i in range(T.shape[0]):
        for c in range(outputs):
            # Before the first solution `W` holds sums of products, not weights.
            if seen[0] >= gathered:
                scores[i, c] = vector_dot(Z[i], W[c])
            else:
                scores[i, c] = 0.0
        # An unknown target: the row is scored only.
        if np.isnan(T[i, 0]):
            continue
        seen[0] += 1
        updates[0] += 1
        reason = FINE
        # Both features and targets take the root, so that squares of errors take the weight.
        root = np.sqrt(weight_of(weights, i))
        if seen[0] <= gathered:
            _gather(Z[i], T[i], root, model)
            if seen[0] == gathered:
                reason = solve(model)
        else:
            # A block is learned when it is full, however the stream is cut into chunks.
            at = counts[1]
            for j in range(width):
                waiting[at, j] = root * Z[i, j]
            for c in range(outputs):
                targets[at, c] = root * T[i, c]
            counts[1] += 1
            if counts[1] == waiting.shape[0]:
                reason = _learn_block(model, forget, G)
        if reason != FINE:
            return reason, i
    return FINE, -1


@nested
def _flush(model: Any) -> None:
    """Subtract what is pending; read the variances from the matrix, as separate sums drift."""
    variances = model.variances
    width = model.W.shape[1]
    subtract(model.half, model.pending, model.counts[0])
    model.counts[0] = 0
    for j in range(variances.shape[0]):
        variances[j] = model.half[place(width, j, j)]


@nested
def _gather(z: Any, t: Any, root: float, model: Any) -> None:
    W = model.W
    pending = model.pending
    counts = model.counts
    outputs, width = W.shape
    for c in range(outputs):
        for j in range(width):
            W[c, j] += (root * t[c]) * (root * z[j])
    for j in range(width):
        pending[counts[0], j] = root * z[j]
    counts[0] += 1
    if counts[0] == MOST_PENDING:
        _flush(model)


@compiled
def solve(model: Any) -> int:
    """Turn sums (minus products of features, and products with targets) into P and the weights."""
    W = model.W
    half = model.half
    variances = model.variances
    limits = model.limits
    outputs, width = W.shape
    _flush(model)
    for n in range(half.shape[0]):
        # Rows were subtracted while they were gathered, with the code that later updates use.
        half[n] = -half[n]
    if not invert(half, variances.shape[0], width):
        return SINGULAR
    sums = W.copy()
    multiply(half, sums, outputs, W)
    limits[0] = 1.0
    limits[1] = 0.0
    for j in range(variances.shape[0]):
        variances[j] = half[place(width, j, j)]
        # A variance that has grown by this factor leaves no digits to the others.
        limits[1] = max(limits[1], variances[j] / _EPS)
        if not (0.0 < variances[j] < np.inf):
            return SINGULAR
    return FINE


@nested
def _learn_block(model: Any, forget: float, G: Any) -> int:
    """Learn the waiting rows, at most 16 between two passes over the matrix."""
    waiting = model.waiting
    counts = model.counts
    reason = FINE
    for first in range(0, waiting.shape[0], MOST_PENDING):
        count = min(MOST_PENDING, waiting.shape[0] - first)
        # Only at most 16 vectors may wait, or `pending` would overflow.
        if counts[0] + count > MOST_PENDING:
            _flush(model)
        # One pass over the matrix serves all these rows: each then corrects its own product.
        multiply(model.half, waiting[first : first + count], count, G)
        for r in range(count):
            # Later rows of the block are learned even so; the most serious reason is reported.
            reason = max(
                reason,
                _learn_row(
                    waiting[first + r], model.targets[first + r], G[r], forget, model
                ),
            )
            if model.limits[0] > LARGE_SCALE:
                _multiply_scale(model, G, r + 1, count)
    counts[1] = 0
    return reason


@nested
def _learn_row(z: Any, t: Any, g: Any, forget: float, model: Any) -> int:
    """Learn a row whose product with the matrix is `g`, without the pending updates."""
    W = model.W
    pending = model.pending
    variances = model.variances
    counts = model.counts
    limits = model.limits
    outputs, width = W.shape
    for q in range(counts[0]):
        # What waits is subtracted from the product, as if from the matrix.
        share = vector_dot(z, pending[q])
        for j in range(width):
            g[j] -= share * pending[q, j]
    variance = limits[0] * vector_dot(z, g)
    share = limits[0] / (forget + variance)
    reason = FINE
    # Written so that NaN fails it.
    if not (variance < np.inf):
        reason = NOT_FINITE
    elif variance < 0.0:
        reason = LOST
    for c in range(outputs):
        step = share * (t[c] - vector_dot(z, W[c]))
        if not np.isfinite(step):
            reason = max(reason, NOT_FINITE)
        for j in range(width):
            W[c, j] += step * g[j]
    root = np.sqrt(share)
    h = pending[counts[0]]
    for j in range(width):
        h[j] = root * g[j]
    counts[0] += 1
    # Forgetting divides all of P: the scale takes it, the matrix is not touched.
    limits[0] /= forget
    for j in range(variances.shape[0]):
        variances[j] -= h[j] * h[j]
        if not (variances[j] > 0.0):
            reason = max(reason, LOST)
        if forget < 1.0 and limits[0] * variances[j] > limits[1]:
            reason = max(reason, GREW)
    return reason


@nested
def _multiply_scale(model: Any, G: Any, first: int, stop: int) -> None:
    """Multiply the scale into the matrix and into products with it that are still needed."""
    half = model.half
    pending = model.pending
    variances = model.variances
    scale = model.limits[0]
    # h h' is what counts, so h takes the root of the scale.
    root = np.sqrt(scale)
    for n in range(half.shape[0]):
        half[n] *= scale
    for q in range(model.counts[0]):
        for j in range(pending.shape[1]):
            pending[q, j] *= root
    for r in range(first, stop):
        for j in range(G.shape[1]):
            G[r, j] *= scale
    for j in range(variances.shape[0]):
        variances[j] *= scale
    model.limits[0] = 1.0
