"""Learners that learn blocks of rows by linear algebra; rows that wait for a block are state."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.components import Components, no_components
from olscale.compiled.csr import CSR, Rows, read_only_csr, rows_of, slice_rows, to_dense
from olscale.learners.contract.cost import EstimatesCost, require_memory
from olscale.learners.contract.estimator import Classifier
from olscale.learners.contract.learner import UNKNOWN, FloatArray, State
from olscale.learners.contract.parameters import Whole, param
from olscale.system.blas import one_blas_thread

BLOCK_NUMBERS = 1e6
"""Numbers whose processing takes as long as the fixed cost of a block: a decomposition in NumPy."""


class BlockLearner(Classifier, EstimatesCost):
    """Base of classifiers on the principal components of all rows.

    A subclass absorbs blocks and makes models of its state.

    Blocks are counted from the first row, so the split of a stream into chunks does not change what
    is learned. Rows of a block are scored by the model of the blocks before it; rows that are only
    scored, such as those of a test, are scored by the model of all rows so far, including the
    waiting ones.
    """

    layout_exact = True
    takes_unknown = True
    growing: ClassVar[tuple[str, ...]] = ("U", "s")

    block: int = param(
        16,
        Whole(1),
        "Rows that are learned together; they are scored by what was known before their block.",
    )

    @abstractmethod
    def _absorb(self, state: State, X: FloatArray, y: NDArray[np.int64]) -> State:
        """Return the arrays of `state` that a block of rows changes, after the change."""

    @abstractmethod
    def _model(self, state: State) -> Any:
        """Return the model that scores rows; `state` holds at least one block."""

    @abstractmethod
    def _score(self, model: Any, X: CSR, scores: FloatArray) -> None:
        """Set `scores`, row by row."""

    @abstractmethod
    def _most(self, columns: int) -> int:
        """Return the greatest number of components."""

    def _length(self, columns: int) -> int:
        """Return the length of the rows that are decomposed."""
        return columns

    def _allocate(self, columns: int, outputs: int) -> State:
        del outputs
        return {
            **no_components(self._length(columns))._asdict(),
            "waiting": np.zeros((int(self.block), columns)),
            "waiting_y": np.zeros(int(self.block), dtype=np.int64),
        }

    def begin(self, columns: int, classes: int, entropy: Sequence[int] = ()) -> None:
        """Allocate the state, without the models of before."""
        self._columns = columns
        self._models: dict[str, tuple[int, Any]] = {}
        super().begin(columns, classes, entropy)

    @staticmethod
    def _components(state: State) -> Components:
        return Components(*(state[name] for name in Components._fields))

    def learn(self, X: Rows, y: NDArray[np.int64]) -> FloatArray:
        rows = read_only_csr(X)
        scores = np.zeros((rows_of(X), self._outputs))
        is_known = y != UNKNOWN
        # Rows without a known label are only scored, by another model than rows that are learned.
        edges = np.flatnonzero(np.diff(is_known)) + 1
        for start, stop in pairwise([0, *edges.tolist(), len(y)]):
            if start < stop and not is_known[start]:
                self._score_rows(
                    "all", slice_rows(rows, start, stop), scores[start:stop]
                )
            while start < stop and is_known[start]:
                waiting = self._waiting()
                end = min(stop, start + int(self.block) - waiting)
                part = slice_rows(rows, start, end)
                self._score_rows("blocks", part, scores[start:end])
                self._take(waiting, to_dense(part, self._columns), y[start:end])
                start = end
        return scores

    def scores(self, X: Rows) -> FloatArray:
        """Return the scores of the model of all rows so far."""
        scores = np.zeros((rows_of(X), self._outputs))
        self._score_rows("all", read_only_csr(X), scores)
        return scores

    def final_model(self) -> Any:
        """Return the model of all rows so far, by which rows are scored; None without rows."""
        return self._model_of("all")

    def compile(self, X: Rows) -> None:
        """Compile all loops: another learner of this class learns a block and scores rows."""
        # With blocks of one row, one row runs every loop.
        fresh = type(self)(**{**self.get_params(deep=False), "block": 1})
        fresh.begin(2, self._classes)
        fresh.learn(np.eye(2), np.zeros(2, dtype=np.int64))

    def _waiting(self) -> int:
        return int(self.state_["seen"][0] - self.state_["rows"][0])

    def _take(self, waiting: int, X: FloatArray, y: NDArray[np.int64]) -> None:
        """Add rows to the waiting ones and learn each block that they fill."""
        state = self.state_
        end = waiting + len(X)
        state["waiting"][waiting:end] = X
        state["waiting_y"][waiting:end] = y
        if end == len(state["waiting"]):
            with one_blas_thread():
                state.update(self._absorb(state, state["waiting"], state["waiting_y"]))
            state["updates"][0] += 1
        state["seen"][0] += len(X)

    def _score_rows(self, of: str, X: Rows, scores: FloatArray) -> None:
        """Set `scores` by the model of all "blocks" or of "all" rows; without rows they stay 0."""
        assert isinstance(X, CSR)
        if len(scores):
            model = self._model_of(of)
        else:
            model = None
        if model is not None:
            self._score(model, X, scores)

    def _model_of(self, of: str) -> Any:
        """Return the model of all "blocks" or of "all" rows, and keep it; None without rows."""
        state = self.state_
        if of == "all":
            waiting = self._waiting()
        else:
            waiting = 0
        count = int(state["rows"][0]) + waiting
        if count and self._models.get(of, (0, None))[0] != count:
            # `state` itself does not change: the waiting rows are absorbed again in their full
            # block.
            with one_blas_thread():
                if waiting:
                    after = self._absorb(
                        state, state["waiting"][:waiting], state["waiting_y"][:waiting]
                    )
                else:
                    after = {}
                self._models[of] = count, self._model({**state, **after})
        if count:
            return self._models[of][1]
        return None

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state`, which may have more components."""
        # Growing arrays take their shape from `state`; the base class then copies the numbers.
        for name in state.keys() & set(self.growing):
            new = state[name]
            own = self.state_[name]
            if new.ndim == own.ndim and new.dtype == own.dtype:
                self.state_[name] = np.zeros(new.shape, new.dtype)
        super().restore(state)
        self._models.clear()
        # Loops trust these shapes and labels, and a file may hold anything.
        rank = len(self.state_["s"])
        fits = rank <= self._most(self._columns) and self.state_["U"].shape == (
            self._length(self._columns),
            rank,
        )
        # A decomposition of other numbers may never end.
        fits &= all(
            np.isfinite(array).all()
            for array in self.state_.values()
            if array.dtype.kind == "f"
        )
        labels = self.state_["waiting_y"]
        fits &= self.state_["rows"][0] >= 0 and 0 <= self._waiting() < int(self.block)
        if not (fits and ((labels >= 0) & (labels < max(2, self._classes))).all()):
            raise ValueError(
                f"state does not fit learner {self.name}: {rank} components, {self._waiting()} "
                "rows waiting"
            )

    def start_rows(self, apart: bool) -> tuple[int, str]:
        """Return the rows per block; rows that are only scored use the waiting ones too."""
        if apart:
            return (0, "")
        return (int(self.block), "take a smaller block, or rows to test on")

    def check_memory(self, columns: int, classes: int) -> None:
        what = f"its state over {columns:,} features may need"
        require_memory(self, self.state_bytes(columns, classes), what)
