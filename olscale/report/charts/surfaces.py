"""A metric over two parameters, as a map."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from olscale.analysis.sweeps import Sweep
from olscale.report.charts.spec import Spec, rounded, spec
from olscale.report.figures.parameters import map_limits
from olscale.report.figures.words import in_unit, metric_text


def surface_charts(shown: Mapping[str, Sweep]) -> list[Spec]:
    """Return a map for each sweep over two parameters."""
    return [_chart(sweep) for sweep in shown.values()]


def _chart(sweep: Sweep) -> Spec:
    metric, (down, across) = sweep.summary.metric, sweep.names
    mean = in_unit(metric, sweep.mean)
    low, top = map_limits(metric, mean)
    data = [
        {
            "down": value,
            "across": list(sweep.values[1]),
            "value": rounded(line),
            "std": rounded(spread),
        }
        for value, line, spread in zip(
            sweep.values[0], mean, in_unit(metric, sweep.std), strict=True
        )
    ]
    bar = {"orient": "bottom", "gradientLength": 200, "titleLimit": 300}
    scale = {"scheme": "cividis", "domain": rounded([low, top]), "clamp": True}
    axis = {"format": "~g", "labelOverlap": True}
    tooltip = [
        {"field": "down", "type": "quantitative", "format": "~g", "title": down},
        {"field": "across", "type": "quantitative", "format": "~g", "title": across},
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
    return spec(
        data,
        height=60 + 20 * min(20, int(np.shape(mean)[0])),
        transform=[
            {"flatten": ["across", "value", "std"]},
            {"filter": "isValid(datum.value)"},
        ],
        mark="rect",
        encoding={
            "x": {"field": "across", "type": "ordinal", "title": across, "axis": axis},
            "y": {
                "field": "down",
                "type": "ordinal",
                "title": down,
                "axis": axis,
                "sort": "descending",
            },
            "color": {
                "field": "value",
                "type": "quantitative",
                "scale": scale,
                "title": metric_text(metric),
                "legend": bar,
            },
            "tooltip": tooltip,
        },
    )
