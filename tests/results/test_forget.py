"""Forgetting: what is named goes with all that belongs to it, everything else stays, whoever dies meanwhile."""

from __future__ import annotations

import json

import pytest

from olscale.errors import ParameterError, UnknownNameError
from olscale.results import LeftOut, Store, open_store, read_plans, write_plan
from olscale.results import compact as compaction
from olscale.results.compact import compact
from olscale.results.record import run_id
from olscale.results.selections import (
    Point,
    Selection,
    read_selections,
    write_selection,
)
from olscale.storage.checked_json import json_bytes
from tests.results.test_compact import Died, Mortal, copied


def fill(store: Store, make_record, count: int = 3) -> dict[tuple[str, str], set[str]]:
    """Write runs of two learners on two datasets, of which one was lost; return their ids."""
    ids: dict[tuple[str, str], set[str]] = {}
    for dataset in ("digits", "letter"):
        for learner in ("pa1", "arow"):
            for i in range(count):
                outcome = (
                    "lost" if (dataset, learner, i) == ("letter", "arow", 0) else "ok"
                )
                record = make_record(
                    dataset,
                    learner,
                    permutation=i,
                    outcome=outcome,
                    timings={"fit_seconds": 1.0},
                )
                store.write(record)
                ids.setdefault((dataset, learner), set()).add(record.id)
    return ids


def selection(dataset: str, learner: str) -> Selection:
    definition = {
        "dataset": {"name": dataset, "fingerprint": "f" * 64},
        "learner": {"name": learner, "version": 1, "params": {}},
        "grid": {"C": [0.5]},
        "protocol": {"split": "half"},
    }
    return Selection(
        definition, run_id(definition), (Point({"C": 0.5}, 0.1),), {"C": 0.5}
    )


@pytest.fixture(params=["loose", "compacted", "both"])
def store(request, tmp_path, make_record, monkeypatch) -> Store:
    monkeypatch.setattr(compaction, "ROWS", 2)  # so that a few runs make several parts
    store = open_store(f"memory://{tmp_path.name}/{request.node.name}", create=True)
    fill(store, make_record, 2 if request.param == "both" else 3)
    if request.param != "loose":
        compact(store)
        fill(store, make_record)
    return store


@pytest.mark.long
@pytest.mark.parametrize(
    ("learners", "datasets", "gone"),
    [
        (("pa1",), (), {("digits", "pa1"), ("letter", "pa1")}),
        ((), ("letter",), {("letter", "pa1"), ("letter", "arow")}),
        (("arow",), ("letter",), {("letter", "arow")}),
        (("arow", "pa1"), ("digits",), {("digits", "pa1"), ("digits", "arow")}),
    ],
)
def test_runs_that_are_named_are_gone_and_no_others(
    store, tmp_path, make_record, learners, datasets, gone
):
    ids = fill(open_store(f"memory://{tmp_path.name}/ids", create=True), make_record)
    kept = [
        row
        for row in store.read().to_pylist()
        if (row["dataset"], row["learner"]) not in gone
    ]
    timed = store.timings()["id"].to_pylist()

    assert store.forget(learners, datasets) == 3 * len(gone)

    seen = open_store(store.path)
    forgotten = set().union(*(ids[key] for key in gone))
    assert seen.read().to_pylist() == kept
    assert seen.timings()["id"].to_pylist() == [
        id for id in timed if id not in forgotten
    ]
    assert not forgotten & (seen.done() | seen.lost())
    for kind in ("runs", "timings"):
        assert not forgotten.intersection(
            id for of in seen.compacted_ids(kind).values() for id in of.to_pylist()
        )
        assert not [
            name for name in seen.single_files(kind) if name[-40:-8] in forgotten
        ]
    fill(seen, make_record)
    assert len(seen.read()) == 12


def test_everything_leaves_an_empty_store(store):
    write_plan(store, "all", store.done())
    write_selection(store, selection("digits", "pa1"))

    assert store.forget(everything=True) == 12

    assert [name for name in store.names("") if name != "store.json"] == []
    assert open_store(store.path).read().num_rows == 0


