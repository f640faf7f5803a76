"""Principal components of rows that come in blocks: a singular value decomposition, updated.

The rows are not kept. For n rows x with mean mu it is the decomposition of the matrix of rows
``x - mu``: directions U, one per column, and singular values s. A block of m rows with mean mu_B
adds columns to ``U diag(s)``: its rows minus mu_B, and for the move of the mean
``sqrt(n m / (n + m)) (mu_B - mu)`` (Ross, Lim, Lin, Yang 2008, figure 1; without a mean Levy,
Lindenbaum 2000). Their parts along U and orthogonal to it make a matrix of few rows and columns,
whose decomposition turns U (Brand 2002). That is exact as long as no direction is dropped; where
only `most` are kept, the parts in other directions are lost.

Bits depend only on the edges of the blocks, on one BLAS thread (`olscale.system.blas`); LAPACK's
last bits may differ on another kind of processor.
"""

from typing import NamedTuple

import numpy as np

from olscale.arrays import FloatArray, IntArray
from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled
from olscale.compiled.rows import row_scores
from olscale.errors import DivergedError

_LEAST = 1e-10
_ROUNDING = 2e-15
"""Singular values below these parts of the largest, and of that of the mean, are rounding."""

_NEARLY = 1.0 - 1e-6
"""Share of a direction's largest component from which components count as equal.

Rounding must not choose among them.
"""


class Components(NamedTuple):
    """Principal components.

    Parameters
    ----------
    rows : int64 array of shape (1,)
        Number of the rows.
    mean : array of shape (columns,)
        Mean of the rows; 0 if none is subtracted.
    U : array of shape (columns, rank)
        Directions, by size of their singular values. In each the largest component is positive, the
        first among several.
    s : array of shape (rank,)
        Singular values.
    """

    rows: IntArray
    mean: FloatArray
    U: FloatArray
    s: FloatArray


class Turn(NamedTuple):
    """Positions of rows after a block.

    Parameters
    ----------
    matrix, shift : arrays of shape (rank before, rank), (rank,)
        A row that was at z along the directions is at ``z matrix + shift``.
    coordinates : array of shape (rows of the block, rank)
        Positions of the rows of the block.
    """

    matrix: FloatArray
    shift: FloatArray
    coordinates: FloatArray


def no_components(columns: int) -> Components:
    """Return the components of no rows."""
    return Components(
        rows=np.zeros(1, np.int64),
        mean=np.zeros(columns),
        U=np.zeros((columns, 0)),
        s=np.zeros(0),
    )


def components_of(
    X: FloatArray,
    most: int | None = None,
    centred: bool = True,
) -> tuple[Components, FloatArray]:
    """Return the components of rows, and their positions, by one decomposition of all.

    Examples
    --------
    >>> found, z = components_of(np.array([[0.0, 1.0], [4.0, 1.0], [2.0, 1.0]]))
    >>> found.U[:, 0].tolist(), z[:, 0].round(12).tolist()
    ([1.0, 0.0], [-2.0, 2.0, 0.0])
    """
    if centred:
        mean = X.mean(axis=0)
    else:
        mean = np.zeros(X.shape[1])
    A = X - mean
    rows = len(X)
    _, s, V = _svd(A, rows)
    if most is None:
        most = len(mean)
    most = min(rows - centred, most)
    rank = _rank(s, mean, rows, most)
    U = np.ascontiguousarray(V[:rank].T)
    U *= _signs(U)
    components = Components(
        rows=np.array([rows]),
        mean=mean,
        U=U,
        s=s[:rank],
    )
    return components, A @ U


