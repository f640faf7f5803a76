"""Dates and times as features: parts, places in day, week and year, and the time between rows.

Parts are those of the clock that wrote the cell. Differences and seconds since 1970 count from one
moment to another; a time without a zone is taken as UTC for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR
from olscale.data.formats.cell_coding import Coding, CodingError
from olscale.data.formats.cells import Cell
from olscale.errors import ParameterError

CYCLIC = "cyclic"
SINCE_LAST = "since-last"
_CYCLES = (
    "hour-sin",
    "hour-cos",
    "weekday-sin",
    "weekday-cos",
    "month-sin",
    "month-cos",
)
_CLOCK = ("year", "month", "day", "weekday", "hour", "minute", "second")
DATE_PARTS = (*_CLOCK, "yearday", "timestamp", CYCLIC, SINCE_LAST)
"""What ``date:parts=`` may list, in the order of the features."""

ADVISED = CYCLIC
"""What `ingest` advises for dates: the least error on real sets (``python -m tests.dates``)."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400.0


class Date(Coding):
    """A date or time in ISO 8601 notation as numbers, Monday 0.

    Parameters
    ----------
    parts : str
        Some of `DATE_PARTS`, separated by commas. ``cyclic`` is the sine and cosine of the time of
        the day, the weekday and the month, which are near each other at midnight, on Sunday and
        Monday, and at New Year; they have the same bits on every machine. ``since-last`` is the
        seconds since the row before that has a date: 0 in the first row, less than 0 where time
        goes back. ``timestamp`` is the seconds since 1970.

    Examples
    --------
    >>> Date().encode(["2024-01-31 10:30"]).data
    array([2.024e+03, 1.000e+00, 3.100e+01, 2.000e+00, 1.000e+01, 3.000e+01])
    >>> Date("since-last").encode(["2024-01-31", None, "2024-02-01"]).data
    array([86400.])
    >>> str(Date("weekday,hour"))
    'date:parts=weekday,hour'
    """

    name = "date"

    def __init__(self, parts: str = ",".join(_CLOCK)) -> None:
        words = [word.strip() for word in parts.split(",")]
        odd = [
            word for word in words if word not in DATE_PARTS or words.count(word) > 1
        ]
        if odd:
            raise ParameterError(
                f"encode: parts of a date were {parts!r}, expected each once of "
                f"{', '.join(DATE_PARTS)}"
            )
        self.words = tuple(word for word in DATE_PARTS if word in words)
        self.in_order = SINCE_LAST in words
        names: list[str] = []
        for word in self.words:
            names += _CYCLES if word == CYCLIC else (word,)
        self.parts = names
        self._last: float | None = None

    def __str__(self) -> str:
        if self.words == _CLOCK:
            return self.name
        return f"{self.name}:parts={','.join(self.words)}"

    def begin(self) -> Date:
        if not self.in_order:
            return self
        return Date(",".join(self.words))

    def encode(self, cells: Sequence[Cell]) -> CSR:
        present = [i for i, cell in enumerate(cells) if cell is not None]
        moments = [_moment(cell) for cell in cells if cell is not None]
        dense = np.zeros((len(cells), len(self.parts)))
        if moments:
            dense[present] = np.column_stack(
                [self._features(word, moments) for word in self.words]
            )
        # A missing date has no entry, and neither has a part that is 0.
        row, column = np.nonzero(dense)
        indptr = np.searchsorted(row, np.arange(len(cells) + 1)).astype(np.int64)
        return CSR(indptr, column.astype(np.int32), dense[row, column])

    def _features(self, word: str, moments: Sequence[datetime]) -> NDArray[np.float64]:
        if word == CYCLIC:
            return _cycles(moments)
        if word == SINCE_LAST:
            return self._since_last(moments)
        if word == "weekday":
            return np.array([moment.weekday() for moment in moments], dtype=np.float64)
        if word == "yearday":
            return np.array(
                [moment.timetuple().tm_yday for moment in moments], dtype=np.float64
            )
        if word == "second":
            return np.array(
                [moment.second + moment.microsecond / 1e6 for moment in moments]
            )
        if word == "timestamp":
            return _seconds(moments)
        return np.array([getattr(moment, word) for moment in moments], dtype=np.float64)

    def _since_last(self, moments: Sequence[datetime]) -> NDArray[np.float64]:
        seconds = _seconds(moments)
        # So the first row has 0, and a batch continues from the one before.
        first = seconds[0] if self._last is None else self._last
        self._last = float(seconds[-1])
        return np.diff(seconds, prepend=first)


def _moment(cell: str) -> datetime:
    try:
        return datetime.fromisoformat(cell)
    except ValueError:
        raise CodingError(
            cell, "a date or time as 2024-01-31 or 2024-01-31 10:30:00"
        ) from None


def _seconds(moments: Sequence[datetime]) -> NDArray[np.float64]:
    """Return the seconds since 1970, which float64 holds to the microsecond until 2242."""
    zoned = [
        moment if moment.tzinfo else moment.replace(tzinfo=UTC) for moment in moments
    ]
    return np.array([(moment - _EPOCH).total_seconds() for moment in zoned])


def _cycles(moments: Sequence[datetime]) -> NDArray[np.float64]:
    # Only this part needs Numba, whose import takes longer than many tables do.
    from olscale.data.formats._date_loop import fill_cycles

    turns = np.array(
        [
            (
                _of_day(moment) / _DAY,
                moment.weekday() / 7.0,
                (moment.month - 1) / 12.0,
            )
            for moment in moments
        ]
    )
    cycles: NDArray[np.float64] = np.empty((len(moments), len(_CYCLES)))
    fill_cycles(turns, cycles)
    return cycles


def _of_day(moment: datetime) -> float:
    """Return the seconds since midnight."""
    seconds = (moment.hour * 60 + moment.minute) * 60 + moment.second
    return seconds + moment.microsecond / 1e6


def is_date(cell: str) -> bool:
    """Return whether a cell is a date or time with a separator, which no number has.

    Examples
    --------
    >>> is_date("2024-01-31"), is_date("2024-01-31T10:30:00Z"), is_date("20240131")
    (True, True, False)
    """
    if len(cell) < len("2024-01-31") or cell[4] != "-" or cell[7] != "-":
        return False
    try:
        datetime.fromisoformat(cell)
    except ValueError:
        return False
    return True
