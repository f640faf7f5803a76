"""The comparison of a store's learners as a whole: tables, JSON, and what Python users get."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from olscale.addresses import redacted
from olscale.analysis import summarise, unfinished_experiments
from olscale.analysis.compare import Test
from olscale.analysis.summary import Summary
from olscale.errors import ReportError
from olscale.report.comparison import compared, learners_by_protocol
from olscale.report.comparison_tables import (
    comparison_json,
    comparison_tables,
    verdicts,
)
from olscale.report.comparison_within import within_each
from olscale.report.labels import metric_text, protocol_text
from olscale.report.mcnemar import rows_compared, rows_objects, rows_table
from olscale.report.notes import unfinished_notes
from olscale.report.selection import select
from olscale.report.table_view import TableView
from olscale.report.tables import Table, with_notes
from olscale.results import Store, open_store
from olscale.results.store import OnDamage
from olscale.results.store_part import part_of
from olscale.system.arguments import checked_arguments

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class LearnerComparison(TableView):
    """Learners of a store compared: ranks, significance tests, pairs; see `compare`.

    Iterating gives a dictionary per pair of learners.

    Parameters
    ----------
    store : Store
    summaries : sequence of Summary
        Summaries of all or some of its runs: they select learners and data sets.
    metric, baseline : str, optional
    test : {"wilcoxon", "nemenyi"}
    rope : float, optional
    on_damage : {"raise", "skip"}
    experiments : collection of str
        Those whose runs are to be finished before the comparison is whole; all when empty.

    Raises
    ------
    ReportError
        If no two learners share a run.
    """

    def __init__(
        self,
        store: Store,
        summaries: Sequence[Summary],
        metric: str | None = None,
        baseline: str | None = None,
        test: Test = "wilcoxon",
        rope: float | None = None,
        on_damage: OnDamage = "raise",
        experiments: Collection[str] = (),
    ) -> None:
        comparisons = compared(
            store, summaries, metric, test, rope, baseline, on_damage=on_damage
        )
        if not comparisons:
            learners_text = learners_by_protocol(summaries) or "no finished runs"
            raise ReportError(
                f"nothing to compare in {redacted(store.path)}: expected two learners or more with "
                "figures on a common data set, with the same transforms and permutation or fold, "
                f"got {learners_text}"
            )
        self._comparisons = comparisons
        self._unfinished = [
            progress
            for progress in unfinished_experiments(store, on_damage)
            if not experiments or progress.experiment in experiments
        ]
        self._within = [
            []
            if comparison.outcome.tested
            else within_each(comparison, store, on_damage)
            for comparison in comparisons
        ]
        self._rows = [
            list(rows_compared(comparison, store, on_damage))
            for comparison in comparisons
        ]

    def tables(self) -> list[Table]:
        """Return ranks and pairs of each protocol, and McNemar's test where it is asked for."""
        tables: list[Table] = []
        for comparison, within, rows in zip(
            self._comparisons, self._within, self._rows, strict=True
        ):
            tables += [*comparison_tables(comparison, within), *map(rows_table, rows)]
        return with_notes(tables, unfinished_notes(self._unfinished))

    def figure(self) -> Figure:
        """Draw the critical-difference diagram: a bar spans learners that do not differ.

        Returns
        -------
        matplotlib.figure.Figure
            A panel per protocol.

        Raises
        ------
        ReportError
            If matplotlib is not installed.
        """
        from olscale.report.figures.ranks import rank_figure
        from olscale.report.figures.style import need_matplotlib

        need_matplotlib()
        first, *later = self._comparisons
        shown = {metric_text(first.metric): first.outcome}
        shown |= {
            protocol_text(comparison.protocol): comparison.outcome
            for comparison in later
        }
        return rank_figure(shown)

    def verdicts(self) -> list[str]:
        """Return what the tests say, a sentence each."""
        return [
            line for comparison in self._comparisons for line in verdicts(comparison)
        ]

    def to_json(self) -> str:
        """Return what ``olscale compare --format json`` prints."""
        rows = map(rows_objects, self._rows)
        parts = zip(self._comparisons, self._within, rows, strict=True)
        return comparison_json([*parts], self._unfinished)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        first = json.loads(self.to_json())
        for comparison in [first, *first["others"]]:
            for pair in comparison["pairs"]:
                yield {"metric": comparison["metric"], **pair}


@checked_arguments()
def compare(
    store: Store | str | os.PathLike[str],
    metric: str | None = None,
    baseline: str | None = None,
    test: Test = "wilcoxon",
    datasets: Sequence[str] = (),
    learners: Sequence[str] = (),
    rope: float | None = None,
    experiments: Sequence[str] = (),
) -> LearnerComparison:
    """Compare the learners of a store: ranks, significance tests, every pair.

    Parameters
    ----------
    store : Store or path
        Metrics store.
    metric : str, optional
        By default the test error or the cumulative one, whichever most data sets have.
    baseline : str, optional
        Compare this learner with each other one, and no others.
    test : {"wilcoxon", "nemenyi"}
        How pairs are tested over data sets.
    datasets, learners : sequence of str
        Only these, by name or label; all when empty.
    rope : float, optional
        Differences up to this size count as equal in practice: 0.01 of errors by default, else 0.
    experiments : sequence of str
        Only the runs of these experiments; all when empty.

    Returns
    -------
    LearnerComparison
        With `to_latex`, `to_markdown`, `to_html`, `to_pandas` and `to_json`.

    Raises
    ------
    ReportError
        If no two learners share a run.
    UnknownNameError
        If a name does not occur, or there is no such experiment.

    Examples
    --------
    >>> compare(open_store("memory://doctest-compare", create=True))
    Traceback (most recent call last):
    olscale.errors.ReportError: nothing to compare in memory://doctest-compare: ...
    """
    whole_store = store if isinstance(store, Store) else open_store(store)
    opened, plans = part_of(whole_store, experiments)
    names = {plan.experiment for plan in plans.values()}
    summaries = select(summarise(opened, experiments=names), (), datasets, learners)
    return LearnerComparison(
        opened, summaries, metric, baseline, test, rope, experiments=names
    )
