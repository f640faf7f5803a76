"""Local online learning: hyperplanes around prototypes (Zhou et al., Pattern Recognition 51, 2016)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled
from olscale.compiled.dot import row_and_products, row_and_square, row_product
from olscale.compiled.intrinsics import borrowed, flat
from olscale.compiled.prototypes import add_then_multiply, add_to_prototype, row_space
from olscale.compiled.rows import add_row, borrowed_rows, row_scores, set_column
from olscale.compiled.simd.columns import LANES, aligned_zeros, lowest, padded
from olscale.errors import ParameterError
from olscale.learners.contract.class_axes import ClassAxes, class_axis
from olscale.learners.contract.class_shards import count_update
from olscale.learners.contract.learner import UNKNOWN, FloatArray, State
from olscale.learners.contract.one_pass import OnePassLearner
from olscale.learners.contract.parameters import Choice, Domain, Real, Whole
from olscale.learners.contract.usable_rows import unusable
from olscale.learners.offline_prototypes import offline_prototypes

__all__ = ["ILOL", "LOL", "place"]


# Prototypes are kept as sums S of shape (features, k), with the numbers of their members and the squared norms of the
# sums, so that one sweep over the features of a row gives its distance to all k: up to |x|^2 it is
# ``squares/n^2 - (2/n) near``, offset and slope of which change for one prototype a row. A first row of a prototype that
# the paper's count rule does not count has zero members. S has a few columns more than k, never touched, so that a
# row of it fills whole vectors and cache lines.


@compiled
def place(p: int, members: FloatArray, squares: FloatArray, offset: FloatArray, slope: FloatArray) -> None:
    """Set the terms of the distance to prototype `p`."""
    n = max(1.0, members[p])
    offset[p] = squares[p] / n / n
    slope[p] = 2.0 / n


@compiled
def _one_vs_all(f: FloatArray, label: int, C: float, square: float, step: FloatArray) -> bool:
    """Set the step of each class's own binary problem; False if none has a loss."""
    active = False
    for c in range(f.shape[0]):
        true = c if f.shape[0] > 1 else 1
        target = 1.0 if label == true else -1.0
        loss = max(0.0, 1.0 - target * f[c])
        step[c] = target * min(C, loss / square)
        active = active or loss > 0.0
    return active


@compiled
def _max_score(f: FloatArray, label: int, C: float, square: float, step: FloatArray) -> bool:
    """Set the steps of the true class, up, and of the best wrong one, down; False if they are a margin of 1 apart."""
    rival = 0 if label != 0 else 1
    for c in range(f.shape[0]):
        step[c] = 0.0
        if c != label and f[c] > f[rival]:
            rival = c
    loss = max(0.0, 1.0 - (f[label] - f[rival]))
    step[label] = min(C, loss / (2.0 * square))
    step[rival] = -step[label]
    return bool(loss > 0.0)


