"""Curves: errors along the stream, cumulative or of recent or held-out rows; alarms; ROC curves."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from olscale.analysis.curves import Curve, RocCurve
from olscale.measures import figure_of, measure_of
from olscale.report.figures.looks import Looks, looks_of
from olscale.report.figures.style import legend, panels, styled
from olscale.report.figures.words import figure_text, in_unit, legible, metric_text
from olscale.report.palette import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


SETTLED = 0.1
"""Share of the stream after which all of a curve must be in view; earlier errors are noisy."""

_FAR = 3.0
"""Errors above this multiple of the best final one are named at the edge, not fitted into view."""

BANDS = 8
"""Most curves of a panel with bands."""


def curve_figure(
    shown: Mapping[str, Mapping[str, Curve]],
    replicates: bool = False,
    bands: bool = True,
    title: str = "",
    across: int = 2,
    of_learner: Looks | None = None,
    alarms: Mapping[str, Curve] | None = None,
) -> Figure:
    """Draw an error or another measure against rows, one panel per title, one line per label.

    Parameters
    ----------
    shown : mapping of str to mapping of str to Curve
        Curves by label, by title of the panel.
    replicates : bool
        Draw each replicate by itself, in place of mean and a band of one sample standard deviation.
    bands : bool
        Whether to draw the bands, in panels of at most eight lines.
    title : str
        Over all panels.
    across : int
        Panels per row.
    of_learner : Looks, optional
        Looks of the learners in other figures too; by the order of the labels when left out.
    alarms : mapping of str to Curve, optional
        Numbers of drift alarms, by label; a triangle stands on the curve where some were raised.
    """
    raised = {figure_text(label): curve for label, curve in (alarms or {}).items()}
    shown = {figure_text(name): legible(curves) for name, curves in shown.items()}
    every = {label: item for curves in shown.values() for label, item in curves.items()}
    labels = dict.fromkeys(every)
    of_label = looks_of(every, of_learner)
    with styled():
        is_single = len(shown) == 1
        order = list(labels)
        size = {"width": 2.6, "height": 2.3}
        if is_single:  # its legend can follow the lines from top to bottom
            order = _by_height(next(iter(shown.values())))
            size = {"width": 4.2, "height": 3.0}
        line_names: Collection[str] = ()
        if len(labels) > 1 or is_single:
            line_names = labels
        figure, axes = panels(len(shown), across=across, beside=line_names, **size)
        for panel, (name, curves) in zip(axes, shown.items(), strict=True):
            for i, (label, curve) in enumerate(curves.items()):
                _draw(
                    panel,
                    curve,
                    label,
                    of_label[label],
                    i,
                    replicates,
                    bands and len(curves) <= BANDS,
                )
                if alarms:
                    _mark(panel, curve, raised.get(label), of_label[label]["color"])
            panel.set(
                title=name,
                xlabel="rows",
                ylabel=metric_text(next(iter(curves.values())).summary.metric),
            )
            panel.set_xlim(0, max(int(curve.rows[-1]) for curve in curves.values()))
            panel.set_ylim(*_span(curves))
            if far := far_above(curves):
                above = ", ".join(f"{label} {value}" for label, value in far.items())
                note = panel.text(
                    0.99, 0.99, f"$\\uparrow$ {above}", transform=panel.transAxes
                )
                note.set(ha="right", va="top", fontsize=7, color=GREY)
            panel.locator_params(axis="x", nbins=4)
            panel.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        if line_names:
            legend(figure, {label: of_label[label] for label in order})
        if title:
            figure.suptitle(title)
    return figure


def _draw(
    panel: Axes,
    curve: Curve,
    label: str,
    look: dict[str, str],
    i: int,
    replicates: bool,
    band: bool,
) -> None:
    every = (0.05 + 0.012 * (i % 9), 0.18)  # spreads the markers of neighbouring lines
    values = in_unit(curve.summary.metric, curve.errors)
    if replicates:
        name: str | None = label
        for line in values:
            panel.plot(
                curve.rows,
                line,
                color=look["color"],
                linewidth=0.8,
                alpha=0.75,
                label=name,
            )
            name = None  # one entry in the legend
        return
    mean = values.mean(axis=0)
    panel.plot(curve.rows, mean, label=label, markevery=every, **look)  # type: ignore[arg-type]
    if band and len(values) > 1:
        spread = values.std(axis=0, ddof=1)
        panel.fill_between(
            curve.rows,
            mean - spread,
            mean + spread,
            color=look["color"],
            alpha=0.15,
            linewidth=0,
        )


def _mark(panel: Axes, curve: Curve, alarms: Curve | None, colour: str) -> None:
    at = alarms_on(curve, alarms) > 0
    mean = in_unit(curve.summary.metric, curve.errors[:, at]).mean(axis=0)
    # Marker 7 is a triangle whose tip points down at the curve.
    panel.plot(curve.rows[at], mean, linestyle="", marker=7, color=colour, markersize=6)


def alarms_on(curve: Curve, alarms: Curve | None) -> NDArray[np.int64]:
    """Return how many alarms all replicates raised between each point of a curve and the last."""
    if alarms is None or not len(alarms.rows):
        return np.zeros(len(curve.rows), dtype=np.int64)
    counts = np.concatenate([[0], alarms.errors.sum(axis=0)]).astype(np.int64)
    by_then = counts[np.searchsorted(alarms.rows, curve.rows, side="right")]
    # Differences of the running count: alarms between two points belong to the later
    # one.
    return np.diff(by_then, prepend=0)


def final_error(curve: Curve) -> float:
    """Return the mean of a curve's last values."""
    return float(np.mean(curve.errors[:, -1]))


