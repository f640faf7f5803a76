"""Alarms of a drift detector that watches the mistakes. The detectors are River's."""

from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from olscale.arrays import Array, FloatArray, IntArray
from olscale.errors import ExperimentError, UnknownNameError
from olscale.evaluation.metrics.base import Metric, StreamShape
from olscale.evaluation.protocol import Scoring
from olscale.results.record import Series

DETECTORS = {"adwin": "ADWIN", "ddm": "binary.DDM", "page-hinkley": "PageHinkley"}
"""Detectors by name, with their places in `river.drift`; they run with River's own defaults."""


def detector_version(name: str) -> str:
    """Return the package and version of a detector.

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
            f"protocol.drift = {name!r} needs River, which is not installed: pip install river"
        ) from None


# River's detectors cannot be saved as plain arrays. So a run keeps its mistakes, a byte a row,
# and feeds them to a new detector after a restart. The run's definition has River's version.
class DriftAlarms(Metric):
    """`drift_alarms`: the alarms of a drift detector that gets 1 for a mistake and 0 otherwise.

    Requested by ``drift = "adwin"`` (or ``"ddm"``, ``"page-hinkley"``). The series has the number
    of alarms at the numbers of rows after which they were raised. The state of a detector is not
    made of plain arrays, so the mistakes are kept, one byte per row, and a continued run feeds them
    to a new detector.

    References
    ----------
    A. Bifet, R. Gavalda, Learning from time-changing data with adaptive windowing, SDM 2007.
    J. Gama, P. Medas, G. Castillo, P. P. Rodrigues, Learning with drift detection, SBIA 2004.
    E. S. Page, Continuous inspection schemes, Biometrika 41, 1954.
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

    def see(self, y: IntArray, codes: IntArray, scores: FloatArray) -> None:
        """Feed the rows to the detector one by one."""
        first = int(self.sums["rows"][0])
        if self._fed != first:  # restored: replay the mistakes into a new detector
            self._detector = _detector(self._name)
            self._fed = 0
            self._feed(self.sums["wrong"][:first])
        wrong = codes != y
        alarms = self._feed(wrong)
        self.sums["wrong"][first : first + len(y)] = wrong
        self.sums["alarms"] = np.concatenate([self.sums["alarms"], alarms])
        self.sums["rows"] += len(y)

    def _feed(self, wrong: Array) -> IntArray:
        alarms = []
        for mistake in wrong.astype(np.int64).tolist():
            self._fed += 1
            self._detector.update(mistake)
            if self._detector.drift_detected:
                alarms.append(self._fed)
        return np.array(alarms, dtype=np.int64)

    def values(self) -> dict[str, float]:
        if not self.sums["rows"][0]:
            return {}
        return {"drift_alarms": float(len(self.sums["alarms"]))}

    def series(self) -> list[Series]:
        """Return the rows of the alarms, with the number of alarms at each."""
        alarms = self.sums["alarms"]
        return [Series("drift_alarms", alarms, np.arange(1.0, len(alarms) + 1))]


def _detector(name: str) -> Any:
    detector_version(name)
    from river import drift

    attribute: Any = drift
    for part in DETECTORS[name].split("."):
        attribute = getattr(attribute, part)
    return attribute()
