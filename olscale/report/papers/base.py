"""A figure of a paper: where its runs come from and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from olscale.analysis.curves import Curve, RocCurve, curves, roc_curves
from olscale.analysis.summary import Summary
from olscale.errors import ReportError
from olscale.report.figures.looks import Looks
from olscale.results import Store
from olscale.results.store import OnDamage

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class MissingRunsError(ReportError):
    """A figure's runs or data set are missing; the message says which."""


@dataclass(frozen=True)
class FigureSource:
    """The source of figures.

    Parameters
    ----------
    store : Store
    summaries : list of Summary
        Of all its runs but those of tuning.
    on_damage : {"raise", "skip"}
        What to do about damaged files of the store.
    """

    store: Store
    summaries: list[Summary]
    on_damage: OnDamage = "raise"

    @cached_property
    def looks(self) -> Looks:
        """The looks of the learners, the same in all figures."""
        return Looks(self.summaries)

    def curves(
        self, summaries: list[Summary], metric: str = "cumulative_error"
    ) -> list[Curve]:
        """Return the curves of a metric of some of the summaries."""
        return curves(self.store, summaries, on_damage=self.on_damage, metric=metric)

    def roc_curves(self, summaries: list[Summary], name: str) -> list[RocCurve]:
        """Return the ROC curves of a name of some of the summaries, of the error beside it."""
        return roc_curves(self.store, summaries, name, on_damage=self.on_damage)


@dataclass(frozen=True, slots=True)
class PaperFigure:
    """A figure of a paper.

    Parameters
    ----------
    name : str
        ``<paper>-fig<number>``; the name of its files.
    caption : str
        What it shows, and where it departs from the paper's setting.
    needs : str
        The command that makes its runs or data, if they are absent.
    draw : callable
        From a `FigureSource` to the figure; raises `MissingRunsError`.
    """

    name: str
    caption: str
    needs: str
    draw: Callable[[FigureSource], Figure]
