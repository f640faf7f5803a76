"""The figure of Deng and others, "Online sequential projection vector machine with adaptive data mean update" (2016)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from olscale.analysis.summary import Summary
from olscale.report.choice import best_of_each, streams
from olscale.report.figures import curve_figure
from olscale.report.papers.base import FigureSource, MissingRunsError, PaperFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _mean_update(source: FigureSource) -> Figure:
    shown = {}
    for title, group in streams(source.curves(_held_out(source), "holdout_error")).items():
        ways = [[one for one in group if one.summary.params.get("mean_update") is way] for way in (True, False)]
        names = ("with mean update", "no mean update")
        curves = {name: best_of_each(way)[0] for name, way in zip(names, ways, strict=True) if way}
        if len(curves) == 2:
            shown[title] = curves
    if not shown:
        raise MissingRunsError(
            "no runs of ospvm with and without mean_update, tested along their rows, on one data set"
        )
    return curve_figure(shown)


def _held_out(source: FigureSource) -> list[Summary]:
    return [s for s in source.summaries if (s.learner, s.metric) == ("ospvm", "holdout_error")]


FIGURES = (
    PaperFigure(
        "ospvm-2016-fig2",
        "Test error of OSPVM along the training rows, mean over trials; bands are one standard deviation. Rows come in "
        "random order. Without mean update no mean is taken off at all, for the paper's two curves start apart.",
        "olscale evaluate pipelines/ospvm-2016.toml --store STORE",
        _mean_update,
    ),
)
