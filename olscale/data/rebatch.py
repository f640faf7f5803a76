"""From batches of any size to chunks of an exact number of rows, without copying."""

from collections.abc import Iterator, Sequence

import numpy as np

from olscale.compiled.csr import CSR, slice_rows, stack_rows, trim
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
    return Block(
        stack_rows([block.X for block in blocks]), np.concatenate([block.label for block in blocks])
    )
