"""What a notebook displays as tables, `print` prints as text, and papers and pages take over."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from olscale.errors import ReportError
from olscale.report.latex import latex
from olscale.report.tables import Table
from olscale.report.text import plain

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


class TableView(ABC):
    """Tables with their forms: text, HTML, LaTeX, Markdown and a data frame.

    Iterating gives a dictionary per row of the data frame.
    """

    @abstractmethod
    def tables(self) -> list[Table]:
        """Return the tables that are displayed."""

    @abstractmethod
    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield plain values for further work."""

    def _empty_text(self) -> str:
        """Return what is displayed where there is no table."""
        return "no finished runs"

    def _notes(self) -> Sequence[str]:
        """Return what a reader must know about all tables."""
        return ()

    def to_latex(self) -> str:
        r"""Return LaTeX ``table`` environments for the package ``booktabs``."""
        return latex(self.tables())

    def to_markdown(self) -> str:
        """Return Markdown tables under their titles."""
        from olscale.report.markdown import markdown

        return markdown(self.tables())

    def to_html(self) -> str:
        """Return HTML with its own small style sheet."""
        # Jinja takes a third of the time in which a command prints text.
        from olscale.report.html import table_html

        body = "".join(map(table_html, self.tables()))
        body = body or f"<p>{escape(self._empty_text())}.</p>"
        body += "".join(f'<p class="note">{escape(note)}</p>' for note in self._notes())
        return f'<div class="olscale">{_STYLE}{body}</div>'

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas data frame of what iterating gives; errors are fractions.

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

    def __repr__(self) -> str:
        shown = plain(self.tables()).rstrip() or self._empty_text()
        return "\n".join([shown, *self._notes()])

    def _repr_html_(self) -> str:
        return self.to_html()
