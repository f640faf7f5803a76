"""A program that reads a MAT file on standard input and writes its matrices to standard output.

SciPy trusts the file: one wrong word in a header can end the process (a segmentation fault in 23 of
1,500 damaged files) or request any amount of memory. So it runs here, in a process of its own with
a memory limit, and its result is checked before it is passed on as plain arrays. The first line is
JSON that describes each matrix by name; the arrays follow in that order.
"""

import io
import json
import sys
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np

_SPARE_BYTES = 1 << 30
# Memory in addition to the libraries', and per byte of the file, which may be compressed.
_BYTES_A_BYTE = 256
# SciPy's name for variables of newer classes (string, categorical, table), without their names.
_OBJECTS = "None"
_CLASSES = {"MatlabFunction": "function handle", "MatlabObject": "object"}


def main() -> None:
    """Read the file from standard input and write its matrices, or an error message."""
    from scipy.io import loadmat

    data = sys.stdin.buffer.read()
    warnings.simplefilter("ignore")  # several objects under one name: read one by one
    _limit_memory(_SPARE_BYTES + _BYTES_A_BYTE * len(data))
    arrays: list[Any] = []
    try:
        variables = loadmat(io.BytesIO(data))
        names = [name for name in variables if not name.startswith("__")]
        matrices = {name: _described(name, variables[name], arrays) for name in names}
        if _OBJECTS in variables:
            del matrices[_OBJECTS]
            matrices |= _objects(data)
        head: dict[str, Any] = {"matrices": matrices}
    except Exception as error:
        # SciPy's reader raises nearly anything for damaged bytes
        head = {"problem": " ".join(str(error).split()) or type(error).__name__}
        arrays = []
    out = sys.stdout.buffer
    out.write(json.dumps(head).encode() + b"\n")
    for array in arrays:
        # NumPy cannot write to a pipe: it would ask for the position.
        np.lib.format.write_array(
            SimpleNamespace(write=out.write), array, allow_pickle=False
        )
    out.flush()


def _limit_memory(data_bytes: int) -> None:
    try:
        import resource

        with open("/proc/self/statm") as file:  # noqa: PTH123 - starts faster
            allowed = int(file.read().split()[0]) * resource.getpagesize() + data_bytes
    except (ImportError, OSError):  # neither exists on every system
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(
        resource.RLIMIT_AS, (allowed if most < 0 else min(allowed, most), most)
    )


def _objects(data: bytes) -> dict[str, Any]:
    """Return the objects of a file, which SciPy stores under one name, by their own names."""
    from scipy.io import loadmat
    from scipy.io.matlab import varmats_from_mat

    objects = {}
    for name, file in varmats_from_mat(io.BytesIO(data)):
        if name == _OBJECTS:
            (held,) = loadmat(file)[_OBJECTS]
            objects[held["s0"].decode()] = _other(f"{held['s2'].decode()} object", ())
    return objects


def _other(kind: str, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"kind": "other", "what": kind, "shape": shape}


def _described(name: str, value: Any, arrays: list[Any]) -> dict[str, Any]:
    """Append the arrays of `value` to `arrays` and return its description."""
    from scipy.sparse import csc_array, issparse

    if getattr(value, "dtype", np.dtype(bool)).kind == "c":
        return _other("of complex numbers", value.shape)
    if issparse(value):
        matrix = csc_array(value)
        matrix.check_format(full_check=True)
        # SciPy skips this check when the last pointer promises no values.
        if (np.diff(matrix.indptr) < 0).any():
            raise ValueError(f"the columns of {name!r} overlap")
        arrays += [
            matrix.data.astype(np.float64),
            matrix.indices.astype(np.int64),
            matrix.indptr.astype(np.int64),
        ]
        return {"kind": "sparse", "shape": matrix.shape}
    if not isinstance(value, np.ndarray):
        return _other(type(value).__name__, ())
    if value.dtype.fields is not None:
        # SciPy reads function handles and objects of old classes as structs.
        return _other(_CLASSES.get(type(value).__name__, "struct"), value.shape)
    if value.dtype == object:
        return {
            "kind": "cells",
            "shape": value.shape,
            "cells": [_described(name, cell, arrays) for cell in value.reshape(-1)],
        }
    if value.dtype.kind not in "buifU":
        return _other(f"of {value.dtype}", value.shape)
    arrays.append(value)
    return {"kind": "array"}


if __name__ == "__main__":
    main()
