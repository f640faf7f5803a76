"""Results for Python: as tables in a notebook or a terminal, and as rows for further work."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from olscale.addresses import redacted
from olscale.analysis.status import unfinished_experiments
from olscale.analysis.summary import Summary, summarise
from olscale.errors import ReportError
from olscale.report.notes import unfinished_notes
from olscale.report.selection import select
from olscale.report.table_view import TableView
from olscale.report.tables import Table, tables
from olscale.report.text import as_json
from olscale.results import Store, open_store

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Results(TableView):
    """Means and deviations of every metric over the permutations and folds of each setting.

    A notebook displays it as tables, `print` as text; iterating gives a dictionary per setting
    and metric, as ``olscale results --format json`` prints them.

    Parameters
    ----------
    store : Store or path
        Metrics store.
    ids : collection of str, optional
        Only these runs; by default all except those of tuning.
    metric : str, optional
        Show this metric instead of the errors.
    experiment : str, optional
        Names and order of this experiment; by default of all in the store.

    Examples
    --------
    >>> store = open_store("memory://doctest-results", create=True)
    >>> Results(store)
    no finished runs in memory://doctest-results
    """

    def __init__(
        self,
        store: Store | str | os.PathLike[str],
        ids: Collection[str] | None = None,
        metric: str | None = None,
        experiment: str = "",
    ) -> None:
        opened = store if isinstance(store, Store) else open_store(store)
        self._store = opened
        self._path = redacted(opened.path)
        self._metric = metric
        # An empty selection must not mean all runs.
        nothing = ids is not None and not ids
        experiments = [experiment] if experiment else []
        self._summaries = (
            [] if nothing else summarise(opened, experiments=experiments, ids=ids)
        )
        self._unfinished = [
            progress
            for progress in unfinished_experiments(opened)
            if experiment in ("", progress.experiment)
        ]

    def select(
        self,
        metric: str | None = None,
        dataset: str | None = None,
        learner: str | None = None,
    ) -> Results:
        """Return the results of one metric, dataset or learner, by experiment name or by label.

        Raises
        ------
        UnknownNameError
            If a name does not occur; the message offers the nearest one.
        """
        selection = object.__new__(Results)
        selection._store = self._store
        selection._path = self._path
        selection._metric = metric or self._metric
        selection._unfinished = self._unfinished
        metrics, datasets, learners = (
            [name] if name else [] for name in (metric, dataset, learner)
        )
        selection._summaries = select(self._summaries, metrics, datasets, learners)
        return selection

    def tables(self) -> list[Table]:
        """Return one table per metric and protocol: learners by datasets."""
        return tables(self._summaries, self._metric)

    def curves(self, metric: str = "cumulative_error") -> Figure:
        """Draw a metric along the stream: a panel per stream, a line per learner.

        Where the protocol asks for a drift detector, triangles stand where it raised alarms.

        Parameters
        ----------
        metric : str
            ``"cumulative_error"``, ``"window_error"``, or another metric with a curve.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        ReportError
            If matplotlib is not installed.
        """
        from olscale.analysis.curves import curves
        from olscale.report.choice import labelled, streams
        from olscale.report.figures.curves import curve_figure
        from olscale.report.figures.style import need_matplotlib

        need_matplotlib()
        by_stream = streams(curves(self._store, self._summaries, metric=metric))
        shown = {title: labelled(of_stream) for title, of_stream in by_stream.items()}
        if not shown:
            raise ReportError(
                f"no run has {metric} along the stream; [protocol] asks for curves"
            )
        alarms = curves(self._store, self._summaries, metric="drift_alarms")
        # Alarms have no place on the curves of another stream.
        of_one_stream = labelled(alarms) if len(shown) == 1 else {}
        return curve_figure(shown, alarms=of_one_stream)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(json.loads(as_json(self._summaries)))

    def __len__(self) -> int:
        return len(self._summaries)

    def _empty_text(self) -> str:
        return f"no finished runs in {self._path}"

    def _notes(self) -> Sequence[str]:
        return unfinished_notes(self._unfinished)

    @property
    def summaries(self) -> list[Summary]:
        """The summaries behind the tables."""
        return list(self._summaries)
