"""The progress of an ingest, in a notebook."""

from __future__ import annotations

from time import monotonic
from typing import Any

from olscale.printable import printable
from olscale.report.html import escape
from olscale.report.watch import in_notebook
from olscale.system.sizes import size_text

_EVERY_SECONDS = 0.5


class IngestView:
    """Receives the progress of an ingest and shows it in the cell that runs.

    Examples
    --------
    >>> view = IngestView()
    >>> view("mail.csv", 2048, 1_000_000)
    >>> print(repr(view).partition(",")[0])
    reading mail.csv: 2048 rows
    """

    def __init__(self) -> None:
        self._name = ""
        self._rows = 0
        self._bytes = 0
        self._began = self._told = monotonic()
        self._display: Any = None

    def __call__(self, name: str, rows: int, size: int) -> None:
        """Record that more rows, of this many bytes in memory, were read from a source."""
        self._name = name
        self._rows = self._rows + rows
        self._bytes = self._bytes + size
        if monotonic() - self._told >= _EVERY_SECONDS:
            self.show()

    def show(self) -> None:
        """Update the cell."""
        self._told = monotonic()
        if not in_notebook():
            return
        from IPython import display

        if self._display is None:
            self._display = display.display(self, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._display.update(self)

    def __repr__(self) -> str:
        seconds = max(1e-9, monotonic() - self._began)
        return printable(
            f"reading {self._name}: {self._rows} rows, {size_text(self._bytes)}, "
            f"{self._rows / seconds:,.0f} rows/s"
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>"


def ingest_view() -> IngestView | None:
    """Return a view if this is a notebook."""
    return IngestView() if in_notebook() else None
