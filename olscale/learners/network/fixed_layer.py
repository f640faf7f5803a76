"""Learners with a fixed layer of features, and recursive least squares on these features.

All settings in one pass share the features.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, rows_of, slice_rows
from olscale.compiled.half_matrix import half_of_diagonal
from olscale.compiled.simd.triangle import PANEL, packed_size
from olscale.compiled.simd.vectors import fill_vectors
from olscale.errors import DivergedError
from olscale.learners.contract.capability import targets_of
from olscale.learners.contract.estimator import OnePass
from olscale.learners.contract.fused_settings import FusedSettings, FusesSettings
from olscale.learners.contract.learner import (
    UNKNOWN,
    FloatArray,
    Learner,
    State,
    array_of,
    frobenius_norm,
    score_columns,
)
from olscale.learners.contract.merged_sums import MergesSums
from olscale.learners.contract.parameters import Real, Whole, param
from olscale.learners.linear.feature_pairs import PairsFeatures
from olscale.learners.linear.rls_loop import FINE, LOST, why_broken
from olscale.learners.network.least_squares_loop import (
    MOST_PENDING,
    LeastSquares,
    learn_features,
    solve,
)
from olscale.learners.network.product_sums import (
    end_products,
    no_products,
    packed,
    put,
    room,
)
from olscale.system.blas import one_blas_thread


class FusedLayers(FusedSettings):
    """Settings with one layer, each with its own weights and P.

    Examples
    --------
    >>> from olscale.learners.network.oselm import OSELM
    >>> learners = [OSELM(nodes=4, lam=lam) for lam in (0.1, 1.0)]
    >>> for learner in learners:
    ...     learner.begin(columns=2, classes=2)
    >>> fused = learners[0].fuse(learners)
    >>> [scores.round(2).tolist() for scores in fused.learn(np.eye(2), np.array([0, 1]))]
    [[[0.0], [-1.24]], [[0.0], [-0.65]]]
    """

    def __init__(self, learners: Sequence[Learner]) -> None:
        # all have one layer: `grid_key` guarantees it
        self._learners: list[Any] = list(learners)
        self.task = learners[0].task
        self._ends: list[DivergedError | None] = [None] * len(learners)

    def learn(
        self, X: Rows, y: NDArray[Any], weights: FloatArray | None = None
    ) -> list[FloatArray | DivergedError]:
        # Rows after the one at which a setting ends stay NaN.
        rows = rows_of(X)
        scores = [
            np.full((rows, learner._outputs), np.nan) for learner in self._learners
        ]
        active = [n for n, end in enumerate(self._ends) if end is None]
        layer = self._learners[0]
        for first, Z, T in layer.featured_rows(X, y, layer.state_):
            for n in tuple(active):
                learner = self._learners[n]
                try:
                    fine = learner.learn_featured(
                        first, Z, T, learner.state_, scores[n], weights
                    )
                except DivergedError as error:
                    fine = False
                    self._ends[n] = error
                if not fine:
                    active.remove(n)
        return [
            end or setting_scores
            for end, setting_scores in zip(self._ends, scores, strict=True)
        ]

    def release(self) -> None:
        """Do nothing: each setting learns in its own arrays, which are up to date."""


_AT_ONCE = 256  # rows whose features are in memory at a time

_BEHIND = {"lam", "forget", "block", "start", "N0"}
"""Parameters on which no feature depends."""


class FixedLayer(PairsFeatures, OnePass, MergesSums, FusesSettings):
    """Base of learners with a fixed layer, for any task; a subclass gives the features.

    Settings with the same features share a pass: each keeps its own P and weights.

    Where only the final model counts, it is computed from the sums of all rows at once instead of
    along the stream.

    The targets are 1 and -1 for classes, with one output for two of them. After each block of rows
    the weights are the ridge solution of all rows so far.
    """

    layout_exact = True
    takes_unknown = True

    lam: float = param(0.01, Real(0.0, open_="low"), "Ridge penalty.")
    forget: float = param(
        1.0,
        Real(0.0, 1.0, open_="low"),
        "Weight of a row after each row that follows; 1 forgets nothing.",
    )
    block: int = param(
        1,
        Whole(1),
        "Rows that are learned together, counted from the first row: those of a block are "
        "predicted by the model before it.",
    )

    @abstractmethod
    def _count(self, columns: int) -> int:
        """Return the number of features of a row with `columns` columns."""

    @abstractmethod
    def _set_features(self, X: Rows, state: State, Z: FloatArray) -> None:
        """Set the first columns of `Z`, shape (rows, width), to features of rows; the rest is 0."""

    def gathered_rows(self) -> int:
        """Return how many rows come before the first solution."""
        return 0

    def start_rows(self, apart: bool) -> tuple[int, str]:
        """Return the rows per block: nothing is predicted before the first block is full."""
        del apart
        return int(self.block), "take a smaller block"

    def cheaper(self) -> str:
        """Return how to avoid a large matrix."""
        return "take fewer features"

    def _columns_of(self, classes: int) -> int:
        return max(score_columns(classes), targets_of(self))

    def state_bytes(self, columns: int, classes: int) -> int:
        width = fill_vectors(self._count(columns))
        return 8 * (
            packed_size(width)
            + (1 + MOST_PENDING + int(self.block) + self._columns_of(classes)) * width
        )

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through: half of the matrix, features and scores."""
        count = self._count(columns)
        return 0.4 * count * (values + 1.75 * count + 2.0 * self._columns_of(classes))

    def score_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers features and scores go through."""
        return 0.4 * self._count(columns) * (values + 2.0 * self._columns_of(classes))

    def _allocate(self, columns: int, outputs: int) -> State:
        count = self._count(columns)
        block = int(self.block)
        width = fill_vectors(count)
        # The first block is solved by itself, without a ridge.
        if self.gathered_rows():
            start = 0.0
        else:
            start = 1.0 / float(self.lam)
        # Padding up to full vectors has variance 0, so that it stays 0.
        diagonal = np.where(np.arange(width) < count, start, 0.0)
        precision = float(np.finfo(np.float64).eps)
        return {
            "W": np.zeros((outputs, width)),
            "half": half_of_diagonal(diagonal),
            "variances": np.full(count, start),
            "pending": np.zeros((MOST_PENDING, width)),
            "waiting": np.zeros((block, width)),
            "targets": np.zeros((block, outputs)),
            "counts": np.zeros(2, dtype=np.int64),
            "limits": np.array([1.0, start / precision]),
        }

    def _pass(
        self,
        X: Rows,
        y: NDArray[Any],
        state: State,
        learning: bool,
        scores: FloatArray,
        weights: FloatArray | None = None,
    ) -> None:
        for first, Z, T in self.featured_rows(X, y if learning else None, state):
            if not self.learn_featured(first, Z, T, state, scores, weights):
                break

    def featured_rows(
        self, X: Rows, y: NDArray[Any] | None, state: State
    ) -> Iterator[tuple[int, FloatArray, FloatArray]]:
        """Yield a row number with features and targets from there on; NaN targets without `y`."""
        self._check_ready(X)
        rows = rows_of(X)
        # an empty chunk compiles the loops
        for first in range(0, max(1, rows), _AT_ONCE):
            stop = min(rows, first + _AT_ONCE)
            Z = np.zeros((stop - first, state["W"].shape[1]))
            T = np.full((stop - first, self._outputs), np.nan)
            self._set_features(slice_rows(X, first, stop), state, Z)
            if y is not None:
                _set_targets(y[first:stop], T)
            yield first, Z, T

    def learn_featured(
        self,
        first: int,
        Z: FloatArray,
        T: FloatArray,
        state: State,
        scores: FloatArray,
        weights: FloatArray | None,
    ) -> bool:
        """Score rows from `first` on, and learn those with targets; False where learning ended.

        Raises
        ------
        DivergedError
            If learning ends at a row for another reason than its scores.
        """
        some = scores[first : first + len(Z)]
        # Views of the state: the loop learns in place.
        model = LeastSquares(**{name: state[name] for name in LeastSquares._fields})
        more = float(self.forget), self.gathered_rows(), state["seen"], state["updates"]
        own_weights = array_of(weights)[first : first + len(Z)]
        reason, i = learn_features(Z, T, model, *more, some, own_weights)
        if reason == FINE:
            return True
        # A row without a score has ended the run before, and has its own message.
        if np.isfinite(scores[: first + i + 1]).all():
            raise DivergedError(
                why_broken(reason, float(self.forget), ""), int(state["seen"][0]) - 1
            )
        scores[first + i :] = np.nan  # an earlier row ended the run
        return False

    def grid_key(self) -> object:
        """Return what the features depend on."""
        layer = {
            name: value
            for name, value in self.resolved_params().items()
            if name not in _BEHIND
        }
        return type(self), tuple(layer.items())

    def fuse(self, learners: Sequence[Learner]) -> FusedSettings:
        for learner in learners[1:]:
            assert isinstance(learner, FixedLayer)
            learner._share_layer(self)
        return FusedLayers(learners)

    def _share_layer(self, other: Any) -> None:
        """Share the layer of `other`, which is the same as this learner's own."""
        for name in self.state_.keys() - {"seen", "updates", *LeastSquares._fields}:
            if not np.array_equal(self.state_[name], other.state_[name]):
                raise ValueError(
                    f"learner {self.name}: settings that share a pass differ in {name} of their "
                    "features"
                )
            self.state_[name] = other.state_[name]

    @property
    def mergeable(self) -> bool:
        """Whether all rows have the same weight, from the first on."""
        return float(self.forget) == 1.0 and not self.gathered_rows()

    def sums_key(self) -> object:
        return self.grid_key()

    def no_sums(self) -> State:
        return no_products(self.state_["W"].shape[1], self._outputs)

    def add_rows(
        self, X: Rows, y: NDArray[Any], sums: State, weights: FloatArray | None = None
    ) -> None:
        self._check_ready(X)
        first = 0
        with one_blas_thread():
            while first < len(y):
                Z, T = room(sums)
                count = min(len(Z), len(y) - first)
                T[:count] = np.nan
                self._set_features(
                    slice_rows(X, first, first + count), self.state_, Z[:count]
                )
                _set_targets(y[first : first + count], T[:count])
                if weights is not None:
                    # Both factors of a product have the root, so that the product has the weight.
                    roots = np.sqrt(weights[first : first + count])[:, np.newaxis]
                    Z[:count] *= roots
                    T[:count] *= roots
                put(sums, count)
                first += count

    def end_sums(self, sums: State) -> State:
        return end_products(sums)

    def take_sums(self, sums: State) -> None:
        state = self.state_
        rows = int(sums["rows"][0])
        products = sums["products"]
        count = len(state["variances"])
        limit = float(state["limits"][1])
        # `solve` expects minus the products, with the regularisation included.
        products[np.arange(count), np.arange(count)] += float(self.lam)
        state["half"][:] = -packed(products, PANEL)
        state["W"][:] = sums["targets"]
        state["seen"][0] = state["updates"][0] = rows
        reason = solve(
            LeastSquares(**{name: state[name] for name in LeastSquares._fields})
        )
        if reason != FINE:
            raise DivergedError(why_broken(LOST, 1.0, ""), rows - 1)
        state["limits"][1] = limit

    def _can_continue(self) -> bool:
        pending, waiting = self.state_["counts"].tolist()
        if self.state_["seen"][0] < self.gathered_rows():
            most_pending = MOST_PENDING - 1
        else:
            most_pending = MOST_PENDING
        fits = 0 <= pending <= most_pending and 0 <= waiting < int(self.block)
        return fits and super()._can_continue()

    def _check_ready(self, X: Rows) -> None:
        """Refuse rows if the learner must see other rows first."""

    def measures(self) -> dict[str, float]:
        """Return the shared measures and `norm_w`, the norm of the weights."""
        return {**super().measures(), "norm_w": frobenius_norm(self.state_["W"])}


def _set_targets(y: NDArray[Any], T: FloatArray) -> None:
    """Set `T`, filled with NaN, to the targets of rows with known class codes or targets `y`."""
    if y.dtype.kind == "f":
        T[:] = y.reshape(T.shape)
    elif T.shape[1] == 1:
        signs = np.where(y == 1, 1.0, -1.0)
        np.copyto(T[:, 0], signs, where=y != UNKNOWN)
    else:
        rows = np.flatnonzero(y != UNKNOWN)
        T[rows] = -1.0
        T[rows, y[rows]] = 1.0
