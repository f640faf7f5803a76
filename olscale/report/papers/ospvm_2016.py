"""Figures of the paper on the online sequential projection vector machine (2016).

Deng and others, "Online sequential projection vector machine with adaptive data mean update".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from olscale.analysis.stretches import share_right, stretches
from olscale.analysis.summary import Summary
from olscale.data.catalogue.fetch import data_home
from olscale.data.splits import Part
from olscale.data.stream import Shuffle, Stream, open_streams
from olscale.errors import DatasetError
from olscale.report.choice import best_of_each, streams
from olscale.report.figures import curve_figure
from olscale.report.figures.style import panels, styled
from olscale.report.palette import COLOURS
from olscale.report.papers.base import FigureSource, MissingRunsError, PaperFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

_RATIOS = (0.7, 0.9)
_TRIALS = 20
_CHUNK = 40


def _growth(source: FigureSource) -> Figure:
    del source
    try:
        means = {
            ratio: np.mean([_along(ratio, trial) for trial in range(_TRIALS)], axis=0)
            for ratio in _RATIOS
        }
    except DatasetError as fault:
        raise MissingRunsError(str(fault)) from fault
    with styled():
        labels = [
            f"{what}ratio = {ratio}"
            for ratio in _RATIOS
            for what in ("", "training rows, ", "test rows, ")
        ]
        figure, (nodes, right) = panels(2, beside=labels)
        for (ratio, mean), colour in zip(means.items(), COLOURS[:2], strict=True):
            style: dict[str, Any] = {"color": colour, "marker": "o"}
            nodes.plot(mean[:, 0], mean[:, 1], label=f"ratio = {ratio}", **style)
            right.plot(
                mean[:, 0],
                100 * mean[:, 2],
                "--",
                label=f"training rows, ratio = {ratio}",
                **style,
            )
            right.plot(
                mean[:, 0],
                100 * mean[:, 3],
                label=f"test rows, ratio = {ratio}",
                **style,
            )
        nodes.set(title="hidden nodes", xlabel="rows", ylabel="nodes")
        right.set(
            title="accuracy",
            xlabel="rows",
            ylabel="rows predicted rightly (%)",
            ylim=(0, 102),
        )
        for axis in (nodes, right):
            axis.set_xlim(left=0)
        nodes.set_ylim(bottom=0)
        figure.legend(*right.get_legend_handles_labels(), loc="outside right upper")
    return figure


def _along(ratio: float, trial: int) -> NDArray[np.float64]:
    """Return, after each chunk: rows, nodes, and shares of training and test rows predicted right.

    Training rows are those seen so far.
    """
    part = Part("stratified-half", seed=0, fold=trial, folds=_TRIALS)
    opened = open_streams(f"{data_home()}/orl", ("minmax",), Shuffle(0, trial), part)
    assert opened.test is not None
    (X, y), test, classes = (
        _rows(opened.train),
        _rows(opened.test),
        len(opened.train.dataset.classes or ()),
    )
    points = []
    for stretch in stretches(
        "ospvm", {"ratio": ratio, "block": _CHUNK}, X, y, _CHUNK, classes
    ):
        trained_right = share_right(
            stretch.learner, X[: stretch.rows], y[: stretch.rows]
        )
        points.append(
            (
                stretch.rows,
                stretch.measures["nodes"],
                trained_right,
                share_right(stretch.learner, *test),
            )
        )
    return np.array(points)


def _rows(stream: Stream) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    chunks = list(stream.chunks())
    return np.concatenate([np.asarray(chunk.X) for chunk in chunks]), np.concatenate(
        [chunk.y for chunk in chunks]
    )


def _mean_update(source: FigureSource) -> Figure:
    shown = {}
    for title, group in streams(
        source.curves(_held_out(source), "holdout_error")
    ).items():
        variants = [
            [
                curve
                for curve in group
                if curve.summary.params.get("mean_update") is mean_update
            ]
            for mean_update in (True, False)
        ]
        names = ("with mean update", "no mean update")
        curves = {
            name: best_of_each(variant)[0]
            for name, variant in zip(names, variants, strict=True)
            if variant
        }
        if len(curves) == 2:
            shown[title] = curves
    if not shown:
        raise MissingRunsError(
            "no runs of ospvm with and without mean_update, tested along their rows, on one data "
            "set"
        )
    return curve_figure(shown)


def _held_out(source: FigureSource) -> list[Summary]:
    return [
        s
        for s in source.summaries
        if (s.learner, s.metric) == ("ospvm", "holdout_error")
    ]


FIGURES = (
    PaperFigure(
        "ospvm-2016-fig1",
        "Hidden nodes and accuracy of OSPVM along the rows of ORL, chunks of 40 in random order, "
        "means of 20 trials. The "
        "paper names neither set nor ratio: 0.7 makes the nodes at which PVM has the accuracy "
        "that it prints, 0.9 is what "
        "tuning takes. Accuracy on training rows remains stable; that on test rows rises.",
        "olscale evaluate pipelines/ospvm-2016.toml --store STORE",
        _growth,
    ),
    PaperFigure(
        "ospvm-2016-fig2",
        "Test error of OSPVM along the training rows, mean over trials; bands are one standard "
        "deviation. Rows come in "
        "random order. Without mean update no mean is taken off at all, for the paper's two "
        "curves start apart.",
        "olscale evaluate pipelines/ospvm-2016.toml --store STORE",
        _mean_update,
    ),
)
