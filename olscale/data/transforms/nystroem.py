"""Nystrom features: a Gaussian kernel by its values with some of the training rows."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, read_only, rows_of, to_csr
from olscale.compiled.decorator import compiled
from olscale.compiled.differences import finish_long_row, is_long
from olscale.compiled.rows_together import (
    RowsTogether,
    may_go_together,
    multiply_together,
)
from olscale.compiled.simd.columns import multiply_dense
from olscale.compiled.simd.features import gaussian_values
from olscale.compiled.simd.row_tiles import ROWS
from olscale.compiled.support_arrays import (
    STATE,
    check_support,
    dense_vectors,
    empty_support,
    grow_places,
    support_vectors,
)
from olscale.compiled.support_vectors import find_places, products, put
from olscale.data.transforms.kernel_features import KernelFeatures, mark_long_rows
from olscale.errors import ParameterError
from olscale.system.blas import one_blas_thread
from olscale.system.memory import memory_bytes
from olscale.system.sizes import size_text

# Smaller eigenvalues, as a share of the largest, are rounding errors.
_LEAST_EIGENVALUE = 1e-10

_PANEL = 64
# Features and rows per block, small enough that the block's data stay in the cache.
_BLOCK = 32


@compiled
def _put_rows(X: Any, support: Any) -> None:
    for i in range(X.indptr.shape[0] - 1):
        square = 0.0
        for p in range(X.indptr[i], X.indptr[i + 1]):
            square += X.data[p] * X.data[p]
        put(support, i, X, i, square)


@compiled
def _set_values(
    X: Any,
    first: int,
    support: Any,
    gamma: float,
    space: Any,
    K: Any,
) -> None:
    """Set the rows of `K` to the kernel values of rows from `first` on with all vectors."""
    (at, value, position, squares), done = space, 0
    for i in range(K.shape[0]):
        if i >= done and may_go_together(support, X, first + i, first + K.shape[0]):
            together = RowsTogether(position, squares, K[i : i + ROWS])
            if multiply_together(support, X, first + i, at, together):
                done = i + ROWS
        if i < done:
            square = squares[i + ROWS - done]
        else:
            entries, square = find_places(support, X, first + i, at, value)
            products(support, at, value, entries, K[i])
        if is_long(gamma, square):
            finish_long_row(
                support, gamma, False, X, first + i, square, (at, value), K[i]
            )
        else:
            gaussian_values(support.counts[0], gamma, square, support.sizes, K[i])
        if not np.isfinite(square):  # a distance that is not finite counts as 0
            K[i, :] = np.nan


@compiled
def _set_features(
    X: Any,
    support: Any,
    gamma: float,
    panels: Any,
    space: Any,
    out: Any,
) -> None:
    K = np.zeros((_BLOCK, support.sizes.shape[0]))
    for first in range(0, out.shape[0], _BLOCK):
        rows = min(_BLOCK, out.shape[0] - first)
        _set_values(X, first, support, gamma, space, K[:rows])
        for n in range(panels.shape[0]):
            for i in range(rows):
                multiply_dense(K[i], panels[n], out[first + i, n * _PANEL :])


class Nystroem(KernelFeatures):
    r"""Nystrom features, with which a linear learner approximates a Gaussian kernel.

    For `features` training rows drawn at random, with the Gram matrix ``K = V D V'``, ``z(x) =
    D^-1/2 V' k(x)``: the product ``z(x).z(s)`` is ``k(x)' K^-1 k(s)``, the kernel of the
    projections onto these rows. Features are sorted by eigenvalue; those of eigenvalues below 1e-10
    of the largest, and those beyond the number of rows, are 0.

    In time order it looks ahead: rows that the stream has not reached yet are drawn too.
    Eigenvectors are computed by LAPACK on one thread: their last bits may differ on another kind of
    processor.

    Parameters
    ----------
    features : int
        Number of drawn rows, and of features.
    gamma : float or {"auto", "median"}
        Width of the kernel: a number, one over the number of features before, or that of the median
        distance of a thousand training rows, drawn at random.
    seed : int
        Seed of the draw; each projection number draws other rows.

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

    def __init__(
        self,
        features: int,
        gamma: float | str = "auto",
        seed: int = 0,
    ) -> None:
        self.features = features
        self.gamma = gamma
        self.seed = seed
        self._check()

    def width(self, columns: int) -> int:
        """Return the number of features, unless their matrix exceeds the memory of any machine."""
        needed = 8.0 * self.features**2
        available = memory_bytes()
        if needed > available:
            raise ParameterError(
                f"transform {self.name}: features was {self.features:,}, and a matrix of as many "
                "rows would take "
                f"{size_text(needed)}, where this machine has {size_text(available)} of memory; "
                "take fewer, or rff"
            )
        return super().width(columns)

    def fit(self, chunks: Callable[[], Iterator[Rows]], columns: int) -> None:
        """Draw rows, and compute the matrix that turns their kernel values into features."""
        sample = self._sample(chunks, self.features)
        if self.gamma == "median":
            self._fit_width(sample)
        rows = _rows_for_loops(sample if sample is not None else np.empty((0, columns)))
        # The median distance may have asked for more rows than there are features.
        rows = CSR(rows.indptr[: self.features + 1], rows.indices, rows.data)
        arrays = grow_places(
            empty_support(columns, self.features, self.features),
            int(rows.indptr[-1] - rows.indptr[0]),
        )
        self._support = support_vectors(arrays)
        _put_rows(rows, self._support)
        count = rows_of(rows)
        slots = len(self._support.sizes)
        K = np.zeros((count, slots))
        _set_values(rows, 0, self._support, self._gamma(columns), self._space(rows), K)
        # sums over several threads would have other bits
        with one_blas_thread():
            values, vectors = np.linalg.eigh(K[:, :count])
        # LAPACK sorts eigenvalues in ascending order.
        used = np.flatnonzero(values > _LEAST_EIGENVALUE * values.max(initial=0.0))[
            ::-1
        ]
        # Slots without a row, and what fills up the last panel, stay 0.
        matrix = np.zeros((slots, -(-self.features // _PANEL) * _PANEL))
        matrix[:count, : len(used)] = vectors[:, used] / np.sqrt(values[used])
        self._panels = np.ascontiguousarray(
            matrix.reshape(slots, -1, _PANEL).transpose(1, 0, 2)
        )

    def apply(self, X: Rows, columns: int) -> Rows:
        """Return the features of each row, dense."""
        rows = _rows_for_loops(X)
        out = np.empty((rows_of(X), len(self._panels) * _PANEL))
        _set_features(
            rows,
            self._support,
            self._gamma(columns),
            self._panels,
            self._space(rows),
            out,
        )
        mark_long_rows(rows, out)
        # Without what fills up the last panel.
        return np.ascontiguousarray(out[:, : self.features])

    def kernel_matrix(
        self, columns: int
    ) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
        """Return drawn rows s, gamma, and A of ``z(x) = exp(-gamma |x - s|^2) A``."""
        vectors = dense_vectors({name: getattr(self._support, name) for name in STATE})
        matrix = self._panels.transpose(1, 0, 2).reshape(self._panels.shape[1], -1)
        return vectors, self._gamma(columns), matrix[: len(vectors), : self.features]

    def state(self) -> dict[str, NDArray[Any]]:
        return {
            **super().state(),
            **{name: getattr(self._support, name) for name in STATE},
            "panels": self._panels,
        }

    def restore(self, state: Mapping[str, NDArray[Any]], columns: int) -> None:
        own = {
            name: array for name, array in state.items() if name in (*STATE, "panels")
        }
        super().restore(
            {name: array for name, array in state.items() if name not in own}, columns
        )
        panels = own.pop("panels", np.empty(0))
        check_support(own, columns)
        slots = len(own["sizes"])
        if (panels.shape, panels.dtype.str) != (
            (-(-self.features // _PANEL), slots, _PANEL),
            "<f8",
        ):
            raise ValueError(
                f"transform {self.name} has panels of shape {panels.shape}"
            )
        self._support = support_vectors(own)
        self._panels = panels

    def _space(self, X: CSR) -> tuple[NDArray[Any], ...]:
        entries = max(
            self._support.values.shape[1], int(np.diff(X.indptr).max(initial=0))
        )
        return (
            np.empty(entries, np.int32),
            np.empty(entries),
            np.empty(entries, np.int32),
            np.empty(ROWS),
        )


def _rows_for_loops(X: Rows) -> CSR:
    """Return rows of one kind, so that loops are compiled once."""
    indptr, indices, data = to_csr(X)
    return CSR(read_only(indptr), read_only(indices), read_only(data))
