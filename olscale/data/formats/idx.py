"""IDX, the format of MNIST: images in one file, labels in another file next to it.

Name the images file. Its labels are found by the usual name: ``train-images-idx3-ubyte.gz`` goes
with ``train-labels-idx1-ubyte.gz``, with or without the compression suffix.
"""

import math
import re
from collections.abc import Collection, Iterator
from io import BufferedReader
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.data.formats.base import Batch, ReadOptions, batches_of_arrays
from olscale.data.formats.compression import open_source, strip_compression
from olscale.errors import FormatError

_DTYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
_BATCH_BYTES = 1 << 25
_IMAGES = re.compile(r"images([-.])idx\d")


class IdxFormat:
    """IDX images with their labels.

    Labels of `train-images-idx3-ubyte` are found in `train-labels-idx1-ubyte` next to it.
    """

    name: ClassVar[str] = "idx"
    suffixes: ClassVar[tuple[str, ...]] = (".idx", ".idx3-ubyte")

    def matches(self, source: str, head: bytes) -> bool:
        """Return whether `head` has the magic number of an array with at least two axes."""
        return (
            len(head) >= 12
            and head[:2] == b"\0\0"
            and head[2] in _DTYPES
            and 2 <= head[3] <= 8
        )

    def splits(self, source: str) -> tuple[str, ...]:
        """Return ``("train",)``: the test images are a source of their own."""
        return ("train",)

    def read(self, source: str, options: ReadOptions) -> Iterator[Batch]:
        """Yield the rows of `source`, one flattened image each, in the file's dtype.

        Raises
        ------
        FormatError
            When either file is no IDX file, ends early or is missing, or their numbers of rows
            differ.
        """
        labels = None
        if options.labelled:
            labels = _labels(source, needed=options.labels_needed)
        with open_source(source) as stream:
            shape, dtype = _header(source, stream)
            if len(shape) < 2:
                raise FormatError(
                    source,
                    f"holds an array of shape {shape}, expected rows of features; name the images",
                )
            if labels is not None and shape[0] != len(labels):
                problem = f"its file of labels holds {len(labels)} labels"
                raise FormatError(source, f"holds {shape[0]} rows but {problem}")
            if not math.prod(shape):
                raise FormatError(
                    source,
                    f"holds an array of shape {shape}, so no rows of features",
                )
            # Limited in bytes, since images may be large.
            most = max(
                1,
                min(
                    options.chunk_rows,
                    _BATCH_BYTES // (math.prod(shape[1:]) * dtype.itemsize),
                ),
            )
            for start in range(0, shape[0], most):
                rows = min(most, shape[0] - start)
                X = _rows(source, stream, shape, dtype, rows)
                y = None
                if labels is not None:
                    y = labels[start : start + rows]
                yield from batches_of_arrays(source, X, y, options)
            # More bytes than promised: the shape in the header is another one.
            if stream.read(1):
                raise FormatError(
                    source, f"goes on after the {shape[0]} rows its header promises"
                )


def _labels(source: str, *, needed: bool) -> NDArray[Any] | None:
    """Return the labels of the images `source`; None if there are none and none are needed."""
    labels = _labels_beside(source, needed=needed)
    if labels is None:
        return None
    with open_source(labels) as stream:
        shape, dtype = _header(labels, stream)
        if len(shape) != 1:
            problem = f"holds an array of shape {shape}, expected one label per row"
            raise FormatError(labels, problem)
        return _rows(labels, stream, shape, dtype, shape[0])


def _labels_beside(source: str, *, needed: bool) -> str | None:
    """Return the file of labels of `source`; None if there is none and none is needed."""
    candidates = _label_names(source)
    if not candidates and not needed:
        return None
    if not candidates:
        raise FormatError(
            source,
            "its labels cannot be found: expected a name with 'images-idx3', as MNIST has",
        )
    for candidate in candidates:
        try:
            open_source(candidate).close()
        except FormatError:
            continue
        return candidate
    if not needed:
        return None
    raise FormatError(
        source, f"its labels are missing: expected {candidates[0]} beside it"
    )


def labels_among(names: Collection[str]) -> set[str]:
    """Return those files of `names` that are the labels of images among them.

    Examples
    --------
    >>> labels_among(["train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte"])
    {'train-labels-idx1-ubyte'}
    """
    return {label for name in names for label in _label_names(name)}.intersection(names)


def _label_names(images: str) -> list[str]:
    """Return possible names of the file of labels; none if `images` has an unusual name."""
    renamed = _IMAGES.sub(r"labels\1idx1", images)
    if renamed == images:
        return []
    plain = strip_compression(renamed)
    # The labels are usually compressed like the images.
    return [*dict.fromkeys([renamed, plain, f"{plain}.gz"])]


def _header(
    source: str, stream: BufferedReader
) -> tuple[tuple[int, ...], np.dtype[Any]]:
    magic = stream.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in _DTYPES:
        raise FormatError(
            source,
            f"starts with {magic!r}, expected the magic number of an IDX file",
        )
    sizes = stream.read(4 * magic[3])
    if len(sizes) < 4 * magic[3]:
        raise FormatError(source, "truncated: ends inside its header")
    return tuple(np.frombuffer(sizes, ">u4").tolist()), np.dtype(_DTYPES[magic[2]])


def _read(stream: BufferedReader, size: int) -> bytearray:
    """Return `size` bytes, fewer if the stream ends.

    Memory is allocated as bytes arrive: a header may promise any number.
    """
    got = bytearray()
    while len(got) < size:
        start = len(got)
        got += bytes(min(size - start, _BATCH_BYTES))
        # Released at once, since a bytearray that is viewed cannot shrink.
        with memoryview(got) as view:
            end = start + stream.readinto(view[start:])
        if end < len(got):
            del got[end:]
            break
    return got


def _rows(
    source: str,
    stream: BufferedReader,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    rows: int,
) -> NDArray[Any]:
    expected = rows * math.prod(shape[1:]) * dtype.itemsize
    got = _read(stream, expected)
    if len(got) < expected:
        raise FormatError(
            source,
            f"truncated: its header promises {shape[0]} rows; get the file again",
        )
    return (
        np.frombuffer(got, dtype)
        .reshape(rows, *shape[1:])
        .astype(dtype.newbyteorder("="), copy=False)
    )
