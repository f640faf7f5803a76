"""Where the groups of a bundle stand, for progress, from its start on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from olscale.evaluation.cut_groups import bundles_of
from olscale.execution.driver import drive
from olscale.execution.group_calls import GroupCalls, bundle_name
from olscale.execution.in_process import InProcess
from olscale.execution.progress import LiveProgress, Silent
from olscale.execution.shutdown import Stop
from olscale.execution.task_report import Stand
from olscale.execution.workers import Workers
from olscale.results import open_store
from tests.execution.test_bundles import QUICK, bundle, stores, two_workers


@pytest.mark.parametrize("is_in_process", [False, True])
def test_the_time_of_a_bundle_begins_before_its_first_rows(
    shelf: Path, is_in_process: bool
) -> None:
    """Otherwise speeds and times left would be those of rows learned in no time."""
    places: list[int] = []

    class Watched(Silent):
        def advance(self, group: str, rows: int, error: float) -> None:
            places.append(rows)

    groups = bundle(shelf)
    store = f"memory://bundles/{next(stores)}"
    open_store(store, create=True)

    @two_workers
    async def run(client: Any, scheduler: Any, *workers: Any) -> None:
        await drive(client, groups, store, Watched(), settings=QUICK)

    if is_in_process:
        InProcess(store, {}, Watched(), Stop(), QUICK).run(groups)
    else:
        run()
    assert places[0] == 0
    assert places[-1] == groups[-1].rows * len(groups[-1].runs)


def test_stands_of_groups_in_a_bundle_are_those_of_its_worker(shelf: Path) -> None:
    groups = bundle(shelf)
    watched = LiveProgress()
    calls = GroupCalls(None, "store", Workers(None), watched, Stop(), QUICK)
    calls.hear((0.0, {"group": groups[1].name, "stand": tuple(Stand(400, 0.5))}))
    assert watched.evaluation.rows_done == 0
    name = bundle_name(groups)
    calls._bundles |= {group.name: name for group in groups}
    calls.last_words[name] = "worker", 0.0
    calls.hear((0.0, {"group": groups[1].name, "stand": tuple(Stand(400, 0.5))}))
    assert watched.evaluation.rows_done == 400
    assert calls.last_words[name][1] > 0.0
    assert list(bundles_of(groups)) == [tuple(groups)]
