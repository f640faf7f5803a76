"""Nystrom features: a Gaussian kernel by its values with a few of the training rows."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, read_only, rows_of, to_csr
from olscale.compiled.decorator import compiled
from olscale.compiled.elementary import exponential
from olscale.compiled.simd.columns import multiply_dense
from olscale.compiled.support_vectors import SupportVectors, empty_support, find_places, grow_places, products, put
from olscale.data.transforms.kernel_features import KernelFeatures

_LEAST_EIGENVALUE = 1e-10
"""Smaller ones, as parts of the largest, are rounding."""


@compiled
def _put_rows(X: Any, support: Any) -> None:
    for i in range(X.indptr.shape[0] - 1):
        square = 0.0
        for p in range(X.indptr[i], X.indptr[i + 1]):
            square += X.data[p] * X.data[p]
        put(support, i, X, i, square)


@compiled
def _set_rows(X: Any, support: Any, gamma: float, matrix: Any, at: Any, value: Any, out: Any) -> None:
    """Set each row of `out` to the kernel values with all vectors, times a matrix, if that has rows."""
    count, width = support.counts[0], support.sizes.shape[0]
    space = np.zeros(width)
    for i in range(out.shape[0]):
        k = space if matrix.shape[0] > 0 else out[i]
        found, square = find_places(support, X, i, at, value)
        products(support, at, value, found, k)
        for s in range(count):  # rounding makes distances below 0
            k[s] = exponential(-gamma * max(0.0, square + support.sizes[s] - 2.0 * k[s]))
        if matrix.shape[0] > 0:
            multiply_dense(k, matrix, out[i])


class Nystroem(KernelFeatures):
    r"""Nystrom features, with which a linear learner is nearly one with a Gaussian kernel.

    For `features` training rows drawn at random, with the Gram matrix ``K = V D V'``, ``z(x) = D^-1/2 V' k(x)``: the product
    ``z(x).z(s)`` is ``k(x)' K^-1 k(s)``, the kernel of what both have along these rows. Features come by size of their
    eigenvalues; of those below 1e-10 of the largest, and where there are fewer rows, they are 0.

    In time order it looks ahead: rows that the stream has not reached yet are drawn too. Eigenvectors are LAPACK's on one
    thread: their last bits may be other ones on another kind of processor.

    Parameters
    ----------
    features : int
        Number of rows that are drawn, and of features.
    gamma : float or {"auto", "median"}
        Width of the kernel: a number, one over the number of features before, or that of the median distance of a
        thousand training rows, drawn at random.
    seed : int
        Number of the draw; each projection number has others.

    References
    ----------
    C. K. I. Williams, M. Seeger, Using the Nystrom method to speed up kernel machines, NIPS 2000.

    Examples
    --------
    >>> rows = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> step = Nystroem(features=3, gamma=0.5)
    >>> step.fit(lambda: iter([rows]), 2)
    >>> z = step.apply(rows, 2)
    >>> (z @ z.T).round(3).tolist()
    [[1.0, 0.368, 0.607], [0.368, 1.0, 0.607], [0.607, 0.607, 1.0]]
    """

    name = "nystroem"

    def __init__(self, features: int, gamma: float | str = "auto", seed: int = 0) -> None:
        self.features, self.gamma, self.seed = features, gamma, seed
        self._check()

    def fit(self, chunks: Callable[[], Iterator[Rows]], columns: int) -> None:
        """Draw rows, and find what makes their kernel values features."""
        from threadpoolctl import threadpool_limits

        sample = self._sample(chunks, self.features)
        if self.gamma == "median":
            self._fit_width(sample)
        rows = _rows_for_loops(sample if sample is not None else np.empty((0, columns)))
        rows = CSR(rows.indptr[: self.features + 1], rows.indices, rows.data)
        arrays = grow_places(
            empty_support(columns, self.features, self.features), int(rows.indptr[-1] - rows.indptr[0])
        )
        self._support = SupportVectors(*(arrays[name] for name in SupportVectors._fields))
        _put_rows(rows, self._support)
        count, slots = rows_of(rows), len(self._support.sizes)
        K = np.zeros((count, slots))
        self._set_rows(rows, columns, np.empty((0, 0)), K)
        self._matrix = np.zeros((slots, self.features))
        with threadpool_limits(limits=1):  # sums of several threads would have other bits
            values, vectors = np.linalg.eigh(K[:, :count])
        used = np.flatnonzero(values > _LEAST_EIGENVALUE * values.max(initial=0.0))[::-1]
        self._matrix[:count, : len(used)] = vectors[:, used] / np.sqrt(values[used])

    def apply(self, X: Rows, columns: int) -> Rows:
        """Return the features of each row, dense."""
        out = np.empty((rows_of(X), self.features))
        self._set_rows(_rows_for_loops(X), columns, self._matrix, out)
        return out

    def _set_rows(self, X: CSR, columns: int, matrix: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        entries = max(self._support.values.shape[1], int(np.diff(X.indptr).max(initial=0)))
        space = np.empty(entries, np.int32), np.empty(entries)
        _set_rows(X, self._support, self._gamma(columns), matrix, *space, out)


def _rows_for_loops(X: Rows) -> CSR:
    """Return rows of one kind, for which a loop is compiled once."""
    indptr, indices, data = to_csr(X)
    return CSR(read_only(indptr), read_only(indices), read_only(data))
