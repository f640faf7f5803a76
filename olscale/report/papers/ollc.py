"""Figures of Wang and Saligrama, "Online local linear classification"."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from olscale.analysis.decision_boundary import (
    DecisionBoundary,
    errors_of_starts,
    plane_of,
    snapshots,
)
from olscale.data.generators.rotating_xor import batches
from olscale.report.figures import boundary_figure
from olscale.report.figures.boundaries import scatter_rows
from olscale.report.figures.style import panels, styled
from olscale.report.palette import COLOURS
from olscale.report.papers.base import FigureSource, PaperFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROWS = 500
_STARTS = 20


def _xor() -> DecisionBoundary:
    """Return rows of the rotating XOR from before its first turn."""
    return plane_of(
        "Gaussian XOR", (next(batches(100, seed)) for seed in range(_ROWS // 100))
    )


def _convergence(source: FigureSource) -> Figure:
    plane = _xor()
    errors = errors_of_starts("ollc", plane, _STARTS)
    middle = 100 * np.median(errors, axis=0)
    with styled():
        figure, [left_panel, right] = panels(2)
        scatter_rows(left_panel, plane, np.arange(_ROWS))
        left_panel.set_title("Gaussian XOR")
        right.plot(100 * errors.T, color="#aaaaaa", linewidth=0.5)
        right.plot(middle, color=COLOURS[0], linewidth=2.0)
        right.set(
            title=f"OLLC, {_STARTS} starts",
            xlabel="rows learned from",
            ylabel="error on all rows (%)",
        )
        right.set_xlim(0, _ROWS)
        right.set_ylim(bottom=0)
    return figure


def _regions(source: FigureSource) -> Figure:
    plane = _xor().shuffled(seed=0)
    [final] = snapshots("ollc", {}, plane, bias=False)
    V = final.state["V"]
    lift = final.state["lift"]
    gate = V[:, 0] + lift[0] * V[:, -1]
    x, y = np.meshgrid(final.x, final.y)
    regions = replace(final, scores=gate[0] * x + gate[1] * y)
    return boundary_figure(
        {"regions (the gate)": (plane, regions), "decision boundary": (plane, final)}
    )


FIGURES = (
    PaperFigure(
        "ollc-fig2",
        "Left: the Gaussian XOR data (no bias feature: its regions meet at the origin). Right: "
        "error "
        "of OLLC over all its rows against the rows learned from, a grey "
        "line for each of 20 random starts and orders, their median in blue.",
        "",
        _convergence,
    ),
    PaperFigure(
        "ollc-fig3",
        "Regions of OLLC's gate after one pass over the Gaussian XOR data, and the decision "
        "boundary.",
        "",
        _regions,
    ),
)
