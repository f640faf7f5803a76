"""ROC curves: the share of detections against the share of false alarms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from olscale.analysis.curves import RocCurve
from olscale.report.figures.looks import Looks, looks
from olscale.report.figures.style import legend, panels, styled
from olscale.report.figures.words import legible

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def roc_figure(shown: Mapping[str, RocCurve], of_learner: Looks | None = None) -> Figure:
    """Draw the mean ROC of each label; the diagonal is that of chance.

    Parameters
    ----------
    shown : mapping of str to RocCurve
        Of one dataset, by label.
    of_learner : Looks, optional
        Looks of the learners in other figures too; by the order of the labels when left out.
    """
    shown = legible(shown)
    of_label = of_learner.of(shown) if of_learner else looks(shown)
    with styled():
        figure, [panel] = panels(1, width=3.4, height=3.2, beside=shown)
        panel.plot([0, 100], [0, 100], color="0.6", linewidth=0.8, linestyle=":")
        for i, (label, roc) in enumerate(shown.items()):
            panel.plot(
                100 * roc.false_positives / roc.false_positives[-1],
                100 * roc.rates.mean(axis=0),
                label=label,
                markevery=(0.05 + 0.012 * (i % 9), 0.18),
                **of_label[label],
            )
        panel.set(
            xlabel="false positive rate (%)",
            ylabel="true positive rate (%)",
            xlim=(0, 100),
            ylim=(0, 101),
        )
        legend(figure, {label: of_label[label] for label in shown})
    return figure
