"""Projection vector machines: networks whose nodes are principal directions.

A row, minus the mean of the rows and with a 1 appended, is projected on the first left singular
vectors of all such rows. Each vector is a node ``g(u.[x - mu; 1])`` with the sigmoid g, and least
squares give the weights of the nodes for each class. As the rows are centred, the 1 makes a
separate vector, which is 1 at the 1 and 0 elsewhere, with the singular value sqrt(n): a constant
node. The other nodes are principal components and have no constant part.

OSPVM (Deng and others 2016) learns them online; PVM, trained on all rows at once, is its batch
reference.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.components import Components, add_block, components_of
from olscale.compiled.csr import CSR, Rows, read_only_csr, rows_of
from olscale.compiled.decorator import compiled
from olscale.compiled.elementary import exponential
from olscale.compiled.rows import row_scores
from olscale.errors import ParameterError
from olscale.learners.contract.estimator import Classifier
from olscale.learners.contract.learner import FloatArray, Learner, State
from olscale.learners.contract.parameters import Choice, Flag, Maybe, Real, Whole, param
from olscale.learners.network.block_learner import BLOCK_NUMBERS, BlockLearner
from olscale.learners.reference.batch_machine import BatchMachine

_FAR = 708.0
"""Argument beyond which the exponential has no effect."""


class Network(NamedTuple):
    """Scores are ``g(x W + offset) beta``."""

    W: FloatArray
    offset: FloatArray
    beta: FloatArray


@compiled
def _activate(z: FloatArray) -> None:
    for j in range(z.shape[0]):
        z[j] = 1.0 / (1.0 + exponential(min(_FAR, -z[j])))


@compiled
def score_rows(
    X: Rows, W: FloatArray, offset: FloatArray, beta: FloatArray, scores: FloatArray
) -> None:
    """Set the scores of rows."""
    z = np.empty(offset.shape[0])
    for i in range(scores.shape[0]):
        row_scores(X, i, W, z)
        z += offset
        _activate(z)
        scores[i] = 0.0
        for j in range(z.shape[0]):
            for c in range(scores.shape[1]):
                scores[i, c] += z[j] * beta[j, c]


class ProjectionNetwork(Learner):
    """Base of learners with such a network."""

    nodes: int | None = param(
        None,
        Maybe(Whole(1)),
        "Nodes r; there are at most as many as singular values above 1e-10 of the largest.",
    )
    ratio: float = param(
        0.9,
        Real(0.0, 1.0, open_="low"),
        "Without `nodes`: r is the least number whose singular values add up to this part of the "
        "sum of all.",
    )
    ratio_of: str = param(
        "s",
        Choice(("s", "s2")),
        "Whether singular values are added up, or their squares: the formula of the paper is lost.",
    )
    lam: float = param(
        0.0, Real(0.0), "``beta = (H'H + lam)^-1 H'T``; 0 is the paper's."
    )

    @abstractmethod
    def final_model(self) -> Network | None:
        """Return the network of all rows so far; None without rows."""

    def resolved_params(self) -> dict[str, Any]:
        """Return all parameters in canonical form: `nodes`, or what determines their number."""
        params = super().resolved_params()
        if params["nodes"] is None:
            unused = {"nodes"}
        else:
            unused = {"ratio", "ratio_of"}
        return {name: value for name, value in params.items() if name not in unused}

    def _network(self, of: Components, z: FloatArray, y: NDArray[np.int64]) -> Network:
        """Return the network of rows at `z` along components of centred rows or rows with a 1."""
        columns = self._columns
        centred = len(of.mean) == self._columns
        # For centred rows the 1 is a direction of its own, orthogonal to all others.
        if centred:
            s = np.append(of.s, np.sqrt(len(z)))
        else:
            s = of.s
        descending = np.sort(s)[::-1]
        # Stable: nodes of equal singular values keep their order, so no bits depend on the sort.
        order = np.argsort(-s, kind="stable")[: self._count(descending)]
        constant = order == len(of.s)  # at most one, and none where rows include the 1
        order = order[~constant]
        nodes = len(constant)
        W = np.zeros((columns, nodes))
        offset = np.zeros((1, nodes))
        H = np.zeros((len(z), nodes))
        W[:, ~constant] = of.U[:columns, order]
        H[:, ~constant] = z[:, order]
        if centred:
            offset[0] = 0.0 - of.mean[:columns] @ W
        else:
            offset[0] = of.U[columns, order]
        offset[:, constant] = 1.0
        H[:, constant] = 1.0
        _activate(H.reshape(-1))
        own_classes = np.arange(self._outputs) if self._outputs > 1 else np.array([1])
        T = np.where(y[:, None] == own_classes, 1.0, -1.0)
        beta = _least_squares(H, T, float(self.lam))
        return Network(W, offset[0], beta)

    def _count(self, s: FloatArray) -> int:
        """Return the number of nodes."""
        if self.nodes is not None:
            return min(int(self.nodes), len(s))
        # Relative to the largest, since squares of tiny or huge singular values leave the range.
        parts = s / s[0]
        if self.ratio_of == "s2":
            parts = parts**2
        sums = np.cumsum(parts)
        is_less = sums[:-1] < float(self.ratio) * sums[-1]
        return 1 + int(np.count_nonzero(is_less))


def _least_squares(H: FloatArray, T: FloatArray, lam: float) -> FloatArray:
    """Return ``(H'H + lam)^-1 H'T`` without directions that are rounding.

    With `lam` 0 that is the pseudoinverse times T.
    """
    u, s, v = np.linalg.svd(H, full_matrices=False)
    used = s > max(H.shape) * np.finfo(np.float64).eps * s[0]
    u = u[:, used]
    s = s[used]
    v = v[used]
    shrunk = s / (s * s + lam)
    along = u.T @ T
    beta: FloatArray = np.ascontiguousarray((v.T * shrunk) @ along)
    return beta


# Coordinates of rows turn with U, in place of the V that the paper keeps. While all directions
# are kept, OSPVM equals PVM to 1e-11 for any blocks.
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
        None,
        Maybe(Whole(1)),
        "Directions that are kept, besides that of the 1; without it all.",
    )
    mean_update: bool = param(
        True,
        Flag(),
        "Whether the mean is taken off, and follows the rows. If not, no mean is: the 'no' of "
        "the paper's figure 2, whose curves start apart.",
    )
    capacity: int = param(
        5_000, Whole(1), "Most rows whose places are kept; more end the run."
    )

    def _length(self, columns: int) -> int:
        return columns + (not self.mean_update)

    def _most(self, columns: int) -> int:
        return min(self._length(columns), int(self.keep or self.capacity))

    def _allocate(self, columns: int, outputs: int) -> State:
        state = super()._allocate(columns, outputs)
        state["places"] = np.zeros((0, 0))
        state["labels"] = np.zeros(0, dtype=np.int64)
        return state

    def _absorb(self, state: State, X: FloatArray, y: NDArray[np.int64]) -> State:
        rows = len(state["labels"]) + len(y)
        if rows > self.capacity:
            raise ParameterError(
                "learner ospvm keeps the places of all rows, and "
                f"{rows:,} are more than its "
                "parameter capacity allows; raise that, or take ipca-lda, whose memory is constant"
            )
        if not self.mean_update:
            X = np.column_stack([X, np.ones(len(X))])
        components, turn = add_block(
            self._components(state), X, self._most(self._columns), self.mean_update
        )
        # The directions have turned: earlier rows are now elsewhere along them.
        turned = state["places"] @ turn.matrix + turn.shift
        places = np.concatenate([turned, turn.coordinates])
        return {
            **components._asdict(),
            "places": places,
            "labels": np.concatenate([state["labels"], y]),
        }

    def final_model(self) -> Network | None:
        network: Network | None = self._model_of("all")
        return network

    def _model(self, state: State) -> Network:
        return self._network(self._components(state), state["places"], state["labels"])

    def _score(self, model: Network, X: CSR, scores: FloatArray) -> None:
        score_rows(X, *model, scores)

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state` and the rows it holds."""
        super().restore(state)
        places = self.state_["places"]
        labels = self.state_["labels"]
        expected = (len(labels), len(self.state_["s"]))
        fits = len(labels) == self.state_["rows"][0] and places.shape == expected
        are_codes = (labels >= 0) & (labels < max(2, self._classes))
        if not (fits and are_codes.all()):
            raise ValueError(
                f"state does not fit learner ospvm: {len(labels)} labels, places of shape "
                f"{places.shape}"
            )

    def state_bytes(self, columns: int, classes: int) -> int:
        directions_and_places = self._most(columns) * (columns + int(self.capacity))
        waiting_rows = columns * int(self.block)
        return 8 * (directions_and_places + waiting_rows)

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through, of 1,000: its share of the updates."""
        rank = min(self._most(columns), 1_000)
        # By BLAS, eight numbers at a time.
        turning = (columns + 1_000 + rank) * (rank + self.block) ** 2 / 8
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
        if model:
            nodes = float(len(model.offset))
        else:
            nodes = 0.0
        rank = float(len(self.state_["s"]))
        return {**super().measures(), "nodes": nodes, "rank": rank}


class PVM(ProjectionNetwork, BatchMachine, Classifier):
    """Batch reference, not a one-pass learner: the projection vector machine of all rows.

    A network with one hidden layer whose weights are singular vectors. Of n rows x with mean mu the
    matrix ``[x - mu; 1]``, one column per row, is ``U S V'``; the first r columns of U are nodes,
    ``H = g([x - mu; 1]' U_r)`` with the sigmoid ``g(z) = 1 / (1 + e^-z)``, and ``beta = pinv(H) T``
    for targets T of 1 and -1, one column per class, or one for two classes. Scores are
    ``g([x - mu; 1]' U_r) beta``. It keeps every row, and is retrained whenever their number has
    doubled, as `olscale.learners.reference.batch_machine.BatchMachine` describes; the scores of the
    first 64 rows are 0.

    Notes
    -----
    State: all rows, as sparse ones. Training on n rows of d features makes them dense and takes
    ``O(n d min(n, d) + n r^2)``, for each doubling and for the test. Of H, singular values below
    ``max(n, r)`` times the rounding unit of the largest are left out. In each u the largest
    component is positive, the first of several; one node is constant (`projection_network`). While
    that is among the first r, ``g(-z) = 1 - g(z)`` makes scores the same for any signs. Where rows
    are long, as with pixels of 0 to 255, it comes last and g saturates: scale the rows, with the
    transform minmax, say. Directions of equal singular values are LAPACK's choice.

    References
    ----------
    W. Deng, Q. Zheng, S. Lian, L. Chen, Projection vector machine: one-stage learning algorithm
    from high-dimension small-sample data, IJCNN 2010, as section 2.2 of the OSPVM paper has it
    (`olscale.learners.network.pvm.OSPVM`).

    Examples
    --------
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([0, 1, 2, 3], 5)
    >>> PVM(ratio=1.0).fit(X, y).predict(corners)
    array([0, 1, 2, 3])
    """

    name = "pvm"
    numbers_per_second = 1.4e9

    capacity: int = 10_000

    def final_model(self) -> Network | None:
        """Return the network of all rows; None without rows."""
        rows = int(self.state_["seen"][0])
        if rows:
            network: Network = self._trained(rows)
            return network
        return None

    def _train(self, X: Any, y: NDArray[Any]) -> Network:
        components, z = components_of(X.toarray())
        return self._network(components, z, y)

    def _scores_by(self, count: int, X: Rows) -> FloatArray:
        scores = np.zeros((rows_of(X), self._outputs))
        if len(scores) and count:
            network: Network = self._trained(count)
            score_rows(read_only_csr(X), *network, scores)
        return scores

    def compile(self, X: Rows) -> None:
        """Compile all loops: another learner of this class is trained and scores rows."""
        fresh = type(self)(**self.get_params(deep=False))
        fresh.begin(2, self._classes)
        fresh.learn(np.eye(2), np.zeros(2, dtype=np.int64))
        fresh.scores(np.eye(2))

    def measures(self) -> dict[str, float]:
        """Return the shared measures and `nodes`, those of the network of all rows."""
        network = self.final_model()
        nodes = 0.0
        if network is not None:
            nodes = float(len(network.offset))
        return {**super().measures(), "nodes": nodes}
