"""Alarms of a drift detector that watches the mistakes. The detectors are River's."""

from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.errors import ExperimentError, UnknownNameError
from olscale.evaluation.metrics.base import Metric, StreamShape
from olscale.evaluation.protocol import Scoring
from olscale.results.record import Series

DETECTORS = {"adwin": "ADWIN", "ddm": "binary.DDM", "page-hinkley": "PageHinkley"}
"""Detectors by name, each with its place in `river.drift`; they run with River's own defaults."""


def detector_version(name: str) -> str:
    """Return the package and version that a detector is from.

    Raises
    ------
    UnknownNameError
        If there is no such detector.
    ExperimentError
        If River is not installed.
    """
    if name not in DETECTORS:
        raise UnknownNameError("drift detector", name, DETECTORS)
    try:
        return f"river {version('river')}"
    except PackageNotFoundError:
        raise ExperimentError(
            f"protocol.drift = {name!r} needs River, which is not installed: pip install "
            "'olscale[drift]'"
        ) from None


class DriftAlarms(Metric):
    """`drift_alarms`: how often a drift detector, fed with 1 for a mistake and 0 else, raised its alarm.

    Asked for by ``drift = "adwin"`` (or ``"ddm"``, ``"page-hinkley"``). The series has the number
    of alarms at the numbers of rows after which they were raised. A detector has no state of plain
    arrays: what is kept is the mistakes, a byte a row, and a run that is continued feeds them to a
    new one.

    References
    ----------
    A. Bifet, R. Gavalda, Learning from time-changing data with adaptive windowing, SDM 2007. J. Gama, P. Medas,
    G. Castillo, P. P. Rodrigues, Learning with drift detection, SBIA 2004. E. S. Page, Continuous inspection schemes,
    Biometrika 41, 1954.
    """

    @classmethod
    def wanted(cls, scoring: Scoring) -> bool:
        return scoring.drift is not None

    def __init__(self, shape: StreamShape) -> None:
        self._name = shape.scoring.drift or ""
        self._detector = _detector(self._name)
        self._fed = 0
        self.sums = {
            "rows": np.zeros(1, dtype=np.int64),
            "wrong": np.zeros(shape.rows, dtype=np.uint8),
            "alarms": np.zeros(0, dtype=np.int64),
        }

    def see(
        self, y: NDArray[np.int64], codes: NDArray[np.int64], scores: NDArray[np.float64]
    ) -> None:
        """Feed the detector row by row."""
        first = int(self.sums["rows"][0])
        if self._fed != first:  # restored: bring a new detector up to date
            self._detector = _detector(self._name)
            self._fed = 0
            self._feed(self.sums["wrong"][:first])
        wrong = codes != y
        alarms = self._feed(wrong)
        self.sums["wrong"][first : first + len(y)] = wrong
        self.sums["alarms"] = np.concatenate([self.sums["alarms"], alarms])
        self.sums["rows"] += len(y)

    def _feed(self, wrong: NDArray[Any]) -> NDArray[np.int64]:
        alarms = []
        for one in wrong.astype(np.int64).tolist():
            self._fed += 1
            self._detector.update(one)
            if self._detector.drift_detected:
                alarms.append(self._fed)
        return np.array(alarms, dtype=np.int64)

    def values(self) -> dict[str, float]:
        return {"drift_alarms": float(len(self.sums["alarms"]))} if self.sums["rows"][0] else {}

    def series(self) -> list[Series]:
        """Return the rows of the alarms, each with its number."""
        alarms = self.sums["alarms"]
        return [Series("drift_alarms", alarms, np.arange(1.0, len(alarms) + 1))]


def _detector(name: str) -> Any:
    detector_version(name)
    from river import drift

    found: Any = drift
    for part in DETECTORS[name].split("."):
        found = getattr(found, part)
    return found()