@compiled
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
    fixed: bool,
    max_score: bool,
    binary: bool,
    limits: Any,
    learning: bool,
    scores: FloatArray,
) -> None:
    """Assign each row to a prototype and score it; when `learning`, move the prototype first and the hyperplanes last."""
    X, W, U, S, scores = borrowed_rows(X), borrowed(W), borrowed(U), borrowed(S), borrowed(scores)
    low, high = limits
    k, outputs, end = U.shape[0], U.shape[2], scores.shape[0]
    local, step = np.empty(outputs), np.empty(outputs)
    size = (S.shape[1] + LANES - 1) // LANES * LANES
    near, offset, slope = np.zeros(size), np.full(size, np.inf), np.ones(size)
    w = flat(W)
    for p in range(k):
        if members[p] > 0.0 or (p < seen[0] and not fixed):
            place(p, members, squares, offset, slope)
    rows, one = row_space(X, S), S.dtype.type(1.0)
    late = -1  # prototype to which the row before is still to be added
    for i in range(scores.shape[0]):
        learns = learning and y[i] != UNKNOWN
        f, row, earlier = scores[i], rows[i & 1], rows[i & 1 ^ 1]
        f[:] = 0.0
        if inverse_lam > 0.0 and binary:
            square, f[0] = row_and_products(X, i, w, row)
        else:
            square = row_and_square(X, i, row)
            if inverse_lam > 0.0:
                row_scores(X, i, W, f)
        if not (low <= square <= high) and unusable(X, i, square, low, high):
            scores[i:] = np.nan
            end = i
            break
        add_then_multiply(X, i - 1, earlier, one, late, i, row, S, near)
        late = -1
        moving = learns and not fixed
        fresh = moving and seen[0] < k
        p = seen[0] if fresh else lowest(offset, slope, near)
        if moving:
            replaced = not fresh and members[p] == 0.0
            if replaced:
                set_column(X, i, S, p)
            else:
                late = p
            squares[p] = square if replaced else squares[p] + 2.0 * near[p] + square
            members[p] += first_counts if fresh else 1.0
            place(p, members, squares, offset, slope)
        if binary:  # one class of many, alone in its shard, is summed like the others
            local[0] = row_product(X, i, flat(U[p]))
        else:
            row_scores(X, i, U[p], local)
        for c in range(outputs):
            f[c] += local[c]
        if learns:
            seen[0] += 1
        if learns and square > 0.0:
            stacked = (1.0 + inverse_lam) * square
            label = y[i]
            active = _max_score(f, label, C, stacked, step) if max_score else _one_vs_all(f, label, C, stacked, step)
            if active:
                count_update(updates, i)
                add_row(X, i, U[p], step)
                if inverse_lam > 0.0:
                    for c in range(outputs):
                        step[c] *= inverse_lam
                    add_row(X, i, W, step)
    if late >= 0:
        last = end - 1
        add_to_prototype(X, last, rows[last & 1], one, S, late)


