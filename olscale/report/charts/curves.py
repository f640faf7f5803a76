"""Errors and other measures as rows come, and the differences to one of the curves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from olscale.analysis.curves import Curve
from olscale.measures import measure_of
from olscale.report.charts.spec import (
    ONLY_PICKED,
    PICKED,
    Spec,
    by_learner,
    less,
    minus_baseline,
    names,
    rounded,
    spec,
)
from olscale.report.figures.curves import (
    BANDS,
    SETTLED,
    alarms_on,
    far_above,
    final_error,
)
from olscale.report.figures.looks import Looks, looks
from olscale.report.figures.words import in_unit, metric_text
from olscale.report.palette import GREY

_MARKS = 10
"""Marks on each line."""

_QUANTILES = (0.1, 0.9)

_LEAST_RUNS = 5
"""Least runs of a line whose quantiles say more than their deviation."""

_BAND_POINTS = 31
"""Points of the edges of a band: it is as smooth as the eye needs."""

_NAMED_ENDS = 6
"""Most lines that are named, with their last value, at their right ends."""

_APART = 0.065
"""Distance of two such names, as a share of the height."""

_INK = {"value": {"expr": "ink"}}
"""The colour of words in a chart, which the page sets by its ground."""

_ROWS = "datum.value < 1e5 ? format(datum.value, ',') : format(datum.value, '~s')"

_ZOOM = {
    "name": "zoom",
    "select": {
        "type": "interval",
        "encodings": ["x"],
        # A finger scrolls the page; a wheel does, too, unless the shift key is held.
        "translate": "[pointerdown[event.pointerType === 'mouse'], window:pointerup] "
        "> window:pointermove!",
        "zoom": "wheel![event.shiftKey]",
    },
    "bind": "scales",
}
_NEAR = {
    "name": "near",
    "select": {
        "type": "point",
        "encodings": ["x"],
        "on": "pointerover",
        "nearest": True,
        "clear": "pointerout",
    },
}


def curve_charts(
    shown: Mapping[str, Mapping[str, Curve]],
    of_learner: Looks | None = None,
    alarms: Mapping[str, Curve] | None = None,
) -> list[Spec]:
    """Return one chart per panel: lines, deviation bands, drift alarms and a menu of baselines."""
    return [_chart(curves, of_learner, alarms or {}) for curves in shown.values()]


def _switch(name: str, words: str, value: bool = False) -> Spec:
    return {
        "name": name,
        "value": value,
        "bind": {"input": "checkbox", "name": f"{words} "},
    }


def _chart(
    curves: Mapping[str, Curve], of_learner: Looks | None, alarms: Mapping[str, Curve]
) -> Spec:
    # The legend lists lines from the lowest end upwards, as they stand in most charts.
    labels = sorted(curves, key=lambda label: final_error(curves[label]))
    if of_learner:
        labels = of_learner.in_order(labels, curves)
    metric = curves[labels[0]].summary.metric
    has_replicates = any(len(curve.errors) > 1 for curve in curves.values())
    band = has_replicates and len(curves) <= BANDS
    first = curves[labels[0]].rows
    # Differences need the value of both curves at the same row.
    have_same_rows = all(np.array_equal(curve.rows, first) for curve in curves.values())
    last = max(int(curve.rows[-1]) for curve in curves.values())
    far = far_above(curves)
    menu: list[Spec] = []
    transform: list[Spec] = []
    if have_same_rows:
        # Written once, since rows are most of what a chart would hold.
        transform.append({"calculate": json.dumps(first.tolist()), "as": "rows"})
        menu = less(labels)
    # Vega-Lite's flatten takes lists of equal length: a curve is one datum until then.
    fields = ["rows", "value"]
    if alarms:
        fields.append("alarms")
    transform.append({"flatten": fields})
    if menu:
        transform += minus_baseline("rows")
    else:
        transform.append({"calculate": "datum.value", "as": "shown"})
    transform += [ONLY_PICKED, {"filter": f"whole || datum.rows >= {SETTLED * last:g}"}]
    params = [PICKED, {"name": "ink", "value": GREY}, *menu]
    params.append(_switch("whole", "from the first row"))
    if far:
        params.append(_switch("every", "all in view"))
        # A line that the reader picks is shown, however far it is.
        is_shown = "every || !datum.far || indexof(picked, datum.learner) >= 0"
        transform.append({"filter": is_shown})
    of_label = looks(curves)
    if of_learner:
        of_label = of_learner.of(curves)
    encoding = by_learner(of_label, labels, "strokeDash", "shape")
    dashes = encoding.pop("strokeDash")
    shapes = encoding.pop("shape")
    x = {
        "field": "rows",
        "type": "quantitative",
        "scale": {"domainMin": 0, "nice": False},
        "axis": {"tickCount": 5, "labelExpr": _ROWS, "labelFlush": False},
    }
    y = {
        "field": "shown",
        "type": "quantitative",
        "scale": {"zero": False},
        "axis": {"tickCount": 5, "format": ",~r"},
        "title": metric_text(metric),
    }
    layers: list[Spec] = []
    if band:
        has_quantiles = any(
            len(curve.errors) >= _LEAST_RUNS for curve in curves.values()
        )
        params.append(_bands(has_quantiles))
        transform += [
            {"calculate": _edge(end, sign, menu), "as": end}
            for end, sign in (("low", "-"), ("high", "+"))
        ]
        layers.append(
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "area", "opacity": 0.14, "clip": True},
                "encoding": {"y": y | {"field": "low"}, "y2": {"field": "high"}},
            }
        )
    layers.append(
        {
            "mark": {"type": "line", "strokeWidth": 2, "clip": True},
            "params": [_ZOOM],
            "encoding": {"y": y, "strokeDash": dashes},
        }
    )
    step = max(1, len(first) // _MARKS)
    layers.append(
        {
            "transform": [
                {
                    "window": [{"op": "row_number", "as": "place"}],
                    "groupby": ["learner"],
                    "sort": [{"field": "rows"}],
                },
                # Neighbouring lines have their marks at different rows.
                {"filter": f"(datum.place + 3 * datum.number) % {step} == 0"},
            ],
            "mark": {
                "type": "point",
                "filled": True,
                "size": 45,
                "opacity": 1,
                "clip": True,
            },
            "encoding": {"y": y, "shape": shapes},
        }
    )
    opacity = {"condition": {"param": "near", "empty": False, "value": 1}, "value": 0}
    layers.append(
        {
            "mark": {"type": "point", "filled": True, "size": 60, "clip": True},
            "params": [_NEAR],
            "encoding": {"y": y, "opacity": opacity, "tooltip": {"field": "rows"}},
        }
    )
    if alarms:
        layers.append(_raised(y))
    if far:
        layers.append(_named(far))
    if 1 < len(labels) <= _NAMED_ENDS:
        params.append({"name": "narrow", "value": False})
        layers.append(_ends(y, metric, ("low", "high") if band else ("shown", "shown")))
    return spec(
        (
            _line(
                number, label, curves[label], band, alarms, have_same_rows, label in far
            )
            for number, label in enumerate(labels)
        ),
        height=300,
        params=params,
        transform=transform,
        encoding={"x": x, **encoding},
        layer=layers,
    )


def _bands(has_quantiles: bool) -> Spec:
    """Return the menu of bands."""
    bands = {"": "none", "deviation": "one deviation"}
    if has_quantiles:
        low, high = _QUANTILES
        bands["quantiles"] = f"{100 * low:g} to {100 * high:g} % of the runs"
    menu = {
        "input": "select",
        "options": list(bands),
        "labels": list(bands.values()),
        "name": "band ",
    }
    return {"name": "bands", "value": "deviation", "bind": menu}


def _edge(end: str, sign: str, menu: list[Spec]) -> str:
    """Return the expression of an edge of a band; without a band it is the line itself.

    At rows between those that a band has, it has no edge.
    """
    place = "indexof(datum.band.rows, datum.rows)"
    deviation = f"datum.shown {sign} datum.band.std[{place}]"
    quantile = f"datum.band.{end} ? datum.band.{end}[{place}] : datum.shown"
    edge = f"bands == 'quantiles' ? ({quantile}) : bands ? {deviation} : datum.shown"
    if menu:
        # Bands are of errors; those of differences to another curve are unknown.
        return f"baseline ? datum.shown : ({edge})"
    return edge


def _band(curve: Curve) -> dict[str, Any]:
    """Return a line's deviations, its quantiles where runs are enough, and the rows they are of."""
    # Short curves have fewer rows than the band has points, some of which would
    # coincide.
    at = np.unique(
        np.linspace(0, len(curve.rows) - 1, _BAND_POINTS).round().astype(int)
    )
    values = in_unit(curve.summary.metric, curve.errors[:, at])
    spread = np.zeros(len(at))
    if len(values) > 1:
        spread = values.std(axis=0, ddof=1)
    band = {"rows": curve.rows[at].tolist(), "std": rounded(spread, digits=3)}
    if len(values) >= _LEAST_RUNS:
        low, high = np.quantile(values, _QUANTILES, axis=0)
        band |= {"low": rounded(low, digits=3), "high": rounded(high, digits=3)}
    return band


