"""Marks: signs beside figures of a table, and the footnotes below it that say what they mean.

Whatever a reader must know of single figures is a `Mark` of their entries: every form of a table
prints the signs, and each footnote once.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from olscale.analysis.summary import Summary
from olscale.printable import printable


class Mark(NamedTuple):
    """What a reader must know of a figure.

    Parameters
    ----------
    sign : str
        Beside the figure.
    footnote : str
        A sentence below the table.
    legend : str
        The sign in the footnote, where that stands for several signs; empty for the sign itself.
    """

    sign: str
    footnote: str
    legend: str = ""

    @property
    def line(self) -> str:
        """The footnote behind its sign."""
        return f"{self.legend or self.sign} {self.footnote}"


def footnotes(marked: Iterable[Iterable[Mark]]) -> tuple[str, ...]:
    """Return the lines below a table that explain the marks of its entries, each once.

    Examples
    --------
    >>> for note in footnotes([[runs_mark(3)], [], [runs_mark(4), Mark("c", "of classes.")]]):
    ...     print(note)
    (n) is the mean of n runs, not those of the rest of its column, and is not marked as the best.
    c of classes.
    """
    return tuple(dict.fromkeys(printable(mark.line) for marks in marked for mark in marks))


def runs_mark(runs: int) -> Mark:
    """Return the mark of a mean over other runs than those of the figures that it stands beside."""
    sentence = (
        "is the mean of n runs, not those of the rest of its column, and is not marked as the best."
    )
    return Mark(f"({runs})", sentence, "(n)")


def look_ahead_mark(seen: Iterable[str]) -> Mark:
    """Return the mark of figures that rest on rows or labels from after the predicted ones.

    Parameters
    ----------
    seen : iterable of str
        What has seen them, of all marked figures of a table: it has one footnote.
    """
    return Mark(
        "^", f"looks ahead: {', '.join(dict.fromkeys(seen))} saw rows before they were predicted."
    )


def reference_mark(reason: str) -> Mark:
    """Return the mark in the place of a figure that stands beside no others."""
    return Mark("r", f"{reason}.")


def usual_replicates(column: Sequence[Summary | None]) -> tuple[int, int] | None:
    """Return the number of runs, and which, that most means of a column are over."""
    counts = Counter((s.n, s.replicates) for s in column if s is not None and s.n)
    return max(counts, key=lambda runs: (counts[runs], runs[0]), default=None)
