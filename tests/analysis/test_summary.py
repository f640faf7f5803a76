"""Means and deviations over a store."""

from __future__ import annotations

import math
import statistics

import pytest

from olscale.analysis import store_status, summarise
from olscale.report import status_text
from olscale.results import open_store, write_plan


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "store", create=True)


def test_mean_and_sample_deviation_over_permutations(store, make_record):
    errors = [0.1, 0.2, 0.4]
    for i, error in enumerate(errors):
        store.write(
            make_record(
                permutation=i,
                metrics={"test_error": error},
                timings={"fit_seconds": 1.0 + i},
            )
        )

    seconds, error = summarise(store)

    assert (error.metric, error.n, error.protocol) == (
        "test_error",
        3,
        {"order": "permuted", "seed": 0},
    )
    assert error.mean == pytest.approx(statistics.mean(errors))
    assert error.std == pytest.approx(statistics.stdev(errors))
    assert (seconds.metric, seconds.mean, seconds.std) == ("fit_seconds", 2.0, 1.0)


def test_one_run_has_no_deviation(store, make_record):
    store.write(make_record(permutation=None, metrics={"mistakes": 5}))

    [summary] = summarise(store)

    assert (summary.mean, summary.std, summary.n) == (5.0, 0.0, 1)


def test_failed_runs_are_counted_and_not_averaged(store, make_record):
    store.write(make_record(permutation=0, metrics={"test_error": 0.1}))
    store.write(
        make_record(permutation=1, outcome="diverged", metrics={"test_error": math.nan})
    )
    store.write(make_record(learner="cw", outcome="timeout"))

    failed, partial = summarise(store)

    assert (failed.metric, failed.n, failed.failures) == ("outcome", 0, {"timeout": 1})
    assert math.isnan(failed.mean)
    assert (partial.mean, partial.n, partial.failures) == (0.1, 1, {"diverged": 1})


def test_order_of_summaries_is_by_value_not_by_arrival(store, make_record):
    for C in (10, 2.0, 1e-3):
        for dataset in ("b", "a"):
            store.write(
                make_record(dataset=dataset, params={"C": C}, metrics={"mistakes": 1})
            )

    assert [(s.dataset, s.params["C"]) for s in summarise(store)] == [
        (d, C) for d in "ab" for C in (1e-3, 2.0, 10)
    ]


@pytest.mark.parametrize(
    "other", [{"fingerprint": "0" * 64}, {"version": 2}, {"transforms": ("bias",)}]
)
def test_runs_that_are_not_replicates_are_never_averaged(store, make_record, other):
    store.write(make_record(metrics={"mistakes": 1}))
    store.write(make_record(metrics={"mistakes": 2}, **other))

    assert sorted((s.mean, s.n) for s in summarise(store)) == [(1.0, 1), (2.0, 1)]


def test_status_counts_outcomes_names_and_plans(store, make_record):
    ok = make_record()
    bad = make_record(learner="cw", outcome="oom")
    lost = make_record(learner="pa", outcome="lost")
    for record in (ok, bad, lost):
        store.write(record)
    write_plan(store, "demo", [ok.id, bad.id, lost.id, "0" * 32])

    status = store_status(store)

    assert status.outcomes == {"ok": 1, "oom": 1, "lost": 1}
    assert (status.datasets, status.learners) == (
        {"digits": 3},
        {"cw": 1, "pa": 1, "pa1": 1},
    )
    assert status.last_finished is not None
    [progress] = status.experiments
    assert (progress.experiment, progress.done, progress.lost, progress.total) == (
        "demo",
        2,
        1,
        4,
    )
    assert status.bytes > 0


def test_status_says_why_runs_failed(store, make_record):
    store.write(make_record())
    store.write(
        make_record(
            learner="cw",
            outcome="diverged",
            reason="diverged at row 3: score is not finite",
        )
    )

    [failure] = store_status(store).failures

    assert (failure.learner, failure.dataset, failure.outcome, failure.runs) == (
        "cw",
        "digits",
        "diverged",
        1,
    )
    assert "cw on digits: 1 diverged, at row 3: score is not finite\n" in status_text(
        store_status(store)
    )


def test_damaged_files_are_named_where_a_learner_has_several_versions(
    store, make_record
):
    """Which version is the last is read from the store as well."""
    for version in (1, 2):
        store.write(make_record(version=version, metrics={"test_error": 0.1}))
    store.put("selections/bad.json", b"{}")

    assert {summary.last_version for summary in summarise(store, on_damage="skip")} == {
        "2"
    }
    assert store.damaged == ("selections/bad.json",)
