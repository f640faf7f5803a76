"""Marks: signs next to figures of a table, and the footnotes that explain them.

What a reader must know about single figures is a `Mark` of their entries: every form of a table
prints the signs, and each footnote once.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from olscale.analysis.summary import Summary
from olscale.printable import printable


class Mark(NamedTuple):
    """A caution about a figure.

    Parameters
    ----------
    sign : str
        Next to the figure.
    footnote : str
        A sentence below the table.
    legend : str
        The sign in the footnote if it stands for several signs; empty for the sign itself.
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
    """Return the mark of a mean over other runs than the rest of its column."""
    sentence = (
        "is the mean of n runs, not those of the rest of its column, and is not marked as the best."
    )
    return Mark(f"({runs})", sentence, "(n)")


def look_ahead_mark(seen: Iterable[str]) -> Mark:
    """Return the mark of figures that rest on rows or labels from after the predicted ones.

    Parameters
    ----------
    seen : iterable of str
        What saw them, for all marked figures of a table, which has one footnote.
    """
    return Mark(
        "^", f"looks ahead: {', '.join(dict.fromkeys(seen))} saw rows before they were predicted."
    )


def reference_mark(reason: str) -> Mark:
    """Return the mark that replaces a figure without any to compare it with."""
    return Mark("r", f"{reason}.")


def usual_replicates(column: Sequence[Summary | None]) -> tuple[int, int] | None:
    """Return the number and set of runs that most means of a column average."""
    counts = Counter((s.n, s.replicates) for s in column if s is not None and s.n)
    return max(counts, key=lambda runs: (counts[runs], runs[0]), default=None)
