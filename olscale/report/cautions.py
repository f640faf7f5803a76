"""Cautions: marks and notes on figures that do not mean what other learners' figures mean."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from olscale.analysis.summary import Summary
from olscale.measures import (
    BY_CLOCK,
    CAUTIONS,
    NOT_REPRODUCIBLE,
    RANKED_BY_CLASS,
    WAITED,
    metric_words,
)
from olscale.report.marks import Mark

_SIGNS = {NOT_REPRODUCIBLE: "?", RANKED_BY_CLASS: "c", WAITED: "w", BY_CLOCK: "t"}


def caution_marks(summaries: Iterable[Summary], metric: str) -> tuple[Mark, ...]:
    """Return the marks of a figure that summarises these summaries."""
    cautions = _cautions_of(summaries, metric)
    return tuple(
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
