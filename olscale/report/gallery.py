"""The figures of one report: their files, their HTML, and those that could not be drawn."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from olscale.report.figures.style import save
from olscale.report.html import figure_html, paragraphs
from olscale.report.papers.base import FigureSource, MissingRunsError, PaperFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Gallery"]


class Gallery:
    """Writes figures into ``<folder>/figures`` and returns their HTML.

    Attributes
    ----------
    folder : Path
        Folder of the page.
    files : list of Path
        Files written.
    absent : list of str
        Figures that could not be drawn, a line each.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: list[Path] = []
        self.absent: list[str] = []
        self._names: set[str] = set()

    def add(self, name: str, figure: Figure, caption: str) -> str:
        """Write a figure under a name like `name` that is not taken yet."""
        stem = re.sub(r"[^A-Za-z0-9._+-]+", "-", name).strip("-.")[:80]
        free = next(text for i in range(1, 10**6) if (text := stem if i == 1 else f"{stem}-{i}") not in self._names)
        self._names.add(free)
        files = save(figure, self.folder / "figures", free)
        self.files += files
        return figure_html(files, caption, beside=self.folder)

    def paper(self, figure: PaperFigure, source: FigureSource) -> str:
        """Draw a figure of a paper, or note that it is absent and what would give it."""
        try:
            drawn = figure.draw(source)
        except MissingRunsError as reason:
            cure = f"; to have it: {figure.needs}" if figure.needs else ""
            self.absent.append(f"{figure.name} is not drawn: {reason}{cure}")
            return paragraphs([self.absent[-1]], "note")
        return self.add(figure.name, drawn, f"{figure.name}. {figure.caption}")
