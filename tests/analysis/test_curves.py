"""Curves and segments of a store."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from olscale.analysis import summarise
from olscale.analysis.curves import confusions, curves, roc_curves, segment_errors
from olscale.report.along import along, along_tables
from olscale.results import Series, open_store, run_id


@pytest.fixture
def store(tmp_path, make_record):
    store = open_store(tmp_path / "store", create=True)
    for learner, factor in (("pa", 1), ("arow", 2)):
        for i in range(3):
            mistakes = np.arange(1, 11) * factor + i
            store.write(
                make_record(
                    learner=learner,
                    permutation=i,
                    metrics={"cumulative_error": mistakes[-1] / 100, "test_error": 0.1},
                    curve_rows=np.arange(10, 101, 10),
                    curve_mistakes=mistakes,
                    segments=[("Day0", 40, 4 * factor), ("Day1", 60, i)],
                )
            )
    store.write(
        make_record(
            learner="pa", permutation=3, outcome="diverged", reason="norm is inf"
        )
    )
    return store


def test_curves_are_the_mistakes_over_the_rows_of_each_replicate_that_ended_ok(store):
    found = {curve.summary.learner: curve for curve in curves(store, summarise(store))}

    assert list(found) == ["arow", "pa"]
    assert found["pa"].rows.tolist() == list(range(10, 101, 10))
    expected = [(np.arange(1, 11) + i) / np.arange(10, 101, 10) for i in range(3)]
    np.testing.assert_allclose(
        sorted(map(list, found["pa"].errors)), sorted(map(list, expected))
    )


def test_fewer_points_keep_the_last_row(store):
    [arow, _] = curves(store, summarise(store), points=4)

    assert arow.rows.tolist() == [10, 40, 70, 100]
    assert arow.errors[:, -1].mean() == pytest.approx(0.21)


def test_only_the_curves_asked_for(store):
    wanted = [summary for summary in summarise(store) if summary.learner == "pa"]

    assert [curve.summary.learner for curve in curves(store, wanted)] == ["pa"]


def test_replicates_of_different_lengths_share_the_positions_of_the_shortest(
    tmp_path, make_record
):
    store = open_store(tmp_path / "folds", create=True)
    for i, rows in enumerate(([5, 10], [5, 11])):
        record = make_record(
            permutation=i,
            metrics={"cumulative_error": 0.5},
            curve_rows=np.array(rows),
            curve_mistakes=np.array([1, 7]),
        )
        store.write(record)

    [curve] = curves(store, summarise(store))

    assert curve.rows.tolist() == [5, 10]
    assert sorted(curve.errors[:, 1]) == pytest.approx([(1 + 6 * 5 / 6) / 10, 7 / 10])


def test_segment_errors(store):
    found = {
        errors.summary.learner: errors
        for errors in segment_errors(store, summarise(store))
    }

    assert found["arow"].names == ("Day0", "Day1")
    np.testing.assert_allclose(found["arow"].errors.mean(axis=0), [8 / 40, 1 / 60])


def test_segments_are_of_all_folds_though_one_has_no_row_of_a_short_segment(
    tmp_path, make_record
):
    """Of learners whose folds lie in another order no other folds are averaged."""
    store = open_store(tmp_path / "folds", create=True)
    short = [("Mon", 10, 1), ("Tue", 10, 2), ("Mon", 10, 3)]
    full = [("Mon", 10, 3), ("Tue", 10, 4), ("Wed", 1, 1), ("Mon", 10, 5)]
    for learner, segments in (("pa", [short, full]), ("arow", [full, short])):
        for i in range(2):
            record = make_record(
                learner=learner,
                permutation=i,
                metrics={"cumulative_error": 0.2},
                segments=segments[i],
            )
            store.write(record)

    for errors in segment_errors(store, summarise(store)):
        assert errors.names == ("Mon", "Tue", "Mon (2)")
        np.testing.assert_allclose(errors.errors.mean(axis=0), [0.2, 0.3, 0.4])


def test_folds_that_lack_a_segment_each_are_all_averaged(tmp_path, make_record):
    store = open_store(tmp_path / "folds", create=True)
    for i, lacking in enumerate(("Tue", "Wed")):
        days = [day for day in ("Mon", "Tue", "Wed", "Thu") if day != lacking]
        record = make_record(
            permutation=i,
            metrics={"cumulative_error": 0.2},
            segments=[(day, 10, 2 * i + 1) for day in days],
        )
        store.write(record)

    [errors] = segment_errors(store, summarise(store))

    assert errors.names == ("Mon", "Thu")
    assert errors.errors.tolist() == [[0.1, 0.1], [0.3, 0.3]]


@pytest.fixture
def watched(tmp_path, make_record):
    """Two replicates with a curve of window errors and alarms, one without an alarm."""
    store = open_store(tmp_path / "watched", create=True)
    for i, alarms in enumerate(([30, 70], [])):
        series = [
            Series("window_error", np.array([50, 100]), np.array([0.5, 0.1 * i])),
            Series(
                "drift_alarms",
                np.array(alarms, dtype=np.int64),
                np.arange(1.0, len(alarms) + 1),
            ),
        ]
        metrics = {
            "cumulative_error": 0.3,
            "window_error": 0.1 * i,
            "drift_alarms": float(len(alarms)),
        }
        store.write(make_record(permutation=i, metrics=metrics, series=series))
    store.write(make_record(learner="pa", metrics={"cumulative_error": 0.2}))
    return store


def test_curves_of_other_metrics_are_those_of_the_runs_that_have_them(watched):
    [curve] = curves(watched, summarise(watched), metric="window_error")

    assert (curve.summary.learner, curve.summary.metric, curve.rows.tolist()) == (
        "pa1",
        "window_error",
        [50, 100],
    )
    assert sorted(map(tuple, curve.errors)) == [(0.5, 0.0), (0.5, 0.1)]
    assert curves(watched, summarise(watched), metric="fading_error") == []


def test_alarms_are_counted_at_the_rows_of_all_replicates(watched):
    [curve] = curves(watched, summarise(watched), metric="drift_alarms")

    assert curve.rows.tolist() == [30, 70]
    assert sorted(map(tuple, curve.errors)) == [(0.0, 0.0), (1.0, 2.0)]


def test_matrices_and_rocs_are_what_records_have_of_them(tmp_path, make_record):
    store = open_store(tmp_path / "measured", create=True)
    cells = [
        Series("confusion", np.array([0, 65536, 65537]), np.array([5.0, i, 3.0]))
        for i in (1, 2)
    ]
    roc = Series("roc", np.array([0, 4]), np.array([0.5, 1.0]))
    for i, matrix in enumerate(cells):
        metrics = {"cumulative_error": 0.1}
        store.write(make_record(permutation=i, metrics=metrics, series=[matrix, roc]))

    [matrix] = confusions(store, summarise(store), "confusion")
    [curve] = roc_curves(store, summarise(store), "roc")

    assert matrix.places == ["0 as 0", "1 as 0", "1 as 1"]
    np.testing.assert_array_equal(matrix.mean(), [[5.0, 0.0], [1.5, 3.0]])
    assert (curve.places, curve.rates.tolist()) == ([0, 4], [[0.5, 1.0], [0.5, 1.0]])


@pytest.fixture
def with_gaps(tmp_path, make_record):
    """Two replicates whose precision is undefined on some windows, of one at the end too."""
    store = open_store(tmp_path / "gaps", create=True)
    grid = np.arange(10, 101, 10)
    name = "window_precision:1"
    for i, lacking in enumerate(([10, 50], [50, 60, 100])):
        rows = grid[~np.isin(grid, lacking)]
        metrics = {"cumulative_error": 0.1}
        if i == 0:
            metrics[name] = 1.0
        record = make_record(
            permutation=i,
            metrics=metrics,
            curve_rows=grid,
            curve_mistakes=np.arange(1, 11),
            series=[Series(name, rows, rows / 100)],
        )
        options = {"measures": ["precision:1"], "window": 20}
        run = record.run | {"protocol": record.run["protocol"] | options}
        store.write(replace(record, run=run, id=run_id(run)))
    return store


def test_a_curve_has_no_value_that_one_of_its_runs_lacks(with_gaps):
    """It is neither interpolated over a gap, nor drawn out to the begin or the end."""
    summaries = summarise(with_gaps)

    [curve] = curves(with_gaps, summaries, metric="window_precision:1")

    assert curve.rows.tolist() == [20, 30, 40, 70, 80, 90]
    np.testing.assert_array_equal(curve.errors, [curve.rows / 100] * 2)


def test_a_measure_that_is_undefined_at_the_end_has_a_curve(with_gaps):
    summaries = [s for s in summarise(with_gaps) if not s.metric.startswith("window_")]

    [curve] = curves(with_gaps, summaries, metric="window_precision:1")

    assert curve.summary.metric == "window_precision:1"
    assert len(curve.rows) == 6


def test_mistakes_before_the_first_position_of_a_longer_fold_begin_at_none(
    tmp_path, make_record
):
    store = open_store(tmp_path / "folds", create=True)
    for i, rows in enumerate(([1, 2, 3], [2, 4, 6])):
        record = make_record(
            permutation=i,
            metrics={"cumulative_error": 1.0},
            curve_rows=np.array(rows),
            curve_mistakes=np.array(rows),
        )
        store.write(record)

    [curve] = curves(store, summarise(store))

    assert curve.rows.tolist() == [1, 2, 3]
    assert curve.errors.tolist() == [[1.0] * 3] * 2


def test_a_table_shows_no_earlier_value_where_a_measure_is_undefined(
    tmp_path, make_record
):
    store = open_store(tmp_path / "ends", create=True)
    name = "window_kappa"
    grid = np.arange(10, 101, 10)
    for learner, last in (("pa", 100), ("arow", 40)):
        rows = grid[grid <= last]
        record = make_record(
            learner=learner,
            metrics={"cumulative_error": 0.1, "window_kappa": 0.5},
            curve_rows=grid,
            curve_mistakes=np.arange(1, 11),
            series=[Series("window_kappa", rows, rows / 100)],
        )
        store.write(record)

    [table] = along_tables(along(store, summarise(store), name), name)

    shown = dict(zip(table.rows, table.entries, strict=True))
    place = table.columns.index("40")
    assert shown["arow"][place].mean == "0.4000"
    assert [entry.note for entry in shown["arow"][place + 1 :]] == ["-"] * 6
    assert shown["pa"][-1].mean == "1.0000"
