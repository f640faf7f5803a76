"""Plans in a store."""

from __future__ import annotations

import json

import pytest

from olscale.errors import StoreError
from olscale.results import Plan, open_store, read_plans, write_plan
from olscale.results.selections import read_selections


def test_plan_is_written_once_whatever_the_order(tmp_path):
    store = open_store(tmp_path, create=True)
    write_plan(store, "my plan / 1", ["b" * 32, "a" * 32])
    write_plan(store, "my plan / 1", ["a" * 32, "b" * 32])

    assert read_plans(store) == [Plan("my plan / 1", ("a" * 32, "b" * 32), number=1)]
    assert len(list((tmp_path / "plans").iterdir())) == 1


@pytest.mark.parametrize("content", [b"[]", b"\xff", b"[" * 5000, b'{"runs": ' + b"9" * 5000 + b"}"])
def test_damaged_plan_is_named(tmp_path, content: bytes):
    store = open_store(tmp_path, create=True)
    store.put("plans/x.json", content)

    with pytest.raises(StoreError, match=r"damaged plan plans/x\.json") as caught:
        read_plans(store)
    assert len(str(caught.value)) < 500


WHOLE = {
    "id": "a" * 32,
    "definition": {"grid": {"C": [1.0]}, "protocol": {"split": "half"}},
    "points": [{"params": {"C": 1.0}, "error": 0.5, "failed": 0}],
    "chosen": {"C": 1.0},
}


@pytest.mark.parametrize(
    "damage",
    [
        {"definition": []},
        {"definition": {"grid": {}}},
        {"definition": {"grid": {}, "protocol": 1}},
        {"points": [{"params": True, "error": 0.5}]},
        {"points": [{"params": {}, "error": "0.5"}]},
        {"chosen": None},
    ],
)
def test_damaged_selection_is_named(tmp_path, damage):
    """A value of another type came through and broke the tables that showed it."""
    store = open_store(tmp_path, create=True)
    store.put("selections/x.json", json.dumps(WHOLE).encode())
    assert [selection.summary() for selection in read_selections(store)] == [{"grid": {"C": [1.0]}, "split": "half"}]
    store.put("selections/x.json", json.dumps({**WHOLE, **damage}).encode())
    with pytest.raises(StoreError, match=r"damaged selection selections/x\.json"):
        read_selections(store)