class _Local(OnePassLearner):
    """What LOL and I-LOL share: the sweep, the state and the prototypes."""

    k: int
    C: float
    multiclass: str
    prototypes: str
    count_rule: str
    dtype: str
    layout_exact = True
    takes_unknown = True
    checks_rows = True
    shared_domains: ClassVar[dict[str, Domain]] = {
        "C": Real(0.0, open_="low"),
        "k": Whole(1),
        "multiclass": Choice(("ova", "max-score")),
        "prototypes": Choice(("sequential", "offline")),
        "count_rule": Choice(("macqueen", "paper")),
        "dtype": Choice(("float64", "float32")),
    }

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers are gone through for a row: the distance to each prototype takes most."""
        return values * int(self.k) + super().row_numbers(columns, classes, values)

    def norm_limits(self) -> tuple[float, float]:
        """Return the least and the greatest squared norm of a row: products with prototypes are squares in `dtype`."""
        number = np.finfo(self.dtype)
        return float(number.tiny) / float(number.eps), float(number.max) * 2.0 ** (
            -80 if self.dtype == "float64" else -40
        )

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

    @property
    def looks_ahead(self) -> bool:
        """Whether the prototypes are fitted to the rows before the stream begins."""
        return self.prototypes == "offline"

    def prepare(self, X: Rows) -> None:
        """Fit the prototypes to the rows `X` by k-means; from then on they stay where they are."""
        if not self.looks_ahead:
            super().prepare(X)
        features, means = offline_prototypes(X, int(self.k), self._random())
        S, found = self.state_["S"], len(means)
        S[features, :found] = means.T
        self.state_["members"][:found] = 1.0
        self.state_["squares"][:found] = np.square(S[features, :found], dtype=np.float64).sum(axis=0)

    def class_axes(self, outputs: int) -> ClassAxes | None:
        """Return the axes of the hyperplanes, in the one-vs-all form; prototypes are shared by all classes."""
        if self.multiclass != "ova" or self.looks_ahead:
            return None
        return {"W": class_axis(1, outputs), "U": class_axis(2, outputs)}

    def _sweep(self, X: Rows, y: NDArray[np.int64], state: State, learning: bool, scores: FloatArray) -> None:
        if self.looks_ahead and len(scores) and not state["members"].any():
            raise ParameterError(
                f"learner {self.name}: prototypes = 'offline' are fitted to the rows before the first is learned from, and "
                "partial_fit sees only some of them; call fit, or prepare(X) after begin, or use prototypes = 'sequential'"
            )
        first_counts = 1.0 if self.count_rule == "macqueen" else 0.0
        planes = (state["W"], state["U"], state["S"])
        counts = (state["members"], state["squares"], state["seen"], state["updates"])
        max_score = self.multiclass == "max-score" and self._outputs > 1
        numbers = (float(self.C), self._inverse_lam(), first_counts)
        forms = (self.looks_ahead, max_score, self._classes <= 2)
        _sweep(X, y, *planes, *counts, *numbers, *forms, self.norm_limits(), learning, scores)

    @property
    def prototypes_(self) -> FloatArray:
        """Prototypes found so far, shape (at most k, n_features)."""
        counts, seen = self.state_["members"], int(self.state_["seen"][0])
        found = np.count_nonzero(counts) if self.looks_ahead else min(seen, len(counts))
        means: FloatArray = (self.state_["S"][:, :found] / np.maximum(counts[:found], 1.0)).T
        return means


class LOL(_Local):
    """Local online learning: a common hyperplane and one more around each prototype, learned together.

    The first k rows are the prototypes; later rows move the nearest one (sequential k-means). A row x with nearest
    prototype i scores ``f = (w + u_i).x``; with hinge loss l the step is ``eta = min(C, l / ((1 + 1/lam) |x|^2))``, then
    ``w += eta y x / lam`` and ``u_i += eta y x``: PA-I on a stacked row, ``x / sqrt(lam)`` first and x in the place of
    prototype i. More than two classes share the prototypes, and each has hyperplanes of its own.

    Parameters
    ----------
    k : int
        Number of prototypes.
    lam : float
        Lambda, weight of the common component: the larger, the less `w` moves; > 0.
    C : float
        Aggressiveness, the largest step; > 0.
    multiclass : {"ova", "max-score"}
        One binary problem a class; or the true class against the best wrong one, with the margin ``f_y - f_s`` and the step
        ``min(C, l / (2 (1 + 1/lam) |x|^2))``, up for the true class's hyperplanes and down for the other's.
    prototypes : {"sequential", "offline"}
        Sequential k-means as the rows come; or k-means before the stream, prototypes fixed from then on (section 5.4.5).
        With ``offline`` LOL is NOT one-pass: an evaluation first shows it the training rows without labels, or a uniform
        sample of 65,536 if there are more; `fit` shows it all of `X`, and `partial_fit` alone is refused.
    count_rule : {"macqueen", "paper"}
        Whether a prototype's first row counts in its mean (MacQueen), or is replaced by the first row assigned to it, as
        Algorithm 1 has it; without effect on offline prototypes.
    dtype : {"float64", "float32"}
        Precision of hyperplanes and prototype sums. Scores are summed in float64 in both; the products with the
        prototypes are summed in this precision, each rounded together with its sum, so a row about equally near to two may
        go to the other with float32.

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
    version = 3
    domains: ClassVar[dict[str, Domain]] = {**_Local.shared_domains, "lam": Real(0.0, np.inf, open_="both")}

    def __init__(
        self,
        k: int = 60,
        lam: float = 1.0,
        C: float = 1.0,
        multiclass: str = "ova",
        prototypes: str = "sequential",
        count_rule: str = "macqueen",
        dtype: str = "float64",
    ) -> None:
        self.k = k
        self.lam = lam
        self.C = C
        self.multiclass = multiclass
        self.prototypes = prototypes
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
    multiclass : {"ova", "max-score"}
        As in `LOL`, with ``|x|^2`` for ``(1 + 1/lam) |x|^2``.
    prototypes : {"sequential", "offline"}
        As in `LOL`; with ``offline`` I-LOL is NOT one-pass.
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
    version = 3
    domains: ClassVar[dict[str, Domain]] = _Local.shared_domains

    def __init__(
        self,
        k: int = 60,
        C: float = 1.0,
        multiclass: str = "ova",
        prototypes: str = "sequential",
        count_rule: str = "macqueen",
        dtype: str = "float64",
    ) -> None:
        self.k = k
        self.C = C
        self.multiclass = multiclass
        self.prototypes = prototypes
        self.count_rule = count_rule
        self.dtype = dtype
