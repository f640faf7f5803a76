"""Which classes are taken for which others, of the learner that the reader chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from olscale.analysis.curves import ConfusionMatrix
from olscale.report.charts.spec import PICKED, Spec, names, rounded, spec
from olscale.report.figures.confusions import WRITTEN, class_maps
from olscale.report.palette import BASELINES

_TITLE = "% of the class"


def confusion_charts(
    shown: Mapping[str, ConfusionMatrix], class_names: Sequence[str] = ()
) -> list[Spec]:
    """Return a map with a menu of learners; the one of least error is shown first."""
    maps = class_maps(shown, class_names)
    classes = names(maps.classes)
    learners = names(maps.shares)
    registry_names = [shown[label].summary.learner for label in maps.shares]
    data = []
    highest = 0.0
    for learner, name, share in zip(
        learners, registry_names, maps.shares.values(), strict=True
    ):
        # Most classes are never taken for most others, and these cells would be most of the page.
        true, predicted = np.nonzero(np.nan_to_num(share))
        values = share[true, predicted]
        # Baselines take most classes for others, which would leave the rest in one colour.
        if name not in BASELINES:
            highest = max(highest, float(values.max(initial=0.0)))
        data.append(
            {
                "learner": learner,
                "class": [classes[i] for i in true],
                "predicted": [classes[i] for i in predicted],
                "value": rounded(values, digits=3),
            }
        )
    menu = {"input": "select", "options": learners, "name": "learner "}
    axis = {"labelLimit": 90, "grid": False}
    turned = -40 if max(map(len, classes)) > 2 else 0
    down = {
        "field": "class",
        "type": "nominal",
        "scale": {"domain": classes},
        "axis": axis,
    }
    across = down | {
        "field": "predicted",
        "axis": axis | {"labelAngle": turned},
        "title": "predicted",
    }
    colour = {
        "field": "value",
        "type": "quantitative",
        # One scale for all learners, so that a change of learner is a change of colours.
        "scale": {
            "scheme": "cividis",
            "domain": rounded([0.0, highest or 100.0]),
            "clamp": True,
        },
        "title": _TITLE,
        "legend": {"orient": "bottom", "gradientLength": 200},
    }
    tooltip = [
        {"field": "learner"},
        {"field": "class", "title": "class"},
        {"field": "predicted", "title": "predicted as"},
        {"field": "value", "type": "quantitative", "format": ".3~g", "title": _TITLE},
    ]
    layers: list[Spec] = [
        {"mark": "rect", "encoding": {"color": colour, "tooltip": tooltip}}
    ]
    if len(classes) <= WRITTEN:
        layers.append(_written(highest))
    return [
        spec(
            data,
            height=60 + 22 * len(classes),
            params=[
                PICKED,
                {"name": "shown_learner", "value": learners[0], "bind": menu},
            ],
            transform=[
                {"filter": "datum.learner == shown_learner"},
                {"flatten": ["class", "predicted", "value"]},
            ],
            encoding={"x": across, "y": down},
            layer=layers,
        )
    ]


def _written(highest: float) -> Spec:
    """Return the figures in the cells, light on the dark end of the colours."""
    ink = {"condition": {"test": f"datum.value < {highest / 2:g}", "value": "#fff"}}
    text = "format(datum.value, datum.value < 10 ? '.1f' : '.0f')"
    return {
        "transform": [{"calculate": text, "as": "figure"}],
        "mark": {"type": "text", "aria": False},
        "encoding": {
            "text": {"field": "figure", "type": "nominal"},
            "color": ink | {"value": "#000"},
        },
    }