def _ends(y: Spec, metric: str, edges: tuple[str, str]) -> Spec:
    """Return the names and last values of lines at their right ends, none over another."""
    form = ".4~g"
    if measure_of(metric).unit == "percent":
        form = ".2f"
    figure = f"format(datum.shown, '{form}')"
    # From the lowest upwards, each is moved up as far as it must be: the running maximum of
    # heights less their distances, to which these are added again.
    return {
        "transform": [
            {
                "joinaggregate": [
                    {"op": "max", "field": "rows", "as": "end"},
                    {"op": "min", "field": edges[0], "as": "least"},
                    {"op": "max", "field": edges[1], "as": "most"},
                ]
            },
            {"filter": "datum.rows == datum.end"},
            {"calculate": f"{_APART:g} * (datum.most - datum.least)", "as": "apart"},
            {
                "window": [{"op": "row_number", "as": "place"}],
                "sort": [{"field": "shown"}],
            },
            {"calculate": "datum.shown - datum.place * datum.apart", "as": "lower"},
            {
                "window": [{"op": "max", "field": "lower", "as": "highest"}],
                "sort": [{"field": "shown"}],
                "frame": [None, 0],
            },
            {"calculate": "datum.highest + datum.place * datum.apart", "as": "height"},
            {
                "calculate": f"narrow ? {figure} : datum.learner + ' ' + {figure}",
                "as": "words",
            },
        ],
        "mark": {
            "type": "text",
            "align": "left",
            "dx": 6,
            "limit": 160,
            "clip": False,
            "aria": False,
        },
        "encoding": {
            "x": {"value": "width"},
            "y": y | {"field": "height"},
            "color": _INK,
            "text": {"field": "words", "type": "nominal"},
        },
    }


