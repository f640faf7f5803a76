"""What of the sources is taken: a stretch of their rows, and columns without those that are no features."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from olscale.compiled.csr import CSR, slice_rows
from olscale.data.formats.base import Batch
from olscale.data.formats.table_columns import columns_named
from olscale.data.ingest.build import Piece
from olscale.errors import FormatError

__all__ = ["Cut", "drop_columns"]


class Cut:
    """The rows of pieces before and from a position on, read in one pass where the one is read before the other.

    Parameters
    ----------
    pieces : callable
        Returns a new iterator over all pieces; each piece must be read before the next is asked for.
    at : int
        Position of the cut.
    """

    def __init__(self, pieces: Callable[[], Iterator[Piece]], at: int) -> None:
        self._pieces, self._at = pieces, at
        self._rest: Iterator[Piece] | None = None

    def head(self) -> Iterator[Piece]:
        """Yield the pieces before the cut; the last of them may be cut itself."""
        passed, pieces = 0, self._pieces()
        for piece in pieces:
            batches = iter(piece.batches())
            part = _Part(batches, self._at - passed)
            yield replace(piece, batches=part.__iter__)
            passed += part.rows
            if passed == self._at:
                # Looked at now, so that a piece of which nothing is left is not taken for one without rows.
                left = next(itertools.chain(part.left, batches), None)
                again = [] if left is None else [replace(piece, batches=partial(itertools.chain, [left], batches))]
                self._rest = itertools.chain(again, pieces)
                return
        self._rest = iter(())

    def tail(self) -> Iterator[Piece]:
        """Yield the pieces from the cut on: what `head` left, or, when asked again, read from the start."""
        if self._rest is None:
            for piece in self.head():
                for _ in piece.batches():
                    pass
        rest, self._rest = self._rest, None
        assert rest is not None
        yield from rest


class _Part:
    """The first `wanted` rows of `batches`; what is over of the batch that was cut is in `left`."""

    def __init__(self, batches: Iterator[Batch], wanted: int) -> None:
        self._batches, self._wanted = batches, wanted
        self.rows = 0
        self.left: list[Batch] = []

    def __iter__(self) -> Iterator[Batch]:
        while self.rows < self._wanted and (batch := next(self._batches, None)) is not None:
            kept = min(len(batch), self._wanted - self.rows)
            self.rows += kept
            if kept < len(batch):
                self.left = [_rows(batch, kept, len(batch))]
            yield _rows(batch, 0, kept)


def _rows(batch: Batch, first: int, last: int) -> Batch:
    if (first, last) == (0, len(batch)):
        return batch
    table = None if batch.table is None else batch.table.slice(first, last)
    return replace(batch, X=slice_rows(batch.X, first, last), target=batch.target[first:last], table=table)


def drop_columns(batch: Batch, words: Iterable[str], source: str) -> Batch:
    """Return dense `batch` of a source that is no table without the columns that `words` name.

    Raises
    ------
    FormatError
        If the columns have no names.
    UnknownNameError
        If there is no such column.
    """
    if isinstance(batch.X, CSR) or batch.feature_names is None:
        raise FormatError(source, "does not name its columns, so none can be dropped; take it out of the file")
    known = batch.feature_names
    dropped = columns_named(source, known, words)
    kept = [position for position in range(len(known)) if position not in dropped]
    if not kept:
        raise FormatError(source, "no column is left as a feature; drop fewer")
    X = np.ascontiguousarray(batch.X[:, kept])
    return replace(batch, X=X, columns=len(kept), feature_names=tuple(known[position] for position in kept))
