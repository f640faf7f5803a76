"""Which summaries tables show: those of some metrics, datasets and learners."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from olscale.analysis.summary import Summary
from olscale.errors import UnknownNameError
from olscale.report.labels import Column, Row, column_of, row_labels, rows_of
from olscale.results import canonical_json


def select(
    summaries: Iterable[Summary],
    metrics: Sequence[str] = (),
    datasets: Sequence[str] = (),
    learners: Sequence[str] = (),
    failed: bool = True,
) -> list[Summary]:
    """Keep the summaries of some metrics, datasets and learners; by default keep all.

    Parameters
    ----------
    summaries : iterable of Summary
    metrics : sequence of str
    datasets, learners : sequence of str
        Names, or labels of the experiment; learners also as tables call their settings, such as
        ``pa1 C=0.5``.
    failed : bool, default True
        Keep groups whose runs all failed, for any metric, so that a table can say so.

    Raises
    ------
    UnknownNameError
        If a name does not occur.
    """
    selection = list(summaries)
    # A selection by metric keeps them, since failed runs have no metric.
    spared = ("outcome",) if failed else ()
    # As tables call settings; filled where a learner goes by no name of its own.
    shown: dict[Row, set[str]] = {}
    called: dict[str, Callable[[Summary], set[str]]] = {
        "dataset": lambda s: {s.dataset, s.dataset_label},
        "learner": lambda s: {
            s.learner,
            *(name.text for name in s.learner_names if name.text),
            *(name for row in rows_of(s) for name in shown.get(row, ())),
        },
        "metric": lambda s: {s.metric},
    }
    for field, requested in (
        ("dataset", datasets),
        ("learner", learners),
        ("metric", metrics),
    ):
        if not requested:
            continue
        available = {
            name for summary in selection for name in called[field](summary)
        } - {"outcome"}
        if field == "learner" and not available.issuperset(requested):
            shown |= _shown_names(selection)
            available.update(*shown.values())
        for name in requested:
            # Checked against what the selections before left: a learner that did not
            # run on the chosen dataset is an error, not an empty table.
            if name not in available:
                raise UnknownNameError(f"{field} in this store", name, available)
        selection = [
            summary
            for summary in selection
            if called[field](summary).intersection((*requested, *spared))
        ]
    return selection


def _shown_names(summaries: Iterable[Summary]) -> dict[Row, set[str]]:
    """Return what the tables of each protocol call a setting."""
    cells: dict[str, set[tuple[Row, Column]]] = defaultdict(set)
    for s in summaries:
        column = column_of(s)
        cells[canonical_json(s.protocol)].update((row, column) for row in rows_of(s))
    names: dict[Row, set[str]] = defaultdict(set)
    for of_protocol in cells.values():
        labels, _ = row_labels(of_protocol)
        for row, name in labels.items():
            names[row].add(name)
    return names
