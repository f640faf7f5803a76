"""MAT files of MATLAB 4 to 7.2: a matrix of features and a vector of labels.

Recognised names: ``X, Y``; ``X, y``; ``x, y``; ``fea, gnd``; ``data, labels``; ``data, target``;
any other with `ReadOptions.arrays`, which may also name test arrays, to be read as
``FILE.mat#test``. Sparse matrices are read too, and a cell array of matrices with the same rows
(views) is joined side by side. Labels are numbers, a cell array of text, or a matrix of characters,
whose rows lose their trailing blanks, as with ``cellstr``.
"""

import json
import math
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.data.formats import _loadmat
from olscale.data.formats.arrays import (
    HeldArray,
    batches_of_sparse,
    choose_arrays,
    path_and_split,
    weights_array,
)
from olscale.data.formats.base import Batch, ReadOptions, batches_of_arrays
from olscale.data.formats.compression import open_raw
from olscale.errors import FormatError

_NAMES = {
    "train": (
        ("X", "Y"),
        ("X", "y"),
        ("x", "y"),
        ("fea", "gnd"),
        ("data", "labels"),
        ("data", "target"),
    ),
    "test": (("X_test", "y_test"),),
}
# White space that ``cellstr`` removes at a row's end.
_FILL = " \0\t\n\v\f\r"
_CURE = "save a matrix of real numbers, and labels as numbers or text (table2array(T), cellstr(y))"
_TOO_NEW = b"MATLAB 7.3"
_COPY_BYTES = 1 << 17


class MatFormat:
    """Matrices stored by MATLAB.

    Features and labels have the names of NPZ, or `X` and `Y`, `fea` and `gnd`, `data` and
    `labels`. A matrix of characters has a label per row, without the blanks that fill it up.
    Categorical arrays, strings and tables are objects of MATLAB and refused by name: save
    `cellstr(y)` and `table2array(T)`.
    """

    name: ClassVar[str] = "mat"
    suffixes: ClassVar[tuple[str, ...]] = (".mat",)

    def matches(self, source: str, head: bytes) -> bool:
        """Return whether `head` is a MATLAB 5 header."""
        return head.startswith(b"MATLAB 5.0 MAT-file")

    def splits(self, source: str) -> tuple[str, ...]:
        """Return ``("train",)``: test rows are read only if `ReadOptions.arrays` names them."""
        return ("train",)

    def read(self, source: str, options: ReadOptions) -> Iterator[Batch]:
        """Yield the rows of `source`.

        Raises
        ------
        FormatError
            When the file is damaged or newer (HDF5), lacks the matrices, or they do not fit
            together.
        """
        path, split = path_and_split(source)
        variables = _load(path)
        held = [_held(name, variable) for name, variable in variables.items()]
        features, targets = choose_arrays(source, held, _NAMES, options, split)
        counting = weights_array(source, held, options, split)
        for name in (features, targets, counting):
            if name is not None and isinstance(variables[name], Other):
                problem = f"its {_held(name, variables[name])} cannot be read; {_CURE}"
                raise FormatError(source, problem)
        X = variables[features]
        y = None
        if targets is not None:
            y = _labels(source, targets, variables[targets], X.shape)
        weights = None
        if counting is not None:
            weights = _labels(source, counting, variables[counting], X.shape)
        if isinstance(X, np.ndarray):
            yield from batches_of_arrays(
                source,
                _side_by_side(source, X),
                y,
                options,
                weights=weights,
            )
        else:
            yield from batches_of_sparse(source, X, y, options, weights)


@dataclass(frozen=True, slots=True)
class Other:
    """A variable that is no matrix of real numbers or text.

    Parameters
    ----------
    what : str
        Such as ``"struct"``.
    shape : tuple of int
    """

    what: str
    shape: tuple[int, ...]


def _held(name: str, variable: Any) -> HeldArray:
    kind = ""
    if isinstance(variable, Other):
        kind = variable.what
    return HeldArray(name, tuple(variable.shape), kind)


