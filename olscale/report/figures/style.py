"""What all figures share: sizes, fonts, colours and marks legible in grey, reproducible bytes.

Colours, dashes and marks are those of `olscale.report.palette`.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olscale.errors import ReportError, UnknownNameError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "pdf", "png")

_LEAST_PANEL = 1.5
"""Inches below which a panel is not made narrower: fewer stand in a row instead."""


@dataclass(frozen=True, slots=True)
class FigureSize:
    """What a journal asks of figures.

    Parameters
    ----------
    width : float, optional
        Inches of each figure; as wide as its panels need when left out.
    font : str, optional
        A font that matplotlib finds; its own when left out.
    """

    width: float | None = None
    font: str = ""

    def check(self) -> None:
        """Raise an `UnknownNameError` if the font is not installed."""
        if not self.font:
            return
        need_matplotlib()
        from matplotlib.font_manager import fontManager

        fonts = set(fontManager.get_font_names())
        if self.font not in fonts:
            raise UnknownNameError("font", self.font, fonts)


ANY_SIZE = FigureSize()

# No argument, since the functions that draw are many, and a size is a matter of the
# whole report.
_SIZE: ContextVar[FigureSize] = ContextVar("olscale-figure-size", default=ANY_SIZE)


@contextmanager
def sized(size: FigureSize) -> Iterator[None]:
    """Draw figures of this width with this font."""
    token = _SIZE.set(size)
    try:
        yield
    finally:
        _SIZE.reset(token)


_SETTINGS: dict[Any, Any] = {
    "axes.axisbelow": True,  # lines and marks are drawn over the grid
    "axes.grid": True,
    "axes.labelsize": 9,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "figure.titlesize": 10,
    "font.size": 8.5,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "pdf.fonttype": 42,  # text that editors can select, instead of outlines
    "savefig.dpi": 200,
    "svg.hashsalt": "olscale",  # without a salt, ids of elements would be random
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}
# Dates in files would make other bytes of the same figure.
_NO_DATES: dict[str, dict[str, Any]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {},
}


def need_matplotlib() -> None:
    """Raise a `ReportError` that says what to type if matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        raise ReportError(
            "figures need matplotlib, which is not installed: pip install matplotlib"
        )


@contextmanager
def styled() -> Iterator[None]:
    """Draw with these settings only: a user's matplotlibrc does not reach a figure's bytes."""
    need_matplotlib()
    import matplotlib

    with matplotlib.rc_context():
        # The defaults first: a setting of the user's that is not named above would
        # stay.
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        if font := _SIZE.get().font:
            # What the font lacks is taken from matplotlib's own.
            matplotlib.rcParams["font.family"] = [
                font,
                *matplotlib.rcParams["font.sans-serif"],
            ]
        yield


def panels(
    count: int,
    width: float = 2.9,
    height: float = 2.4,
    across: int = 2,
    beside: Collection[str] = (),
    **options: Any,
) -> tuple[Figure, list[Axes]]:
    """Return a figure of `count` panels of `width` x `height` inches, `across` in a row.

    There is room for a legend of the labels `beside`, on the right.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from olscale.report.figures.layout import QuickLayout

    across = min(across, count)
    legend = 0.0
    if beside:
        # Inches: a sample of the line, and what a character takes on average.
        legend = 0.7 + 0.065 * max(map(len, beside))
    if wanted := _SIZE.get().width:
        room = max(wanted - legend, _LEAST_PANEL)
        across = max(1, min(across, int(room / _LEAST_PANEL)))
        # Panels keep their height as far as they are not higher than wide.
        height = min(height, max(room / across, _LEAST_PANEL))
        width = room / across
    down = -(-count // across)
    figure = Figure(
        figsize=(across * width + legend, down * height), layout=QuickLayout()
    )
    FigureCanvasAgg(figure)  # without pyplot, which would keep every figure open
    axes = figure.subplots(down, across, squeeze=False, **options).ravel().tolist()
    for spare in axes[count:]:
        spare.set_axis_off()
    return figure, axes[:count]


def legend(figure: Figure, looks: Mapping[str, Mapping[str, Any]]) -> None:
    """Draw a legend at the right of a figure of `panels`: keywords of a line, by label."""
    from olscale.report.figures.layout import draw_legend

    draw_legend(figure, looks)


def save(
    figure: Figure, folder: str | Path, name: str, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write a figure into `folder` as ``name.svg``, ``.pdf`` and ``.png``, or some of these.

    PNG files have 200 dots per inch.

    The same figure gives the same bytes, with the same versions of matplotlib and its fonts.

    Raises
    ------
    ReportError
        If a file cannot be written.
    """
    paths = [Path(folder) / f"{name}.{suffix}" for suffix in formats]
    with styled(), warnings.catch_warnings():
        # A name in a script that the fonts lack is drawn as boxes; the page beside it has it in
        # full.
        warnings.filterwarnings("ignore", r"Glyph \d+")
        # Placed once here, for all formats.
        if layout := figure.get_layout_engine():
            layout.execute(figure)
            # With a layout engine, even "none", each file would draw the figure twice.
            figure.set_layout_engine()
        for path in paths:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                figure.savefig(path, metadata=_NO_DATES[path.suffix[1:]])
            except OSError as fault:
                raise ReportError(
                    f"cannot write {path}: {fault.strerror or fault}; name another folder"
                ) from fault
    return paths
