"""A metric against one parameter."""

from __future__ import annotations

from collections.abc import Mapping

from olscale.analysis.sweeps import Sweep
from olscale.report.charts.spec import (
    ONLY_PICKED,
    PICKED,
    Spec,
    by_learner,
    names,
    rounded,
    spec,
)
from olscale.report.figures.looks import Looks, looks
from olscale.report.figures.parameters import BARS
from olscale.report.figures.words import in_unit, is_geometric, metric_text


def parameter_charts(
    shown: Mapping[str, Mapping[str, Sweep]], of_learner: Looks | None = None
) -> list[Spec]:
    """Return one chart per panel: a line per learner, with deviation bars if they stay legible."""
    return [_chart(sweeps, of_learner) for sweeps in shown.values()]


def _chart(sweeps: Mapping[str, Sweep], of_learner: Looks | None) -> Spec:
    first = next(iter(sweeps.values()))
    metric, [parameter] = first.summary.metric, first.names
    data = [
        {
            **{"learner": name, "at": list(sweep.values[0])},
            "value": rounded(in_unit(metric, sweep.mean)),
            "std": rounded(in_unit(metric, sweep.std)),
        }
        for name, sweep in zip(names(sweeps), sweeps.values(), strict=True)
    ]
    values = sorted({value for sweep in sweeps.values() for value in sweep.values[0]})
    kind = {"type": "log"} if is_geometric(values) else {"zero": False}
    axis = {"values": values, "labelOverlap": True, "format": "~g"}
    x = {
        "field": "at",
        "type": "quantitative",
        "scale": kind | {"nice": False, "padding": 15},
        "axis": axis,
        "title": parameter,
    }
    y = {
        "field": "value",
        "type": "quantitative",
        "scale": {"zero": False, "padding": 8},
        "title": metric_text(metric),
    }
    tooltip: list[Spec] = [
        {"field": "learner"},
        {"field": "at", "type": "quantitative", "format": "~g", "title": parameter},
        {
            "field": "value",
            "type": "quantitative",
            "format": ".4~g",
            "title": metric_text(metric),
        },
        {
            "field": "std",
            "type": "quantitative",
            "format": ".3~g",
            "title": "deviation",
        },
    ]
    bars = [
        {
            "transform": [
                {"calculate": f"datum.value {sign} datum.std", "as": end}
                for sign, end in ("-a", "+b")
            ],
            "mark": "rule",
            "encoding": {"y": y | {"field": "a"}, "y2": {"field": "b"}},
        }
    ]
    of_label = of_learner.of(sweeps) if of_learner else looks(sweeps)
    return spec(
        data,
        height=260,
        params=[PICKED],
        transform=[
            {"flatten": ["at", "value", "std"]},
            ONLY_PICKED,
            {"filter": "isValid(datum.value)"},
        ],
        encoding={"x": x, **by_learner(of_label, list(sweeps), "shape")},
        layer=[
            *(bars if len(sweeps) <= BARS else []),
            {"mark": "line", "encoding": {"y": y, "shape": {"value": "circle"}}},
            {
                "mark": {"type": "point", "filled": True, "size": 70},
                "encoding": {"y": y, "tooltip": tooltip},
            },
        ],
    )
