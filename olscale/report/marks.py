"""Marks: signs next to figures of a table, the footnotes that explain them, and cautions.

What a reader must know about single figures is a `Mark` of their entries: every form of a table
prints the signs, and each footnote once.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from olscale.analysis.summary import Summary
from olscale.learners.foresight import ahead_text
from olscale.measures import (
    BY_CLOCK,
    CAUTIONS,
    NOT_REPRODUCIBLE,
    RANKED_BY_CLASS,
    WAITED,
    metric_words,
)
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
    return tuple(
        dict.fromkeys(printable(mark.line) for marks in marked for mark in marks)
    )


def runs_mark(runs: int) -> Mark:
    """Return the mark of a mean over other runs than the rest of its column."""
    sentence = (
        "is the mean of n runs, not those of the rest of its column, and is not marked as the "
        "best."
    )
    return Mark(f"({runs})", sentence, "(n)")


def look_ahead_mark(seen: Iterable[str]) -> Mark:
    """Return the mark of figures that rest on rows or labels from after the predicted ones.

    Parameters
    ----------
    seen : iterable of str
        What saw them, for all marked figures of a table, which has one footnote.
    """
    return Mark("^", f"looks ahead: {ahead_text(seen)}.")


def reference_mark(reason: str) -> Mark:
    """Return the mark that replaces a figure without any to compare it with."""
    return Mark("r", f"{reason}.")


def usual_replicates(column: Sequence[Summary | None]) -> tuple[int, int] | None:
    """Return the number and set of runs that most means of a column average."""
    counts = Counter((s.n, s.replicates) for s in column if s is not None and s.n)
    # Of equally frequent ones the larger number of runs is taken for the complete one.
    return max(counts, key=lambda runs: (counts[runs], runs[0]), default=None)


_SIGNS = {NOT_REPRODUCIBLE: "?", RANKED_BY_CLASS: "c", WAITED: "w", BY_CLOCK: "t"}


def caution_marks(summaries: Iterable[Summary], metric: str) -> tuple[Mark, ...]:
    """Return the marks of a figure that summarises these summaries."""
    cautions = _cautions_of(summaries, metric)
    return tuple(
        # In the order of `_SIGNS`, so that footnotes of two tables stand alike.
        Mark(sign, f"{CAUTIONS[caution]}: {_reason(caution, metric)}.")
        for caution, sign in _SIGNS.items()
        if caution in cautions
    )


def caution_notes(shown: Mapping[str, Iterable[Summary]], metric: str) -> list[str]:
    """Return a sentence for each caution, for tables whose figures combine several learners.

    Parameters
    ----------
    shown : mapping of str to iterable of Summary
        What a learner's figures rest on, by the name of the learner in the table.
    metric : str
    """
    labels: dict[str, list[str]] = defaultdict(list)
    for label, summaries in shown.items():
        for caution in _cautions_of(summaries, metric):
            labels[caution].append(label)
    return [
        f"{CAUTIONS[caution].capitalize()}: {', '.join(labels[caution])}; "
        f"{_reason(caution, metric)}."
        for caution in _SIGNS
        if caution in labels
    ]


def is_of_classes(summaries: Iterable[Summary], metric: str) -> bool:
    """Return whether a ranking figure comes from predicted classes: it is never the best."""
    return RANKED_BY_CLASS in _cautions_of(summaries, metric)


def _cautions_of(summaries: Iterable[Summary], metric: str) -> set[str]:
    return {caution for summary in summaries for caution in summary.cautions_of(metric)}


def _reason(caution: str, metric: str) -> str:
    if caution == RANKED_BY_CLASS:
        return f"{metric_words(metric)} of a model that gives no scores is never marked as the best"
    if caution == BY_CLOCK:
        return "runs of an earlier version, which recorded wall time alone"
    if caution == WAITED:
        return "wall time is above 1.5 times the processor time, as on a busy machine"
    return "two new models gave other scores of the same rows, as where a seed is left open"
