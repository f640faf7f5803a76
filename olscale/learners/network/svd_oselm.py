"""An online sequential extreme learning machine on singular vectors of rows seen in advance."""

import numpy as np

from olscale.compiled.csr import Rows, rows_of, slice_rows, to_csr
from olscale.learners.contract.estimator import OnePassLearner
from olscale.learners.contract.learner import FloatArray, State
from olscale.learners.contract.look_ahead import LooksAhead
from olscale.learners.contract.parameters import Whole, param
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.network.random_nodes import RandomNodes

SAMPLE = 2_000
"""Rows, or features, whose products are decomposed; with more features, the first rows."""

_LEAST = 1e-7
"""Singular values below this part of the length of all rows are rounding: products are squares."""


def singular_vectors(X: Rows, columns: int, rank: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the mean of rows, their first right singular vectors, and the deviations along these.

    The largest component of each vector is positive. There are as many vectors as the rows have,
    but at most `rank`.

    Returns
    -------
    mean, vectors, deviations : ndarray of shapes (columns,), (columns, vectors) and (vectors,)

    Examples
    --------
    >>> mean, vectors, deviations = singular_vectors(np.array([[0.0, 0.0], [2.0, 2.0]]), columns=2, rank=2)
    >>> mean, vectors.round(3).tolist(), deviations.round(3)
    (array([1., 1.]), [[0.707], [0.707]], array([1.414]))
    """
    from scipy.sparse import csr_matrix

    rows = to_csr(X if columns <= SAMPLE else slice_rows(X, 0, SAMPLE))
    first = rows.indptr[0]
    last = rows.indptr[-1]
    count = rows_of(rows)
    M = csr_matrix(
        (rows.data[first:last], rows.indices[first:last], rows.indptr - first), (count, columns)
    )
    mean = np.asarray(M.mean(axis=0)).ravel() if count else np.zeros(columns)
    if columns <= count:
        squares, V = np.linalg.eigh((M.T @ M).toarray() - count * np.outer(mean, mean))
    else:
        along = M @ mean
        between = (M @ M.T).toarray() - along[:, None] - along + mean @ mean
        squares, U = np.linalg.eigh(between)
    kept = np.argsort(squares)[::-1][:rank]
    kept = kept[squares[kept] > _LEAST**2 * float(np.sum(np.square(M.data)))]
    sizes = np.sqrt(squares[kept])
    V = (
        V[:, kept]
        if columns <= count
        else (M.T @ U[:, kept] - np.outer(mean, U[:, kept].sum(axis=0))) / sizes
    )
    V = V * np.where(V[np.abs(V).argmax(axis=0), np.arange(len(kept))] < 0.0, -1.0, 1.0)
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
    numbers_per_second = 2.8e9
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
        from threadpoolctl import threadpool_limits

        random, (columns, nodes) = self._random(), self.state_["A"].shape
        weights = random.uniform(-1.0, 1.0, (int(self.rank), nodes))
        b = random.uniform(-1.0, 1.0, nodes)
        with threadpool_limits(limits=1):  # sums over several threads would have other bits
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
