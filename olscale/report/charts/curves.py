"""Errors and other measures as rows come, and the differences to one of the curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from olscale.analysis.curves import Curve
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
from olscale.report.figures.curves import BANDS, SETTLED, alarms_on
from olscale.report.figures.looks import Looks, looks
from olscale.report.figures.words import in_unit, metric_text

_WHOLE = {
    "name": "whole",
    "value": False,
    "bind": {"input": "checkbox", "name": "from the first row "},
}


def curve_charts(
    shown: Mapping[str, Mapping[str, Curve]],
    of_learner: Looks | None = None,
    alarms: Mapping[str, Curve] | None = None,
) -> list[Spec]:
    """Return one chart per panel: lines, deviation bands, drift alarms and a menu of baselines."""
    return [_chart(curves, of_learner, alarms or {}) for curves in shown.values()]


def _chart(
    curves: Mapping[str, Curve], of_learner: Looks | None, alarms: Mapping[str, Curve]
) -> Spec:
    labels = sorted(curves, key=lambda label: -float(np.mean(curves[label].errors[:, -1])))
    metric = curves[labels[0]].summary.metric
    has_replicates = any(len(curve.errors) > 1 for curve in curves.values())
    band = has_replicates and len(curves) <= BANDS
    last = max(int(curve.rows[-1]) for curve in curves.values())
    fields = ["rows", "value", *(["std"] if band else []), *(["alarms"] if alarms else [])]
    # Differences need the value of both curves at the same row.
    have_same_rows = all(
        np.array_equal(curve.rows, curves[labels[0]].rows) for curve in curves.values()
    )
    menu = less(labels) if have_same_rows else []
    encoding = by_learner(
        of_learner.of(curves) if of_learner else looks(curves), labels, "strokeDash"
    )
    transform: list[Spec] = [
        {"flatten": fields},
        *(minus_baseline("rows") if menu else [{"calculate": "datum.value", "as": "shown"}]),
        ONLY_PICKED,
        {"filter": f"whole || datum.rows >= {SETTLED * last:g}"},
    ]
    x = {
        "field": "rows",
        "type": "quantitative",
        "scale": {"domainMin": 0, "nice": False},
        "axis": {"tickCount": 5},
    }
    y = {
        "field": "shown",
        "type": "quantitative",
        "scale": {"zero": False},
        "title": metric_text(metric),
    }
    near = {"type": "point", "on": "pointerover", "nearest": True, "clear": "pointerout"}
    opacity = {"condition": {"param": "near", "empty": False, "value": 1}, "value": 0}
    tooltip: list[Spec] = [
        {"field": "learner", "title": "learner"},
        {"field": "rows", "type": "quantitative", "format": ",", "title": "rows"},
        {"field": "shown", "type": "quantitative", "format": ".4~g", "title": metric_text(metric)},
    ]
    tooltip += (
        [{"field": "std", "type": "quantitative", "format": ".3~g", "title": "deviation"}]
        if band
        else []
    )
    layers: list[Spec] = []
    if band:
        # Bands are deviations of errors; those of differences to another curve are unknown.
        spread = "(baseline ? 0 : datum.std)" if menu else "datum.std"
        transform += [
            {"calculate": f"datum.shown {sign} {spread}", "as": end}
            for sign, end in (("-", "low"), ("+", "high"))
        ]
        edges = {"y": y | {"field": "low"}, "y2": {"field": "high"}}
        layers.append({"mark": {"type": "area", "opacity": 0.14}, "encoding": edges})
    dashes = {"strokeDash": encoding.pop("strokeDash")}
    layers.append({"mark": {"type": "line", "strokeWidth": 2}, "encoding": {"y": y, **dashes}})
    layers.append(
        {
            "mark": {"type": "point", "filled": True, "size": 60},
            "params": [{"name": "near", "select": near}],
            "encoding": {"y": y, "opacity": opacity, "tooltip": tooltip},
        }
    )
    if alarms:
        raised = {
            "field": "alarms",
            "type": "quantitative",
            "title": "drift alarms since the point before",
        }
        layers.append(
            {
                "transform": [{"filter": "datum.alarms > 0"}],
                "mark": {
                    "type": "point",
                    "shape": "triangle-down",
                    "filled": True,
                    "size": 90,
                    "yOffset": -7,
                },
                "encoding": {"y": y, "tooltip": [*tooltip[:2], raised]},
            }
        )
    return spec(
        (_line(label, curve, band, alarms) for label, curve in curves.items()),
        height=320,
        params=[PICKED, *menu, _WHOLE],
        transform=transform,
        encoding={"x": x, **encoding},
        layer=layers,
    )


def _line(label: str, curve: Curve, band: bool, alarms: Mapping[str, Curve]) -> dict[str, Any]:
    values = in_unit(curve.summary.metric, curve.errors)
    line: dict[str, Any] = {
        "learner": names([label])[0],
        "rows": curve.rows.tolist(),
        "value": rounded(values.mean(axis=0)),
    }
    if band:
        line["std"] = rounded(
            values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
        )
    if alarms:
        line["alarms"] = alarms_on(curve, alarms.get(label)).tolist()
    return line
