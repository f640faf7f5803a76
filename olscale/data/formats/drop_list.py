"""The columns to leave out of several sources, not all of which need to have each of them."""

from collections.abc import Iterable, Sequence

from olscale.data.formats.table_columns import column_positions, words_in
from olscale.errors import UnknownNameError


class DropList:
    """Columns to drop, and which of them the sources so far have.

    A file of a later day may have a column that the first ones lack. A misspelt name is in none,
    which only the end of the last source shows.

    Parameters
    ----------
    words : iterable of str
        Names, positions, or several of them separated by commas.

    Examples
    --------
    >>> drops = DropList(["id", "sky"])
    >>> drops.positions("monday.csv", ["id", "a", "day"], 3)
    frozenset({0})
    >>> drops.positions("tuesday.csv", ["id", "a", "sky", "day"], 4)
    frozenset({0, 2})
    >>> drops.check()
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = tuple(words)
        self._met: set[str] = set()
        self._names: dict[str, None] = {}

    def positions(
        self, source: str, names: Sequence[str], width: int
    ) -> frozenset[int]:
        """Return the positions of the columns to drop among the `names` of a source.

        Raises
        ------
        FormatError
            When there is no column at a position.
        """
        self._names |= dict.fromkeys(names)
        positions: set[int] = set()
        for word in self._words:
            for part in words_in(word, names):
                try:
                    positions.update(
                        column_positions(source, names, [part], "to drop", width)
                    )
                except UnknownNameError:
                    continue
                self._met.add(part)
        return frozenset(positions)

    def meet(self, words: Iterable[str]) -> None:
        """Note that a source has columns of these names."""
        self._met.update(words)

    def check(self) -> None:
        """Refuse a name that no source has.

        Raises
        ------
        UnknownNameError
            When there is one.
        """
        for word in self._words:
            lacking = [part for part in words_in(word, ()) if part not in self._met]
            if word not in self._met and lacking:
                raise UnknownNameError(
                    "column of the sources", lacking[0], list(self._names)
                )
