"""The colours, dashes and marks of series: one table for figures, charts, live views and pages.

The ten colours stand on white and on nearly black paper alike, so that a page needs no second
palette in dark mode. A search over a grid of colours with a contrast of at least 3 on both grounds
found them; `tests/report/test_palette.py` computes what is promised here: a contrast of at least 3,
and a distance (CIE76) of at least 20 between any two, also as deuteranopes and protanopes see them.
"""

from typing import Any

COLOURS = (
    "#2255ee",
    "#dd7700",
    "#009999",
    "#bb2266",
    "#666622",
    "#1188ee",
    "#889966",
    "#ff0044",
    "#1166aa",
    "#5599cc",
)
GREY = "#767676"
"""The colour of baselines, and of lines that explain others."""

DASHES = ("-", "--", ":", "-.")
"""Dashes by the names that matplotlib has for them."""

DASH_LENGTHS = {"-": (1, 0), "--": (7, 3), ":": (2, 3), "-.": (9, 3, 2, 3)}
"""Strokes and gaps in pixels, for charts and pages."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")

BASELINES = frozenset({"majority", "no-change", "mean", "last-value"})
"""Registry names of learners that only serve as baselines: grey, and last in legends."""

Look = dict[str, Any]
"""Keywords of a matplotlib line: colour, dashes and marker."""

_SHADES = (0.0, 0.35, 0.55, 0.7)
"""How far settings of one learner are mixed with white; each shade serves four dash patterns."""


def series_look(learner: int, setting: int = 0) -> Look:
    """Return the look of a learner, by its number, in one of its settings.

    Colour and mark belong to the learner: no two of the first 100 share both. Of the first 40 no
    two share colour and dash, nor dash and mark, which is what grey print leaves.

    Examples
    --------
    >>> series_look(1), series_look(11)["linestyle"]
    ({'color': '#dd7700', 'linestyle': '-', 'marker': 's'}, '--')
    """
    cycle = learner // len(COLOURS)
    shade = _SHADES[setting // len(DASHES) % len(_SHADES)]
    return {
        "color": _shaded(COLOURS[learner % len(COLOURS)], shade),
        "linestyle": DASHES[(cycle + setting) % len(DASHES)],
        "marker": MARKERS[(learner + cycle) % len(MARKERS)],
    }


def baseline_look(number: int) -> Look:
    """Return the look of a baseline, by its number among the baselines: grey and never solid."""
    return {
        "color": GREY,
        "linestyle": DASHES[1 + number % (len(DASHES) - 1)],
        "marker": MARKERS[number % len(MARKERS)],
    }


def _shaded(colour: str, share: float) -> str:
    """Return a colour mixed with a share of white."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(part + share * (255 - part)):02x}" for part in parts)
