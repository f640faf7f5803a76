"""Stored rows: cut into chunks of an exact number of rows, joined, and taken apart.

Batches of any size become chunks without copying. The weight of a row and its further targets are
columns stored before its features, so that every layout, order and checksum of rows applies to them
as well; code that reads rows as chunks gets them separately.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, rows_of, slice_rows, stack_rows, to_csr, trim
from olscale.data.layouts.base import Block, StoredRows

DEFAULT_CHUNK_ROWS = 16_384
_DENSE_BYTES = 32 << 20


def default_chunk_rows(X: StoredRows) -> int:
    """Return the default number of rows per chunk.

    16,384, and of dense rows no more than fit in 32 MB as float64, rounded down to a power of two.

    Examples
    --------
    >>> default_chunk_rows(np.zeros((1, 4))), default_chunk_rows(np.zeros((1, 784)))
    (16384, 4096)
    """
    if isinstance(X, CSR):
        return DEFAULT_CHUNK_ROWS
    fit: int = max(1, _DENSE_BYTES // (8 * X.shape[1]))
    power: int = 1 << (fit.bit_length() - 1)
    return min(DEFAULT_CHUNK_ROWS, power)


class Rebatch:
    """Cuts blocks into lists of blocks that have `rows` rows together.

    Attributes
    ----------
    rest : list of Block
        Rows that do not fill a list yet.

    Examples
    --------
    >>> chunks = Rebatch(3)
    >>> [sum(map(len, parts)) for parts in chunks.add(Block(np.zeros((7, 1)), np.zeros(7)))]
    [3, 3]
    >>> sum(map(len, chunks.rest))
    1
    """

    def __init__(self, rows: int) -> None:
        self.rest: list[Block] = []
        self._rows = rows
        self._count = 0

    def add(self, block: Block) -> Iterator[list[Block]]:
        """Yield the lists that `block` fills."""
        start = 0
        while self._count + len(block) - start >= self._rows:
            stop = start + self._rows - self._count
            # Views: rows are copied once, when the layout writes them.
            yield [*self.rest, cut(block, start, stop)]
            self.rest = []
            self._count = 0
            start = stop
        if start < len(block):
            self.rest.append(cut(block, start, len(block)))
            self._count += len(block) - start


def cut(block: Block, start: int, stop: int) -> Block:
    """Return rows `start` to `stop` of `block` without copying."""
    X = slice_rows(block.X, start, stop)
    return Block(trim(X) if isinstance(X, CSR) else X, block.label[start:stop])


def join(blocks: Sequence[Block]) -> Block:
    """Concatenate the rows of `blocks`."""
    if len(blocks) == 1:
        return blocks[0]
    X = stack_rows([block.X for block in blocks])
    label = np.concatenate([block.label for block in blocks])
    return Block(X, label)


def join_targets(targets: NDArray[np.float64], X: StoredRows) -> StoredRows:
    """Return rows with `targets`, shape (rows, count), before their features; dense become float64.

    Examples
    --------
    >>> join_targets(np.array([[0.5], [2.5]]), np.array([[1], [2]], dtype=np.uint8))
    array([[0.5, 1. ],
           [2.5, 2. ]])
    """
    if not isinstance(X, CSR):
        return np.hstack([targets, X])
    first = to_csr(targets)
    indptr, indices, data = trim(X)
    # An entry of a target stands behind those of its row's targets, and of all earlier rows.
    entries_before = np.repeat(indptr[:-1], np.diff(first.indptr))
    place = np.arange(len(first.indices)) + entries_before
    entries = len(first.indices) + len(indices)
    own = np.zeros(entries, dtype=np.bool_)
    own[place] = True
    joined = CSR(first.indptr + indptr, np.empty(entries, np.int32), np.empty(entries))
    joined.indices[own] = first.indices
    joined.data[own] = first.data
    joined.indices[~own] = indices + np.int32(targets.shape[1])
    joined.data[~own] = data
    return joined


def part_targets(X: StoredRows, count: int) -> tuple[NDArray[np.float64], StoredRows]:
    """Return the targets that `join_targets` put before the features, and the features.

    Examples
    --------
    >>> part_targets(np.array([[0.5, 1.0], [2.5, 2.0]]), 1)[0]
    array([[0.5],
           [2.5]])
    """
    if not isinstance(X, CSR):
        dense_targets = X[:, :count].astype(np.float64)
        # A view with gaps between rows would have loops compiled once more.
        return dense_targets, np.ascontiguousarray(X[:, count:])
    indptr, indices, data = trim(X)
    own = indices < count
    row = np.repeat(np.arange(rows_of(X)), np.diff(indptr))
    targets = np.zeros((rows_of(X), count))
    targets[row[own], indices[own]] = data[own]
    before = np.concatenate([[0], np.cumsum(~own)])
    features = indices[~own] - np.int32(count)
    return targets, CSR(before[indptr], features, data[~own])


class PartedRows(NamedTuple):
    """Stored rows, taken apart.

    Parameters
    ----------
    X : StoredRows
        The features.
    label : ndarray of shape (rows,) or (rows, targets), float64
        All targets.
    weights : ndarray of shape (rows,), float64, optional
        The weight of each row, if the dataset has weights.
    """

    X: StoredRows
    label: NDArray[np.float64]
    weights: NDArray[np.float64] | None


def part_rows(block: Block, more_targets: int, weighted: bool) -> PartedRows:
    """Return the rows of `block` without the weights and targets stored before their features."""
    if not more_targets and not weighted:
        return PartedRows(block.X, block.label, None)
    first, X = part_targets(block.X, more_targets + weighted)
    targets = first[:, int(weighted) :]
    label = np.column_stack([block.label, targets]) if more_targets else block.label
    weights = None
    if weighted:
        weights = np.ascontiguousarray(first[:, 0])
    return PartedRows(X, label, weights)
