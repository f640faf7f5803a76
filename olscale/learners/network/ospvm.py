"""The online sequential projection vector machine (Deng and others 2016)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.components import add_block
from olscale.compiled.csr import CSR
from olscale.errors import ParameterError
from olscale.learners.contract.learner import FloatArray, State
from olscale.learners.contract.parameters import Flag, Maybe, Whole, param
from olscale.learners.network.block_learner import BLOCK_NUMBERS, BlockLearner
from olscale.learners.network.projection_network import Network, ProjectionNetwork, score_rows


class OSPVM(ProjectionNetwork, BlockLearner):
    """Online sequential projection vector machine: not one-pass, as it keeps where each row lies.

    After each block it is the network of `olscale.learners.network.pvm.PVM` on all rows so far:
    nodes ``g(u.[x - mu; 1])`` for the first r left singular vectors u of the rows ``[x - mu; 1]``,
    g the sigmoid, and ``beta = pinv(H) T``. The singular value decomposition is kept up by blocks
    while the mean mu moves, and the place of each row along U is turned as U is
    (`olscale.compiled.components`); H is made of these places, and beta solved again. With
    ``keep = None`` all directions are kept, the first r become nodes, and scores are those of pvm
    but for rounding, for any blocks. With ``keep = K`` no more than K are kept after a block: it
    takes less memory and is another network.

    Notes
    -----
    State: ``(d + n) R`` numbers for n rows of d features and R directions, at most
    ``min(n - 1, d)`` of them or `keep`: as much as the rows themselves where all are kept. Cost of
    a block of m rows: ``O(d (R + m)^2 + R^3 + n R^2)``, and ``O(n r^2)`` for beta; of a row d r, or
    nnz for d.

    The paper has one decomposition and one of the part of the new rows that is orthogonal to U,
    with V for the rows; its formulas are lost in the text that we have. Of centred rows the 1 is a
    direction of its own with the singular value sqrt(n), so it is put in and not computed; nothing
    else differs. It starts from the first row: no first block is needed. Signs, rounding and
    scaling of rows are those of pvm.

    References
    ----------
    W. Deng and others, Online sequential projection vector machine with adaptive data mean update,
    Computational Intelligence and Neuroscience, 2016, algorithm 1. D. A. Ross, J. Lim, R.-S. Lin,
    M.-H. Yang, Incremental learning for robust visual tracking, IJCV 77, 2008.

    Examples
    --------
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([0, 1, 2, 3], 5)
    >>> OSPVM(ratio=1.0).fit(X, y).predict(corners)
    array([0, 1, 2, 3])
    """

    name = "ospvm"
    numbers_per_second = 7.4e9
    growing = (*BlockLearner.growing, "places", "labels")

    keep: int | None = param(
        None, Maybe(Whole(1)), "Directions that are kept, besides that of the 1; without it all."
    )
    mean_update: bool = param(
        True,
        Flag(),
        "Whether the mean is taken off, and follows the rows. If not, no mean is: the 'no' of "
        "the paper's figure 2, whose curves start apart.",
    )
    capacity: int = param(5_000, Whole(1), "Most rows whose places are kept; more end the run.")

    def _length(self, columns: int) -> int:
        return columns + (not self.mean_update)

    def _most(self, columns: int) -> int:
        return min(self._length(columns), int(self.keep or self.capacity))

    def _allocate(self, columns: int, outputs: int) -> State:
        rows = {"places": np.zeros((0, 0)), "labels": np.zeros(0, dtype=np.int64)}
        return {**super()._allocate(columns, outputs), **rows}

    def _absorb(self, state: State, X: FloatArray, y: NDArray[np.int64]) -> State:
        if len(state["labels"]) + len(y) > self.capacity:
            raise ParameterError(
                "learner ospvm keeps the places of all rows, and "
                f"{len(state['labels']) + len(y):,} are more than its "
                "parameter capacity allows; raise that, or take ipca-lda, whose memory is constant"
            )
        if not self.mean_update:
            X = np.column_stack([X, np.ones(len(X))])
        found, turn = add_block(
            self._components(state), X, self._most(self._columns), self.mean_update
        )
        places = np.concatenate([state["places"] @ turn.matrix + turn.shift, turn.coordinates])
        return {**found._asdict(), "places": places, "labels": np.concatenate([state["labels"], y])}

    def _model(self, state: State) -> Network:
        return self._network(self._components(state), state["places"], state["labels"])

    def _score(self, model: Network, X: CSR, scores: FloatArray) -> None:
        score_rows(X, *model, scores)

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state` and the rows it holds."""
        super().restore(state)
        places = self.state_["places"]
        labels = self.state_["labels"]
        fits = len(labels) == self.state_["rows"][0] and places.shape == (
            len(labels),
            len(self.state_["s"]),
        )
        if not (fits and ((labels >= 0) & (labels < max(2, self._classes))).all()):
            raise ValueError(
                f"state does not fit learner ospvm: {len(labels)} labels, places of shape "
                f"{places.shape}"
            )

    def state_bytes(self, columns: int, classes: int) -> int:
        return 8 * self._most(columns) * (columns + int(self.capacity)) + 8 * columns * int(
            self.block
        )

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through, of 1,000: its share of the updates."""
        rank = min(self._most(columns), 1_000)
        turning = (
            (columns + 1_000 + rank) * (rank + self.block) ** 2 / 8
        )  # by BLAS, eight numbers at a time
        return values * rank + (turning + BLOCK_NUMBERS) / self.block

    def cheaper(self) -> str:
        """Return a cheaper alternative."""
        return (
            "set capacity to the number of rows, or keep fewer directions (keep=100), or take "
            "ipca-lda"
        )

    def measures(self) -> dict[str, float]:
        """Return the shared measures, `nodes`, and `rank`, the number of directions kept."""
        model = self._model_of("all")
        nodes = float(len(model.offset)) if model else 0.0
        return {**super().measures(), "nodes": nodes, "rank": float(len(self.state_["s"]))}
