"""What series say of their last nights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from olscale.jobs.job_file import AlarmRules
from olscale.jobs.night_end import series_alarms
from olscale.jobs.series import judge, series_of

RULES = AlarmRules()


def rows(values: list[float], **more: Any) -> list[dict[str, Any]]:
    same = {
        "kind": "bench",
        "state": "good",
        "machine": "m",
        "code": "a",
        "load": 0.0,
        "benchmark": "linear",
    }
    same |= {"figure": "pa1", "peer": "bare loop"}
    return [
        same
        | {
            name: value[i] if isinstance(value, list) else value
            for name, value in more.items()
        }
        | {"night": f"{i:03}", "ratio": value}
        for i, value in enumerate(values)
    ]


def steady(n: int, seed: int = 0) -> list[float]:
    return list(1.0 + np.random.default_rng(seed).normal(0.0, 0.01, n))


def test_a_slow_down_is_an_alarm_until_it_is_over_and_then_a_change() -> None:
    values = [*steady(12), *(0.85 * np.array(steady(3, 1))), *steady(3, 2)]
    said = []
    for n in range(12, 19):
        alarms, changed, _ = series_alarms(
            series_of(rows(values[:n]), RULES.speed), RULES, f"{n - 1:03}"
        )
        said.append((len(alarms), len(changed)))
    assert said == [(0, 0), (0, 0), (0, 0), (1, 0), (1, 0), (1, 0), (0, 1)]
    [alarm], _, _ = series_alarms(
        series_of(rows(values[:15]), RULES.speed), RULES, "014"
    )
    assert "linear: pa1 to bare loop (ratio on m): slower since 012: 1" in alarm.text
    assert "(-15 %)" in alarm.text


def test_what_began_before_since_raises_no_alarm() -> None:
    values = [*steady(12), *(0.85 * np.array(steady(4, 1)))]
    for since, alarms in (("012", 1), ("013", 0)):
        assert (
            len(
                series_alarms(
                    series_of(rows(values), RULES.speed), AlarmRules(since=since), "015"
                )[0]
            )
            == alarms
        )


def test_too_few_nights_say_nothing() -> None:
    assert (
        judge(series_of(rows(steady(7)), RULES.speed)[0], RULES).verdict == "not enough"
    )
    assert judge(series_of(rows(steady(8)), RULES.speed)[0], RULES).verdict == "steady"


def test_another_machine_is_another_series() -> None:
    found = series_of(
        rows(
            [*steady(10), *(0.5 * np.array(steady(10)))],
            machine=["m"] * 10 + ["n"] * 10,
        ),
        RULES.speed,
    )
    assert [
        (series.machine, len(series.values), judge(series, RULES).verdict)
        for series in found
    ] == [
        ("m", 10, "steady"),
        ("n", 10, "steady"),
    ]


def test_nights_under_load_are_shown_and_left_out() -> None:
    values = [*steady(12), *(0.5 * np.array(steady(4, 1)))]
    [series] = series_of(rows(values, load=[0.0] * 12 + [0.9] * 4), RULES.speed)
    assert len(series.values) == 16
    assert judge(series, RULES).verdict == "steady"


def test_other_code_and_other_rows_are_marks() -> None:
    [series] = series_of(
        rows(steady(9), code=["a"] * 5 + ["b"] * 4, fingerprint=["x"] * 7 + ["y"] * 2),
        RULES.speed,
    )
    assert series.marks() == [("005", "code"), ("007", "data")]


@pytest.mark.parametrize(
    ("seconds", "metrics"), [(0.02, ["rows_per_second", "error"]), (0.005, ["error"])]
)
def test_what_learns_for_a_moment_has_no_speed(
    seconds: float, metrics: list[str]
) -> None:
    given = rows(
        steady(9),
        kind="results",
        dataset="claims",
        learner="pa1",
        rows_per_second=1e6,
        error=0.1,
    )
    found = series_of(
        [row | {"fit_seconds": seconds, "n": 10} for row in given], RULES.speed
    )
    assert [series.metric for series in found] == metrics


@pytest.mark.parametrize(
    ("nights", "metric"), [(8, "rows_per_cpu_second"), (7, "rows_per_second")]
)
def test_speeds_by_the_processor_count_once_enough_nights_have_them(
    nights: int, metric: str
) -> None:
    by_clock = [*steady(12), *(0.5 * np.array(steady(4)))]
    by_processor = [None] * (16 - nights) + steady(nights)
    given = rows(
        [0.0] * 16,
        kind="results",
        dataset="claims",
        learner="pa1",
        rows_per_second=by_clock,
    )
    given = [
        row | {"rows_per_cpu_second": speed}
        for row, speed in zip(given, by_processor, strict=True)
    ]
    [series] = series_of(given, RULES.speed)
    assert (series.metric, judge(series, RULES).verdict) == (
        metric,
        "steady" if nights == 8 else "slower",
    )
    for name in ("rows_per_cpu_second", "rows_per_second"):
        assert [series.metric for series in series_of(given, RULES.speed, name)] == [
            name
        ]


@pytest.mark.parametrize("explained", [False, True])
def test_an_error_counts_once(explained: bool) -> None:
    """Where bytes or versions raise an alarm of their own, the series of the error raises none."""
    values = [0.10] * 10 + [0.14] * 2
    given = rows(
        [0.0] * 12, kind="results", dataset="claims", learner="pa1", error=values
    )
    series = series_of(given, RULES.speed, "error")
    settings = {quantity.setting for quantity in series if explained}
    found, _, _ = series_alarms(series, RULES, "011", settings)
    assert len(found) == (not explained)
