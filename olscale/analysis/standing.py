"""What figures along a stream are worth beside others: those that saw rows ahead, and those that stand beside none.

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
    """Return what has seen rows, or their labels, before a figure counts predictions of them; nothing of test rows.

    Examples
    --------
    >>> s = Summary("d", "f", ("standardize", "bias"), "pa1", "1", {}, {}, "cumulative_error", 0.1, 0.0, 1)
    >>> looked_ahead(s)
    ('standardize',)
    """
    if not is_prequential(s.metric):
        return ()
    seen = [
        *transforms_ahead(s.transforms),
        *learner_ahead(s.learner, s.params, s.prepared),
        *([TUNED] if s.tuned else []),
        *passes_ahead(int(s.protocol.get("passes", 1))),
    ]
    return tuple(dict.fromkeys(one.name for one in seen))


def is_comparable(s: Summary) -> bool:
    """Return whether a figure may stand beside those of other learners.

    A batch reference predicts nothing by its first rows. Where these count, its figures along the
    stream stand beside no others: they are shown in no column, ranked by no rank and tested by no
    test. Errors on test rows are not concerned, nor those on rows that are held out.

    Examples
    --------
    >>> s = Summary("d", "f", (), "svm", "1", {}, {"burn_in": 10}, "cumulative_error", 0.1, 0.0, 1)
    >>> is_comparable(s)
    False
    """
    along = is_prequential(s.metric) and not s.metric.startswith("holdout_")
    return not along or is_counted_in_time(s.learner, s.protocol)


def why_incomparable(settings: Iterable[Summary]) -> str:
    """Return why figures of references stand beside no others, and how they could; empty where all do.

    Examples
    --------
    >>> s = Summary("d", "f", (), "svm", "1", {}, {}, "cumulative_error", 0.1, 0.0, 1)
    >>> why_incomparable([s])
    'predicts nothing before row 64 and is compared along a stream with --burn-in 64 only, else by test errors'
    """
    rows = {first_predicted(s.learner, s.protocol) for s in settings if not is_comparable(s)}
    if not rows:
        return ""
    row = max(rows)
    return (
        f"predicts nothing before row {row} and is compared along a stream with --burn-in "
        f"{row} only, else by test errors"
    )
