"""Real processes die at random while an evaluation of actors and one of tasks run; see the package."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from olscale.results.compact import compact
from olscale.results.opening import open_store
from tests.chaos import run_chaos
from tests.chaos.compare import differences
from tests.chaos.learners import CHUNK_ROWS, CHUNKS
from tests.chaos.rework import Note, places, setbacks

SECONDS = float(os.environ.get("OLSCALE_CHAOS_SECONDS", "40"))


@pytest.mark.chaos
@pytest.mark.timeout(SECONDS + 1200)
def test_whatever_dies_the_bytes_are_those_of_the_undisturbed_evaluation(
    tmp_path: Path,
) -> None:
    """Workers, nannies, drivers, scheduler, compactor killed, workers frozen; `OLSCALE_CHAOS_SECONDS` makes it longer."""
    report = run_chaos(SECONDS, tmp_path)
    assert sum(report.hits.values()) >= 2
    assert report.compactions > 0
    assert report.rows_learned > report.rows  # something was lost, and learned again
    assert report.differing == []
    assert report.failures == []
    assert report.orphans == 0


def undisturbed(make_record: Any, folder: Path, count: int = 5) -> Path:
    """Return a store of a few runs."""
    store = open_store(folder, create=True)
    for number in range(count):
        store.write(
            make_record(permutation=number, metrics={"mistakes": float(number)})
        )
    return folder


def test_a_store_is_compared_wherever_compaction_has_put_its_runs(
    make_record: Any, tmp_path: Path
) -> None:
    wanted = undisturbed(make_record, tmp_path / "wanted")
    compact(open_store(undisturbed(make_record, tmp_path / "half", 3)))
    for place in ("loose", "half"):
        assert differences(undisturbed(make_record, tmp_path / place), wanted) == []
    assert len(list((wanted / "runs").rglob("*.parquet"))) == 5


def lost_run(store: Path) -> None:
    next((store / "runs").rglob("*.parquet")).unlink()


def lost_timing(store: Path) -> None:
    next((store / "timings").rglob("*.parquet")).unlink()


def left_checkpoint(store: Path) -> None:
    (store / "checkpoints" / "ab").mkdir(parents=True)


def half_a_part(store: Path) -> None:
    compact(open_store(store))
    part = next((store / "compacted" / "runs").iterdir())
    part.with_name(f"0-{'0' * 16}.parquet").write_bytes(part.read_bytes())


@pytest.mark.parametrize("harm", [lost_run, lost_timing, left_checkpoint, half_a_part])
def test_a_store_that_is_another_one_is_noticed(
    make_record: Any, tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    wanted, found = (
        undisturbed(make_record, tmp_path / name) for name in ("wanted", "found")
    )
    harm(found)
    assert differences(found, wanted) != []


def test_another_result_is_noticed(make_record: Any, tmp_path: Path) -> None:
    wanted = undisturbed(make_record, tmp_path / "wanted", 1)
    found = open_store(tmp_path / "found", create=True)
    found.write(make_record(permutation=0, metrics={"mistakes": 7.0}))
    [name] = found.done()
    assert name in differences(tmp_path / "found", wanted)


def note(when: float, process: int, chunk: int, learner: str = "a") -> Note:
    return Note(when, process, learner, f"{learner}{chunk}", CHUNK_ROWS, 0.5)


def test_what_is_learned_again_is_counted_for_each_time_a_group_goes_back() -> None:
    """Two learners of one group: killed after chunk 3 with a checkpoint after 1, then once more at once."""
    where = places(
        note(chunk, 1, chunk, learner) for learner in "ab" for chunk in range(CHUNKS)
    )
    notes = [note(chunk, 1, chunk, learner) for chunk in range(4) for learner in "ab"]
    notes += [
        note(10 + chunk, 2, chunk, learner) for chunk in range(1, 3) for learner in "ab"
    ]
    notes += [
        note(20 + chunk, 3, chunk, learner)
        for chunk in range(1, CHUNKS)
        for learner in "ab"
    ]
    assert setbacks(notes, where) == [2 * 2 * 0.5, 3 * 2 * 0.5]


def test_an_actor_made_anew_in_the_same_process_is_a_setback() -> None:
    where = places(note(chunk, 1, chunk) for chunk in range(CHUNKS))
    notes = [note(chunk, 1, chunk) for chunk in range(5)] + [
        note(10 + chunk, 1, chunk) for chunk in range(3, CHUNKS)
    ]
    assert setbacks(notes, where) == [2 * 0.5]
