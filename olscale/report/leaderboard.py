"""Leaderboards: learners by metrics, sorted by the first, with what a test cannot tell apart.

A leaderboard has a table for each data set and protocol. Where learners ran on several data sets,
a table of means over these, with mean ranks, comes first.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from olscale.addresses import redacted
from olscale.analysis.replicates import ReplicateFigures
from olscale.analysis.standing import is_comparable
from olscale.analysis.status import unfinished_experiments
from olscale.analysis.summary import Summary, one_of_each_setting, summarise
from olscale.errors import ReportError, UnknownNameError
from olscale.measures import measure_of, metric_words
from olscale.report.choice import streams_of_settings
from olscale.report.comparison import compared_with_best
from olscale.report.labels import protocol_text
from olscale.report.leaderboard_means import means_table
from olscale.report.leaderboard_of_stream import stream_table
from olscale.report.left_out import arrange_settings
from olscale.report.notes import unfinished_notes
from olscale.report.selection import select
from olscale.report.table_view import TableView
from olscale.report.tables import Table, usual_metrics
from olscale.results import Store, open_store
from olscale.results.settings import (
    SettingKey,
    asked_protocol,
    asked_text,
    natural_order,
)
from olscale.results.store import OnDamage
from olscale.system.arguments import checked_arguments
from olscale.system.garbage import seldom_collected

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Leaderboard(TableView):
    """Learners by metrics; see `leaderboard`.

    Iterating gives a dictionary per learner and data set, with the mean of each metric; NaN where
    the table has none.

    Parameters
    ----------
    store : Store
    metrics : sequence of str
        Columns, the one to sort by first.
    datasets, learners : sequence of str
        Only these, by name or label; all when empty.
    """

    def __init__(
        self,
        store: Store,
        metrics: Sequence[str] = (),
        datasets: Sequence[str] = (),
        learners: Sequence[str] = (),
    ) -> None:
        self._store = store
        summaries = select(summarise(store), (), datasets, learners)
        self.metrics = list(dict.fromkeys(metrics)) or usual_metrics(summaries)
        self._all = summaries
        self._summaries = [
            s for s in summaries if s.metric in (*self.metrics, "outcome")
        ]
        self._unfinished = unfinished_experiments(store)
        # Made at once: unknown metrics are refused here, and not where a notebook shows
        # the object.
        self._tables = leaderboard_tables(store, summaries, self.metrics)

    def tables(self) -> list[Table]:
        """Return the means over data sets, where there are several, and each data set's table."""
        return list(self._tables)

    def figure(self, cost: str = "rows_per_cpu_second") -> Figure:
        """Draw the first metric against a cost, with a line through what nothing beats in both.

        Figures are means over the data sets, permutations and folds that all learners have, of the
        protocol with most data sets.

        Parameters
        ----------
        cost : str
            Such as ``"rows_per_cpu_second"`` or ``"model_bytes"``.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        UnknownNameError
            If no run has the cost.
        ReportError
            If matplotlib is not installed, more of the first metric is better, or no two learners
            have it on a common data set.
        """
        from olscale.report.cost_points import cost_points
        from olscale.report.figures.pareto import pareto_figure
        from olscale.report.figures.style import need_matplotlib

        need_matplotlib()
        metric = self.metrics[0]
        if measure_of(metric).better != "lower":
            raise ReportError(
                f"{metric_words(metric)} is drawn against no cost: expected a leaderboard whose "
                "first metric is an error"
            )
        check_metrics(self._all, [cost])
        figures = ReplicateFigures(self._store)
        comparisons = (
            compared_with_best(
                arrange_settings(of), asked_protocol(of[0].protocol), metric, figures
            )
            for of in _by_protocol(self._all)
        )
        one = max(
            (comparison for comparison in comparisons if comparison is not None),
            key=lambda comparison: len(comparison.outcome.datasets),
            default=None,
        )
        if one is None:
            raise ReportError(
                f"no two learners have {metric_words(metric)} on a common data set: expected "
                "learners that can be compared; olscale compare says what they lack"
            )
        points = cost_points(one, one.outcome, figures.of(cost))
        return pareto_figure(
            {cost: points}, {cost: measure_of(cost).better == "higher"}, metric
        )

    def __iter__(self) -> Iterator[dict[str, Any]]:
        by_setting: dict[SettingKey, dict[str, Any]] = {}
        for summary in self._summaries:
            line = by_setting.setdefault(
                summary.key,
                {
                    "dataset": summary.dataset_label,
                    "transforms": ",".join(summary.transforms),
                    "protocol": protocol_text(summary.protocol),
                    "learner": summary.label,
                    "params": dict(summary.params),
                }
                | dict.fromkeys(self.metrics, math.nan),
            )
            # As in the tables: what no other figure is compared with has no place here.
            if summary.metric in line and is_comparable(summary):
                line[summary.metric] = summary.mean
        return iter(by_setting.values())

    def _empty_text(self) -> str:
        return f"no finished runs in {redacted(self._store.path)}"

    def _notes(self) -> Sequence[str]:
        return unfinished_notes(self._unfinished)


