"""Arrays of records are those that pyarrow makes of the same values, and pandas is not imported for them."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from olscale.results.arrow_arrays import arrow_array, check_times
from olscale.results.rows import RUN_SCHEMA, TIMING_SCHEMA

TEXTS = ["", "été", "a\0b", "x" * 300]
VALUES: dict[str, list[Any]] = {
    "transforms": [[], ["bias", "été"], ["a"]],
    "metrics": [[], [("error", 0.25), ("nan", float("nan"))], [("a", -0.0)]],
    "curve_rows": [np.arange(3), np.arange(0), np.array([2**62])],
    "curve_mistakes": [[1, 2], [], [3]],
    "segments": [
        [],
        [
            {"name": "Day1", "rows": 5, "mistakes": 2},
            {"name": "", "rows": 0, "mistakes": 0},
        ],
    ],
    "series": [
        [],
        [{"name": "width", "rows": np.arange(2), "values": np.array([0.5, np.inf])}],
    ],
    "timings": [[("learn", 0.5)], []],
    "environment": [[("host", "a"), ("cpu", "")]],
    "finished_at": [
        datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
        datetime(2026, 7, 1, 12, 0, 0, 1, UTC),
    ],
}


@pytest.mark.parametrize(
    "field", [*RUN_SCHEMA, *TIMING_SCHEMA], ids=lambda field: field.name
)
@pytest.mark.parametrize("count", [None, 1, 0])
def test_arrays_are_those_of_pyarrow(field: pa.Field, count: int | None):
    values = VALUES.get(field.name, TEXTS)[:count]
    array = arrow_array(values, field.type)
    expected = pa.array(values, field.type)
    array.validate(full=True)
    assert array.type == expected.type
    assert str(array) == str(expected)
    assert array.null_count == expected.null_count == 0


def test_a_run_is_written_without_pandas():
    script = "import sys; from olscale.results.arrow_arrays import arrow_array; import pyarrow as pa\n"
    script += (
        "arrow_array([[('a', 1.0)]], pa.map_(pa.string(), pa.float64())); print('pandas' in "
        "sys.modules)"
    )
    assert (
        subprocess.check_output([sys.executable, "-c", script], text=True) == "False\n"
    )


@pytest.mark.parametrize("count", [0, 1, 8, 9])
def test_truth_values_are_packed_as_arrow_does(count: int) -> None:
    values = [i % 3 == 0 for i in range(count)]
    assert arrow_array(values, pa.bool_()).equals(pa.array(values, pa.bool_()))


def test_times_that_no_datetime_can_be_are_refused() -> None:
    kind = pa.timestamp("us", tz="UTC")
    last = (
        datetime.max.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    ) // timedelta(microseconds=1)
    check_times(pa.chunked_array([pa.array([None, 0, last], kind)]))
    check_times(pa.chunked_array([], kind))
    with pytest.raises(
        OverflowError, match="microseconds from 1970 are beyond the years 1 to 9999"
    ):
        check_times(pa.chunked_array([pa.array([0, last + 1], kind)]))
