"""Plans in a store."""

from __future__ import annotations

import pytest

from olscale.errors import StoreError
from olscale.results import Plan, open_store, read_plans, write_plan


def test_plan_is_written_once_whatever_the_order(tmp_path):
    store = open_store(tmp_path, create=True)
    write_plan(store, "my plan / 1", ["b" * 32, "a" * 32])
    write_plan(store, "my plan / 1", ["a" * 32, "b" * 32])

    assert read_plans(store) == [Plan("my plan / 1", ("a" * 32, "b" * 32))]
    assert len(list((tmp_path / "plans").iterdir())) == 1


def test_damaged_plan_is_named(tmp_path):
    store = open_store(tmp_path, create=True)
    store.put("plans/x.json", b"[]")

    with pytest.raises(StoreError, match=r"plans/x\.json"):
        read_plans(store)
