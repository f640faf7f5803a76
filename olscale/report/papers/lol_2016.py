"""Figures of Zhou et al., "Online learning with local hyperplanes", Pattern Recognition 2016."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from olscale.analysis.curves import Curve
from olscale.analysis.decision_boundary import principal_plane, snapshots
from olscale.analysis.sweeps import Sweep, sweep
from olscale.data.catalogue.fetch import data_home
from olscale.errors import DatasetError
from olscale.report.choice import best_of_each, labelled, like, streams
from olscale.report.figures import boundary_figure, curve_figure, parameter_figure
from olscale.report.papers.base import FigureSource, MissingRunsError, PaperFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_AS_PRINTED = {"k": 60, "lam": 1.0}
_SEQUENTIAL = {"prototypes": "sequential"}
_PIPELINE = "olscale evaluate pipelines/lol-2016-figures.toml --store STORE"


def _boundaries(source: FigureSource) -> Figure:
    try:
        plane = principal_plane(f"{data_home()}/svmguide1").shuffled(seed=0)
    except DatasetError as fault:
        raise MissingRunsError(str(fault)) from fault
    shown = {}
    for title, learner, params in (
        ("PA", "pa", {}),
        ("LOL, k=60 (crosses: prototypes)", "lol", _AS_PRINTED),
    ):
        [snapshot] = snapshots(learner, params, plane)
        shown[title] = (plane, snapshot)
    names = ("first principal component", "second principal component")
    return boundary_figure(shown, "svmguide1", axes_names=names, width=3.2)


def _cumulative(source: FigureSource) -> Figure:
    settings = [
        s
        for s in source.summaries
        if s.metric == "cumulative_error" and (s.learner != "lol" or _printed(s.params))
    ]
    groups = streams(source.curves(settings))
    shown = {title: labelled(best_of_each(group)) for title, group in groups.items()}
    shown = {
        title: curves
        for title, curves in shown.items()
        if len(curves) > 1 and _has_lol(curves.values())
    }
    if not shown:
        raise MissingRunsError(
            "no curves of lol (k = 60, lam = 1) and another learner on one data set"
        )
    return curve_figure(shown, of_learner=source.looks)


def _has_lol(curves: Iterable[Curve]) -> bool:
    return any(curve.summary.learner == "lol" for curve in curves)


def _printed(params: Any) -> bool:
    return bool((_AS_PRINTED | _SEQUENTIAL).items() <= dict(params).items())


def _against(name: str, **fixed: Any) -> Any:
    def draw(source: FigureSource) -> Figure:
        summaries = like(source.summaries, "lol", "test_error", **fixed, **_SEQUENTIAL)
        swept = {
            title: sweep(group, name) for title, group in streams(summaries).items()
        }
        shown: dict[str, dict[str, Sweep]] = {
            title: {"lol": of} for title, of in swept.items() if of is not None
        }
        if not shown:
            fixed_text = ", ".join(f"{key} = {value:g}" for key, value in fixed.items())
            raise MissingRunsError(
                f"no runs of lol with {fixed_text} and three values of {name}"
            )
        return parameter_figure(shown, of_learner=source.looks)

    return draw


def _clustering(source: FigureSource) -> Figure:
    of_lol = source.curves(
        like(source.summaries, "lol", "cumulative_error", **_AS_PRINTED)
    )
    shown = {}
    for title, group in streams(of_lol).items():
        curves = {
            f"{curve.summary.params.get('prototypes')} k-means": curve
            for curve in group
        }
        if len(curves) == 2:
            shown[title] = dict(sorted(curves.items(), reverse=True))
    if not shown:
        raise MissingRunsError(
            "no runs of lol (k = 60, lam = 1) with prototypes both sequential and offline"
        )
    return curve_figure(shown)


FIGURES = (
    PaperFigure(
        "lol-2016-fig3",
        "Decision boundaries on svmguide1 after PCA to two dimensions (standardised, with a bias "
        "feature): PA has one "
        "hyperplane, LOL one around each prototype (crosses). One permutation, k = 60, lam = 1.",
        _PIPELINE,
        _boundaries,
    ),
    PaperFigure(
        "lol-2016-fig4",
        "Cumulative error on the training rows, mean over permutations; bands are one standard "
        "deviation. LOL has k = 60 "
        "and lam = 1; of other learners with several settings in the store the one with the least "
        "final error.",
        _PIPELINE,
        _cumulative,
    ),
    PaperFigure(
        "lol-2016-fig5",
        "Test error of LOL against the number of prototypes k, with lam = 1; bars are one "
        "standard deviation.",
        _PIPELINE,
        _against("k", lam=1.0),
    ),
    PaperFigure(
        "lol-2016-fig6",
        "Test error of LOL against lam, with k = 60; bars are one standard deviation.",
        _PIPELINE,
        _against("lam", k=60),
    ),
    PaperFigure(
        "lol-2016-fig7",
        "Cumulative error of LOL with prototypes by sequential k-means and by k-means before the "
        "stream (k = 60, "
        "lam = 1); bands are one standard deviation.",
        _PIPELINE,
        _clustering,
    ),
)