def test_plans_and_selections_of_which_nothing_is_left_go_too(
    store, tmp_path, make_record
):
    ids = fill(open_store(f"memory://{tmp_path.name}/ids", create=True), make_record)
    tuned = [
        selection("digits", "pa1"),
        selection("digits", "arow"),
        selection("letter", "tuned-only"),
    ]
    for one in tuned:
        write_selection(store, one)
    write_plan(
        store, "one", ids["digits", "pa1"], [LeftOut("dataset", "usps", "absent")]
    )
    write_plan(store, "two", ids["digits", "pa1"] | ids["letter", "pa1"])
    write_plan(store, "to do", ["0" * 32])

    store.forget(["pa1"], ["digits"])

    assert [plan.experiment for plan in read_plans(store)] == ["to do", "two"]
    assert {one.id for one in read_selections(store)} == {one.id for one in tuned[1:]}
    assert store.forget(["tuned-only"]) == 0
    assert {one.id for one in read_selections(store)} == {tuned[1].id}


def test_checkpoints_of_what_is_named_go_too(store, make_record):
    """Also of runs that have no record yet: the next evaluation would go on from a state of before."""
    done = make_record("digits", "pa1").id
    packs = {
        "a": {"runs": [done]},
        "b": {"runs": ["0" * 32], "dataset": "digits", "learners": ["arow", "pa1"]},
        "c": {"runs": ["1" * 32], "dataset": "letter", "learners": ["pa1"]},
        "d": {"runs": ["2" * 32], "dataset": "digits", "learners": ["arow"]},
    }
    for key, about in packs.items():
        store.put(
            f"checkpoints/{key}/pack.json",
            json_bytes({**about, "classes": [0, 2], "chunk_rows": 4}),
        )
        store.put(f"checkpoints/{key}/000000003.npz", b"state")
        store.put(f"tmp/shards-{about['runs'][0]}/first.npz", b"scores")
    store.put(f"checkpoints/e/{done}.json", json.dumps({"outcome": "timeout"}).encode())

    store.forget(["pa1"], ["digits"])

    assert {name.split("/")[1] for name in store.names("checkpoints")} == {"c", "d"}
    assert {name.split("/")[1] for name in store.names("tmp")} == {
        f"shards-{'1' * 32}",
        f"shards-{'2' * 32}",
    }


def test_what_is_not_there_is_named_with_the_nearest(store):
    with pytest.raises(
        UnknownNameError,
        match=r"unknown learner in the metrics store .* 'arw'; did you mean 'arow'\?",
    ):
        store.forget(["arw"])
    with pytest.raises(
        UnknownNameError,
        match=r"unknown dataset in the metrics store .* 'leter'; did you mean 'letter'\?",
    ):
        store.forget(["arow"], ["leter"])
    for nothing in ({}, {"everything": True, "learners": ["arow"]}):
        with pytest.raises(ParameterError, match="name learners or datasets"):
            store.forget(**nothing)
    assert len(store.read()) == 12


def test_a_damaged_file_is_left_and_named(store):
    [name] = store.single_files("lost")
    store.put(name, b"PAR1")
    assert store.forget(["arow"], ["letter"]) == 2
    assert store.damaged == (name,)


@pytest.mark.long
@pytest.mark.parametrize("after", [False, True])
def test_death_at_any_step_loses_nothing_else(
    tmp_path, make_record, monkeypatch, after
):
    monkeypatch.setattr(compaction, "ROWS", 2)
    folder = f"memory://{tmp_path.name}"
    before = open_store(f"{folder}/before", create=True)
    fill(before, make_record, 1)
    compact(before)
    fill(before, make_record, 2)
    kept = [
        row
        for row in before.read().to_pylist()
        if row["learner"] == "arow" and row["outcome"] == "ok"
    ]
    for step in range(1, 1000):
        store = copied(before, f"{folder}/{step}")
        store.files = Mortal(store.files, step, after)
        try:
            store.forget(["pa1"])
        except Died:
            died = True
        else:
            died = False
        seen = open_store(store.path)
        rows = seen.read().to_pylist()
        assert [row for row in rows if row["learner"] == "arow"] == kept, step
        assert {row["id"] for row in kept} <= set(seen.timings()["id"].to_pylist())
        if any(row["learner"] == "pa1" for row in rows):
            seen.forget(["pa1"])
        assert seen.read().to_pylist() == kept
        if not died:
            break
    assert step > 10