@seldom_collected()
@checked_arguments()
def leaderboard(
    store: Store | str | os.PathLike[str],
    metrics: Sequence[str] = (),
    datasets: Sequence[str] = (),
    learners: Sequence[str] = (),
) -> Leaderboard:
    """Return learners by metrics, sorted by the first, as a notebook and papers show them.

    Parameters
    ----------
    store : Store or path
        Metrics store.
    metrics : sequence of str
        Columns, the one to sort by first; by default the errors, the measures that experiments
        ask for, and rows per processor second.
    datasets, learners : sequence of str
        Only these, by name or label; all when empty.

    Returns
    -------
    Leaderboard
        With `to_latex`, `to_markdown`, `to_html` and `to_pandas`.

    Raises
    ------
    UnknownNameError
        If no run has one of the metrics, or a name does not occur.

    Examples
    --------
    >>> leaderboard(open_store("memory://doctest-leaderboard", create=True))
    no finished runs in memory://doctest-leaderboard
    """
    opened = store if isinstance(store, Store) else open_store(store)
    return Leaderboard(opened, metrics, datasets, learners)


def leaderboard_tables(
    store: Store,
    summaries: Sequence[Summary],
    metrics: Sequence[str],
    on_damage: OnDamage = "raise",
) -> list[Table]:
    """Return learners by metrics: means over data sets where there are several, then each of them.

    Parameters
    ----------
    store : Store
    summaries : sequence of Summary
        Summaries of all or some of its runs: they select learners and data sets.
    metrics : sequence of str
        Columns, the one to sort by first.
    on_damage : {"raise", "skip"}
        What to do about damaged files of the store.

    Returns
    -------
    list of Table

    Raises
    ------
    UnknownNameError
        If no run has one of the metrics.
    """
    if not summaries:
        return []
    check_metrics(summaries, metrics)
    # A setting without any of the metrics keeps its line, which says so.
    first = {id(summary) for summary in one_of_each_setting(summaries)}
    summaries = [s for s in summaries if s.metric in metrics or id(s) in first]
    figures = ReplicateFigures(store, on_damage)
    tables = []
    for of_protocol in _by_protocol(summaries):
        by_stream = streams_of_settings(of_protocol)
        if len({summary.fingerprint for summary in of_protocol}) > 1:
            tables += means_table(of_protocol, metrics, figures)
        for title, of_stream in by_stream.items():
            tables.append(stream_table(title, of_stream, metrics, figures))
    return tables


def _by_protocol(summaries: Sequence[Summary]) -> list[list[Summary]]:
    """Return the summaries of each protocol, protocols in natural order."""
    by_protocol: dict[str, list[Summary]] = defaultdict(list)
    for summary in summaries:
        by_protocol[asked_text(summary.protocol)].append(summary)
    in_order = sorted(by_protocol, key=lambda text: (natural_order(text), text))
    return [by_protocol[protocol] for protocol in in_order]


def check_metrics(summaries: Sequence[Summary], metrics: Sequence[str]) -> None:
    """Refuse metrics that no run has.

    Raises
    ------
    UnknownNameError
        With the nearest name that there is.
    """
    available = {summary.metric for summary in summaries} - {"outcome"}
    for metric in metrics:
        if metric not in available:
            raise UnknownNameError("metric in this store", metric, available)
