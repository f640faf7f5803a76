"""Error against cost, and its front."""

from __future__ import annotations

from collections.abc import Mapping

from olscale.report.charts.spec import (
    ONLY_PICKED,
    PICKED,
    Spec,
    by_learner,
    names,
    rounded,
    spec,
)
from olscale.report.figures.looks import looks
from olscale.report.figures.pareto import CostPoint, front
from olscale.report.figures.words import metric_text
from olscale.report.palette import GREY, Look


def pareto_charts(
    shown: Mapping[str, list[CostPoint]],
    higher: Mapping[str, bool],
    metric: str,
    of_label: Mapping[str, Look] | None = None,
) -> list[Spec]:
    """Return a chart for each cost; filled points are on the front, which a line joins."""
    return [
        _chart(cost, points, higher[cost], metric, of_label)
        for cost, points in shown.items()
    ]


def _chart(
    cost: str,
    points: list[CostPoint],
    higher: bool,
    metric: str,
    of_label: Mapping[str, Look] | None,
) -> Spec:
    labels = [point.label for point in points]
    best = front(points, higher)
    data = [
        {
            "learner": name,
            "cost": rounded([point.cost])[0],
            "error": rounded([point.error])[0],
            "front": point in best,
        }
        for name, point in zip(names(labels), points, strict=True)
    ]
    title = f"{metric_text(cost)} ({'more' if higher else 'less'} is better)"
    x = {
        "field": "cost",
        "type": "quantitative",
        "scale": {"type": "log", "padding": 12},
        "title": title,
    }
    x["axis"] = {
        "format": "~s",
        "labelOverlap": True,
        "labelSeparation": 8,
        "grid": False,
    }
    y = {
        "field": "error",
        "type": "quantitative",
        "scale": {"zero": False, "padding": 12},
        "title": metric_text(metric),
    }
    tooltip = [
        {"field": "learner"},
        {
            "field": "cost",
            "type": "quantitative",
            "format": ",.4~r",
            "title": metric_text(cost),
        },
        {
            "field": "error",
            "type": "quantitative",
            "format": ".4~g",
            "title": metric_text(metric),
        },
    ]
    encoding = by_learner(of_label or looks(labels), labels, "shape")
    filled = {"condition": {"test": "datum.front", "value": 1}, "value": 0}
    return spec(
        data,
        height=280,
        params=[PICKED],
        encoding={"x": x, "y": y},
        layer=[
            {
                "transform": [{"filter": "datum.front"}],
                "mark": {"type": "line", "color": GREY, "strokeWidth": 1.5},
                "encoding": {"order": {"field": "cost"}},
            },
            {
                "transform": [ONLY_PICKED],
                "mark": {"type": "point", "size": 90, "strokeWidth": 2},
                "encoding": {
                    **encoding,
                    "fill": encoding["color"],
                    "fillOpacity": filled,
                    "tooltip": tooltip,
                },
            },
        ],
    )
