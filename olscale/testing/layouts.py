"""The layout contract: each function checks one idea and raises `AssertionError`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from olscale.arrays import Array, IntArray
from olscale.compiled.csr import CSR, slice_rows, to_csr, trim
from olscale.data.layouts.base import Block, SplitReader, SplitShape, SplitWriter
from olscale.storage.open import open_storage
from olscale.testing.check_list import Check, check_list

ROWS = 70
COLUMNS = 6
CHUNK_ROWS = 16
KINDS = ("uint8", "int8", "uint16", "int16", "float32", "float64", "csr")
"""Storage types of dense and of sparse rows."""


def layout_checks(writer: type[SplitWriter], reader: type[SplitReader]) -> list[Check]:
    """Return the checks that a layout must pass, with a readable name for each.

    Parameters
    ----------
    writer, reader : type
        The layout's subclasses of `olscale.data.layouts.base.SplitWriter` and `SplitReader`.

    Examples
    --------
    >>> from olscale.data.layouts.parquet import Reader, Writer
    >>> for name, check in layout_checks(Writer, Reader):
    ...     check()
    """
    checks: list[Callable[..., None]] = [
        check_rows_are_read_bit_for_bit,
        check_chunks_are_read_in_any_order,
        check_a_chunk_may_come_in_parts,
        check_sparse_rows_may_grow_wider,
        check_every_file_has_its_checksum,
        check_a_changed_file_is_noticed,
        check_chunks_called_safe_can_be_read,
    ]
    return check_list(checks, writer, reader)


def rows(kind: str) -> Block:
    """Return rows of one kind, including a zero row and an empty one.

    Labels are any float64, NaN and -0.0 included.
    """
    rng = np.random.default_rng(0)
    X: Any = rng.integers(0, 100, (ROWS, COLUMNS))
    X *= rng.random((ROWS, COLUMNS)) < 0.5
    # A zero row inside and one at the end, where a sparse layout has no entries left.
    X[3] = 0
    X[-1] = 0
    label = rng.normal(size=ROWS)
    # Values that comparisons by number would miss or confuse.
    label[:3] = np.nan, -0.0, np.inf
    if kind[0] in "iu":
        return Block(X.astype(kind), label)
    fractions = X * rng.normal(size=X.shape)
    if kind == "csr":
        return Block(to_csr(fractions), label)
    return Block(fractions.astype(kind), label)


def cut(block: Block, size: int) -> list[Block]:
    """Return consecutive parts of `size` rows, the last one shorter."""
    parts = []
    for start in range(0, len(block), size):
        stop = min(start + size, len(block))
        X = slice_rows(block.X, start, stop)
        parts.append(Block(X, block.label[start:stop]))
    return parts


class StoredSplit:
    """A split in a separate directory, written chunk by chunk, each in `parts` parts."""

    def __init__(
        self,
        writer: type[SplitWriter],
        kind: str,
        parts: int = 1,
        finish: bool = True,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="olscale-layout-")
        self.folder = Path(self._folder.name)
        self.directory = open_storage(self.folder)
        self.block = rows(kind)
        self.kind = kind
        self.writer = writer(self.directory, "train", CHUNK_ROWS)
        self.safe = []
        for chunk in cut(self.block, CHUNK_ROWS):
            rows_of_part = -(-len(chunk) // parts)
            self.writer.append(cut(chunk, rows_of_part))
            # Recorded after each chunk, because readers may ask at any time.
            self.safe.append(self.writer.safe())
        if finish:
            self.writer.finish(COLUMNS)

    def reader(self, reader: type[SplitReader], columns: int = COLUMNS) -> SplitReader:
        """Return a reader of the split."""
        kind = "csr" if self.kind == "csr" else "dense"
        shape = SplitShape(
            "train", kind, columns, ROWS, CHUNK_ROWS, dict(self.writer.files)
        )
        return reader(self.directory, shape)

    def compare(self, result: SplitReader, order: Sequence[int]) -> None:
        """Compare chunks, read in `order`, with the written ones."""
        chunks = cut(self.block, CHUNK_ROWS)
        for i in order:
            _same(result.read(i), chunks[i], f"chunk {i} of {self.kind} rows")

    def __enter__(self) -> StoredSplit:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


CHUNKS = range(-(-ROWS // CHUNK_ROWS))


def check_rows_are_read_bit_for_bit(
    writer: type[SplitWriter], reader: type[SplitReader]
) -> None:
    """Dense rows of every type and sparse rows come back as they were given, labels too."""
    for kind in KINDS:
        with StoredSplit(writer, kind) as split:
            split.compare(split.reader(reader), CHUNKS)


def check_chunks_are_read_in_any_order(
    writer: type[SplitWriter], reader: type[SplitReader]
) -> None:
    """Any chunk can be read at any time, also twice."""
    for kind in ("float32", "csr"):
        with StoredSplit(writer, kind) as split:
            # The last chunk first, backwards, and two chunks twice.
            numbers = [4, 0, 2, 2, 1, 3, 0]
            split.compare(split.reader(reader), numbers)


def check_a_chunk_may_come_in_parts(
    writer: type[SplitWriter], reader: type[SplitReader]
) -> None:
    """The parts of a chunk are joined, and give the files that the whole chunk gives."""
    for kind in ("uint8", "csr"):
        with (
            StoredSplit(writer, kind, parts=3) as split,
            StoredSplit(writer, kind) as undivided,
        ):
            split.compare(split.reader(reader), CHUNKS)
            assert split.writer.files == undivided.writer.files, (
                f"{kind} rows in parts give other files"
            )


def check_sparse_rows_may_grow_wider(
    writer: type[SplitWriter], reader: type[SplitReader]
) -> None:
    """The width is known only at the end: more columns than any row uses are valid."""
    with StoredSplit(writer, "csr", finish=False) as split:
        split.writer.finish(10 * COLUMNS)
        split.compare(split.reader(reader, 10 * COLUMNS), CHUNKS)


def check_every_file_has_its_checksum(
    writer: type[SplitWriter], reader: type[SplitReader]
) -> None:
    """`files` names files that are there, and the same rows give the same bytes."""
    for kind in ("float64", "csr"):
        with StoredSplit(writer, kind) as split, StoredSplit(writer, kind) as again:
            assert split.writer.files, "the writer names no file"
            for name in split.writer.files:
                assert (split.folder / "train" / name).is_file(), (
                    f"the writer names {name}, which is not there"
                )
            assert split.writer.files == again.writer.files, (
                f"the same {kind} rows were written as other bytes"
            )


def check_a_changed_file_is_noticed(
    writer: type[SplitWriter], reader: type[SplitReader]
) -> None:
    """A flipped bit, or a file that is cut short, makes reading its chunks fail."""
    for kind in ("float64", "csr"):
        with StoredSplit(writer, kind) as split:
            for name in split.writer.files:
                file = split.folder / "train" / name
                content = file.read_bytes()
                flipped = bytes([content[0] ^ 1]) + content[1:]
                cut_short = content[: len(content) // 2]
                for changed in (flipped, cut_short):
                    file.write_bytes(changed)
                    assert _fails(split.reader(reader)), (
                        f"{name} was changed and nobody noticed"
                    )
                file.write_bytes(content)
            split.compare(split.reader(reader), CHUNKS)


def check_chunks_called_safe_can_be_read(
    writer: type[SplitWriter], reader: type[SplitReader]
) -> None:
    """The chunks that `safe` counts can be read before `finish`.

    The count never falls, and in the end it includes all chunks.
    """
    for kind in ("float32", "csr"):
        with StoredSplit(writer, kind, finish=False) as split:
            # Readers may already use a chunk that was called safe.
            assert split.safe == sorted(split.safe), f"safe goes back: {split.safe}"
            assert all(n <= i + 1 for i, n in enumerate(split.safe)), (
                f"safe is ahead of what was given: {split.safe}"
            )
            if last_safe := split.safe[-1]:
                split.compare(split.reader(reader), range(last_safe))
            split.writer.finish(COLUMNS)
            assert split.writer.safe() == len(CHUNKS), (
                f"{split.writer.safe()} chunks are safe at the end"
            )


def _fails(reader: SplitReader) -> bool:
    try:
        for i in CHUNKS:
            reader.read(i)
    except Exception:  # any exception means damage
        return True
    return False


def _same(got: Block, expected: Block, what: str) -> None:
    np.testing.assert_array_equal(
        _bits(got.label),
        _bits(expected.label),
        err_msg=f"labels of {what}",
    )
    if not isinstance(expected.X, CSR):
        assert not isinstance(got.X, CSR), f"{what} came back sparse"
        assert got.X.dtype == expected.X.dtype, f"{what} came back as {got.X.dtype}"
        np.testing.assert_array_equal(got.X, expected.X, err_msg=what)
        return
    assert isinstance(got.X, CSR), f"{what} came back dense"
    rows_read = trim(got.X)
    theirs = trim(expected.X)
    np.testing.assert_array_equal(
        rows_read.indptr, theirs.indptr, err_msg=f"lengths of {what}"
    )
    np.testing.assert_array_equal(rows_read.indices, theirs.indices, err_msg=what)
    np.testing.assert_array_equal(
        _bits(rows_read.data), _bits(theirs.data), err_msg=what
    )


def _bits(values: Array) -> IntArray:
    bits: IntArray = np.ascontiguousarray(values, dtype=np.float64).view(np.int64)
    return bits