def add_block(
    of: Components,
    X: FloatArray,
    most: int | None = None,
    centred: bool = True,
) -> tuple[Components, Turn]:
    """Return the components with a block of rows, at most `most`, and the positions of rows.

    Parameters
    ----------
    of : Components
        The components before the block, which do not change.
    X : array of shape (rows, columns)
        At least one row.
    most : int, optional
        Number of components to keep.
    centred : bool
        Whether the mean of the rows is subtracted.

    Raises
    ------
    DivergedError
        If the numbers of the rows are too large to be squared.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(9, 4))
    >>> some, _ = add_block(no_components(4), X[:5])
    >>> found, turn = add_block(some, X[5:])
    >>> whole, z = components_of(X)
    >>> bool(np.allclose(found.U, whole.U)), bool(np.allclose(turn.coordinates, z[5:]))
    (True, True)
    """
    before = int(of.rows[0])
    m = len(X)
    rows = before + m
    mean = of.mean
    B = X.T
    if centred:
        of_block = X.mean(axis=0)
        share = m / rows
        mean = of.mean + share * (of_block - of.mean)
        if m > 1:
            parts = [(X - of_block).T]
        else:
            parts = []
        # A block of one row with nothing before it has no direction, but the product needs a
        # column.
        if before or not parts:
            move = (of_block - of.mean)[:, None]
            weight = np.sqrt(before / rows * m)
            parts.append(weight * move)
        B = np.concatenate(parts, axis=1)
    along = of.U.T @ B
    orthogonal = B - of.U @ along
    again = of.U.T @ orthogonal  # once more: remnants of the directions would turn them
    Q, R = np.linalg.qr(orthogonal - of.U @ again)
    rank = len(of.s)
    more = len(R)
    # The rows of the block along the directions and orthogonal to them, small enough to decompose.
    columns = rank + B.shape[1]
    K = np.zeros((rank + more, columns))
    K[:rank, :rank] = np.diag(of.s)
    K[:rank, rank:] = along + again
    K[rank:, rank:] = R
    u, s, _ = _svd(K, rows)
    if most is None:
        most = len(mean)
    # Rows less their mean span a dimension less than their number: `centred` counts as 1.
    most = min(rows - centred, most)
    rank_after = _rank(s, mean, rows, most)
    u = u[:, :rank_after]
    U = of.U @ u[:rank] + Q @ u[rank:]
    signs = _signs(U)
    U *= signs
    components = Components(
        rows=np.array([rows]),
        mean=mean,
        U=U,
        s=s[:rank_after].copy(),
    )
    turn = Turn(
        matrix=u[:rank] * signs,
        shift=(of.mean - mean) @ U,
        coordinates=(X - mean) @ U,
    )
    return components, turn


def _svd(A: FloatArray, rows: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    try:
        return np.linalg.svd(A, full_matrices=False)
    except np.linalg.LinAlgError:
        raise DivergedError(
            "the singular value decomposition found no end: scale the features",
            rows - 1,
        ) from None


def _rank(s: FloatArray, mean: FloatArray, rows: int, most: int) -> int:
    """Return how many of the singular values are kept, at most `most`."""
    largest = float(np.abs(mean).max(initial=0.0))
    if largest:
        squares = (mean / largest) ** 2
        of_mean = largest * float(np.sqrt(rows * np.sum(squares)))
    else:
        of_mean = 0.0
    largest_value = float(s.max(initial=0.0))
    least = max(_LEAST * largest_value, _ROUNDING * of_mean)
    above = int(np.count_nonzero(s > least))
    return min(most, above)


@compiled
def _signs(U: FloatArray) -> FloatArray:
    """Return the sign of the first of the largest components of each direction."""
    largest = np.zeros(U.shape[1])
    signs = np.zeros(U.shape[1])
    for j in range(U.shape[0]):
        for c in range(U.shape[1]):
            largest[c] = max(largest[c], abs(U[j, c]))
    for j in range(U.shape[0]):
        for c in range(U.shape[1]):
            if signs[c] == 0.0 and abs(U[j, c]) >= _NEARLY * largest[c]:
                if U[j, c] < 0.0:
                    signs[c] = -1.0
                else:
                    signs[c] = 1.0
    return signs


@compiled
def set_products(X: Rows, W: FloatArray, offset: FloatArray, out: FloatArray) -> None:
    """Set ``out = X W + offset``, row by row: no bit of a row depends on other rows."""
    for i in range(out.shape[0]):
        row_scores(X, i, W, out[i])
        for c in range(out.shape[1]):
            out[i, c] += offset[c]
