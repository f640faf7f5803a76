"""What two stores do not have in common, and the runs of one copied into another."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from olscale.errors import StoreError
from olscale.results import open_store, write_plan
from olscale.results.compact import compact
from olscale.results.difference import store_difference
from olscale.results.merge import merge_stores
from olscale.results.store import Store, model_file
from tests.cli.command import run

METRICS = {"cumulative_error": 0.25, "kappa": 0.5, "test_error": float("nan")}


@pytest.fixture
def fill(tmp_path, make_record):
    """Return what makes a store of runs of `pa1`, one for each permutation, with equal figures."""

    def make(name, permutations, **rest):
        store = open_store(tmp_path / name, create=True)
        for permutation in permutations:
            figures = {"metrics": METRICS, "timings": {"fit_seconds": 1.0}} | rest
            store.write(make_record(permutation=permutation, **figures))
        return store

    return make


def files_of(store):
    compact(store)
    return {
        name: store.files.read(name)
        for folder in ("compacted/runs", "compacted/timings", "plans", "models")
        for name in store.files.names(folder)
    }


def test_runs_with_the_same_record_are_equal_whatever_their_times_and_files(fill):
    a = fill("a", range(4))
    b = fill("b", range(1, 5), timings={"fit_seconds": 2.0})
    compact(b)

    difference = store_difference(a, b)

    assert (difference.equal, difference.differing) == (3, ())
    assert [json.loads(run.protocol)["permutation"] for run in difference.only_a] == [0]
    assert [json.loads(run.protocol)["permutation"] for run in difference.only_b] == [4]
    assert not difference.is_none


def test_the_first_figure_that_differs_is_named(fill):
    a = fill("a", [0], curve_rows=[1, 2], curve_mistakes=[0, 1])
    b = fill("b", [0], metrics=METRICS | {"kappa": 0.75, "mistakes": 3.0})
    c = fill("c", [0], curve_rows=[1, 2], curve_mistakes=[1, 1])

    [other_metrics] = store_difference(a, b).differing
    assert (other_metrics.figure.name, other_metrics.figure.difference) == (
        "kappa",
        0.25,
    )
    assert other_metrics.figures == 2
    [other_curve] = store_difference(a, c).differing
    assert other_curve.figure == ("mistakes by row 1", 0.0, 1.0)


def test_another_version_of_a_learner_is_set_against_the_one_before(fill):
    a = fill("a", [0, 1])
    b = fill("b", [0, 1], version=2, metrics=METRICS | {"kappa": 0.25})

    difference = store_difference(a, b)

    assert [(of.a.version, of.b.version) for of in difference.differing] == [
        ("1", "2")
    ] * 2
    assert (difference.equal, difference.only_a, difference.only_b) == (0, (), ())


def test_a_merged_store_has_the_runs_of_both_byte_for_byte(fill):
    expected = fill("expected", range(6))
    a = fill("a", range(4))
    b = fill("b", range(2, 6))
    for store, runs in ((a, range(4)), (b, range(2, 6)), (expected, range(6))):
        store.put(model_file(min(store.done())), b"model")
        write_plan(store, f"plan-{len(runs)}", store.done())

    merged = merge_stores(a, b)

    assert (merged.copied, merged.present) == (2, 2)
    assert a.done() == expected.done()
    assert a.read().equals(expected.read()) or store_difference(a, expected).is_none
    assert len(a.timings()) == 6
    assert a.model_ids() >= b.model_ids()
    assert merge_stores(a, b).copied == 0


def test_other_results_of_one_run_are_refused_and_nothing_is_copied(fill):
    a = fill("a", range(3))
    b = fill("b", range(2, 6), metrics=METRICS | {"kappa": 0.75})
    before = files_of(a)

    with pytest.raises(
        StoreError, match=r"1 runs of .* have other results .* nothing is copied"
    ):
        merge_stores(a, b)
    assert files_of(a) == before
    refused = run("store", "merge", a.path, b.path)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)


def test_other_bytes_of_a_model_are_refused(fill):
    a = fill("a", [0])
    b = fill("b", [0, 1])
    [id] = a.done()
    a.put(model_file(id), b"one")
    b.put(model_file(id), b"two")

    with pytest.raises(StoreError, match="model of run"):
        merge_stores(a, b)
    assert len(a.done()) == 1


@pytest.mark.parametrize("writes", range(4))
def test_a_merge_that_ends_midway_leaves_whole_runs_and_is_continued(
    fill, monkeypatch, writes
):
    a = fill("a", [0])
    b = fill("b", [1, 2])
    b.put(model_file(min(b.done())), b"model")
    write_plan(b, "experiment", b.done())
    put = Store.put
    left = [writes]

    def failing(store, name, data):
        if not left[0]:
            raise StoreError("no space left")
        left[0] -= 1
        put(store, name, data)

    monkeypatch.setattr(Store, "put", failing)
    with pytest.raises(StoreError, match="no space left"):
        merge_stores(a, b)
    monkeypatch.undo()

    assert set(a.timings()["id"].to_pylist()) == a.done()
    merge_stores(a, b)
    assert a.done() > b.done()
    assert a.model_ids() == b.model_ids()
    assert store_difference(a, b).only_b == ()


def test_lost_runs_give_way_to_results(fill, make_record):
    a = fill("a", [0])
    b = fill("b", [])
    lost = make_record(permutation=0, outcome="lost", reason="worker died", metrics={})
    b.write(lost)
    b.write(replace(make_record(permutation=7), outcome="lost", reason="worker died"))

    assert merge_stores(a, b).copied == 0
    assert len(a.lost()) == 1
    # The other way round a result is copied over what was lost.
    assert merge_stores(b, a).copied == 1
    assert len(b.done()) == 1


def test_the_command_shows_differences_and_ends_with_a_code_where_it_is_asked_for(fill):
    a = fill("a", range(3))
    b = fill("b", range(30), metrics=METRICS | {"kappa": 0.75})

    text = run("store", "diff", a.path, b.path)
    assert text.returncode == 0
    assert "kappa 0.5 -> 0.75 (+0.25)" in text.stdout
    assert text.stdout.splitlines()[-1].startswith(
        "0 runs equal, 3 different, 0 only in"
    )
    assert run("store", "diff", a.path, b.path, "--exit-code").returncode == 1
    assert run("store", "diff", a.path, a.path, "--exit-code").returncode == 0
    as_json = json.loads(
        run("store", "diff", a.path, b.path, "--format", "json").stdout
    )
    assert (len(as_json["differing"]), len(as_json["only_b"])) == (3, 27)
