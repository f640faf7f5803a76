"""Principal components as features: of the rows so far, or of all training rows."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.components import (
    Components,
    add_block,
    no_components,
    set_products,
)
from olscale.compiled.csr import (
    Rows,
    read_only_csr,
    rows_of,
    slice_rows,
    take_rows,
    to_dense,
)
from olscale.data.transforms.base import FloatArray, Transform
from olscale.data.transforms.kernel_features import mark_long_rows, usable_rows
from olscale.data.transforms.streaming import StreamingTransform
from olscale.errors import ParameterError
from olscale.system.blas import one_blas_thread
from olscale.system.memory import memory_bytes
from olscale.system.sizes import size_text

# Largest number of bytes of a dense block of rows that `svd` learns at once.
_BLOCK_BYTES = 16 << 20


class PrincipalFeatures(Transform):
    """Base of both: ``z = U'(x - mu)`` for the first directions U and the mean mu, dense.

    Directions beyond the rank are 0.
    """

    takes_sparse = True
    mixes_features = True

    components: int

    def _check(self, **parameters: object) -> None:
        for name, value in parameters.items():
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                expected = "expected a whole number of at least 1"
                raise ParameterError(
                    f"transform {self.name}: {name} was {value!r}, {expected}"
                )

    def width(self, columns: int) -> int:
        return self.components

    def size_after(self, columns: int, values: float) -> tuple[int, float]:
        """Return the number of features, all stored."""
        return self.components, self.components

    def _check_memory(self, columns: int, directions: int) -> None:
        # Directions before and after a block.
        needed = 16 * columns * directions
        available = memory_bytes()
        if needed > available:
            raise ParameterError(
                f"transform {self.name}: {directions:,} directions of {columns:,} features need "
                f"{size_text(needed)}, this "
                f"machine has {size_text(available)}; take fewer components, or project the rows "
                "first: project:features=1000"
            )

    def _project(self, X: Rows, mean: FloatArray, U: FloatArray) -> FloatArray:
        out = np.empty((rows_of(X), self.components))
        with one_blas_thread():
            # U'(x - mu) = U'x + offset: sparse rows stay sparse.
            offset = 0.0 - mean @ U
        rows = read_only_csr(X)
        set_products(rows, U, offset, out)
        mark_long_rows(rows, out)
        return out


def _padded(of: Components, components: int) -> tuple[FloatArray, FloatArray]:
    """Return the first directions and singular values, padded with zeros."""
    U = np.zeros((len(of.mean), components))
    s = np.zeros(components)
    count = min(components, len(of.s))
    U[:, :count] = of.U[:, :count]
    s[:count] = of.s[:count]
    return U, s


class IPCA(PrincipalFeatures, StreamingTransform):
    """The principal components of the rows so far, by size, incremental, with a moving mean.

    It never looks ahead. Rows are learned a block at a time; the row that fills a block is learned
    and then transformed, as are those after it, and features are 0 before the first block.
    Components turn as rows arrive, less and less: a model has learned a feature in the direction it
    had then. In each direction the largest component is positive, the first of several. No more are
    kept than requested, so they are approximate if rows have more (`olscale.compiled.components`);
    with as many as features they are exact. A row with missing values is not learned, and its
    features are missing.

    Parameters
    ----------
    components : int
        Number of features.
    block : int
        Number of rows learned together: 1 costs most.

    References
    ----------
    D. A. Ross, J. Lim, R.-S. Lin, M.-H. Yang, Incremental learning for robust visual tracking, IJCV
    77, 2008.

    Examples
    --------
    >>> step = IPCA(components=1, block=1)
    >>> step.begin(2)
    >>> X = np.array([[0.0, 1.0], [4.0, 1.0], [2.0, 1.0]])
    >>> step.learn(X, 2, np.ones(3, dtype=bool))[:, 0].tolist()
    [0.0, 2.0, 0.0]
    """

    name = "ipca"

    def __init__(self, components: int, block: int = 16) -> None:
        self.components = components
        self.block = block
        self._check(components=components, block=block)

    def start_rows(self) -> tuple[int, str]:
        return self.block, "take a smaller block"

    def begin(self, columns: int) -> None:
        self._check_memory(columns, self.components)
        rows, mean, _, _ = empty = no_components(columns)
        U, s = _padded(empty, self.components)
        self.learned = {
            "rows": rows,
            "mean": mean,
            "U": U,
            "s": s,
            "waiting": np.zeros((self.block, columns)),
            "count": np.zeros(1, dtype=np.int64),
        }

    def can_continue(self) -> bool:
        waiting = self.learned["count"][0]
        rows = self.learned["rows"][0]
        # As many components as features are exact only while all arrays are finite.
        finite = all(np.isfinite(array).all() for array in self.learned.values())
        if not (finite and rows >= 0 and 0 <= waiting < self.block):
            return False
        return bool((self.learned["s"] >= 0.0).all())

    def learn(self, X: Rows, columns: int, trains: NDArray[np.bool_]) -> Rows:
        train = np.flatnonzero(trains & usable_rows(X))
        out = np.empty((rows_of(X), self.components))
        at = 0
        while len(train):
            waiting = int(self.learned["count"][0])
            block_rows, train = np.split(train, [self.block - waiting])
            rows = to_dense(take_rows(X, block_rows), columns)
            self.learned["waiting"][waiting : waiting + len(rows)] = rows
            self.learned["count"][0] = waiting + len(rows)
            if waiting + len(rows) == self.block:
                # Rows before the one that fills the block still get the old components.
                last = int(block_rows[-1])
                out[at:last] = self._features(slice_rows(X, at, last))
                at = last
                self._absorb()
        out[at:] = self._features(slice_rows(X, at, rows_of(X)))
        return out

    def _features(self, X: Rows) -> FloatArray:
        return self._project(X, self.learned["mean"], self.learned["U"])

    def _absorb(self) -> None:
        """Learn the full block."""
        rows, mean, U, s = (self.learned[name] for name in Components._fields)
        # Directions of singular value 0 are only padding.
        rank = int(np.count_nonzero(s))
        with one_blas_thread():
            components, _ = add_block(
                Components(rows, mean, U[:, :rank], s[:rank]),
                self.learned["waiting"],
                self.components,
            )
        U, s = _padded(components, self.components)
        self.learned |= {
            "rows": components.rows,
            "mean": components.mean,
            "U": U,
            "s": s,
            "count": np.zeros(1, dtype=np.int64),
        }


class SVD(PrincipalFeatures):
    """The principal components of all training rows, by size, by singular value decomposition.

    It looks ahead: in time order it includes rows that the stream has not reached yet. One pass in
    blocks keeps ``2 components + 32`` directions, of which the first are used: exact if rows have
    no more, otherwise close. In each direction the largest component is positive, the first of
    several. Rows with missing values are left out.

    Parameters
    ----------
    components : int
        Number of features.

    Examples
    --------
    >>> rows = np.array([[0.0, 1.0], [4.0, 1.0], [2.0, 1.0]])
    >>> step = SVD(components=1)
    >>> step.fit(lambda: iter([rows]), 2)
    >>> step.apply(rows, 2)[:, 0].tolist()
    [-2.0, 2.0, 0.0]
    """

    name = "svd"
    fits_sparse = True

    def __init__(self, components: int) -> None:
        self.components = components
        self._check(components=components)

    def fit(self, chunks: Callable[[], Iterator[Rows]], columns: int) -> None:
        """Decompose all rows, in blocks that do not depend on the chunks."""
        most = min(columns, 2 * self.components + 32)
        self._check_memory(columns, most)
        # As large for any cut into chunks, which must not change a bit of the result.
        block = max(1, min(256, _BLOCK_BYTES // (8 * max(1, columns))))
        components = no_components(columns)
        waiting = np.zeros((0, columns))
        with one_blas_thread():
            for X in chunks():
                usable = np.flatnonzero(usable_rows(X))
                rows = take_rows(X, usable)
                for start in range(0, rows_of(rows), block):
                    part = to_dense(slice_rows(rows, start, start + block), columns)
                    waiting = np.concatenate([waiting, part])
                    while len(waiting) >= block:
                        components, _ = add_block(components, waiting[:block], most)
                        waiting = waiting[block:]
            if len(waiting):
                components, _ = add_block(components, waiting, most)
        self._mean, self._U = components.mean, _padded(components, self.components)[0]

    def apply(self, X: Rows, columns: int) -> Rows:
        """Return the components of each row, dense."""
        return self._project(X, self._mean, self._U)

    def state(self) -> dict[str, NDArray[Any]]:
        return {"mean": self._mean, "U": self._U}

    def restore(self, state: Mapping[str, NDArray[Any]], columns: int) -> None:
        expected = {
            "mean": ((columns,), "<f8"),
            "U": ((columns, self.components), "<f8"),
        }
        got = {name: (array.shape, array.dtype.str) for name, array in state.items()}
        if got != expected:
            raise ValueError(f"transform svd has arrays {got}, expected {expected}")
        self._mean = state["mean"]
        # As `fit` leaves it: other flags would have loops compiled once more.
        self._U = np.require(state["U"], requirements=["C", "W"])
