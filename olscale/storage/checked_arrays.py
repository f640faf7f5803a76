"""Named arrays in one file with a checksum; zeros of wide arrays are left out.

The file is an ``.npz`` of plain arrays (no pickle), with a SHA-256 over all of them in
``checksum``. A large array that is zero in a quarter of its blocks or more is three members:
``sparse/<name>/shape``; ``sparse/<name>/at``, the numbers of the blocks of 256 bytes that are not
zero; and ``sparse/<name>/blocks``. ``format`` is 2; a file without it is of the first format, in
which every array was one member.
"""

import hashlib
import math
import zipfile
from collections.abc import Iterable, Iterator
from typing import IO, Any

import numpy as np

from olscale.arrays import Array, IntArray
from olscale.compiled.pages import (
    BLOCK,
    aligned_zeros,
    filled_blocks,
    put_blocks,
    take_blocks,
)
from olscale.errors import OlscaleError
from olscale.storage.npz import read_npz, write_member

FORMAT = 2
_SPARSE = "sparse/"
_PIECE = 1 << 24
_AT_ONCE = _PIECE // BLOCK


class LaterFormatError(OlscaleError, ValueError):
    """A file by a later version of olscale, which is not damaged."""


def write_arrays(file: IO[bytes], arrays: Iterable[tuple[str, Array]]) -> None:
    """Write named arrays, one after another as they come, as an ``.npz`` with a checksum.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> write_arrays(file, [("w", np.array([0.5, 1.0]))])
    >>> read_arrays(file)
    {'w': array([0.5, 1. ])}
    """
    with zipfile.ZipFile(file, "w") as archive:
        members = _Members(archive)
        members.add("format", np.array([FORMAT]))
        for name, array in arrays:
            numbers = filled_blocks(array)
            if numbers is None:
                members.add(name, array)
            else:
                prefix = f"{_SPARSE}{name}"
                lengths = np.array(array.shape)
                members.add(f"{prefix}/shape", lengths)
                members.add(f"{prefix}/at", numbers)
                per_block = BLOCK // array.itemsize
                shape = (len(numbers), per_block)
                blocks = _cut(array, numbers)
                members.stream(f"{prefix}/blocks", array.dtype, shape, blocks)
        members.close()


def _cut(array: Array, numbers: IntArray) -> Iterator[Array]:
    for start in range(0, len(numbers), _AT_ONCE):
        stop = start + _AT_ONCE
        yield take_blocks(array, numbers[start:stop])


class _Members:
    """The members of an archive while it is written, and their checksum."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._digest = hashlib.sha256()

    def add(self, name: str, array: Array) -> None:
        self.stream(name, array.dtype, array.shape, [array])

    def stream(
        self,
        name: str,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        parts: Iterable[Array],
    ) -> None:
        """Add an array of `shape` that comes in `parts`."""
        header = _header(name, dtype, shape)
        self._digest.update(header)
        pieces = self._digested(parts)
        write_member(self._archive, name, dtype, shape, pieces)

    def _digested(self, parts: Iterable[Array]) -> Iterator[memoryview]:
        for part in parts:
            for piece in _pieces(part):
                self._digest.update(piece)
                yield piece

    def close(self) -> None:
        digest = self._digest.digest()
        checksum = np.frombuffer(digest, dtype=np.uint8)
        self.add("checksum", checksum)


def _header(name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    text = f"{name}\0{dtype.str}\0{shape}\0"
    return text.encode()


def _pieces(array: Array) -> Iterator[memoryview]:
    """Yield the bytes of an array in pieces, so that signals are handled between two."""
    flat = np.ascontiguousarray(array).reshape(-1)
    data = flat.view(np.uint8).data
    for start in range(0, len(data), _PIECE):
        stop = start + _PIECE
        yield data[start:stop]


def read_arrays(file: IO[bytes]) -> dict[str, Array]:
    """Return the arrays that `write_arrays` wrote; omitted zeros take no memory until written.

    Raises
    ------
    LaterFormatError
        If a later version wrote the file.
    ValueError
        If the file is damaged.
    OSError
        If it cannot be read.
    """
    try:
        arrays = read_npz(file)
    except OSError:  # an error of access, while the file may be intact
        raise
    except Exception as fault:
        # zipfile and NumPy raise nearly anything at damaged bytes
        raise ValueError(str(fault) or type(fault).__name__) from fault
    checksum = arrays.pop("checksum", None)
    digest = hashlib.sha256()
    for name, array in arrays.items():
        header = _header(name, array.dtype, array.shape)
        digest.update(header)
        for piece in _pieces(array):
            digest.update(piece)
    if checksum is None or checksum.tobytes() != digest.digest():
        raise ValueError("its checksum is that of other contents")
    # The first format did not say that it was the first.
    versions = arrays.pop("format", np.array([1]))
    version = int(versions[0])
    if version > FORMAT:
        raise LaterFormatError(
            f"its format is {version}, of a later version of olscale; this one reads up to {FORMAT}"
        )
    return dict(_joined(arrays))


def _joined(arrays: dict[str, Array]) -> Iterator[tuple[str, Array]]:
    """Yield arrays as they were before zeros were left out, in their order."""
    while arrays:
        name = next(iter(arrays))
        first = arrays.pop(name)
        if not name.startswith(_SPARSE):
            yield name, first
            continue
        name = name.removeprefix(_SPARSE).removesuffix("/shape")
        prefix = f"{_SPARSE}{name}"
        at = arrays.pop(f"{prefix}/at")
        blocks = arrays.pop(f"{prefix}/blocks")
        are_places = at.dtype == np.int64 and at.ndim == 1
        shape_of_blocks = (len(at), BLOCK // blocks.itemsize)
        if not are_places or blocks.shape != shape_of_blocks:
            raise ValueError(f"its blocks of {name} have no places")
        shape = tuple(first.tolist())
        size = math.prod(shape) * blocks.itemsize
        # `put_blocks` writes without checking bounds.
        first = at.min(initial=0)
        last_begin = at.max(initial=0) * BLOCK
        if first < 0 or last_begin >= size + BLOCK:
            raise ValueError(f"its blocks of {name} lie outside of it")
        joined = aligned_zeros(shape, blocks.dtype)
        put_blocks(joined, at, blocks)
        yield name, joined
