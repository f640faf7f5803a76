"""How the rows of a stream are scored, beyond predicting each before it is learned from.

All of it is part of a run's definition, each option only where it is used: runs without any keep the ids they had before the
option existed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from olscale.evaluation.online_folds import OnlineFolds

__all__ = ["PLAIN", "Scoring"]


@dataclass(frozen=True, slots=True)
class Scoring:
    """Options of a protocol; nothing given is plain prequential evaluation.

    Attributes
    ----------
    window : int, optional
        Rows of a sliding window over which the error is measured as well.
    fading : float, optional
        Factor in (0, 1) by which a row's weight in the fading error shrinks with every row that follows.
    delay : int or str
        Number of rows that are predicted between a row's prediction and the arrival of its label, or the name of the column
        that has this number for each row.
    delay_position : int, optional
        Which column that is: names of columns are no part of a fingerprint.
    holdout_every : int, optional
        Rows learned from between two measurements of the error on rows held out.
    holdout_rows : int, optional
        How many of the next rows are held out each time; the test split is, when left out.
    drift : str, optional
        Name of a drift detector that watches the mistakes.
    drift_version : str
        Package and version that the detector is from: other versions may raise other alarms.
    folds : OnlineFolds, optional
        How the rows are dealt out to several models that go through the stream side by side.
    """

    window: int | None = None
    fading: float | None = None
    delay: int | str = 0
    delay_position: int | None = None
    holdout_every: int | None = None
    holdout_rows: int | None = None
    drift: str | None = None
    drift_version: str = ""
    folds: OnlineFolds | None = None

    @property
    def interrupts(self) -> bool:
        """Whether the learner must be at hand between rows: no pass is shared then, no run cut into shards."""
        return bool(self.delay or self.holdout_every or self.folds)

    @property
    def delay_column(self) -> str | None:
        """Name of the column that says the delay of each row, where it is not one number."""
        return self.delay if isinstance(self.delay, str) else None

    def definition(self) -> dict[str, Any]:
        """Return what is used as plain JSON values."""
        used: dict[str, Any] = {
            name: value
            for name in ("window", "fading", "delay", "holdout_every", "holdout_rows", "drift", "drift_version")
            if (value := getattr(self, name))
        }
        if self.delay_position is not None:
            used["delay_position"] = self.delay_position
        return used | (self.folds.definition() if self.folds else {})


PLAIN = Scoring()
"""Prequential evaluation, and a test of the final model."""