def _labels(
    source: str,
    name: str,
    y: Any,
    shape: tuple[int, ...],
) -> NDArray[Any]:
    """Return the targets for features of that `shape`."""
    if not isinstance(y, np.ndarray):
        if math.prod(y.shape) > max(shape):
            problem = f"its targets {name} are a sparse matrix of shape {y.shape}"
            raise FormatError(source, f"{problem}, expected one per row")
        # It holds a label a row at most, so that it fits in memory.
        y = y.toarray()
    if y.dtype == object:
        return np.array([_text(source, name, cell) for cell in y.reshape(-1)])
    if y.dtype.kind == "U":
        # A matrix of characters: blanks fill up its shorter rows.
        return np.array([row.rstrip(_FILL) for row in y.reshape(-1).tolist()])
    labels: NDArray[Any] = y
    return labels


def _text(source: str, name: str, cell: Any) -> str:
    """Return the label in a cell: text, or one number."""
    if isinstance(cell, np.ndarray) and cell.dtype.kind == "U" and not cell.size:
        return ""
    if isinstance(cell, np.ndarray) and cell.dtype.kind in "buifU" and cell.size == 1:
        return str(cell.reshape(-1)[0])
    content = (
        cell.what if isinstance(cell, Other) else f"an array of shape {cell.shape}"
    )
    raise FormatError(
        source, f"a cell of {name} holds {content}, expected text or a number"
    )


def _side_by_side(source: str, X: NDArray[Any]) -> NDArray[Any]:
    """Join the cells of a cell array: views of the same rows, as in the multiple-features set."""
    if X.dtype != object:
        return X
    views = list(X.reshape(-1))
    shapes = [np.shape(view) for view in views]
    if not views or any(
        len(shape) != 2 or shape[0] != shapes[0][0] for shape in shapes
    ):
        raise FormatError(
            source,
            f"its cells have shapes {shapes}, expected views of the same rows",
        )
    return np.hstack(views)


# SciPy's reader ends the process at some damaged files, 23 of 1,500 in one round of fuzzing,
# which no `except` can turn into a message.
def start_reader() -> subprocess.Popen[bytes]:
    """Start the process that reads a file on standard input and returns its matrices.

    See `_loadmat`.
    """
    # -P, since modules next to that file, such as csv, would hide Python's own.
    command = [sys.executable, "-P", str(Path(_loadmat.__file__))]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _load(source: str) -> dict[str, Any]:
    """Return the matrices of a file by name, read by a process that a damaged file may end."""
    with open_raw(source) as file:
        head = file.read(len(_TOO_NEW))
        if head == _TOO_NEW:
            raise FormatError(
                source, "is a MATLAB 7.3 (HDF5) file; save it with -v7 in MATLAB"
            )
        with start_reader() as child:
            assert child.stdin is not None
            assert child.stdout is not None
            with suppress(BrokenPipeError):  # the process ended, which is handled below
                child.stdin.write(head)
                shutil.copyfileobj(file, child.stdin, _COPY_BYTES)
                child.stdin.close()
            answer = json.loads(child.stdout.readline() or "{}")
            # NumPy cannot read from a pipe: it would ask for the position.
            arrays = SimpleNamespace(read=child.stdout.read)
            matrices = {
                name: _value(about, arrays)
                for name, about in answer.get("matrices", {}).items()
            }
    if "matrices" not in answer:
        problem = answer.get(
            "problem", f"SciPy's reader ended with code {child.returncode}"
        )
        raise FormatError(source, f"is no MAT file or is damaged ({problem})")
    return matrices


def _value(about: dict[str, Any], arrays: Any) -> Any:
    """Return the matrix that `about` describes, taken from the next arrays."""
    from scipy.sparse import csc_array

    if about["kind"] == "other":
        return Other(about["what"], tuple(about["shape"]))
    if about["kind"] == "cells":
        cells = np.empty(len(about["cells"]), dtype=object)
        for i, cell in enumerate(about["cells"]):
            cells[i] = _value(cell, arrays)
        return cells.reshape(about["shape"])
    if about["kind"] == "array":
        return np.lib.format.read_array(arrays, allow_pickle=False)
    data, indices, indptr = (
        np.lib.format.read_array(arrays, allow_pickle=False) for _ in range(3)
    )
    return csc_array((data, indices, indptr), shape=tuple(about["shape"]))
