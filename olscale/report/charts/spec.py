"""What all charts share: parameter names, colours and marks by label, five-digit numbers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from olscale.printable import printable
from olscale.report.palette import DASH_LENGTHS, Look

Spec = dict[str, Any]
"""A Vega-Lite specification."""

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
"""Identifies the language; nothing is downloaded from there."""

_CROSS = "M-1,-.5L-.5,-1L0,-.5L.5,-1L1,-.5L.5,0L1,.5L.5,1L0,.5L-.5,1L-1,.5L-.5,0Z"
_STAR = (
    "M0.00,-1.00L0.25,-0.34L0.95,-0.31L0.40,0.13L0.59,0.81L0"
    ".00,0.42L-0.59,0.81L-0.40,0.13L-0.95,-0.31L-0.25,-0.34Z"
)
_SHAPES = {
    **{
        "o": "circle",
        "s": "square",
        "^": "triangle-up",
        "D": "diamond",
        "v": "triangle-down",
        "P": "cross",
    },
    **{"X": _CROSS, "<": "triangle-left", ">": "triangle-right", "*": _STAR},
}

PICKED = {"name": "picked", "value": []}
"""The labels shown; all if empty. The page sets it from its legend."""

ONLY_PICKED = {"filter": "length(picked) == 0 || indexof(picked, datum.learner) >= 0"}


# SVG of our own would need axes, scales, tooltips and maps of our own: about 900 lines of
# JavaScript. To pick is to filter, so that axes fit what is shown.
def spec(data: Iterable[Mapping[str, Any]], height: int, **parts: Any) -> Spec:
    """Return a specification as wide as the page."""
    # a point on the edge is whole
    size = {"width": "container", "height": height, "padding": 8}
    return {"$schema": SCHEMA, **size, "data": {"values": list(data)}, **parts}


def rounded(values: Iterable[float], digits: int = 4) -> list[float | None]:
    """Return values with four digits, which are all that a chart shows; None if not finite.

    Examples
    --------
    >>> rounded([0.123456789, float("nan"), 250.0])
    [0.1235, None, 250]
    """
    return [_rounded(float(value), digits) for value in values]


def _rounded(value: float, digits: int) -> float | None:
    if not abs(value) < float("inf"):
        return None
    short = float(f"{value:.{digits}g}")
    # JSON without ".0" is shorter by a tenth.
    return int(short) if short.is_integer() else short


def names(shown: Iterable[str]) -> list[str]:
    """Return labels as the page shows them."""
    return [printable(label) for label in shown]


def by_learner(
    of_label: Mapping[str, Look], shown: Sequence[str], *channels: str
) -> dict[str, Any]:
    """Return the encoding of labels by colour and other channels, with one legend.

    Other channels are for example ``strokeDash`` and ``shape``.
    """
    ranges: dict[str, list[Any]] = {
        "color": [of_label[label]["color"] for label in shown],
        "strokeDash": [
            list(DASH_LENGTHS[of_label[label]["linestyle"]]) for label in shown
        ],
        "shape": [_SHAPES[of_label[label]["marker"]] for label in shown],
    }
    return {
        channel: {
            **{"field": "learner", "type": "nominal", "title": None},
            "scale": {"domain": names(shown), "range": ranges[channel]},
        }
        for channel in ("color", *channels)
    }


def less(shown: Sequence[str], value: str = "") -> list[Spec]:
    """Return the menu that chooses which label's values are subtracted; none for one label."""
    if len(shown) < 2:
        return []
    menu = {
        "input": "select",
        "options": ["", *names(shown)],
        "labels": ["none", *names(shown)],
        "name": "compare with ",
    }
    return [{"name": "baseline", "value": value, "bind": menu}]


def minus_baseline(*same: str) -> list[Spec]:
    """Return the transforms that subtract the baseline's `value` and store it as `shown`.

    The baseline is looked up where the fields `same` are equal.
    """
    return [
        {"calculate": "datum.learner == baseline ? datum.value : null", "as": "own"},
        {
            "joinaggregate": [{"op": "mean", "field": "own", "as": "base"}],
            "groupby": list(same),
        },
        {
            "calculate": "baseline ? datum.value - datum.base : datum.value",
            "as": "shown",
        },
    ]