def far_above(curves: Mapping[str, Curve]) -> dict[str, str]:
    """Return the labels whose lines would squeeze all others, with their final figures."""
    metric = next(iter(curves.values())).summary.metric
    if measure_of(metric).better != "lower":
        return {}
    finals = {label: final_error(curve) for label, curve in curves.items()}
    # By the means at the end: early errors are high for all.
    most = _FAR * min(finals.values())
    far = {
        label: figure_of(metric, value)
        for label, value in finals.items()
        if value > most
    }
    # With hardly anybody left in view, all are better seen.
    if most <= 0.0 or len(curves) - len(far) < 2:
        return {}
    return far


def _span(curves: Mapping[str, Curve]) -> tuple[float, float]:
    metric = next(iter(curves.values())).summary.metric
    far = far_above(curves)
    errors = [
        in_unit(metric, curve.errors[:, curve.rows >= SETTLED * curve.rows[-1]])
        for label, curve in curves.items()
        if label not in far
    ]
    low = min(part.min() for part in errors)
    high = max(part.max() for part in errors)
    # Curves that hardly differ get a span of their own, or noise would fill the panel.
    least = 0.5
    if measure_of(metric).unit != "percent":
        least = 0.005 * max(abs(low), abs(high), 1e-9)
    room = 0.06 * max(high - low, least)
    bottom = low - room
    # no error is negative, so the axis does not suggest that one could be
    if low >= 0.0:
        bottom = max(0.0, bottom)
    return bottom, high + room


def _by_height(curves: Mapping[str, Curve]) -> list[str]:
    return sorted(
        curves, key=lambda label: -float(np.mean(curves[label].errors[:, -1]))
    )


def alarm_figure(
    shown: Mapping[str, Curve],
    rows: int | None = None,
    title: str = "",
    of_learner: Looks | None = None,
) -> Figure:
    """Draw a stroke at the row of every alarm, one line per label with all its replicates.

    Parameters
    ----------
    shown : mapping of str to Curve
        Numbers of alarms (``curves(..., metric="drift_alarms")``) of one dataset, by label.
    rows : int, optional
        Length of the stream; up to the last alarm when left out.
    title : str
    of_learner : Looks, optional
        Looks of the learners in other figures too; by the order of the labels when left out.
    """
    shown = legible(shown)
    of_label = looks_of(shown, of_learner)
    with styled():
        figure, [panel] = panels(1, width=5.2, height=0.9 + 0.22 * len(shown))
        for place, (label, curve) in enumerate(shown.items()):
            # The curve counts alarms, so each step up is one, of any replicate.
            raised = np.diff(curve.errors, axis=1, prepend=0.0).any(axis=0)
            panel.eventplot(
                curve.rows[raised],
                lineoffsets=place,
                linelengths=0.7,
                linewidths=0.8,
                color=of_label[label]["color"],
            )
        panel.set_yticks(range(len(shown)), list(shown))
        # Downwards, so that the first label stands on top, as in a table.
        panel.set_ylim(len(shown) - 0.4, -0.6)
        panel.set_xlim(
            0,
            rows
            or max(
                (int(curve.rows[-1]) for curve in shown.values() if len(curve.rows)),
                default=1,
            ),
        )
        panel.set(title=title, xlabel="rows")
        panel.grid(axis="y", visible=False)
        panel.locator_params(axis="x", nbins=4)
        panel.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    return figure


def roc_figure(
    shown: Mapping[str, RocCurve], of_learner: Looks | None = None
) -> Figure:
    """Draw the mean ROC of each label; the diagonal is that of chance.

    Parameters
    ----------
    shown : mapping of str to RocCurve
        Of one dataset, by label.
    of_learner : Looks, optional
        Looks of the learners in other figures too; by the order of the labels when left out.
    """
    shown = legible(shown)
    of_label = looks_of(shown, of_learner)
    with styled():
        figure, [panel] = panels(1, width=3.4, height=3.2, beside=shown)
        panel.plot([0, 100], [0, 100], color="0.6", linewidth=0.8, linestyle=":")
        for i, (label, roc) in enumerate(shown.items()):
            panel.plot(
                # The last count is that of all negatives: the threshold below every
                # score.
                100 * roc.false_positives / roc.false_positives[-1],
                100 * roc.rates.mean(axis=0),
                label=label,
                markevery=(0.05 + 0.012 * (i % 9), 0.18),
                **of_label[label],
            )
        panel.set(
            xlabel="false positive rate (%)",
            ylabel="true positive rate (%)",
            xlim=(0, 100),
            ylim=(0, 101),
        )
        legend(figure, {label: of_label[label] for label in shown})
    return figure
