"""The linear expert of kernel machines: PA-I on rows ``(x, 1)`` of length 1.

Lengths are passed, since the callers know them; rows are sparse. ``W[feature, output]`` has the
weight of the constant 1 in its last line. `late` has the sums of the steps of `W`, each times a
power of its row number; the mean of the weights over the stream follows from them. Where no mean is
wanted, `late` has no lines.
"""

from typing import Any

from olscale.compiled.decorator import nested
from olscale.learners.kernel.replay_machine import margin_of


@nested
def score_unit_row(X: Any, i: int, W: Any, length: float, f: Any) -> None:
    """Set the scores of row `i`, ``(x, 1) W / length``."""
    features = W.shape[0] - 1
    if f.shape[0] == 1:
        # A sum of its own stays in a register, one in an array does not.
        total = 0.0
        for p in range(X.indptr[i], X.indptr[i + 1]):
            total += X.data[p] * W[X.indices[p], 0]
        f[0] = (total + W[features, 0]) / length
        return
    for c in range(f.shape[0]):
        f[c] = 0.0
    for p in range(X.indptr[i], X.indptr[i + 1]):
        x = X.data[p]
        for c in range(f.shape[0]):
            f[c] += x * W[X.indices[p], c]
    for c in range(f.shape[0]):
        f[c] = (f[c] + W[features, c]) / length


@nested
def learn_unit_row(
    X: Any,
    i: int,
    W: Any,
    late: Any,
    length: float,
    most: float,
    power: float,
    f: Any,
    y: int,
) -> None:
    """Make the step of PA-I, at most `most`, on row `i` with scores `f`."""
    loss = 1.0 - margin_of(f, y)
    if not loss > 0.0:
        return
    if f.shape[0] == 1:
        size = min(most, loss) / length
        _add_step(X, i, W, late, 0, size if y == 1 else -size, power)
        return
    rival = 1 if y == 0 else 0
    for c in range(f.shape[0]):
        if c != y and f[c] > f[rival]:
            rival = c
    size = min(most, 0.5 * loss) / length
    _add_step(X, i, W, late, y, size, power)
    _add_step(X, i, W, late, rival, -size, power)


@nested
def _add_step(
    X: Any, i: int, W: Any, late: Any, c: int, size: float, power: float
) -> None:
    last = W.shape[0] - 1
    for p in range(X.indptr[i], X.indptr[i + 1]):
        W[X.indices[p], c] += size * X.data[p]
    W[last, c] += size
    if late.shape[0] > 0:
        for p in range(X.indptr[i], X.indptr[i + 1]):
            late[X.indices[p], c] += power * (size * X.data[p])
        late[last, c] += power * size
