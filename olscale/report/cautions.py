"""What a reader must know of figures that are not what figures of other learners are: marks in cells, and notes below."""

from collections.abc import Iterable, Mapping

from olscale.analysis.summary import Summary
from olscale.measures import CAUTIONS, NOT_REPRODUCIBLE, RANKED_BY_CLASS, metric_words

MARKS = {NOT_REPRODUCIBLE: "?", RANKED_BY_CLASS: "^"}
"""What stands behind a figure."""


def caution_marks(summaries: Iterable[Summary], metric: str) -> str:
    """Return the marks of a figure that is of these summaries."""
    given = {caution for summary in summaries for caution in summary.cautions_of(metric)}
    return "".join(mark for caution, mark in MARKS.items() if caution in given)


def is_of_classes(summaries: Iterable[Summary], metric: str) -> bool:
    """Tell whether a figure that ranks rows is of predicted classes: it is never the best one."""
    return any(RANKED_BY_CLASS in summary.cautions_of(metric) for summary in summaries)


def caution_notes(shown: Mapping[str, Iterable[Summary]], metric: str) -> list[str]:
    """Return a sentence for each caution, with the learners of which it is true, by what a table calls them."""
    told: dict[str, list[str]] = {caution: [] for caution in MARKS}
    for label, summaries in shown.items():
        for caution in {caution for summary in summaries for caution in summary.cautions_of(metric)}:
            told[caution].append(label)
    reasons = {
        NOT_REPRODUCIBLE: "two new models gave other scores of the same rows, as where a seed is left open",
        RANKED_BY_CLASS: f"{metric_words(metric)} of a model that gives no scores is never marked as the best",
    }
    return [
        f"{MARKS[caution]} {CAUTIONS[caution]}: {', '.join(labels)}; {reasons[caution]}."
        for caution, labels in told.items()
        if labels
    ]
