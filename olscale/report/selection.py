"""Which summaries tables show: those of some metrics, datasets and learners."""

from collections.abc import Callable, Iterable, Sequence

from olscale.analysis.summary import Summary
from olscale.errors import UnknownNameError


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
        Names, or labels of the experiment.
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
    called: dict[str, Callable[[Summary], set[str]]] = {
        "dataset": lambda s: {s.dataset, s.dataset_label},
        "learner": lambda s: {
            s.learner,
            *(name.text for name in s.learner_names if name.text),
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
