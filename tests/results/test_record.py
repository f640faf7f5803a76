"""Records: ids, validation, bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olscale.errors import ParameterError
from olscale.results import Record, canonical_json, run_id
from olscale.results.rows import RUN_SCHEMA, parse, record_of, run_bytes

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=5))
def test_id_ignores_the_order_of_keys(run):
    shuffled = dict(reversed(run.items()))

    assert run_id(shuffled) == run_id(run)


def test_nan_is_no_definition():
    with pytest.raises(ParameterError, match="plain JSON"):
        canonical_json({"C": float("nan")})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "../../etc/passwd"}, "32 lowercase hexadecimal"),
        ({"outcome": "fine"}, "expected one of ok, diverged"),
        ({"run": {"dataset": {}}}, "lacks the object"),
        ({"curve_rows": np.arange(3)}, "3 positions for 0 counts"),
    ],
)
def test_malformed_record_is_refused(make_record, change, message):
    good = make_record()

    with pytest.raises(ParameterError, match=message):
        Record(**({"run": good.run, "id": good.id} | change))


def test_row_gives_the_record_back(make_record):
    record = make_record(
        params={"C": 0.5},
        metrics={"test_error": 0.25, "mistakes": 3.0},
        curve_rows=np.array([10, 20]),
        curve_mistakes=np.array([2, 3]),
        segments=[("Day0", 10, 2), ("Day1", 10, 1)],
    )

    [row] = parse(run_bytes(record), RUN_SCHEMA, RUN_SCHEMA.names).to_pylist()
    back = record_of(row, None)

    assert (back.run, back.id, back.metrics, back.segments) == (
        record.run,
        record.id,
        record.metrics,
        tuple(record.segments),
    )
    np.testing.assert_array_equal(back.curve_rows, record.curve_rows)
    np.testing.assert_array_equal(back.curve_mistakes, record.curve_mistakes)
    assert run_bytes(back) == run_bytes(record)


def test_bytes_do_not_depend_on_times_hosts_or_the_order_of_metrics(make_record):
    one = make_record(
        metrics={"a": 1, "b": 2.0},
        timings={"fit_seconds": 1.0},
        environment={"host": "x"},
    )
    two = make_record(
        metrics={"b": 2.0, "a": 1.0},
        timings={"fit_seconds": 9.0},
        environment={"host": "y"},
    )

    assert run_bytes(one) == run_bytes(two)
