"""Series over the nights: benchmark ratios, rows per second and errors, with their last change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from olscale.jobs.change_points import LEAST_NIGHTS, MOST_NIGHTS, Parts, find_parts
from olscale.jobs.home import SPEEDS, JobHome, history_nights, read_history
from olscale.jobs.job_file import AlarmRules, ErrorRule, SpeedRule
from olscale.measures import measure_of

LEAST_SECONDS = 0.1
"""That all runs of a setting learn for: of less, the speed is that of the rest of the machine."""

METRICS = ("ratio", *SPEEDS, "error")
"""What there are series of, in the order in which they are shown."""

Verdict = Literal[
    "steady", "slower", "faster", "higher", "lower", "unstable", "not enough"
]

_SETTING = ("dataset", "transforms", "learner", "params", "protocol")
SERIES_COLUMNS = (
    *("night", "state", "kind", "code", "machine", "load", "fingerprint", *_SETTING),
    *("benchmark", "figure", "peer", "ratio", *SPEEDS, "error", "error_metric"),
    *("fit_seconds", "n"),
)


@dataclass(slots=True)
class NightSeries:
    """A quantity along the nights, of one machine where it is a speed.

    Attributes
    ----------
    metric : str
        One of `METRICS`.
    name, machine : str
    nights, values, codes, fingerprints : list
        One entry a night.
    loaded : list of bool
        Nights that began under load, whose speeds do not count.
    setting : tuple of str
        Dataset, transforms, learner, parameters and protocol; empty for a benchmark.
    measure : str
        What an error is: ``cumulative_error``, ``rmse`` ...
    """

    metric: str
    name: str
    machine: str = ""
    nights: list[str] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    fingerprints: list[str] = field(default_factory=list)
    loaded: list[bool] = field(default_factory=list)
    setting: tuple[str, ...] = ()
    measure: str = ""

    def text_of(self, value: float) -> str:
        """Return a value as people read it: shares of rows in percent."""
        if (
            self.metric == "error"
            and self.measure
            and measure_of(self.measure).unit == "percent"
        ):
            return f"{100.0 * value:.2f} %"
        return level_text(value)

    def counted(self) -> list[int]:
        """Return the positions of the nights that count, of the last `MOST_NIGHTS`."""
        count = len(self.nights)
        recent = range(max(0, count - MOST_NIGHTS), count)
        return [i for i in recent if not self.loaded[i]]

    def marks(self) -> list[tuple[str, str]]:
        """Return the nights with other code or rows than the night before, and which of both."""
        changes = []
        for i in range(1, len(self.nights)):
            what = [
                word
                for word, of in (("code", self.codes), ("data", self.fingerprints))
                if of[i - 1] and of[i] and of[i - 1] != of[i]
            ]
            if what:
                changes.append((self.nights[i], " and ".join(what)))
        return changes


@dataclass(frozen=True, slots=True)
class SeriesVerdict:
    """What a series says.

    Attributes
    ----------
    verdict : str
        ``"slower"`` and ``"higher"`` (of an error) hold as long as the last part of the series is
        worse than the one before; ``"faster"`` and ``"lower"`` likewise.
    begins : tuple of str
        The nights in which a part begins, except the first part.
    levels : tuple of float
        Of the parts.
    """

    series: NightSeries
    verdict: Verdict
    begins: tuple[str, ...] = ()
    levels: tuple[float, ...] = ()

    @property
    def text(self) -> str:
        """A line for people."""
        name = (
            f"{self.series.name} "
            f"({self.series.metric}{f' on {self.series.machine}' * bool(self.series.machine)})"
        )
        return f"{name}: {self.said}"

    @property
    def said(self) -> str:
        """The verdict in words."""
        if len(self.levels) < 2:
            return self.verdict
        before, after = self.levels[-2:]
        # Errors are percentages themselves: a share of one would be misread.
        share = ""
        if before and self.series.metric != "error":
            share = f" ({100 * (after / before - 1):+.0f} %)"
        return (
            f"{self.verdict} since {self.begins[-1]}: {self.series.text_of(before)} -> "
            f"{self.series.text_of(after)}{share}"
        )


def level_text(value: float) -> str:
    """Return a level with four figures, or as a whole number.

    Examples
    --------
    >>> level_text(0.95), level_text(1234567.8)
    ('0.95', '1,234,568')
    """
    if abs(value) >= 1000.0:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def read_series(
    home: JobHome, rule: SpeedRule, metric: str | None = None, whole: bool = True
) -> list[NightSeries]:
    """Return the series of a job's history without failed nights: ratios, then speeds, then errors.

    Without `whole`, of as many nights as are judged.
    """
    skipped: list[str] = []
    if not whole:
        skipped = history_nights(home)[:-MOST_NIGHTS]
    return series_of(series_rows(home, skipped), rule, metric)


def series_rows(home: JobHome, without: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return the rows of history that series are made of, without those of some nights."""
    nights = [night for night in history_nights(home) if night not in without]
    rows: list[dict[str, Any]] = read_history(
        home, SERIES_COLUMNS, ["results", "bench"], nights
    ).to_pylist()
    return rows


