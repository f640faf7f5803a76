"""Plans in a store."""

from __future__ import annotations

import json
from typing import Any

import pytest

from olscale.errors import StoreError
from olscale.results import Plan, Store, open_store, read_plans, run_id, write_plan
from olscale.results.plans import plan_file
from olscale.results.selections import (
    Point,
    Selection,
    read_selections,
    write_selection,
)
from olscale.results.version import version_bytes
from olscale.storage.checked_json import json_bytes


def test_plan_is_written_once_whatever_the_order(tmp_path):
    store = open_store(tmp_path, create=True)
    write_plan(store, "my plan / 1", ["b" * 32, "a" * 32])
    write_plan(store, "my plan / 1", ["a" * 32, "b" * 32])

    assert read_plans(store) == [Plan("my plan / 1", ("a" * 32, "b" * 32), number=1)]
    assert len(list((tmp_path / "plans").iterdir())) == 1


NAMED = {
    "experiment": "e",
    "runs": ["a" * 32],
    "datasets": [{"name": "d", "fingerprint": "f", "transforms": [], "label": ""}],
    "learners": [
        {"name": "pa", "version": "1", "params": {}, "datasets": [0], "label": ""}
    ],
    "number": 1,
}


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("number", "1"),
        ("number", float("inf")),
        ("datasets", [0]),
        ("datasets", [[]]),
        ("learners", {"a": 1}),
    ]
    + [
        ("learners", [NAMED["learners"][0] | change])
        for change in ({"datasets": [1]}, {"datasets": [0.5]})
    ]
    + [
        ("learners", [NAMED["learners"][0] | {"params": params}])
        for params in ([1], None, {"C": float("nan")})
    ],
)
def test_names_in_a_plan_that_are_damaged_are_named(tmp_path, part, value):
    """In a store of olscale 0.1.0: later ones have checksums besides."""
    open_store(tmp_path, create=True).put("store.json", version_bytes(2))
    store = open_store(tmp_path)
    file = plan_file(Plan("e", ("a" * 32,)))
    store.put(file, json.dumps(NAMED).encode())
    assert read_plans(store)[0].learners[0].name == "pa"
    store.put(file, json.dumps({**NAMED, part: value}).encode())
    with pytest.raises(StoreError, match=rf"damaged file {file}"):
        read_plans(store)


def test_a_damaged_plan_of_another_experiment_stops_no_evaluation_and_its_own_is_written_anew(
    tmp_path,
):
    store = open_store(tmp_path, create=True)
    write_plan(store, "mine", ["a" * 32])
    [file] = store.files.names("plans")
    store.put(file, b"[")
    write_plan(store, "mine", ["a" * 32])
    assert [plan.experiment for plan in read_plans(store)] == ["mine"]
    store.put("plans/other.json", b"[")
    assert write_plan(store, "mine", ["b" * 32]).runs == ("b" * 32,)


@pytest.mark.parametrize(
    "content", [b"[]", b"\xff", b"[" * 5000, b'{"runs": ' + b"9" * 5000 + b"}"]
)
def test_damaged_plan_is_named(tmp_path, content: bytes):
    store = open_store(tmp_path, create=True)
    store.put("plans/x.json", content)

    with pytest.raises(StoreError, match=r"damaged file plans/x\.json") as caught:
        read_plans(store)
    assert len(str(caught.value)) < 500


DEFINITION = {
    "dataset": {"name": "d"},
    "grid": {"C": [1.0, 2.0]},
    "protocol": {"split": "half"},
}
POINTS = [
    {"params": {"C": 1.0}, "error": 0.5, "failed": 0},
    {"params": {"C": 2.0}, "error": 0.25, "failed": 0},
]
WHOLE = {
    "id": run_id(DEFINITION),
    "definition": DEFINITION,
    "points": POINTS,
    "chosen": {"C": 2.0},
}
FILE = f"selections/{WHOLE['id']}.json"


def selections_of(tmp_path, content: dict[str, Any], checked: bool) -> list[Selection]:
    """Read a selection as this version writes it, or as earlier ones did: in a store of version 2, without a checksum."""
    store = open_store(tmp_path, create=True)
    if not checked:
        store.put("store.json", version_bytes(2))
    store.put(FILE, json_bytes(content) if checked else json.dumps(content).encode())
    return read_selections(open_store(tmp_path))


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize(
    "damage",
    [
        {"definition": []},
        {"definition": {"grid": {}}},
        {"definition": {"grid": {}, "protocol": 1}},
        {"definition": {**DEFINITION, "protocol": {"split": "jalf"}}},
        {"id": "a" * 32},
        {"points": [{"params": True, "error": 0.5}]},
        {"points": [{"params": {}, "error": "0.5"}]},
        {"points": [*POINTS, POINTS[0]]},
        {"chosen": None},
        {"chosen": {"C": 3.0}},
    ],
)
def test_a_selection_that_contradicts_itself_is_named(tmp_path, damage, checked):
    """A value of another type came through and broke the tables that showed it; another name was a `KeyError`."""
    [found] = selections_of(tmp_path, WHOLE, checked)
    assert found.summary() == {"grid": {"C": [1.0, 2.0]}, "split": "half"}
    with pytest.raises(
        StoreError, match=rf"damaged file {FILE} .* evaluate its experiment again"
    ):
        selections_of(tmp_path, {**WHOLE, **damage}, checked)


def test_a_selection_without_its_checksum_is_that_of_an_earlier_version_only(tmp_path):
    store = open_store(tmp_path, create=True)
    store.put(FILE, json.dumps(WHOLE).encode())
    with pytest.raises(StoreError, match=rf"damaged file {FILE} .*has no checksum"):
        read_selections(store)
    assert read_selections(store, on_damage="skip") == []
    assert store.damaged == (FILE,)


def test_a_selection_that_says_something_else_is_written_anew(tmp_path):
    store = open_store(tmp_path, create=True)
    points = tuple(Point(**point) for point in POINTS)
    first = Selection(DEFINITION, WHOLE["id"], points, {"C": 2.0})
    assert not write_selection(store, first)
    second = Selection(
        DEFINITION, WHOLE["id"], (Point({"C": 1.0}, 0.1), points[1]), {"C": 1.0}
    )

    assert not write_selection(store, second)  # whole: what was chosen has changed
    assert read_selections(store) == [second]
    [(_, data)] = store.files.read_many([FILE])
    store.put(FILE, data.replace(b"0.1", b"0.3"))
    assert write_selection(store, second)
    assert read_selections(store) == [second]
    assert store.files.is_file(f"damaged/{FILE}")


def test_a_plan_under_another_name_is_damaged_without_a_checksum_too(tmp_path):
    store = open_store(tmp_path, create=True)
    store.put("store.json", version_bytes(2))
    plan = Plan("demo", ("a" * 32,))
    content = {"experiment": "demo", "runs": ["a" * 32]}
    store.put(plan_file(plan), json.dumps(content).encode())
    assert read_plans(Store(store.path)) == [plan]
    store.put(plan_file(plan), json.dumps({**content, "runs": ["b" * 32]}).encode())
    with pytest.raises(StoreError, match=rf"damaged file {plan_file(plan)}"):
        read_plans(Store(store.path))
