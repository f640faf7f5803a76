"""Which classes are taken for which others: maps of true by predicted classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from olscale.analysis.curves import ConfusionMatrix
from olscale.arrays import FloatArray
from olscale.measures import distance_from_best
from olscale.report.figures.style import panels, styled
from olscale.report.figures.words import figure_text, tick_text
from olscale.report.palette import BASELINES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST = 20
"""Most classes of a map: those with the most rows."""

_PANELS = 4
"""Most learners of a picture: those of least error."""

WRITTEN = 10
"""Most classes of a map with figures written in."""


class ClassMaps(NamedTuple):
    """How classes are confused.

    Parameters
    ----------
    classes : list of str
        Names of the classes of the maps.
    shares : dict of str to float64 array of shape (n_classes, n_classes)
        By label, those of least error first: percent of the rows of a class that are predicted as
        another. On the diagonal, and where a class has no rows, NaN.
    """

    classes: list[str]
    shares: dict[str, FloatArray]


def class_maps(
    shown: Mapping[str, ConfusionMatrix], class_names: Sequence[str] = ()
) -> ClassMaps:
    """Return the maps of matrices; classes are named by their positions where names are missing.

    Examples
    --------
    >>> from olscale.analysis.summary import Summary
    >>> summary = Summary("d", "f", (), "pa", "1", {}, {}, "cumulative_error", 0.3, 0.0, 1)
    >>> true, predicted = np.array([[0, 0], [0, 1], [1, 1]]).T
    >>> matrix = ConfusionMatrix(summary, true, predicted, np.array([[6.0, 2.0, 5.0]]))
    >>> class_maps({"pa": matrix}, ["no", "yes"]).shares["pa"].tolist()
    [[nan, 25.0], [0.0, nan]]
    """
    best_first = sorted(shown, key=lambda label: _place(shown[label]))
    counts = {label: shown[label].mean() for label in best_first}
    size = max(len(matrix) for matrix in counts.values())
    rows = np.zeros(size)
    for label, matrix in counts.items():
        # A matrix ends with the last class that occurs in it: sizes differ between
        # learners.
        counts[label] = np.pad(matrix, (0, size - len(matrix)))
        rows = np.maximum(rows, counts[label].sum(axis=1))
    largest = np.argsort(-rows, kind="stable")[: min(_MOST, int((rows > 0).sum()))]
    # In the order of the data set again.
    positions = np.sort(largest)
    all_names = [*class_names[:size], *map(str, range(len(class_names), size))]
    shares = {}
    for label, matrix in counts.items():
        of_class = matrix.sum(axis=1, keepdims=True)
        share = np.full((size, size), np.nan)
        np.divide(100.0 * matrix, of_class, out=share, where=of_class > 0)
        # What is right would take the whole scale of colours.
        np.fill_diagonal(share, np.nan)
        shares[label] = share[np.ix_(positions, positions)]
    return ClassMaps([all_names[i] for i in positions], shares)


def _place(matrix: ConfusionMatrix) -> tuple[bool, float]:
    summary = matrix.summary
    return summary.learner in BASELINES, distance_from_best(
        summary.metric, summary.mean
    )


def confusion_figure(
    shown: Mapping[str, ConfusionMatrix], class_names: Sequence[str] = ()
) -> Figure:
    """Draw the maps of the four learners of least error, all with one scale of colours.

    Parameters
    ----------
    shown : mapping of str to ConfusionMatrix
        Of one dataset, by label.
    class_names : sequence of str
        Names of the classes, in the dataset's order.
    """
    maps = class_maps(shown, class_names)
    best = dict(list(maps.shares.items())[:_PANELS])
    classes = [figure_text(tick_text(name)) for name in maps.classes]
    top = max(float(np.nanmax(share, initial=0.0)) for share in best.values())
    side = max(2.4, 0.24 * len(classes) + 1.0)
    with styled():
        figure, axes = panels(len(best), width=side + 0.4, height=side)
        for panel, (label, share) in zip(axes, best.items(), strict=True):
            mesh = panel.pcolormesh(
                np.ma.masked_invalid(share),
                cmap="cividis",
                vmin=0.0,
                vmax=top or 1.0,
                edgecolors="white",
                linewidth=0.4,
            )
            panel.set(title=figure_text(label), xlabel="predicted", ylabel="class")
            _name_classes(panel, classes)
            bar = figure.colorbar(mesh, ax=panel, pad=0.02, aspect=28)
            bar.set_label("% of the class")
            bar.outline.set_visible(False)
            if len(classes) <= WRITTEN:
                _write_in(panel, share, top)
    return figure


def _name_classes(panel: Axes, classes: Sequence[str]) -> None:
    at = np.arange(len(classes)) + 0.5
    panel.set_xticks(at, classes)
    if max(map(len, classes)) > 2:
        for label in panel.get_xticklabels():
            label.set(rotation=40, ha="right")
    panel.set_yticks(at, classes)
    panel.invert_yaxis()
    panel.grid(False)
    panel.tick_params(length=0)


def _write_in(panel: Axes, share: FloatArray, top: float) -> None:
    for (i, j), value in np.ndenumerate(share):
        if value > 0:
            # cividis is dark at its low end
            colour = "white" if value < top / 2 else "black"
            text = f"{value:.1f}" if value < 10 else f"{value:.0f}"
            panel.text(
                j + 0.5, i + 0.5, text, ha="center", va="center", size=6, color=colour
            )
