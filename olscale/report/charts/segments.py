"""Errors by segment of a stream: as lines, and as a map of learners by segments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from olscale.analysis.curves import SegmentErrors
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
from olscale.report.figures.looks import Looks, looks

_TITLE = "error on the segment (%)"
_MOST = 24
"""Names of segments that fit under an axis."""


def _data(shown: Mapping[str, SegmentErrors]) -> list[dict[str, Any]]:
    return [
        {
            "learner": name,
            "segment": names(errors.names),
            "value": rounded(100 * errors.errors.mean(axis=0)),
        }
        for name, errors in zip(names(shown), shown.values(), strict=True)
    ]


def _x(shown: Mapping[str, SegmentErrors]) -> Spec:
    # Without an explicit order, a scale of names sorts them.
    order = names(next(iter(shown.values())).names)
    every = {
        "values": order[:: -(-len(order) // _MOST)],
        "labelAngle": -40,
        "labelLimit": 90,
    }
    return {
        "field": "segment",
        "type": "ordinal",
        "sort": order,
        "title": "segment",
        "axis": every,
    }


def _told(title: str) -> list[Spec]:
    value = {"field": "shown", "type": "quantitative", "format": ".4~g", "title": title}
    return [{"field": "learner"}, {"field": "segment"}, value]


def segment_charts(
    shown: Mapping[str, SegmentErrors], of_learner: Looks | None = None
) -> list[Spec]:
    """Return a chart with a line for each learner, and a menu of baselines."""
    labels = sorted(shown, key=lambda label: -float(np.nanmean(shown[label].errors)))
    encoding = by_learner(
        of_learner.of(shown) if of_learner else looks(shown), labels, "shape"
    )
    y = {"field": "shown", "type": "quantitative", "title": _TITLE}
    menu = less(labels)
    chosen = (
        minus_baseline("segment")
        if menu
        else [{"calculate": "datum.value", "as": "shown"}]
    )
    return [
        spec(
            _data(shown),
            height=280,
            params=[PICKED, *menu],
            transform=[{"flatten": ["segment", "value"]}, *chosen, ONLY_PICKED],
            encoding={"x": _x(shown), "y": y, **encoding},
            layer=[
                {"mark": "line", "encoding": {"shape": {"value": "circle"}}},
                {
                    "mark": {"type": "point", "filled": True, "size": 60},
                    "encoding": {"tooltip": _told(_TITLE)},
                },
            ],
        )
    ]


def heat_charts(shown: Mapping[str, SegmentErrors]) -> list[Spec]:
    """Return maps of learners by segments: the error, or its excess over the segment's least."""
    choice = {"input": "checkbox", "name": "minus the least of the segment "}
    best = [
        {
            "joinaggregate": [{"op": "min", "field": "value", "as": "least"}],
            "groupby": ["segment"],
        },
        {"calculate": "above ? datum.value - datum.least : datum.value", "as": "shown"},
    ]
    y = {"field": "learner", "type": "nominal", "sort": names(shown), "title": None}
    bar = {"orient": "bottom", "gradientLength": 200, "titleLimit": 300}
    colour = {
        "field": "shown",
        "type": "quantitative",
        "scale": {"scheme": "cividis"},
        "title": _TITLE,
        "legend": bar,
    }
    return [
        spec(
            _data(shown),
            height=30 + 24 * len(shown),
            params=[PICKED, {"name": "above", "value": False, "bind": choice}],
            transform=[{"flatten": ["segment", "value"]}, *best, ONLY_PICKED],
            mark="rect",
            encoding={
                "x": _x(shown),
                "y": y,
                "color": colour,
                "tooltip": _told(_TITLE),
            },
        )
    ]
