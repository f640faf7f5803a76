"""One finished run: what was run, what came out, and (apart from both) how long it took and where.

A run is known by its *definition*, a JSON object::

    {"dataset": {"name": "digits", "fingerprint": "..."},
     "transforms": ["standardize", "bias"],
     "learner": {"name": "pa1", "version": 1, "params": {"C": 0.5}},
     "protocol": {"order": "permuted", "seed": 0, "permutation": 3}}

Its id is a hash of the canonical text of that object, so the same run has the same id on every
machine.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from olscale.arrays import FloatArray, IntArray
from olscale.errors import ParameterError
from olscale.storage.canonical_json import json_digest

OUTCOMES = ("ok", "diverged", "learner_error", "timeout", "oom", "lost")
"""How a run can end. Only ``lost`` (its workers kept dying) is worth trying again as it stands."""

FAILED = OUTCOMES[1:]
"""The ends of runs without a result."""

_RUN_ID = re.compile(r"[0-9a-f]{32}")


class SegmentMistakes(NamedTuple):
    """Mistakes on one segment of the stream (a day of URL).

    Parameters
    ----------
    name : str
        Name of the segment in the dataset's manifest.
    rows, mistakes : int
        Rows streamed and mistakes made on them.
    """

    name: str
    rows: int
    mistakes: int


class Series(NamedTuple):
    """A quantity measured along the stream.

    Parameters
    ----------
    name : str
        Name of the metric: ``window_error``, ``fading_error``, ``holdout_error`` (fractions),
        ``drift_alarms`` (a count).
    rows : int64 array of shape (n_points,)
        Rows streamed.
    values : float64 array of shape (n_points,)
        The quantity after so many rows.
    """

    name: str
    rows: IntArray
    values: FloatArray


def run_id(run: Mapping[str, Any]) -> str:
    """Return the id of a run: the first 32 hexadecimal digits of the SHA-256 of its canonical JSON.

    Examples
    --------
    >>> run_id({"learner": {"name": "pa"}})
    '1633edb0d6daabe27e770f5eac162e5d'
    """
    return json_digest(run)[:32]


def is_run_id(text: str) -> bool:
    """Return whether `text` has the form of a run id."""
    return _RUN_ID.fullmatch(text) is not None


def _no_counts() -> IntArray:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False, slots=True)
class Record:
    """A finished run, ready to be written to a store.

    Parameters
    ----------
    run : dict
        Canonical definition (see the module's docstring); ``dataset``, ``learner`` and ``protocol``
        are required.
    id : str
        Run id of the definition, 32 lowercase hexadecimal digits.
    outcome : str
        One of `OUTCOMES`.
    reason : str, default ``""``
        Why the run failed; empty when it did not. It must depend on the definition alone (no paths,
        no times).
    metrics : dict of str to float
        ``mistakes``, ``cumulative_error``, ``test_error``, ``updates``, ``model_bytes`` ...
    curve_rows, curve_mistakes : int64 array of shape (n_points,)
        Rows streamed and cumulative mistakes by then.
    segments : sequence of (name, rows, mistakes)
        Mistakes by segment, in stream order; empty when the dataset has none.
    series : sequence of Series
        What else the protocol asked to be measured along the stream; empty for most.
    timings : dict of str to float
        ``fit_seconds``, ``read_seconds``, ``rows_per_second``, ``rows_per_cpu_second``; kept apart
        from the results.
    environment : dict of str to str
        ``host``, versions ...; kept apart from the results.

    Raises
    ------
    ParameterError
        If the id, the outcome, the definition or the curve is malformed.
    """

    run: Mapping[str, Any]
    id: str
    outcome: str = "ok"
    reason: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    curve_rows: IntArray = field(default_factory=_no_counts)
    curve_mistakes: IntArray = field(default_factory=_no_counts)
    segments: Sequence[tuple[str, int, int]] = ()
    series: Sequence[Series] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not is_run_id(self.id):
            raise ParameterError(
                f"a run id is 32 lowercase hexadecimal digits, got {self.id!r}"
            )
        if self.outcome not in OUTCOMES:
            raise ParameterError(
                f"outcome of run {self.id} is {self.outcome!r}, expected one of "
                f"{', '.join(OUTCOMES)}"
            )
        # Readers take these apart without asking whether they are there.
        missing = [
            part
            for part in ("dataset", "learner", "protocol")
            if not isinstance(self.run.get(part), Mapping)
        ]
        if missing:
            raise ParameterError(
                f"definition of run {self.id} lacks the object(s) {', '.join(missing)}"
            )
        if len(self.curve_rows) != len(self.curve_mistakes):
            raise ParameterError(
                f"curve of run {self.id} has {len(self.curve_rows)} positions for "
                f"{len(self.curve_mistakes)} counts"
            )
        for name, rows, values in self.series:
            if len(rows) != len(values):
                raise ParameterError(
                    f"{name} of run {self.id} has {len(rows)} positions for {len(values)} values"
                )
