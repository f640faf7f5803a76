"""What fits into one panel of a figure: as many lines as readers can distinguish, the best ones."""

from collections.abc import Sequence
from typing import TypeVar

from olscale.analysis.summary import Summary
from olscale.analysis.sweeps import Sweep
from olscale.measures import distance_from_best, measure_of, metric_words
from olscale.report.choice import best_of_each, labelled

S = TypeVar("S", Summary, Sweep)

_MOST = 12
"""Most lines of one panel that readers can distinguish."""

Chosen = tuple[dict[str, S], str]
"""The content of a panel, by label, and what its caption must say about the rest."""


def legible(items: Sequence[S]) -> Chosen[S]:
    """Return what fits into one panel, by label, and what its caption must say."""
    labels = labelled(items)
    if len(items) <= _MOST:
        return labels, ""
    best = best_of_each(items)
    metric = (items[0] if isinstance(items[0], Summary) else items[0].summary).metric
    most = "most" if measure_of(metric).better == "higher" else "least"
    note = (
        f"; of each learner the setting of {most} {metric_words(metric)}"
        if len(best) < len(items)
        else ""
    )
    if len(best) > _MOST:
        note += f", the best {_MOST} of {len(best)} learners"
        best = sorted(best, key=rank_of)[:_MOST]
    # By identity, since summaries hold dicts and have no hash.
    ids = set(map(id, best))
    return {label: item for label, item in labels.items() if id(item) in ids}, note


def rank_of(one: Summary | Sweep) -> float:
    """Return a number that is the smaller, the better a setting or a sweep at its best is."""
    s = one if isinstance(one, Summary) else one.summary
    return distance_from_best(s.metric, s.mean)
