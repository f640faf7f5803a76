"""MAT files of MATLAB 5 to 7.2: a matrix of features and a vector of labels.

Recognised names: ``X, Y``; ``X, y``; ``x, y``; ``fea, gnd``; ``data, labels``; ``data, target``. Sparse matrices are
read too, and a cell array of matrices with the same rows (views) is read side by side.
"""

import json
import math
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR
from olscale.data.formats import _loadmat
from olscale.data.formats.base import Batch, ReadOptions, batches_of_arrays
from olscale.data.formats.compression import open_raw
from olscale.errors import FormatError

_NAMES = (("X", "Y"), ("X", "y"), ("x", "y"), ("fea", "gnd"), ("data", "labels"), ("data", "target"))
_TOO_NEW = b"MATLAB 7.3"
_COPY_BYTES = 1 << 17


class MatFormat:
    """Matrices stored by MATLAB."""

    name: ClassVar[str] = "mat"
    suffixes: ClassVar[tuple[str, ...]] = (".mat",)

    def matches(self, source: str, head: bytes) -> bool:
        """Return whether `head` is a MATLAB 5 header."""
        return head.startswith(b"MATLAB 5.0 MAT-file")

    def splits(self, source: str) -> tuple[str, ...]:
        """Return ``("train",)``: no split is read from MAT files."""
        return ("train",)

    def read(self, source: str, options: ReadOptions) -> Iterator[Batch]:
        """Yield the rows of `source`.

        Raises
        ------
        FormatError
            When the file is damaged or newer (HDF5), lacks the matrices, or they do not fit together.
        """
        matrices = _load(source)
        keys: tuple[str, str | None] | None
        keys = next((pair for pair in _NAMES if set(pair) <= matrices.keys()), None)
        if keys is None and not options.labels_needed:
            keys = next(((X, None) for X, _ in _NAMES if X in matrices), None)
        if keys is None:
            expected = " or ".join(", ".join(pair) for pair in _NAMES)
            raise FormatError(source, f"holds the matrices {', '.join(matrices) or 'none'}; expected {expected}")
        X = matrices[keys[0]]
        y: Any = None if keys[1] is None else matrices[keys[1]]
        if hasattr(y, "toarray") and math.prod(y.shape) <= max(X.shape):
            y = y.toarray()
        if y is not None and not isinstance(y, np.ndarray):
            raise FormatError(
                source, f"its targets {keys[1]} are a sparse matrix of shape {y.shape}, expected one per row"
            )
        if y is not None and y.dtype == object:  # cells of text
            y = np.array([str(np.squeeze(label)) for label in y.reshape(-1)])
        if hasattr(X, "tocsr"):
            yield from _sparse(source, X, y, options)
        else:
            yield from batches_of_arrays(source, _side_by_side(source, X), y, options)


def _side_by_side(source: str, X: NDArray[Any]) -> NDArray[Any]:
    """Join the cells of a cell array: views of the same rows, as in the multiple-features set."""
    if X.dtype != object:
        return X
    views = list(X.reshape(-1))
    shapes = [np.shape(view) for view in views]
    if not views or any(len(shape) != 2 or shape[0] != shapes[0][0] for shape in shapes):
        raise FormatError(source, f"its cells have shapes {shapes}, expected views of the same rows")
    return np.hstack(views)


def _sparse(source: str, X: Any, y: NDArray[Any] | None, options: ReadOptions) -> Iterator[Batch]:
    # The targets are checked and cut like those of dense rows of no width; only then are there as many rows as promised.
    parts = batches_of_arrays(source, np.empty((X.shape[0], 0)), y, options)
    indptr = np.empty(0, dtype=np.int64)
    for start, part in enumerate(parts):
        if start == 0:
            X = X.tocsr()
            X.sum_duplicates()
            indptr = X.indptr.astype(np.int64)
        first = start * options.chunk_rows
        bounds = indptr[first : first + len(part) + 1]
        span = slice(bounds[0], bounds[-1])
        rows = CSR(bounds - bounds[0], X.indices[span].astype(np.int32), X.data[span].astype(np.float64))
        yield Batch(rows, part.target, X.shape[1], unlabelled=part.unlabelled, targets=part.targets)


def start_reader() -> subprocess.Popen[bytes]:
    """Start the process that takes a file on its standard input and gives its matrices (`_loadmat`)."""
    command = [sys.executable, "-P", str(Path(_loadmat.__file__))]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def _load(source: str) -> dict[str, Any]:
    """Return the matrices of a file by name; a process of its own reads them, because a damaged file can end it."""
    with open_raw(source) as file:
        head = file.read(len(_TOO_NEW))
        if head == _TOO_NEW:
            raise FormatError(source, "is a MATLAB 7.3 (HDF5) file; save it with -v7 in MATLAB")
        with start_reader() as child:
            assert child.stdin is not None
            assert child.stdout is not None
            with suppress(BrokenPipeError):  # it ended, which is seen below
                child.stdin.write(head)
                shutil.copyfileobj(file, child.stdin, _COPY_BYTES)
                child.stdin.close()
            answer = json.loads(child.stdout.readline() or "{}")
            # A pipe is no file to NumPy, which would look for its position.
            arrays = SimpleNamespace(read=child.stdout.read)
            matrices = {name: _value(about, arrays) for name, about in answer.get("matrices", {}).items()}
    if "matrices" not in answer:
        problem = answer.get("problem", f"SciPy's reader ended with code {child.returncode}")
        raise FormatError(source, f"is no MAT file or is damaged ({problem})")
    return {name: matrix for name, matrix in matrices.items() if matrix is not None}


def _value(about: dict[str, Any] | None, arrays: Any) -> Any:
    """Return the matrix that `about` describes, of the next arrays."""
    from scipy.sparse import csc_array

    if about is None:
        return None
    if about["kind"] == "cells":
        cells = np.empty(len(about["cells"]), dtype=object)
        for i, cell in enumerate(about["cells"]):
            cells[i] = _value(cell, arrays)
        return cells.reshape(about["shape"])
    if about["kind"] == "array":
        return np.lib.format.read_array(arrays, allow_pickle=False)
    data, indices, indptr = (np.lib.format.read_array(arrays, allow_pickle=False) for _ in range(3))
    return csc_array((data, indices, indptr), shape=tuple(about["shape"]))
