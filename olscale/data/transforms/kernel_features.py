"""The base of transforms whose features have products that approximate a Gaussian kernel.

The width of the kernel may be that of the median heuristic: the median distance of rows is its
sigma.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import (
    CSR,
    Rows,
    read_only_csr,
    rows_of,
    slice_rows,
    stack_rows,
    take_rows,
    to_csr,
)
from olscale.compiled.decorator import compiled
from olscale.data.transforms.base import Transform
from olscale.errors import ParameterError
from olscale.system.blas import one_thread_of_sklearn

MEDIAN_ROWS = 1_000
"""Number of rows between which the median distance is taken."""

# Squared length of rows, as a multiple of squared distance, up to which products suffice.
# Distances of rows farther from the origin lose more than a hundred-millionth to rounding.
_FAR_OFF = 2.0**26


def median_gamma(X: Rows) -> float:
    """Return ``1 / (2 m^2)`` for the median distance m of rows, of at most the first thousand.

    Examples
    --------
    >>> median_gamma(np.array([[0.0], [2.0], [4.0]]))
    0.125
    """
    from sklearn.metrics import pairwise_distances

    if rows_of(X) < 2:
        return 1.0
    sample = slice_rows(X, 0, MEDIAN_ROWS)
    matrix = _matrix(sample)
    with one_thread_of_sklearn():  # sums over several threads may have other bits
        distance = pairwise_distances(matrix)
    median = _median_apart(distance[np.triu_indices(len(distance), 1)])
    squares = np.asarray(matrix.multiply(matrix).sum(axis=1))
    if np.median(squares) > _FAR_OFF * median**2:
        median = _median_apart(np.sqrt(pair_distances(to_csr(sample))))
    if median > 0.0:
        return float(1.0 / (2.0 * median**2))
    return 1.0


def _median_apart(distances: NDArray[np.float64]) -> float:
    """Return the median of the distances above 0, or 0 if there are none."""
    positive = distances[distances > 0.0]
    if len(positive):
        return float(np.median(positive))
    return 0.0


def _matrix(X: Rows) -> Any:
    from scipy.sparse import csr_matrix

    rows = to_csr(X)
    first = rows.indptr[0]
    last = rows.indptr[-1]
    # Without features that no row has: there may be millions.
    features, columns = np.unique(rows.indices[first:last], return_inverse=True)
    return csr_matrix(
        (rows.data[first:last], columns, rows.indptr - first),
        (rows_of(X), max(1, len(features))),
    )


WORDS = ("auto", "median")


class KernelFeatures(Transform):
    """Base of random dense transforms to `features` features for ``exp(-gamma |x - s|^2)``."""

    takes_sparse = True
    fits_sparse = True
    is_random = True
    mixes_features = True
    least_features: ClassVar[int] = 1

    features: int
    gamma: float | str
    seed: int
    _median: float

    def _check(self) -> None:
        for name, value, least in (
            ("features", self.features, self.least_features),
            ("seed", self.seed, 0),
        ):
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                expected = f"expected a whole number of at least {least}"
                raise ParameterError(
                    f"transform {self.name}: {name} was {value!r}, {expected}"
                )
        gamma = self.gamma
        if gamma not in WORDS and (
            isinstance(gamma, bool | str) or not 0.0 < gamma < np.inf
        ):
            raise ParameterError(
                f"transform {self.name}: gamma was {gamma!r}, expected a number > 0, or 'auto', "
                "or 'median'"
            )

    def width(self, columns: int) -> int:
        return self.features

    def _gamma(self, columns: int) -> float:
        """Return the width: one over the number of features if "auto", fitted if "median"."""
        if self.gamma == "median":
            return self._median
        if self.gamma == "auto":
            return 1.0 / max(1, columns)
        return float(self.gamma)

    def _fit_width(self, sample: Rows | None) -> None:
        self._median = 1.0 if sample is None else median_gamma(sample)

    def state(self) -> dict[str, NDArray[Any]]:
        if self.gamma == "median":
            return {"median": np.array([self._median])}
        return {}

    def restore(self, state: Mapping[str, NDArray[Any]], columns: int) -> None:
        names = {"median"} if self.gamma == "median" else set()
        if state.keys() != names or any(
            (a.shape, a.dtype.str) != ((1,), "<f8") for a in state.values()
        ):
            raise ValueError(
                f"transform {self.name} has arrays {sorted(state)}, expected {sorted(names)}"
            )
        if names:
            self._median = float(state["median"][0])

    def _sample(self, chunks: Callable[[], Iterator[Rows]], size: int) -> Rows | None:
        """Return rows drawn uniformly, in random order, that can be squared; None without rows.

        There are at least `size`, and enough for the median distance if that is the width.
        """
        if self.gamma == "median":
            size = max(size, MEDIAN_ROWS)
        random = np.random.Generator(
            np.random.PCG64(np.random.SeedSequence([self.seed, self.projection]))
        )
        rows: Rows | None = None
        keys = np.empty(0)
        # The rows with the smallest random keys are a uniform sample, drawn in one pass.
        for X in filter(rows_of, chunks()):
            drawn = random.random(rows_of(X))
            chosen = np.flatnonzero(
                (drawn < (keys[-1] if len(keys) == size else 1.0)) & usable_rows(X)
            )
            fresh = take_rows(X, chosen)
            rows = fresh if rows is None else stack_rows([rows, fresh])
            keys = np.concatenate([keys, drawn[chosen]])
            order = np.argsort(keys)[:size]
            rows = take_rows(rows, order)
            keys = keys[order]
        return rows


def usable_rows(X: Rows) -> NDArray[np.bool_]:
    """Return which rows can be squared: no value is missing, and none is too large."""
    rows = to_csr(X)
    row = np.repeat(np.arange(rows_of(X)), np.diff(rows.indptr))
    first = rows.indptr[0]
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.square(rows.data[first : rows.indptr[-1]])
        return np.isfinite(np.bincount(row, squares, minlength=rows_of(X)))


def mark_long_rows(X: CSR, out: NDArray[np.float64]) -> None:
    """Make the features of rows that are too long to square infinite, which ends the run.

    They would otherwise be 0, or noise, and the run would continue.
    """
    _mark_long_rows(X, out)


@compiled
def _mark_long_rows(X: Any, out: Any) -> None:
    for i in range(out.shape[0]):
        square = 0.0
        for p in range(X.indptr[i], X.indptr[i + 1]):
            square += X.data[p] * X.data[p]
        if square == np.inf:
            out[i] = np.inf


def pair_distances(X: CSR) -> NDArray[np.float64]:
    """Return the squared distances of all pairs of rows, in the order of `numpy.triu_indices`.

    The diagonal is left out (k = 1).

    Examples
    --------
    >>> from olscale.compiled.csr import to_csr
    >>> pair_distances(to_csr(np.array([[1e9, 1.0], [1e9, 2.0], [1e9, 4.0]]))).tolist()
    [1.0, 9.0, 4.0]
    """
    rows = rows_of(X)
    squares = np.empty(rows * (rows - 1) // 2)
    _set_pairs(read_only_csr(X), squares)
    return squares


@compiled
def _set_pairs(X: Any, squares: Any) -> None:
    n = 0
    for i in range(X.indptr.shape[0] - 1):
        for j in range(i + 1, X.indptr.shape[0] - 1):
            squares[n] = _square(X, i, j)
            n += 1


@compiled
def _square(X: Any, i: int, j: int) -> float:
    p = X.indptr[i]
    p_end = X.indptr[i + 1]
    q = X.indptr[j]
    q_end = X.indptr[j + 1]
    total = 0.0
    while p < p_end or q < q_end:
        difference = 0.0
        both = p < p_end and q < q_end
        take_left = q == q_end or (both and X.indices[p] <= X.indices[q])
        take_right = p == p_end or (both and X.indices[q] <= X.indices[p])
        if take_left:
            difference += X.data[p]
            p += 1
        if take_right:
            difference -= X.data[q]
            q += 1
        total += difference * difference
    return total
