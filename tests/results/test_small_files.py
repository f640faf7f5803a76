"""Many small files of runs: when they are compacted, and which of them a reader opens."""

from __future__ import annotations

import pytest

from olscale.results import Store, open_store, run_files
from olscale.results.compact import compact_many
from tests.results.test_compact import fill_together, record


@pytest.fixture
def store(request: pytest.FixtureRequest) -> Store:
    return open_store(f"memory://small/{request.node.name}", create=True)


@pytest.mark.parametrize("again", [False, True])
def test_many_small_files_ask_for_compaction_whatever_their_share(
    store, make_record, again
):
    """More than the root of the runs that do not ask; timings of runs that are computed again count likewise."""
    fill_together(store, make_record, range(16))
    for more in range(4):
        fill_together(store, make_record, range(16) if again else [16 + more])
        assert compact_many(store, 100, share=1.0).runs == 0
    fill_together(store, make_record, range(16) if again else [20])
    assert compact_many(store, 100).runs == (16 if again else 0)
    assert compact_many(store, 100, share=1.0).runs == (0 if again else 21)
    assert len(store.compacted_files("timings")) == 1


def test_an_experiment_that_is_most_of_a_store_ends_in_compacted_files(
    store, make_record
):
    """However small the last of its files is: what workers and a process cut otherwise is the same then."""
    fill_together(store, make_record, range(39))
    fill_together(store, make_record, [39])
    assert compact_many(store, 100, share=0.05, added=1).runs == 0
    assert compact_many(store, 100, share=0.05, added=40).runs == 40
    assert compact_many(store, 100, share=0.05, added=40).runs == 0


def test_files_that_are_known_to_hold_other_runs_are_not_opened(
    store, make_record, monkeypatch
):
    for i in range(4):
        fill_together(store, make_record, [i])
    store.done()
    opened = []
    read = run_files.read_compacted

    def noted(files, kind, name, *args):
        opened.append(name)
        return read(files, kind, name, *args)

    monkeypatch.setattr(run_files, "read_compacted", noted)
    asked = record(make_record, 2)
    assert store.read(["id"], ids=[asked.id])["id"].to_pylist() == [asked.id]
    assert len(opened) == 1
    fill_together(store, make_record, [4])
    added = record(make_record, 4)
    assert store.read(["id"], ids=[added.id])["id"].to_pylist() == [added.id]
