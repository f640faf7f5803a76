"""A page that stands alone: tables, figures and notes in HTML, with its style and pictures inside.

Its layout is in ``templates/page.html``.
"""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup
from markupsafe import escape as html_escape

from olscale.printable import printable
from olscale.report.tables import Table

SCRIPTS = ("vega.min.js", "vega-lite.min.js", "vega-embed.min.js", "report.js")
"""Scripts of an interactive page, in order; the first three are Vega's, with their licences."""


def _printable(value: Any) -> Any:
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value)
    return value


@cache
def _macros() -> Any:
    loader = FileSystemLoader(Path(__file__).parent / "templates")
    return (
        Environment(loader=loader, autoescape=True, finalize=_printable)
        .get_template("page.html")
        .module
    )


def escape(text: str) -> str:
    """Return text, made printable, as HTML."""
    return str(html_escape(printable(text)))


def table_html(table: Table) -> str:
    """Return a table of results, the best of each column in bold."""
    return str(_macros().table(table))


def rows_html(
    head: Sequence[str], rows: Iterable[Sequence[str]], text: Sequence[int] = (0,)
) -> str:
    """Return a plain table; the columns numbered in `text` are words, the others are figures."""
    return str(_macros().rows(head, rows, text))


def figure_html(
    files: Sequence[Path], caption: str, beside: Path, specs: Sequence[Mapping[str, Any]] = ()
) -> str:
    """Return a figure with its SVG inlined and links to its files, which are under `beside`.

    Vega-Lite charts accompany the SVG as data; the scripts of a page draw them in its place.
    """
    svg = next(path for path in files if path.suffix == ".svg")
    links = [(path.relative_to(beside).as_posix(), path.suffix[1:]) for path in files]
    # `</script>` within a name would end the element that holds the data.
    data = ""
    if specs:
        data = json.dumps(specs, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return str(
        _macros().figure(base64.b64encode(svg.read_bytes()).decode(), caption, links, Markup(data))
    )


def paragraphs(texts: Iterable[str], kind: str = "") -> str:
    """Return each text as a paragraph."""
    return str(_macros().paragraphs(texts, kind))


def page_html(
    title: str, sections: Sequence[tuple[str, Sequence[str]]], interactive: bool = False
) -> str:
    """Return a page: a heading, a list of the sections, and their parts (HTML) under headings.

    An interactive one has scripts inside, 0.83 MB, which draw its charts and sort its tables.
    """
    folder = Path(__file__).parent / "scripts"
    scripts = [
        Markup((folder / name).read_text(encoding="utf-8")) for name in SCRIPTS if interactive
    ]
    return str(_macros().page(title, sections, scripts))
