"""Figures of Jorge and Paredes: Passive-Aggressive online learning with nonlinear embeddings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from olscale.analysis.decision_boundary import plane_of, snapshots
from olscale.analysis.sweeps import Sweep, sweep
from olscale.data.generators.rotating_xor import ROWS, batches
from olscale.report.choice import like, same_stream, streams
from olscale.report.figures import boundary_figure, curve_figure, surface_figure
from olscale.report.papers.base import FigureSource, MissingRunsError, PaperFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PIPELINE = "olscale evaluate pipelines/pamo-2018-figures.toml --store STORE"
_GRID = ("alpha", "C")
_FEW = 5
"""Values of a parameter that one panel of curves can show."""


def _grids(source: FigureSource) -> dict[str, Sweep]:
    by_dataset = {}
    for title, group in streams(like(source.summaries, "pamo1", "test_error")).items():
        grid = sweep(group, *_GRID)
        if grid is not None:
            by_dataset[title] = grid
    if not by_dataset:
        raise MissingRunsError("no runs of pamo1 on a grid of alpha and C")
    return by_dataset


def _surfaces(source: FigureSource) -> Figure:
    return surface_figure(_grids(source), across=1)


def _grid_curves(source: FigureSource) -> Figure:
    shown = {}
    for title, grid in _grids(source).items():
        best = grid.summary
        other_params = {
            name: value for name, value in best.params.items() if name not in _GRID
        }
        for name, values in zip(_GRID, grid.values, strict=True):
            other_name = _GRID[1 - _GRID.index(name)]
            fixed = other_params | {other_name: best.params[other_name]}
            some = {
                values[i]
                for i in np.linspace(0, len(values) - 1, min(_FEW, len(values)))
                .round()
                .astype(int)
            }
            settings = [
                s
                for s in like(source.summaries, "pamo1", "cumulative_error", **fixed)
                if s.params[name] in some and same_stream(s, best)
            ]
            panel = f"{title}, {other_name} = {best.params[other_name]:g}"
            shown[panel] = {
                f"{name} = {curve.summary.params[name]:g}": curve
                for curve in source.curves(settings)
            }
    return curve_figure(shown, bands=False)


def _rotating_xor(source: FigureSource) -> Figure:
    plane = plane_of("rotating XOR", batches(ROWS, seed=0))
    plane = replace(plane, X=(plane.X - plane.X.mean(axis=0)) / plane.X.std(axis=0))
    params = {"h": 3, "k": 2, "C": 1.0, "alpha": 0.5}
    shown = {
        f"rows {snapshot.start + 1} to {snapshot.stop}": (plane, snapshot)
        for snapshot in snapshots("pamo1", params, plane, every=100)
    }
    return boundary_figure(shown, across=5, width=1.75)


def _permutations(source: FigureSource) -> Figure:
    curves = source.curves(
        like(source.summaries, "pamo1", "cumulative_error", h=64, k=2)
    )
    shown = {
        title: {"pamo1": group[0]}
        for title, group in streams(curves).items()
        if len(group[0].errors) > 1
    }
    if not shown:
        raise MissingRunsError(
            "no runs of pamo1 with h = 64 and k = 2 on several permutations"
        )
    return curve_figure(shown, replicates=True, of_learner=source.looks)


FIGURES = (
    PaperFigure(
        "pamo-2018-fig6",
        "Test error of PAMO-I over alpha and C (C_r = C); the frame marks the least.",
        _PIPELINE,
        _surfaces,
    ),
    PaperFigure(
        "pamo-2018-fig7",
        "Cumulative error of PAMO-I for values of alpha and of C, the other one fixed at the best "
        "point of the grid.",
        _PIPELINE,
        _grid_curves,
    ),
    PaperFigure(
        "pamo-2018-fig8",
        "The rotating XOR: boundary of PAMO-I (h = 3, k = 2, C = 1, alpha = 0.5, with a bias "
        "feature) after every 100 rows, "
        "and those rows. The paper chose C and alpha by validation and does not state them.",
        "",
        _rotating_xor,
    ),
    PaperFigure(
        "pamo-2018-fig9",
        "Cumulative error of PAMO-I (h = 64, k = 2), a line for each permutation of the rows.",
        _PIPELINE,
        _permutations,
    ),
)
