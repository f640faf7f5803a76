"""Figures of the papers, drawn from a store that has the runs; one paper a file."""

from __future__ import annotations

from olscale.errors import UnknownNameError
from olscale.report.papers import lol_2016, ollc, pamo_2018
from olscale.report.papers.base import FigureSource, MissingRunsError, PaperFigure

__all__ = ["PAPERS", "FigureSource", "MissingRunsError", "PaperFigure", "paper_figures"]

PAPERS: dict[str, tuple[PaperFigure, ...]] = {
    "lol-2016": lol_2016.FIGURES,
    "pamo-2018": pamo_2018.FIGURES,
    "ollc": ollc.FIGURES,
}


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
    return PAPERS[name]
