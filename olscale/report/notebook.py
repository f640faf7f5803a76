"""Results for Python: as tables in a notebook or a terminal, and as rows for further work."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from olscale.addresses import redacted
from olscale.analysis.status import unfinished_experiments
from olscale.analysis.summary import Summary, summarise
from olscale.errors import ReportError
from olscale.report.html import table_html
from olscale.report.notes import unfinished_notes
from olscale.report.tables import Table, select, tables
from olscale.report.text import as_json, plain
from olscale.results import Store, open_store

if TYPE_CHECKING:
    import pandas as pd

_STYLE = """<style scoped>
.olscale table { border-collapse: collapse; margin: .3rem 0; font-variant-numeric: tabular-nums; }
.olscale caption { caption-side: top; white-space: nowrap; text-align: left; font-weight: 600; }
.olscale caption { padding: .3rem 0; color: inherit; }
.olscale th, .olscale td { padding: .15rem .7rem; text-align: right; white-space: nowrap; }
.olscale th[scope=row], .olscale th.text { text-align: left; font-weight: 400; }
.olscale thead th { border-bottom: 1px solid #888; }
.olscale td.best { font-weight: 700; }
.olscale .note { font-size: .85em; opacity: .8; margin: .1rem 0; }
</style>"""


class Results:
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
        self._path = redacted(opened.path)
        self._metric = metric
        # An empty selection must not mean all runs.
        nothing = ids is not None and not ids
        experiments = [experiment] if experiment else []
        self._summaries = [] if nothing else summarise(opened, experiments=experiments, ids=ids)
        self._unfinished = [
            progress
            for progress in unfinished_experiments(opened)
            if experiment in ("", progress.experiment)
        ]

    def select(
        self, metric: str | None = None, dataset: str | None = None, learner: str | None = None
    ) -> Results:
        """Return the results of one metric, dataset or learner, by experiment name or by label.

        Raises
        ------
        UnknownNameError
            If a name does not occur; the message offers the nearest one.
        """
        selection = object.__new__(Results)
        selection._path = self._path
        selection._metric = metric or self._metric
        selection._unfinished = self._unfinished
        names = [[name] if name else [] for name in (dataset, learner)]
        selection._summaries = select(self._summaries, metric, names[0], names[1], failed=True)
        return selection

    def tables(self) -> list[Table]:
        """Return one table per metric and protocol: learners by datasets."""
        return tables(self._summaries, self._metric)

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas data frame with a row per setting and metric; errors are fractions.

        Raises
        ------
        ReportError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as fault:
            raise ReportError(
                "to_pandas needs pandas, which is not installed: pip install pandas"
            ) from fault
        return pd.DataFrame(list(self))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(json.loads(as_json(self._summaries)))

    def __len__(self) -> int:
        return len(self._summaries)

    def __repr__(self) -> str:
        shown = plain(self.tables()).rstrip() or f"no finished runs in {self._path}"
        return "\n".join([shown, *unfinished_notes(self._unfinished)])

    def _repr_html_(self) -> str:
        body = "".join(map(table_html, self.tables())) or "<p>No finished runs.</p>"
        body += "".join(
            f'<p class="note">{escape(note)}</p>' for note in unfinished_notes(self._unfinished)
        )
        return f'<div class="olscale">{_STYLE}{body}</div>'

    @property
    def summaries(self) -> list[Summary]:
        """The summaries behind the tables."""
        return list(self._summaries)
