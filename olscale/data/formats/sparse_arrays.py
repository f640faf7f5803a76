"""Sparse matrices of SciPy as batches, and as members of `scipy.sparse.save_npz` archives."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR
from olscale.data.formats.base import Batch, ReadOptions, batches_of_arrays
from olscale.errors import FormatError

_MEMBERS = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "bsr": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
    "dia": ("data", "offsets"),
}
"""Members of an archive by the format of its matrix, in addition to ``format`` and ``shape``."""
_MOST_COLUMNS = 2**31 - 1


def batches_of_sparse(
    source: str,
    X: Any,
    y: NDArray[Any] | list[str] | None,
    options: ReadOptions,
    weights: NDArray[Any] | None = None,
) -> Iterator[Batch]:
    """Yield a sparse matrix and its targets as batches.

    Parameters
    ----------
    source : str
        Named in errors.
    X : sparse matrix or array of shape (rows, columns)
        Its indices are within its shape.
    y : ndarray of shape (rows,) or (rows, targets), or list of str
        As `olscale.data.formats.base.batches_of_arrays` takes them.
    options : ReadOptions
        Only `chunk_rows` is used.

    Raises
    ------
    FormatError
        When there are no rows, or the numbers of rows and targets differ.
    """
    rows, columns = X.shape
    if columns > _MOST_COLUMNS:
        raise FormatError(source, f"has {columns:,} columns, expected at most {_MOST_COLUMNS:,}")
    # The targets are checked and cut like those of dense rows of width 0; only then is it certain
    # that there are as many rows as promised.
    parts = batches_of_arrays(source, np.empty((rows, 0)), y, options, weights=weights)
    indptr = np.empty(0, dtype=np.int64)
    for start, part in enumerate(parts):
        if start == 0:
            X = X.tocsr()
            X.sum_duplicates()
            indptr = X.indptr.astype(np.int64)
        first = start * options.chunk_rows
        bounds = indptr[first : first + len(part) + 1]
        span = slice(bounds[0], bounds[-1])
        values = X.data[span].astype(np.float64)
        csr = CSR(bounds - bounds[0], X.indices[span].astype(np.int32), values)
        yield replace(part, X=csr, columns=columns)


def sparse_members(names: Mapping[str, Any] | list[str]) -> tuple[str, ...]:
    """Return the members of an archive that make up a sparse matrix; none for other archives.

    Examples
    --------
    >>> sparse_members(["indptr", "indices", "data", "shape", "format", "y"])
    ('format', 'shape', 'data', 'indices', 'indptr')
    >>> sparse_members(["data", "target"])
    ()
    """
    for members in _MEMBERS.values():
        expected = ("format", "shape", *members)
        if all(name in names for name in expected):
            return expected
    return ()


def sparse_matrix(source: str, members: Mapping[str, NDArray[Any]]) -> Any:
    """Return the matrix that the `members` of an archive make up.

    Raises
    ------
    FormatError
        When they do not fit together, or hold anything but numbers.
    """
    import scipy.sparse

    format = _word(members["format"])
    data = members["data"]
    if format not in _MEMBERS:
        problem = f"its sparse matrix is {format!r}, expected {', '.join(_MEMBERS)}"
        raise FormatError(source, problem)
    if data.dtype.kind not in "buif":
        raise FormatError(source, f"its sparse matrix holds {data.dtype}, expected numbers")
    try:
        shape = tuple(int(length) for length in members["shape"].tolist())
        places = [members[name] for name in _MEMBERS[format][1:]]
        content: Any = (data, tuple(places)) if format == "coo" else (data, *places)
        matrix = getattr(scipy.sparse, f"{format}_array")(content, shape=shape)
        if len(shape) != 2 or min(shape) < 0:
            raise ValueError(f"its shape is {shape}")
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
            # SciPy skips this check when the last pointer promises no values.
            if (np.diff(matrix.indptr) < 0).any():
                raise ValueError("its rows overlap")
    except (KeyError, TypeError, ValueError, OverflowError, MemoryError, IndexError) as error:
        raise FormatError(source, f"its sparse matrix is damaged ({error})") from error
    return matrix


def _word(format: NDArray[Any]) -> str:
    word = format.item() if format.size == 1 else ""
    return word.decode("ascii", "replace") if isinstance(word, bytes) else str(word)
