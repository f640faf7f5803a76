"""Online sequential extreme learning machines: nodes that stay, and recursive least squares.

The nodes of OS-ELM (Liang, Huang and others 2006) are drawn once: sigmoids of random directions, or
radial ones. Those of SVD-OSELM are singular vectors of rows seen in advance.
"""

from typing import Any

import numpy as np

from olscale.compiled.csr import Rows, rows_of, slice_rows, to_csr
from olscale.compiled.decorator import compiled
from olscale.compiled.elementary import LEAST, exponential, quotient
from olscale.compiled.rows import row_scores
from olscale.errors import ParameterError
from olscale.learners.contract.capability import LearnsTargets, LooksAhead
from olscale.learners.contract.estimator import OnePassLearner
from olscale.learners.contract.learner import FloatArray, State
from olscale.learners.contract.parameters import Choice, Maybe, Real, Whole, param
from olscale.learners.contract.regressor import OnePassRegressor
from olscale.learners.contract.weighted import WeightedClassifier, WeightedRegressor
from olscale.learners.network.fixed_layer import FixedLayer
from olscale.system.blas import one_blas_thread


@compiled
def set_sigmoids(X: Any, A: Any, b: Any, Z: Any) -> None:
    """Set the first columns of `Z` to ``1 / (1 + exp(-(X A + b)))``."""
    nodes = b.shape[0]
    f = np.empty(nodes)
    for i in range(Z.shape[0]):
        row_scores(X, i, A, f)
        z = Z[i]
        for j in range(nodes):
            # Beyond the limit the exponential would overflow; the sigmoid is 0 there in any case.
            exponent = min(-(f[j] + b[j]), -LEAST)
            z[j] = quotient(1.0, 1.0 + exponential(exponent))


@compiled
def set_radial(X: Any, A: Any, b: Any, Z: Any) -> None:
    """Set the first columns of `Z` to ``exp(-b_j |x - a_j|^2)``, for the columns a of `A`."""
    columns, nodes = A.shape
    f = np.empty(nodes)
    lengths = np.zeros(nodes)
    # Lengths of the centres once a chunk, not once a row.
    for d in range(columns):
        for j in range(nodes):
            lengths[j] += A[d, j] * A[d, j]
    for i in range(Z.shape[0]):
        square = row_scores(X, i, A, f)
        z = Z[i]
        for j in range(nodes):
            # Rounding can make the distance of a row at a centre negative.
            distance = max(0.0, (square - 2.0 * f[j]) + lengths[j])
            z[j] = exponential(-b[j] * distance)


class RandomNodes(FixedLayer):
    """Base of learners with such nodes, for any task."""

    update_params = ("forget",)

    nodes: int = param(100, Whole(1), "Number of hidden nodes.")
    start: str = param(
        "ridge",
        Choice(("ridge", "boost")),
        "From the first row on, with a penalty; or the paper's: the first `N0` rows are scored 0 "
        "and only added up, then the least-squares solution of them is found, without a penalty.",
    )
    lam: float = param(
        0.01,
        Real(0.0, open_="low"),
        "Ridge penalty of the start. It means nothing with ``start='boost'``.",
    )
    N0: int | None = param(
        None,
        Maybe(Whole(1)),
        "Rows of the boosting phase, at least `nodes`; 100 more than `nodes` if it is not given, "
        "as the paper has it.",
    )
    block: int = param(
        1,
        Whole(1),
        "Rows that are learned together, counted from the first row behind the boosting phase: "
        "those of a block are predicted by the model before it, and so are others while it is not "
        "full.",
    )
    seed: int = param(
        0, Whole(0), "Number of the hidden layer; each permutation draws another."
    )
    activation = "sigmoid"
    """Kind of the nodes; a parameter of learners that offer a choice."""

    def resolved_params(self) -> dict[str, Any]:
        """Return all parameters in canonical form."""
        params = super().resolved_params()
        if params["N0"] is not None and params["start"] == "ridge":
            raise ParameterError(
                f"learner {self.name}: N0 was {self.N0}, expected none with start=ridge; use "
                "start=boost"
            )
        if params["N0"] is not None and params["N0"] < params["nodes"]:
            raise ParameterError(
                f"learner {self.name}: N0 was {self.N0}, expected at least {self.nodes}, the "
                "number of nodes: "
                "fewer rows have no solution"
            )
        return params

    def start_rows(self, apart: bool) -> tuple[int, str]:
        if self.gathered_rows():
            return (
                self.gathered_rows(),
                "take a smaller N0, fewer nodes, or start=ridge",
            )
        return super().start_rows(apart)

    def gathered_rows(self) -> int:
        """Return how many rows come before the first solution."""
        if self.start == "ridge":
            return 0
        return int(self.N0 if self.N0 is not None else self.nodes + 100)

    def cheaper(self) -> str:
        """Return how to avoid a large network."""
        return "take fewer nodes, or fewer features: transform project:features=500"

    def _count(self, columns: int) -> int:
        return int(self.nodes)

    def state_bytes(self, columns: int, classes: int) -> int:
        return super().state_bytes(columns, classes) + 8 * int(self.nodes) * (
            columns + 1
        )

    def _allocate(self, columns: int, outputs: int) -> State:
        nodes = int(self.nodes)
        rbf = self.activation == "rbf"
        random = self._random()
        A = random.uniform(-1.0, 1.0, (columns, nodes))
        b = random.uniform(0.0 if rbf else -1.0, 1.0, nodes)
        return {**super()._allocate(columns, outputs), "A": A, "b": b}

    def _set_features(self, X: Rows, state: State, Z: FloatArray) -> None:
        (set_radial if self.activation == "rbf" else set_sigmoids)(
            X, state["A"], state["b"], Z
        )


