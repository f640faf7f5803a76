"""Tables of a store's results: plain text, terminal, LaTeX, JSON and CSV."""

from olscale.report.latex import latex
from olscale.report.selection import select
from olscale.report.status import status_text
from olscale.report.tables import Entry, Table, tables
from olscale.report.text import as_csv, as_json, plain, print_rich

__all__ = [
    "Entry",
    "Table",
    "as_csv",
    "as_json",
    "latex",
    "plain",
    "print_rich",
    "select",
    "status_text",
    "tables",
]
