"""What of the sources is taken: a stretch of their rows, and columns without those that are no features."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from olscale.data.build import Piece
from olscale.data.chunk import CSR, slice_rows
from olscale.data.formats.base import Batch
from olscale.errors import FormatError, UnknownNameError

__all__ = ["drop_columns", "rows_within"]


def rows_within(pieces: Iterable[Piece], start: int, stop: int | None) -> Iterator[Piece]:
    """Yield the rows of `pieces` from position `start` to before `stop`, or to the end; pieces without any are left out.

    Each piece must be read before the next is asked for.
    """
    passed = 0

    def cut(batches: Iterator[Batch]) -> Iterator[Batch]:
        nonlocal passed
        for batch in batches:
            first, last = max(start - passed, 0), len(batch) if stop is None else min(stop - passed, len(batch))
            passed += len(batch)
            if first < last:
                yield batch if last - first == len(batch) else _rows(batch, first, last)
            if stop is not None and passed >= stop:
                return

    for piece in pieces:
        batches = cut(piece.batches())
        for batch in batches:
            yield replace(piece, batches=partial(itertools.chain, [batch], batches))
            break
        if stop is not None and passed >= stop:
            return


def _rows(batch: Batch, first: int, last: int) -> Batch:
    return replace(batch, X=slice_rows(batch.X, first, last), target=batch.target[first:last])


def drop_columns(batch: Batch, names: Iterable[str], source: str) -> Batch:
    """Return dense `batch` without the columns called `names`.

    Raises
    ------
    FormatError
        If the rows are sparse: a text column has no place of its own there.
    UnknownNameError
        If there is no such column.
    """
    known = batch.feature_names or ()
    if isinstance(batch.X, CSR):
        raise FormatError(source, "columns can be left out of dense rows only; take them out of the file")
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise UnknownNameError(f"column of {source}", unknown, known)
    kept = [position for position, name in enumerate(known) if name not in set(names)]
    X = np.ascontiguousarray(batch.X[:, kept])
    return replace(batch, X=X, columns=len(kept), feature_names=tuple(known[position] for position in kept))
