"""A page that stands alone: tables, figures and notes in HTML, with its style inside.

Its layout is in ``templates/page.html``, its style in ``templates/style.css``.
"""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup
from markupsafe import escape as html_escape

from olscale.printable import printable
from olscale.report.tables import Table

# A figure that is in the page both as a chart and as a picture takes five times the room: a
# report of 49 figures had 6.3 MB. So a page with scripts has only charts, and pictures are files
# for paper and for readers without scripts.
SCRIPTS = ("vega.min.js", "vega-lite.min.js", "vega-embed.min.js", "report.js")
"""Scripts of an interactive page, in order; the first three are Vega's, with their licences."""

TEMPLATES = Path(__file__).parent / "templates"


def _printable(value: Any) -> Any:
    # Markup is HTML that was made here, with its own line breaks.
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value)
    return value


class PageSection(NamedTuple):
    """A section of a page.

    Parameters
    ----------
    name : str
        Its heading.
    parts : sequence of str
        HTML.
    anchor : str
        Its place in addresses.
    group : str
        The heading of the contents under which it stands, with its neighbours of that group.
    """

    name: str
    parts: Sequence[str]
    anchor: str = ""
    group: str = ""


def _css_string(text: str) -> Markup:
    """Return text as a string of a style sheet, within an element of a page."""
    escaped = "".join(
        # Angle brackets too: `</style>` within a string would end the element.
        f"\\{ord(character):x} " if character in "\"\\<>&'" else character
        for character in printable(text)
    )
    return Markup(f'"{escaped}"')


def _in_groups(
    sections: Sequence[PageSection], name: str
) -> list[tuple[str, list[PageSection]]]:
    """Return neighbours with one value of an attribute together, in their order."""
    return [
        (value, list(group)) for value, group in groupby(sections, key=attrgetter(name))
    ]


@cache
def macros(template: str = "page.html") -> Any:
    """Return the macros of a template, which escape text and make it printable."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, finalize=_printable
    )
    environment.filters["as_css"] = _css_string
    environment.filters["groupby_in_order"] = _in_groups
    return environment.get_template(template).module


@cache
def style() -> Markup:
    """Return the style sheet of all pages."""
    return Markup((TEMPLATES / "style.css").read_text(encoding="utf-8"))


def escape(text: str) -> str:
    """Return text, made printable, as HTML."""
    return str(html_escape(printable(text)))


def table_html(table: Table, reasons: str = "") -> str:
    """Return a table of results, the best of each column in bold.

    Runs that failed link to `reasons`, the address of the table that has theirs.
    """
    return str(macros().table(table, reasons))


def rows_html(
    head: Sequence[str], rows: Iterable[Sequence[str]], text: Sequence[int] = (0,)
) -> str:
    """Return a plain table; the columns numbered in `text` are words, the others are figures."""
    return str(macros().rows(head, rows, text))


def figure_html(
    files: Sequence[Path],
    caption: str,
    beside: Path,
    specs: Sequence[Mapping[str, Any]] = (),
    topic: str = "",
    heading: str = "",
) -> str:
    """Return a figure under a heading, with links to its files, which are under `beside`.

    Vega-Lite charts are there as data; the scripts of a page draw them. Their picture is read from
    its file where no script runs and on paper; a figure without charts has its picture inside.
    """
    svg = next(path for path in files if path.suffix == ".svg")
    links = [(path.relative_to(beside).as_posix(), path.suffix[1:]) for path in files]
    data = json_html(specs)
    picture = quote(svg.relative_to(beside).as_posix())
    if not specs:
        data = Markup()
        picture = (
            f"data:image/svg+xml;base64,{base64.b64encode(svg.read_bytes()).decode()}"
        )
    return str(macros().figure(picture, caption, links, data, topic, heading))


def json_html(content: Any) -> Markup:
    """Return JSON for a script element; `</script>` within a name would end the element."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))


def chip_html(state: str, kind: str) -> Markup:
    """Return a state as a chip in the colour of its kind: good, alarm, failed or running."""
    return Markup('<span class="state {}">{}</span>').format(kind, printable(state))


def chips_html(texts: Iterable[str]) -> str:
    """Return short texts, such as the options of a protocol, as chips."""
    return str(macros().chips(list(texts)))


def first_screen_html(made: str, cards: Sequence[Any], board: Mapping[str, Any]) -> str:
    """Return the head of a report: when, figures that stand out, and the leaderboard, if any."""
    return str(macros().first_screen(made, cards, board))


def fold_html(summary: str, inside: str) -> str:
    """Return HTML behind a line that opens it."""
    return f"<details><summary>{escape(summary)}</summary>{inside}</details>"


def matrix_html(pairs: Sequence[Any], alpha: float) -> str:
    """Return pairs as a matrix of learners: data sets won, tied and lost by the row's learner."""
    names = list(dict.fromkeys(name for pair in pairs for name in (pair.a, pair.b)))
    counts = {}
    for pair in pairs:
        sure = pair.p_corrected <= alpha
        better = pair.wins >= pair.losses
        counts[pair.a, pair.b] = (
            pair.wins,
            pair.ties,
            pair.losses,
            # Shades from the best to the worst, as in tables of ranks; none where the
            # test is not sure.
            sure and (1 if better else 5),
        )
        counts[pair.b, pair.a] = (
            pair.losses,
            pair.ties,
            pair.wins,
            sure and (5 if better else 1),
        )
    return str(macros().matrix(names, counts))


def paragraphs(texts: Iterable[str], kind: str = "") -> str:
    """Return each text as a paragraph."""
    return str(macros().paragraphs(texts, kind))


def page_html(
    title: str,
    sections: Iterable[tuple[str, Sequence[str]] | PageSection],
    interactive: bool = False,
    lead: str = "",
    when: str = "",
) -> str:
    """Return a page: a heading, what leads to it, contents, and sections.

    On paper each sheet has the title, `when` and its number at its head.

    An interactive one has scripts inside, 0.84 MB, which draw its charts and sort its tables.
    """
    scripts = []
    if interactive:
        folder = Path(__file__).parent / "scripts"
        scripts = [
            Markup((folder / name).read_text(encoding="utf-8")) for name in SCRIPTS
        ]
    numbered = []
    for number, parts in enumerate(sections):
        section = PageSection(*parts)
        # Anchors that have names stay the same when sections come and go, so that links
        # to them hold.
        numbered.append(section._replace(anchor=section.anchor or f"s{number}"))
    if when:
        when += ", "
    return str(macros().page(title, numbered, Markup(lead), style(), scripts, when))
