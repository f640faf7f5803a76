"""Test-then-train in batches: which rows make one, and what does not go with them.

Batch number b of N rows holds rows b N to (b + 1) N - 1 of the stream; the last may be shorter. All
its rows are predicted by the model of the batches before it, and then learned from in their order:
the labels of a batch arrive after the prediction of its last row.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from olscale.arrays import IntArray
from olscale.data.chunk import Chunk, join_chunks


def faults_of_batches(
    batch: int,
    *,
    delay: int | str,
    holdout_every: int | None,
    holdout_rows: int | None,
    burn_in: int,
    measures: Sequence[str],
    is_one_pass: bool,
) -> Iterator[str]:
    """Yield what does not go with batches: other options of a protocol, by their names."""
    if delay:
        yield "batch does not go with delay: labels arrive with the end of a batch; leave one out"
    if holdout_rows is not None:
        yield "batch does not go with holdout_rows; give holdout_every alone, for the test split"
    if not is_one_pass:
        yield "batch does not go with passes: a batch would run into the next pass; leave it at 1"
    for name in measures:
        if name in ("latency", "model_bytes"):
            yield f"batch does not go with measures = {name!r}, which looks at models between rows"
    if holdout_every is None:
        return
    for name, rows in (("holdout_every", holdout_every), ("burn_in", burn_in)):
        if rows % batch:
            above = -(-rows // batch) * batch
            yield (
                f"{name} was {rows}, expected a multiple of batch = {batch}, as {above}, since "
                "models are measured between batches"
            )


def rows_to_batch_end(batch: int, rows: int, first: int, count: int) -> IntArray:
    """Return how many rows after each of `count` rows, from number `first` on, its batch ends.

    Parameters
    ----------
    batch : int
        Rows of a batch.
    rows : int
        Rows of the stream, whose end is that of the last batch.
    first, count : int

    Examples
    --------
    >>> rows_to_batch_end(3, rows=8, first=2, count=6)
    array([0, 2, 1, 0, 1, 0])
    """
    numbers = np.arange(first, first + count)
    ends = np.minimum((numbers // batch + 1) * batch, rows) - 1
    return ends - numbers


class BatchedRows:
    """The rows of a stream on their way into whole batches.

    Parameters
    ----------
    batch : int or None
        Rows of a batch; None where rows are fed as they come.
    rows : int
        Rows of the stream.

    Attributes
    ----------
    count : int
        Rows that wait for the end of their batch.
    begin : tuple of int, optional
        Number of the chunk and of the row within it where these rows begin.

    Examples
    --------
    >>> rows = BatchedRows(4, rows=10)
    >>> chunk = Chunk(np.zeros((3, 1)), np.zeros(3, dtype=np.int64), 1)
    >>> rows.add(chunk, 0, (0, 0)) is None, rows.rows_to_take(3, wanted=3, available=3)
    (True, 1)
    >>> len(rows.add(chunk[:1], 3, (1, 0)))
    4
    """

    def __init__(self, batch: int | None, rows: int) -> None:
        self._batch = batch
        self._rows = rows
        self._waiting: list[Chunk] = []
        self.count = 0
        self.begin: tuple[int, int] | None = None

    def rows_to_take(self, first: int, wanted: int, available: int) -> int:
        """Return how many rows from number `first` on to take: `wanted`, to the end of a batch."""
        if self._batch is None:
            return wanted
        to_end = (first + wanted) // self._batch * self._batch - first
        if to_end <= 0:
            to_end = self._batch - first % self._batch
        return min(to_end, available)

    def add(self, rows: Chunk, first: int, place: tuple[int, int]) -> Chunk | None:
        """Return whole batches that `rows` complete, which begin with row number `first`.

        None if the batch still lacks rows. `place` is where `rows` begin, as in `begin`.
        """
        end = first + len(rows)
        if self._batch is None or (not self._waiting and end % self._batch == 0):
            return rows
        if self.begin is None:
            self.begin = place
        self._waiting.append(rows)
        self.count += len(rows)
        if end % self._batch and end < self._rows:
            return None
        batches = join_chunks(self._waiting)
        self.clear()
        return batches

    def clear(self) -> None:
        """Forget the rows that wait."""
        self._waiting = []
        self.count = 0
        self.begin = None
