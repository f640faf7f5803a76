"""The figures of one report: their files, their HTML, and those that could not be drawn."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from olscale.printable import csv_cells
from olscale.report.charts import charts
from olscale.report.drawing import Drawing, FigureProcess, draw, processes_for
from olscale.report.figures.style import ANY_SIZE, FigureSize, save, sized
from olscale.report.html import figure_html, paragraphs
from olscale.report.papers.base import FigureSource, MissingRunsError, PaperFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Part = str | Drawing
"""A part of a section: HTML, or a figure that becomes HTML when it is drawn."""


_LONGEST = 80
"""Most characters of a name of a file, without its suffix."""


class Gallery:
    """Draws figures into ``<folder>/figures`` and returns their HTML.

    As a context manager it can draw in another process: `expect` says early that there will be many
    figures, `begin` has those drawn that are queued, and `draw` waits for them.

    Parameters
    ----------
    folder : Path
        Folder of the page.
    formats : sequence of str
        Those of the files: ``svg``, which the page shows, and others.
    interactive : bool
        Whether figures come with their charts, for pages with scripts.
    size : FigureSize
        Width and font of the files.

    Attributes
    ----------
    files : list of Path
        Files of figures.
    absent : list of str
        Figures that could not be drawn, one line per figure.
    """

    def __init__(
        self,
        folder: Path,
        formats: Sequence[str] = ("svg",),
        interactive: bool = False,
        size: FigureSize = ANY_SIZE,
    ) -> None:
        self.folder = folder
        self._formats = formats
        self._interactive = interactive
        self._size = size
        self.files: list[Path] = []
        self.absent: list[str] = []
        self._names: set[str] = set()
        self._waiting: list[Drawing] = []
        self._open = ExitStack()
        self._process: FigureProcess | None = None
        self._begun = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def expect(self, figures: int) -> None:
        """Start a process that imports matplotlib, if it pays for about as many figures."""
        if processes_for(figures) > 1:
            self._process = self._open.enter_context(FigureProcess())

    def begin(self) -> None:
        """Have the queued figures drawn, if a process waits for them; queue no more."""
        if self._process is not None:
            folder = self.folder / "figures"
            self._process.begin(self._waiting, folder, self._formats, size=self._size)
            # Figures that are queued later are drawn here: the process got a list.
            self._begun = True

    def add(
        self,
        name: str,
        caption: str,
        make: Callable[..., Figure],
        shown: Any,
        topic: str = "",
        **options: Any,
    ) -> Drawing:
        """Queue a figure for drawing, under a free name like `name`."""
        self._waiting.append(
            Drawing(self._free(name), caption, make, shown, options, topic)
        )
        return self._waiting[-1]

    def paper(self, figure: PaperFigure, source: FigureSource) -> str:
        """Draw a figure of a paper, or note that it is absent and what would give it."""
        # One figure without its runs must not cost the whole report.
        try:
            with sized(self._size):
                drawn = figure.draw(source)
        except MissingRunsError as reason:
            cure = ""
            if figure.needs:
                cure = f"; to have it: {figure.needs}"
            self.absent.append(f"{figure.name} is not drawn: {reason}{cure}")
            return paragraphs([self.absent[-1]], "note")
        files = save(
            drawn, self.folder / "figures", self._free(figure.name), self._formats
        )
        self.files += files
        return figure_html(
            files, f"{figure.name}. {figure.caption}", beside=self.folder
        )

    def draw(self) -> None:
        """Draw the queued figures, or wait until they are drawn."""
        if self._process is not None and self._begun:
            self._process.finish()
        else:
            draw(self._waiting, self.folder / "figures", self._formats, size=self._size)
        self.files += [
            path for drawing in self._waiting for path in self._files(drawing)
        ]
        self._waiting = []

    def write_index(
        self, path: Path, sections: Iterable[tuple[str, Sequence[Part]]]
    ) -> None:
        """Write a table of the figures of sections, which have names, to a path in the folder."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("file", "section", "shows", "caption"))
        for section, parts in sections:
            for part in parts:
                if isinstance(part, Drawing):
                    # The section has a column of its own.
                    words = [part.topic, part.caption.removeprefix(f"{section}: ")]
                    for drawn in self._files(part):
                        writer.writerow(csv_cells([drawn.name, section, *words]))
        file = self.folder / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text.getvalue(), encoding="utf-8")

    def html(self, part: Part, section: str = "") -> str:
        """Return a part of the section of that name as HTML, once it is drawn."""
        if isinstance(part, str):
            return part
        specs: Sequence[Mapping[str, Any]] = ()
        if self._interactive:
            specs = charts(part)
        # The section has its name already.
        heading = first_clause(part.caption.removeprefix(f"{section}: "))
        return figure_html(
            self._files(part), part.caption, self.folder, specs, part.topic, heading
        )

    def _files(self, one: Drawing) -> list[Path]:
        return [
            self.folder / "figures" / f"{one.name}.{suffix}" for suffix in self._formats
        ]

    def _free(self, name: str) -> str:
        # Names of users' learners and data sets become names of files on any system.
        stem = re.sub(r"[^A-Za-z0-9._+-]+", "-", name).strip("-.")
        if len(stem) > _LONGEST:
            # The end says what the figure shows; the digest tells data sets of long names apart.
            digest = hashlib.sha256(name.encode()).hexdigest()[:8]
            stem = f"{stem[: _LONGEST - 34]}-{digest}-{stem[-24:]}"
        free = next(
            text
            for i in range(1, 10**6)
            if (text := stem if i == 1 else f"{stem}-{i}") not in self._names
        )
        self._names.add(free)
        return free


def first_clause(caption: str) -> str:
    """Return what a caption says first, as a heading.

    Examples
    --------
    >>> first_clause("error over the last 1,000 rows, mean over 5 runs.")
    'Error over the last 1,000 rows'
    """
    clause = re.split("[,;:] ", caption)[0].removesuffix(".")
    return clause[:1].upper() + clause[1:]
