"""Which figures along a stream may be compared: some saw rows ahead, some predict too late.

One rule for all tables, figures and tests, derived from the definition of the runs: old stores are
held to it, too.
"""

from collections.abc import Iterable

from olscale.analysis.summary import Summary
from olscale.learners.foresight import (
    TUNED,
    first_predicted,
    is_counted_in_time,
    learner_ahead,
    passes_ahead,
    transforms_ahead,
)
from olscale.measures import is_prequential


def looked_ahead(s: Summary) -> tuple[str, ...]:
    """Return what has seen rows, or their labels, before a figure counts predictions of them.

    Figures of test rows have nothing of that.

    Examples
    --------
    >>> metric = ("cumulative_error", 0.1, 0.0, 1)
    >>> s = Summary("d", "f", ("standardize", "bias"), "pa1", "1", {}, {}, *metric)
    >>> looked_ahead(s)
    ('standardize',)
    """
    if not is_prequential(s.metric):
        return ()
    looks = []
    # A saved model brings along what was fitted, on the rows that it learned before.
    if not s.protocol.get("from_model"):
        looks += transforms_ahead(s.transforms)
        looks += learner_ahead(s.learner, s.params, s.prepared)
    if s.tuned:
        looks.append(TUNED)
    looks += passes_ahead(int(s.protocol.get("passes", 1)))
    return tuple(dict.fromkeys(foresight.name for foresight in looks))


def is_comparable(s: Summary) -> bool:
    """Return whether a figure may be compared with those of other learners.

    A batch reference predicts nothing by its first rows. Where these count, its figures along the
    stream are compared with no others: they are shown in no column, ranked by no rank and tested by
    no test. Errors on test rows are not concerned, nor those on rows that are held out.

    Examples
    --------
    >>> s = Summary("d", "f", (), "svm", "1", {}, {"burn_in": 10}, "cumulative_error", 0.1, 0.0, 1)
    >>> is_comparable(s)
    False
    """
    if not is_prequential(s.metric) or s.metric.startswith("holdout_"):
        return True
    return is_counted_in_time(s.learner, s.protocol)


def why_incomparable(settings: Iterable[Summary]) -> str:
    """Return why figures of references are compared with no others; empty where all are compared.

    Examples
    --------
    >>> s = Summary("d", "f", (), "svm", "1", {}, {}, "cumulative_error", 0.1, 0.0, 1)
    >>> why_incomparable([s]).partition(" and ")[0]
    'predicts nothing before row 64'
    """
    rows = [
        first_predicted(s.learner, s.protocol) for s in settings if not is_comparable(s)
    ]
    if not rows:
        return ""
    row = max(rows)
    return (
        f"predicts nothing before row {row} and is compared along a stream with --burn-in "
        f"{row} only, else by test errors"
    )