class ChosenNodes(RandomNodes):
    """Base of learners with either kind of nodes."""

    activation: str = param(
        "sigmoid", Choice(("sigmoid", "rbf")), "Kind of the hidden nodes."
    )


class OSELM(ChosenNodes, OnePassLearner, WeightedClassifier):
    """Online sequential extreme learning machine: recursive least squares on a random layer.

    Features ``h_j = 1 / (1 + exp(-(a_j.x + b_j)))``, or radial ones ``exp(-b_j |x - a_j|^2)``, are
    drawn at the start: entries of ``a_j`` from -1 to 1, ``b_j`` from -1 to 1 or, of the radial
    ones, from 0 to 1. With targets t of 1 and -1, ``P = I / lam`` at the start and ``u = P h``,
    each row has ``k = u / (forget + h.u)``, ``beta += k (t - h'beta)'`` and
    ``P = (P - k u') / forget``. One output separates two classes; more classes have one each.

    Notes
    -----
    State: ``L (d + 1)`` numbers of the hidden layer for L nodes, half of P, ``L^2 / 2``, and L for
    each output, each row of a block and 16 more. Time a row: O(L (d + L + outputs)). After each
    row, or block, of ``start="ridge"`` the weights are those of scikit-learn's
    ``Ridge(alpha=lam, fit_intercept=False)`` on the features of the rows seen.

    Scale the features to [-1, 1] or standardize them: sigmoids of sums far from 0 are constant, and
    radial nodes far away are 0. With ``forget < 1`` the variances of features that do not vary grow
    like ``forget^-t``: a run in which one passes ``1 / (lam 2.2e-16)`` ends as diverged, and so
    does a boosting phase whose sums have no inverse.

    The paper's own code has two outputs for two classes, each minus the other, and a pseudoinverse
    at the start, which here is an inverse. Sums are rounded in a fixed order; only half of P is
    kept, so it stays symmetric.

    A row's weight multiplies the square of its error: 2 equals the row twice.

    References
    ----------
    N.-Y. Liang, G.-B. Huang, P. Saratchandran, N. Sundararajan, A fast and accurate online
    sequential learning algorithm for feedforward networks, IEEE Transactions on Neural Networks 17
    (2006), equations 19 to 23.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> OSELM(nodes=20).fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "oselm"
    numbers_per_second = 5.6e9


class OSELMR(ChosenNodes, OnePassRegressor, WeightedRegressor, LearnsTargets):
    """Online sequential extreme learning machine for targets: `OSELM` on the targets themselves.

    Notes
    -----
    State and time are as in `OSELM`, with one output. Targets are not scaled: `lam` means more
    where they are large.

    A row's weight multiplies the square of its error: 2 equals the row twice.

    References
    ----------
    N.-Y. Liang et al., IEEE Transactions on Neural Networks 17 (2006), equations 19 to 23.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1.0, 1.0, 50)[:, None]
    >>> OSELMR(nodes=20, lam=1e-6).fit(X, np.sin(3.0 * X[:, 0])).predict(np.array([[0.5]])).round(1)
    array([1.])
    """

    name = "oselm-r"
    numbers_per_second = 5.6e9


SAMPLE = 2_000
"""Rows, or features, whose products are decomposed; with more features, the first rows."""

_LEAST = 1e-7
"""Singular values below this part of the length of all rows are rounding: products are squares."""


# Fixed, from a sample: weights learned for vectors that turn along the stream would mean nothing.
# The paper does not say whether they turn.
def singular_vectors(
    X: Rows, columns: int, rank: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the mean of rows, their first right singular vectors, and the deviations along these.

    The largest component of each vector is positive. There are as many vectors as the rows have,
    but at most `rank`.

    Returns
    -------
    mean, vectors, deviations : ndarray of shapes (columns,), (columns, vectors) and (vectors,)

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [2.0, 2.0]])
    >>> mean, vectors, deviations = singular_vectors(X, columns=2, rank=2)
    >>> mean, vectors.round(3).tolist(), deviations.round(3)
    (array([1., 1.]), [[0.707], [0.707]], array([1.414]))
    """
    from scipy.sparse import csr_matrix

    rows = to_csr(X if columns <= SAMPLE else slice_rows(X, 0, SAMPLE))
    first = rows.indptr[0]
    last = rows.indptr[-1]
    count = rows_of(rows)
    M = csr_matrix(
        (rows.data[first:last], rows.indices[first:last], rows.indptr - first),
        (count, columns),
    )
    if count:
        mean = np.asarray(M.mean(axis=0)).ravel()
    else:
        mean = np.zeros(columns)
    # The smaller of the two matrices of products has the same singular values.
    if columns <= count:
        products = (M.T @ M).toarray()
        squares, V = np.linalg.eigh(products - count * np.outer(mean, mean))
    else:
        along = M @ mean
        between = (M @ M.T).toarray() - along[:, None] - along + mean @ mean
        squares, U = np.linalg.eigh(between)
    largest = np.argsort(squares)[::-1][:rank]
    total = float(np.sum(np.square(M.data)))
    largest = largest[squares[largest] > _LEAST**2 * total]
    # Squares lose half of the digits, hence the large bound above.
    sizes = np.sqrt(squares[largest])
    if columns <= count:
        V = V[:, largest]
    else:
        kept_U = U[:, largest]
        offsets = np.outer(mean, kept_U.sum(axis=0))
        V = (M.T @ kept_U - offsets) / sizes
    # LAPACK leaves the sign of a vector open: its largest component becomes positive.
    columns_of_largest = np.arange(len(largest))
    largest_component = V[np.abs(V).argmax(axis=0), columns_of_largest]
    V = V * np.where(largest_component < 0.0, -1.0, 1.0)
    return mean, V, sizes / np.sqrt(count)


