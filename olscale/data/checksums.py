"""The fingerprint of a dataset, its identity.

BLAKE3 over labels, row lengths, indices and values as little-endian float64/int64/int32 streams. It
depends neither on how the rows are cut into chunks nor on the layout or the stored type. Segments
are part of it, since runs record the mistakes in each segment: the same rows in other segments are
another dataset.

Datasets of format version 1 have SHA-256 in its place, and checksums of decoded chunks in place of
checksums of files. Fingerprints of versions 1 and 2 exclude the segments; they cannot change, since
run ids contain them.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, trim
from olscale.data.layouts.base import Block
from olscale.data.manifest import FORMAT_VERSION, Segment
from olscale.storage.canonical_json import canonical_json

_HASHES: dict[int, Callable[..., Any]] = {1: hashlib.sha256, 2: blake3, 3: blake3}
# First format version whose fingerprints cover the segments.
_WITH_SEGMENTS = 3


def _bytes(array: NDArray[Any], dtype: str | None = None) -> memoryview:
    little = np.dtype(dtype) if dtype else array.dtype.newbyteorder("<")
    # As bytes of one order: every machine must come to the same digest.
    flat: Any = np.ascontiguousarray(array, dtype=little).reshape(-1).view(np.uint8)
    return memoryview(flat)


def decoded_crc32(block: Block) -> int:
    """Return the crc32 of the decoded arrays of `block`, which format version 1 keeps per chunk."""
    from isal.isal_zlib import crc32 as update

    # Format version 1 chained its arrays in this order; another one would refuse its datasets.
    code = update(_bytes(block.label))
    if not isinstance(block.X, CSR):
        return int(update(_bytes(block.X), code))
    for array in trim(block.X):
        code = update(_bytes(array), code)
    return int(code)


class SplitHash:
    """Running hashes over the rows of one split, for a format version of the dataset."""

    def __init__(self, version: int = FORMAT_VERSION) -> None:
        self.rows = 0
        self.version = version
        # A stream for each kind of array: in one stream the digest would depend on the cut into
        # chunks.
        self._streams = {
            name: _HASHES[version]()
            for name in ("labels", "lengths", "indices", "values")
        }

    def update(self, block: Block) -> None:
        """Add the next rows."""
        self.rows += len(block)
        streams = self._streams
        streams["labels"].update(_bytes(block.label, "<f8"))
        if not isinstance(block.X, CSR):
            streams["values"].update(_bytes(block.X, "<f8"))
            return
        indptr, indices, data = trim(block.X)
        # Lengths instead of row offsets, which depend on where a chunk begins.
        streams["lengths"].update(_bytes(np.diff(indptr), "<i8"))
        streams["indices"].update(_bytes(indices, "<i4"))
        streams["values"].update(_bytes(data, "<f8"))

    def summary(self) -> dict[str, Any]:
        """Return row count and digests."""
        return {
            "rows": self.rows,
            **{name: stream.hexdigest() for name, stream in self._streams.items()},
        }


def fingerprint(
    kind: str,
    columns: int,
    classes: Sequence[float | int | str] | None,
    label_names: Sequence[str] | None,
    splits: Mapping[str, SplitHash],
    segments: Mapping[str, Sequence[Segment]],
    targets: Sequence[str] | None = None,
    *,
    weighted: bool = False,
) -> str:
    """Return the fingerprint, 64 hex digits, of a dataset from the hashes of its splits."""
    # Text labels are stored as positions in label_names, so the names belong to the label stream.
    content: dict[str, Any] = {
        "kind": kind,
        "columns": columns,
        "classes": classes,
        "label_names": label_names,
        "splits": {name: split.summary() for name, split in splits.items()},
    }
    if targets is not None:  # records say what they measure of each
        content["targets"] = targets
    if weighted:  # the first of the stored columns is no feature
        content["weighted"] = True
    version = next(iter(splits.values())).version
    if version >= _WITH_SEGMENTS and any(segments.values()):
        content["segments"] = {
            name: [[s.name, s.start, s.rows] for s in entries]
            for name, entries in segments.items()
        }
    hash_of = _HASHES[version]
    # Neither the order of keys nor spaces may make another fingerprint.
    digest: str = hash_of(canonical_json(content).encode()).hexdigest()
    return digest