def series_of(
    rows: Iterable[dict[str, Any]], rule: SpeedRule, metric: str | None = None
) -> list[NightSeries]:
    """Return the series of history rows in the order of nights, without speeds under load.

    Where `metric` does not ask for one of them, a setting has one speed: that of the processor,
    once enough nights have it.
    """
    by_key: dict[tuple[str, ...], NightSeries] = {}
    names = _Names()
    for row in rows:
        if row["state"] == "failed":
            continue
        for kind, value, name, machine in _quantities(row, names):
            # Nights of earlier versions lack some columns, and a learner may end with NaN.
            if value is None or not np.isfinite(value) or metric not in (None, kind):
                continue
            series = by_key.setdefault(
                (kind, name, machine), NightSeries(kind, name, machine)
            )
            if row["kind"] != "bench":
                series.setting = tuple(row.get(part) or "" for part in _SETTING)
                series.measure = row.get("error_metric") or series.measure
            if series.nights and series.nights[-1] == row["night"]:
                # one setting on two versions of a learner in a night: the first counts
                continue
            series.nights.append(row["night"])
            series.values.append(float(value))
            series.codes.append(row["code"] or "")
            series.fingerprints.append(row.get("fingerprint") or "")
            series.loaded.append(kind != "error" and (row["load"] or 0.0) > rule.load)
    if metric is None:
        _keep_one_speed(by_key)
    return sorted(
        by_key.values(),
        key=lambda series: (METRICS.index(series.metric), series.name, series.machine),
    )


def _keep_one_speed(series: dict[tuple[str, ...], NightSeries]) -> None:
    """Leave out speeds by the clock where those by the processor can be judged, and else these."""
    by_processor, by_clock = SPEEDS
    for kind, *which in [key for key in series if key[0] == by_processor]:
        enough = len(series[kind, *which].counted()) >= LEAST_NIGHTS
        dropped = by_processor
        if enough or (by_clock, *which) not in series:
            dropped = by_clock
        series.pop((dropped, *which), None)


class _Names(defaultdict[tuple[str, ...], str]):
    """Names of settings, made once."""

    def __missing__(self, key: tuple[str, ...]) -> str:
        dataset, transforms, learner, params, protocol = key
        parts = [dataset, learner, transforms, params, protocol]
        self[key] = " ".join(part for part in parts if part not in ("", "{}"))
        return self[key]


def _quantities(
    row: dict[str, Any], names: _Names
) -> Iterator[tuple[str, float | None, str, str]]:
    if row["kind"] == "bench":
        yield (
            "ratio",
            row.get("ratio"),
            f"{row['benchmark']}: {row['figure']} to {row['peer']}",
            row["machine"],
        )
        return
    name = names[tuple(row.get(part) or "" for part in _SETTING)]
    seconds = row.get("fit_seconds")
    if seconds is None or seconds * (row.get("n") or 1) >= LEAST_SECONDS:
        for speed in SPEEDS:
            yield speed, row.get(speed), name, row["machine"]
    # unlike speeds, errors are comparable across machines
    yield (
        "error",
        row.get("error"),
        name,
        "",
    )


def judge(series: NightSeries, rules: AlarmRules) -> SeriesVerdict:
    """Say whether a series changed, from the nights that count."""
    places = series.counted()
    is_error = series.metric == "error"
    rule: ErrorRule | SpeedRule = rules.speed
    if is_error:
        rule = rules.error
    if len(places) < LEAST_NIGHTS:
        return SeriesVerdict(series, "not enough")
    values = np.array([series.values[i] for i in places])
    if (values == values[0]).all():
        return SeriesVerdict(series, "steady", (), (float(values[0]),))
    # An error is a fraction already: half of an error of 0.1 % is no news.
    parts = find_parts(values, rule.change, rule.nights, relative=not is_error)
    begins = tuple(series.nights[places[start]] for start in parts.starts[1:])
    return SeriesVerdict(series, _verdict(parts, is_error), begins, parts.levels)


def _verdict(parts: Parts, is_error: bool) -> Verdict:
    if parts.unstable:
        return "unstable"
    if len(parts.levels) < 2:
        return "steady"
    rises = parts.levels[-1] > parts.levels[-2]
    if is_error:
        return "higher" if rises else "lower"
    return "faster" if rises else "slower"
