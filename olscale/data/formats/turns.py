"""Two ways to read rows that take turns: a fast loop, and an exact way for rows where it stops."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Generic, Protocol, TypeVar

from olscale.errors import FormatError


class Fillable(Protocol):
    """Rows that are filled in step by step."""

    rows: int

    @property
    def room(self) -> int:
        """The number of rows that still fit."""
        ...


F = TypeVar("F", bound=Fillable)
R = TypeVar("R")


class Turns(Generic[F, R]):
    """Fills in rows by turns.

    Parameters
    ----------
    rows : iterator
        The rows of the text, read the exact way; it reads no further than asked.
    put : callable
        Fills in some of them.
    most : int
        Largest number of rows filled in at once.
    """

    def __init__(
        self,
        rows: Iterator[R],
        put: Callable[[F, list[R]], None],
        most: int,
    ) -> None:
        self._rows = rows
        self._put = put
        self._most = most
        self._odd_rows = 1

    def exact(self, cells: F) -> None:
        """Fill in rows only the exact way."""
        self._read(cells, self._most)

    def both(self, cells: F, loop: Callable[[F], bool]) -> None:
        """Fill in rows by `loop`, which returns whether that was all, then some the exact way."""
        before = cells.rows
        if loop(cells):
            return
        plain = cells.rows - before
        self._odd_rows = (
            1 if plain > 8 * self._odd_rows else min(2 * self._odd_rows, self._most)
        )
        self._read(cells, self._odd_rows)

    def _read(self, cells: F, most: int) -> None:
        """Fill in at most `most` rows; raise an error only after filling in the rows before it."""
        block: list[R] = []
        fault: FormatError | None = None
        try:
            for row in islice(self._rows, min(most, cells.room)):
                block.append(row)  # rows before an error are kept
        except FormatError as error:
            fault = error
        if block:
            self._put(cells, block)
        if fault is not None:
            raise fault
