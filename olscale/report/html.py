"""A page that stands alone: tables, figures and notes in HTML, with its style and pictures inside."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape as html_escape
from pathlib import Path

from olscale.printable import printable
from olscale.report.tables import Entry, Table

__all__ = ["escape", "figure_html", "page_html", "paragraphs", "rows_html", "table_html"]

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; border-bottom: 1px solid #8886; }
h3 { font-size: 1.05rem; margin-top: 1.5rem; }
nav ul { columns: 16rem; padding-left: 1.2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .8rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
caption span { display: inline-block; width: max-content; max-width: min(56rem, 90vw); }
th, td { padding: .2rem .7rem; text-align: right; white-space: nowrap; }
th[scope=row] { font-weight: 400; }
th[scope=row], td.text, th.text { text-align: left; } td.text { white-space: normal; min-width: 6rem; }
thead th { border-bottom: 1px solid #888; } tbody tr:nth-child(even) { background: #8881; }
td.best { font-weight: 700; } .note { font-size: .87rem; opacity: .8; margin: .2rem 0; }
figure { margin: 1.2rem 0; } figcaption { font-size: .87rem; opacity: .85; }
figure img { max-width: 100%; background: white; border-radius: 4px; padding: .4rem; box-sizing: border-box; }
@media print { body { max-width: none; margin: 0; font-size: 10pt; } nav { display: none; }
  figure, table { break-inside: avoid; } h2, h3 { break-after: avoid; } .wide { overflow: visible; } }
"""


def escape(text: str) -> str:
    """Return text, made printable, as HTML."""
    return html_escape(printable(text))


def table_html(table: Table) -> str:
    """Return a table of results, the best of each column in bold."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.columns)
    rows = [
        f'<tr><th scope="row">{escape(name)}</th>{"".join(map(_cell, line))}</tr>'
        for name, line in zip(table.rows, table.entries, strict=True)
    ]
    return (
        f'<div class="wide"><table><caption><span>{escape(table.title)}</span></caption>'
        f'<thead><tr><th class="text">learner</th>{head}'
        f"</tr></thead><tbody>{''.join(rows)}</tbody></table></div>{paragraphs(table.notes, 'note')}"
    )


def _cell(entry: Entry) -> str:
    if not entry.mean:
        return f"<td>{escape(entry.note)}</td>"
    text = escape(entry.mean) + (f" &plusmn; {escape(entry.std)}" if entry.std else "") + ("!" if entry.partial else "")
    return f'<td class="best">{text}</td>' if entry.best else f"<td>{text}</td>"


def rows_html(head: Sequence[str], rows: Iterable[Sequence[str]], text: Sequence[int] = (0,)) -> str:
    """Return a plain table; the columns numbered in `text` are words, the others are figures."""

    def line(cells: Sequence[str], tag: str) -> str:
        marks = [' class="text"' if i in text else "" for i in range(len(cells))]
        return "".join(f"<{tag}{mark}>{escape(cell)}</{tag}>" for mark, cell in zip(marks, cells, strict=True))

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{line(head, "th")}</tr></thead><tbody>{body}</tbody></table></div>'


def figure_html(files: Sequence[Path], caption: str, beside: Path) -> str:
    """Return a figure with its SVG inside and links to its files, which lie under `beside`."""
    svg = next(path for path in files if path.suffix == ".svg")
    data = base64.b64encode(svg.read_bytes()).decode()
    links = ", ".join(
        f'<a href="{escape(path.relative_to(beside).as_posix())}">{path.suffix[1:]}</a>' for path in files
    )
    return (
        f'<figure><img src="data:image/svg+xml;base64,{data}" alt="{escape(caption)}">'
        f"<figcaption>{escape(caption)} ({links})</figcaption></figure>"
    )


def paragraphs(texts: Iterable[str], kind: str = "") -> str:
    """Return each text as a paragraph."""
    opening = f'<p class="{kind}">' if kind else "<p>"
    return "".join(f"{opening}{escape(text)}</p>" for text in texts)


def page_html(title: str, sections: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return a page: a heading, a list of the sections, and each section's parts (HTML) under its heading."""
    links = "".join(f'<li><a href="#s{i}">{escape(name)}</a></li>' for i, (name, _) in enumerate(sections))
    body = "\n".join(
        f'<section id="s{i}"><h2>{escape(name)}</h2>\n' + "\n".join(parts) + "\n</section>"
        for i, (name, parts) in enumerate(sections)
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>\n'
        f"<body><h1>{escape(title)}</h1>\n<nav><ul>{links}</ul></nav>\n{body}\n</body></html>\n"
    )
