"""Figures of the papers, drawn from a store with the runs; one file per paper."""

from importlib import import_module

from olscale.errors import UnknownNameError
from olscale.report.papers.base import FigureSource, MissingRunsError, PaperFigure

__all__ = ["PAPERS", "FigureSource", "MissingRunsError", "PaperFigure", "paper_figures"]

PAPERS = {
    "lol-2016": "olscale.report.papers.lol_2016",
    "pamo-2018": "olscale.report.papers.pamo_2018",
    "ospvm-2016": "olscale.report.papers.ospvm_2016",
    "ollc": "olscale.report.papers.ollc",
    "olk-2013": "olscale.report.papers.olk_2013",
}
"""Paper name -> module with its ``FIGURES``; imported on demand, because it trains learners."""


def paper_figures(name: str) -> tuple[PaperFigure, ...]:
    """Return the figures of a paper.

    Raises
    ------
    UnknownNameError
        If no figure of a paper of that name can be drawn.

    Examples
    --------
    >>> [figure.name for figure in paper_figures("ollc")]
    ['ollc-fig2', 'ollc-fig3']
    """
    if name not in PAPERS:
        raise UnknownNameError("paper", name, PAPERS)
    figures: tuple[PaperFigure, ...] = import_module(PAPERS[name]).FIGURES
    return figures