def _named(far: Mapping[str, str]) -> Spec:
    """Return a line at the upper edge that names what is above the view."""
    above = ", ".join(
        f"{name} {value}" for name, value in zip(names(far), far.values(), strict=True)
    )
    return {
        "data": {"values": [{"above": f"\u2191 {above}"}]},
        "transform": [{"filter": "!every"}],
        "mark": {"type": "text", "align": "right", "baseline": "top", "limit": 420},
        "encoding": {
            "x": {"value": "width"},
            "y": {"value": 2},
            "color": _INK,
            "text": {"field": "above", "type": "nominal"},
        },
    }


def _raised(y: Spec) -> Spec:
    """Return the triangles of drift alarms."""
    title = "drift alarms since the point before"
    return {
        "transform": [{"filter": "datum.alarms > 0"}],
        "mark": {
            "type": "point",
            "shape": "triangle-down",
            "filled": True,
            "size": 90,
            "yOffset": -7,
            "opacity": 1,
        },
        "encoding": {
            "y": y,
            "tooltip": [
                {"field": "learner", "title": "learner"},
                {
                    "field": "rows",
                    "type": "quantitative",
                    "format": ",",
                    "title": "rows",
                },
                {"field": "alarms", "type": "quantitative", "title": title},
            ],
        },
    }


def _line(
    number: int,
    label: str,
    curve: Curve,
    band: bool,
    alarms: Mapping[str, Curve],
    have_same_rows: bool,
    is_far: bool,
) -> dict[str, Any]:
    values = in_unit(curve.summary.metric, curve.errors)
    line: dict[str, Any] = {
        "learner": names([label])[0],
        "number": number,
        "value": rounded(values.mean(axis=0)),
    }
    if not have_same_rows:
        line["rows"] = curve.rows.tolist()
    if is_far:
        line["far"] = True
    if band:
        line["band"] = _band(curve)
    if alarms:
        line["alarms"] = alarms_on(curve, alarms.get(label)).tolist()
    return line
