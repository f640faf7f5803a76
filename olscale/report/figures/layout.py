"""The place of a figure's axes and its legend, found with as little measuring as possible.

Matplotlib's constrained layout measures every text twice, and its legend seven times over, which
together is half of what a figure costs. Here a legend is a column of known width at the right, and
a single panel is measured once from where it nearly stands. Only `olscale.report.figures.style`
imports this module, when it draws.
"""

import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.textpath import text_to_path

_PAD = 0.05
"""Inches between what is drawn and the edge of a figure."""

_LEAST = 0.1
"""Least share of a figure's width and height that is left for its axes."""

_STEADY = 0.05
"""Share of its size by which axes may change without new ticks, and so without new measures."""

_LEGEND_SIZE = 8
_LEGEND_LINE = 0.166
_SAMPLE = 0.36
_GAP = 0.08


class QuickLayout(ConstrainedLayoutEngine):
    """Constrained layout that measures the texts of a single panel once.

    Figures of several axes, or with a title or legend of their own, are laid out by the base class.
    """

    def execute(self, fig: Figure) -> Any:
        """Move the axes of a figure to where all their texts are visible."""
        if len(fig.axes) != 1 or fig.legends or fig.get_suptitle():
            return super().execute(fig)
        [axes] = fig.axes
        # About what ticks, labels and a title take: a start from which one measure
        # mostly suffices.
        margins = _Margins(0.5, 0.45, 0.15, 0.28 if axes.get_title() else 0.08)
        size = self._place(fig, axes, margins)
        # Ticks depend on the size of the axes: what was measured at another size is not trusted.
        for _ in range(3):
            margins = _margins(axes)
            last_size = size
            size = self._place(fig, axes, margins)
            if np.allclose(size, last_size, rtol=_STEADY):
                break
        return None

    def _place(
        self, figure: Figure, axes: Axes, margins: "_Margins"
    ) -> tuple[float, float]:
        """Put axes inside margins; return their shares of the figure's width and height."""
        width, height = figure.get_size_inches().tolist()
        left_share = margins.left / width
        below = margins.below / height
        right_edge = self.get()["rect"][2]
        across = max(right_edge - left_share - margins.right / width, _LEAST)
        up = max(1.0 - below - margins.above / height, _LEAST)
        axes.set_position((left_share, below, across, up))
        # An axes with a position of its own counts as one that no layout moves.
        axes.set_in_layout(True)
        return across, up


class _Margins(NamedTuple):
    """Inches that texts take on each side of an axes."""

    left: float
    below: float
    right: float
    above: float


def _margins(axes: Axes) -> _Margins:
    """Return what the texts of an axes take as it stands, and some space around them."""
    inside = axes.get_window_extent()
    outside = axes.get_tightbbox() or inside
    dpi = axes.figure.dpi
    return _Margins(
        (inside.x0 - outside.x0) / dpi + _PAD,
        (inside.y0 - outside.y0) / dpi + _PAD,
        (outside.x1 - inside.x1) / dpi + _PAD,
        (outside.y1 - inside.y1) / dpi + _PAD,
    )


def draw_legend(figure: Figure, looks: Mapping[str, Mapping[str, Any]]) -> None:
    """Draw a legend at the right of a figure, and leave its axes the room that is left.

    Parameters
    ----------
    figure : Figure
        Laid out by a `QuickLayout`.
    looks : mapping of str to mapping
        Keywords of a line by its label, in the order of the entries.
    """
    width, height = figure.get_size_inches().tolist()
    column = _SAMPLE + 3 * _GAP + max(_text_inches(label) for label in looks)
    inches = figure.dpi_scale_trans
    left = width - column + _GAP
    for i, (label, look) in enumerate(looks.items()):
        y = height - _GAP - (i + 0.5) * _LEGEND_LINE
        x = [left, left + _SAMPLE / 2, left + _SAMPLE]
        figure.add_artist(Line2D(x, [y, y, y], transform=inches, markevery=[1], **look))
        figure.text(
            x[-1] + _GAP, y, label, transform=inches, va="center", fontsize=_LEGEND_SIZE
        )
    layout = figure.get_layout_engine()
    assert isinstance(layout, QuickLayout)
    layout.set(rect=(0.0, 0.0, 1.0 - column / width, 1.0))


@lru_cache(maxsize=4096)  # the figures of a report share their labels
def _text_inches(text: str) -> float:
    """Return the width of a legend's label."""
    font = FontProperties(size=_LEGEND_SIZE)
    # A dollar sign is escaped for matplotlib, which reads mathematics between two.
    plain = text.replace(r"\$", "$")
    with warnings.catch_warnings():
        # what the font lacks is drawn as boxes
        warnings.filterwarnings("ignore", r"Glyph \d+")
        width, _, _ = text_to_path.get_text_width_height_descent(plain, font, False)
    # A point is 1/72 inch.
    return float(width) / 72
