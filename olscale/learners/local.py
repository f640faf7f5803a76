"""Local online learning: hyperplanes around prototypes (Zhou et al., Pattern Recognition 51, 2016)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.data.chunk import Rows
from olscale.jit import flat, kernel
from olscale.learners.base import FloatArray, State
from olscale.learners.domain import Choice, Domain, Real, Whole
from olscale.learners.lanes import LANES, aligned_zeros, lowest, padded
from olscale.learners.rows import (
    add_column,
    add_column_score,
    add_row,
    column_sums,
    row_scores,
    set_column,
)
from olscale.learners.sweep import SweepLearner

__all__ = ["ILOL", "LOL"]


# Prototypes are kept as sums S of shape (features, k), with the numbers of their members and the squared norms of the
# sums, so that one sweep over the features of a row gives its distance to all k: up to |x|^2 it is
# ``squares/n^2 - (2/n) near``, offset and slope of which change for one prototype a row. A first row of a prototype that
# the paper's count rule does not count has zero members. S has a few columns more than k, never touched, so that a
# row of it fills whole vectors and cache lines.


@kernel
def _place(p: int, members: FloatArray, squares: FloatArray, offset: FloatArray, slope: FloatArray) -> None:
    """Set the terms of the distance to prototype `p`."""
    n = max(1.0, members[p])
    offset[p] = squares[p] / n / n
    slope[p] = 2.0 / n


@kernel
def _sweep(
    X: Any,
    y: NDArray[np.int64],
    W: Any,
    U: Any,
    S: Any,
    members: FloatArray,
    squares: FloatArray,
    seen: NDArray[np.int64],
    updates: NDArray[np.int64],
    C: float,
    inverse_lam: float,
    first_counts: float,
    learning: bool,
    scores: FloatArray,
) -> None:
    """Assign each row to a prototype and score it; when `learning`, move the prototype first and the hyperplanes last."""
    k, outputs = U.shape[0], U.shape[2]
    local, step = np.empty(outputs), np.empty(outputs)
    size = (S.shape[1] + LANES - 1) // LANES * LANES
    near, offset, slope = np.zeros(size), np.full(size, np.inf), np.ones(size)
    w = flat(W) if inverse_lam > 0.0 else flat(U)
    for p in range(min(seen[0], k)):
        _place(p, members, squares, offset, slope)
    for i in range(scores.shape[0]):
        f = scores[i]
        square, common = column_sums(X, i, S, near, w)
        if inverse_lam > 0.0 and outputs > 1:
            row_scores(X, i, W, f)
        else:
            f[:] = common if inverse_lam > 0.0 else 0.0
        fresh = learning and seen[0] < k
        p = seen[0] if fresh else lowest(offset, slope, near)
        if learning:
            replaced = not fresh and members[p] == 0.0
            if replaced:
                set_column(X, i, S, p)
            elif outputs == 1:
                local[0] = add_column_score(X, i, S, p, U[p])
            else:
                add_column(X, i, S, p, 1.0)
            squares[p] = square if replaced else squares[p] + 2.0 * near[p] + square
            members[p] += first_counts if fresh else 1.0
            _place(p, members, squares, offset, slope)
            seen[0] += 1
            if replaced or outputs > 1:
                row_scores(X, i, U[p], local)
        else:
            row_scores(X, i, U[p], local)
        for c in range(outputs):
            f[c] += local[c]
        if learning and square > 0.0:
            active = False
            for c in range(outputs):
                true = c if outputs > 1 else 1
                target = 1.0 if y[i] == true else -1.0
                loss = max(0.0, 1.0 - target * f[c])
                step[c] = target * min(C, loss / ((1.0 + inverse_lam) * square))
                active = active or loss > 0.0
            if active:
                updates[0] += 1
                add_row(X, i, U[p], step)
                if inverse_lam > 0.0:
                    for c in range(outputs):
                        step[c] *= inverse_lam
                    add_row(X, i, W, step)


class _Local(SweepLearner):
    """What LOL and I-LOL share: the sweep, the state and the count rule."""

    k: int
    C: float
    count_rule: str
    dtype: str
    shared_domains: ClassVar[dict[str, Domain]] = {
        "C": Real(0.0, open_="low"),
        "k": Whole(1),
        "count_rule": Choice(("macqueen", "paper")),
        "dtype": Choice(("float64", "float32")),
    }

    def _inverse_lam(self) -> float:
        """Return ``1/lambda``; 0 leaves the common component out."""
        return 0.0

    def _allocate(self, columns: int, outputs: int) -> State:
        k, common = int(self.k), columns if self._inverse_lam() > 0.0 else 0
        return {
            "W": aligned_zeros((common, outputs), self.dtype),
            "U": aligned_zeros((k, columns, outputs), self.dtype),
            "S": aligned_zeros((columns, padded(k)), self.dtype),
            "members": np.zeros(k),
            "squares": np.zeros(k),
        }

    def _sweep(self, X: Rows, y: NDArray[np.int64], state: State, learning: bool, scores: FloatArray) -> None:
        first_counts = 1.0 if self.count_rule == "macqueen" else 0.0
        planes = (state["W"], state["U"], state["S"])
        counts = (state["members"], state["squares"], state["seen"], state["updates"])
        _sweep(X, y, *planes, *counts, float(self.C), self._inverse_lam(), first_counts, learning, scores)

    def prototypes(self) -> FloatArray:
        """Return the prototypes seen so far, shape (at most k, n_features)."""
        counts = np.maximum(self.state_["members"], 1.0)
        seen = min(int(self.state_["seen"][0]), len(counts))
        means: FloatArray = (self.state_["S"][:, :seen] / counts[:seen]).T
        return means


class LOL(_Local):
    """Local online learning: a common hyperplane and one more around each prototype, learned together.

    The first k rows are the prototypes; later rows move the nearest one (sequential k-means). A row x with nearest
    prototype i scores ``f = (w + u_i).x``; with hinge loss l the step is ``eta = min(C, l / ((1 + 1/lam) |x|^2))``, then
    ``w += eta y x / lam`` and ``u_i += eta y x``. More than two classes: one-vs-all, prototypes shared by all classes.

    Parameters
    ----------
    k : int
        Number of prototypes.
    lam : float
        Lambda, weight of the common component: the larger, the less `w` moves; > 0.
    C : float
        Aggressiveness, the largest step; > 0.
    count_rule : {"macqueen", "paper"}
        Whether a prototype's first row counts in its mean (MacQueen), or is replaced by the first row assigned to it, as
        Algorithm 1 has it.
    dtype : {"float64", "float32"}
        Precision of hyperplanes and prototype sums. Scores are summed in float64 in both; the products with the
        prototypes are summed in this precision, so a row about equally near to two may go to the other with float32.

    Notes
    -----
    State: ``(k outputs + k' + outputs) d`` numbers for d features, k' being k rounded up to a multiple of 16 (above 8).
    Cost of a row: O(k d), or O(k nnz) for a sparse row.
    Two slips of the paper are mended here: eq. (18) lacks the label, and Algorithm 1 gives the dimension kd for (k+1)d.

    References
    ----------
    Z. Zhou, W.-S. Zheng, J.-F. Hu, Y. Xu, J. You, One-pass online learning: a local approach, Pattern Recognition 51,
    2016: Algorithm 1, eqs. (11)-(20).

    Examples
    --------
    XOR is beyond a hyperplane, but not beyond four.

    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> LOL(k=4).fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "lol"
    domains: ClassVar[dict[str, Domain]] = {**_Local.shared_domains, "lam": Real(0.0, np.inf, open_="both")}

    def __init__(
        self,
        k: int = 60,
        lam: float = 1.0,
        C: float = 1.0,
        count_rule: str = "macqueen",
        dtype: str = "float64",
    ) -> None:
        self.k = k
        self.lam = lam
        self.C = C
        self.count_rule = count_rule
        self.dtype = dtype

    def _inverse_lam(self) -> float:
        return 1.0 / float(self.lam)


class ILOL(_Local):
    """Independent local online learning: LOL without the common component (``w = 0``).

    Parameters
    ----------
    k : int
        Number of prototypes.
    C : float
        Aggressiveness, the largest step ``min(C, l / |x|^2)``; > 0.
    count_rule : {"macqueen", "paper"}
        As in `LOL`.
    dtype : {"float64", "float32"}
        As in `LOL`.

    References
    ----------
    Zhou et al., Pattern Recognition 51, 2016: section 3.1, I-LOL.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> ILOL(k=4).fit(np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "ilol"
    domains: ClassVar[dict[str, Domain]] = _Local.shared_domains

    def __init__(self, k: int = 60, C: float = 1.0, count_rule: str = "macqueen", dtype: str = "float64") -> None:
        self.k = k
        self.C = C
        self.count_rule = count_rule
        self.dtype = dtype