class SVDOSELM(RandomNodes, OnePassLearner, WeightedClassifier, LooksAhead):
    """Online sequential extreme learning machine on singular vectors of rows seen in advance.

    It looks ahead: it is not strictly one-pass. Before the stream it sees rows without labels, a
    uniform sample of at most 65,536. With their mean and the first right singular vectors U of the
    rows minus the mean, ``z = U'(x - mean)``, with each component divided by its standard deviation
    in the sample. On z it is `oselm`: nodes with weights from -1 to 1. Signs of the vectors are
    fixed: the largest component is positive.

    Notes
    -----
    State and time are as in `oselm`: projection, scaling and the hidden layer are one matrix. The
    decomposition is done once, O(m^3) for m features, at most 2,000; of wider rows the first 2,000
    are used, and m is their number. It is LAPACK's on one thread: its last bits may be other ones
    on another kind of processor.

    The paper does not say whether the singular vectors are those of all training rows or follow the
    stream; its times say the latter. Vectors that turn would make old sums meaningless, unless
    features of all rows are computed again, so here they are fixed. Dividing by the standard
    deviation is a choice of ours: without it the sigmoids of random sums of large components are
    constant.

    A row's weight multiplies the square of its error: 2 equals the row twice.

    References
    ----------
    Online sequential projection vector machine with adaptive data mean update, Computational
    Intelligence and Neuroscience, 2016: SVD + OSELM, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> SVDOSELM(rank=2, nodes=20).fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "svd-oselm"
    numbers_per_second = 5.6e9
    looks_ahead = True
    first_rows_will_do = True

    rank: int = param(
        50, Whole(1), "Singular vectors; fewer if the rows of the sample have no more."
    )

    def _allocate(self, columns: int, outputs: int) -> State:
        """Return the state; there is no layer before rows are seen."""
        state = super()._allocate(columns, outputs)
        return {**state, "A": np.zeros_like(state["A"]), "b": np.zeros_like(state["b"])}

    def prepare(self, X: Rows) -> None:
        """Find the singular vectors of rows and make the layer from them."""
        random, (columns, nodes) = self._random(), self.state_["A"].shape
        weights = random.uniform(-1.0, 1.0, (int(self.rank), nodes))
        b = random.uniform(-1.0, 1.0, nodes)
        # sums over several threads would have other bits
        with one_blas_thread():
            mean, vectors, deviations = singular_vectors(X, columns, int(self.rank))
            A = (vectors / deviations) @ weights[: len(deviations)]
            self.state_["A"][:] = A
            self.state_["b"][:] = b - mean @ A

    def _check_ready(self, X: Rows) -> None:
        if rows_of(X) and not self.state_["b"].any():
            raise ValueError(
                f"learner {self.name} must see rows before it learns: call fit, or partial_fit "
                "with more than a row "
                "at first, or prepare(X) after begin"
            )
