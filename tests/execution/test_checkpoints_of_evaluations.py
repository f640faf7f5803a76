"""Whoever evaluates next goes on from checkpoints, sweeps them, and passes over those that are no good."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from olscale.evaluation import group_pass as packs_module
from olscale.evaluation.budget import BudgetExceeded
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.plan import make_plan
from olscale.execution.checkpoints import (
    Checkpoints,
    resumable_groups,
    sweep_checkpoints,
)
from olscale.execution.evaluate import evaluate
from olscale.execution.on_worker import StreamActor, run_as_task
from olscale.execution.progress import LiveProgress
from olscale.execution.resumable_pass import ResumablePass
from olscale.results.opening import open_store
from olscale.results.store import Store
from olscale.storage.checked_json import json_bytes, json_content
from tests.execution.passes import EAGER, as_bytes, feed, packs, through
from tests.record_bytes import record_bytes


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "store"), create=True)


def test_whoever_goes_on_whatever_was_cut_otherwise(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An actor among four workers stops in mid-stream; in process, in one pack with others, its chunks are not fed again."""
    learners = [{"name": name} for name in ("pa", "pa1", "pa2", "lol")]
    expected = evaluate(
        spec(shelf, learners), tmp_path / "undisturbed", in_process=True, settings=EAGER
    )
    store = open_store(str(tmp_path / "store"), create=True)
    for pack, last in zip(
        packs(shelf / "dense", *learners, parts=2), (3, 5), strict=True
    ):
        assert StreamActor(pack, store.path, EAGER).advance(0, last).position == last
    fed: list[tuple[str, int]] = []
    advance = GroupPass.advance

    def noted(passage: GroupPass) -> None:
        fed.extend((run.learner, passage.position) for run in passage.group.runs)
        advance(passage)

    monkeypatch.setattr(GroupPass, "advance", noted)
    # One of the runs has been finished by somebody else meanwhile.
    store.write(
        expected.store.get(packs(shelf / "dense", {"name": "pa2"})[0].runs[0].id)
    )
    evaluate(spec(shelf, learners), store.path, in_process=True, settings=EAGER)
    assert sorted(fed) == [
        ("lol", 5),
        ("lol", 6),
        *(("pa", i) for i in range(3, 7)),
        *(("pa1", i) for i in range(5, 7)),
    ]
    assert record_bytes(tmp_path / "store") == record_bytes(tmp_path / "undisturbed")
    assert not list((tmp_path / "store" / "checkpoints").iterdir())


def spec(shelf: Path, learners: list[dict[str, Any]]) -> Any:
    content = {
        "datasets": [{"path": str(shelf / "dense")}],
        "learners": learners,
        "protocol": {"order": "time"},
    }
    return parse_experiment(content)


def test_another_cut_into_chunks_is_another_checkpoint(
    shelf: Path, tmp_path: Path, store: Store
) -> None:
    from olscale.data.ingest.ingest import ingest

    ingest(str(shelf / "train.npz"), str(tmp_path / "other" / "dense"), chunk_rows=50)
    ingest(str(shelf / "train.npz"), str(tmp_path / "one" / "dense"), chunk_rows=64)
    (one,), (other,) = (
        packs(tmp_path / name / "dense", {"name": "pa"}) for name in ("one", "other")
    )
    assert one.runs == other.runs
    assert one.key != other.key
    begun = ResumablePass(one, store.path)
    begun.group_pass.advance()
    begun.save()
    plan = make_plan(
        parse_experiment(
            {
                "datasets": [{"path": other.path}],
                "learners": [{"name": "pa"}],
                "protocol": {"order": "time"},
            }
        )
    )
    assert resumable_groups(store, plan.runs, plan.sources) == []


def test_checkpoints_of_finished_runs_are_swept(shelf: Path, store: Store) -> None:
    """Of a driver that died between the last record and their removal; others stay."""
    for learner, finishes in (("pa", True), ("pa1", False)):
        (pack,) = packs(shelf / "dense", {"name": learner})
        journey = ResumablePass(pack, store.path)
        journey.group_pass.advance()
        journey.save()
        if finishes:
            for record in through(GroupPass(pack)).finish():
                store.write(record)
    sweep_checkpoints(store)
    assert [folder.name for folder in Path(store.path, "checkpoints").iterdir()] == [
        pack.key
    ]


def test_two_drivers_side_by_side_do_no_harm(shelf: Path, store: Store) -> None:
    """The same pack twice at once: one is ahead, finishes and clears; the other goes on undisturbed."""
    (pack,) = packs(shelf / "dense", {"name": "lol"}, {"name": "pa1"})
    ahead = ResumablePass(pack, store.path, EAGER)
    behind = ResumablePass(pack, store.path, EAGER)
    for _ in range(3):
        feed(ahead)
    feed(behind)
    assert ResumablePass(pack, store.path, EAGER).position == 3
    while not ahead.ended:
        feed(ahead)
    first = ahead.finish()
    before = record_bytes(Path(store.path))
    while not behind.ended:
        feed(behind)
    assert behind.finish().outcomes == first.outcomes
    assert record_bytes(Path(store.path)) == before
    assert not (Path(store.path) / "checkpoints" / pack.key).exists()


def test_a_learner_that_cannot_be_saved_is_in_a_pack_of_its_own(
    shelf: Path, store: Store
) -> None:
    """Others on its stream are saved; it starts again."""
    foreign = {"name": "sklearn.linear_model:SGDClassifier"}
    found = packs(shelf / "dense", {"name": "pa"}, foreign, {"name": "lol"})
    assert sorted(len(pack.runs) for pack in found) == [1, 2]
    for pack in found:
        StreamActor(pack, store.path, EAGER).advance(0, 3)
        assert StreamActor(pack, store.path, EAGER).begin().position == (
            3 if len(pack.runs) == 2 else 0
        )


def test_rows_that_a_learner_has_looked_ahead_at_are_not_read_again(
    shelf: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    (pack,) = packs(
        shelf / "dense", {"name": "lol", "params": {"prototypes": "offline", "k": 4}}
    )
    StreamActor(pack, store.path, EAGER).advance(0, 2)
    monkeypatch.setattr(packs_module, "LOOK_AHEAD_ROWS", None)  # a sample would fail
    assert run_as_task(
        pack, store.path, lambda stand: None, settings=EAGER
    ).outcomes == {pack.runs[0].id: "ok"}


def test_stopping_saves_at_once_and_the_same_command_goes_on(
    shelf: Path, tmp_path: Path, store: Store
) -> None:
    (pack,) = packs(shelf / "dense", {"name": "lol"}, {"name": "pa"}, order="permuted")
    expected = as_bytes(through(GroupPass(pack)).finish())
    asked = iter([False, False, False, True])
    envelope = run_as_task(pack, store.path, lambda stand: None, lambda: next(asked))
    assert (envelope.position, envelope.stopped, envelope.outcomes) == (3, True, {})
    assert ResumablePass(pack, store.path).position == 3
    assert run_as_task(pack, store.path, lambda stand: None, lambda: False).fault == ""
    assert sorted(record_bytes(tmp_path / "store").values()) == sorted(expected)


def test_progress_goes_on_where_it_was(shelf: Path, tmp_path: Path) -> None:
    watched = LiveProgress()
    (pack,) = packs(shelf / "dense", {"name": "pa"})
    store = open_store(str(tmp_path / "store"), create=True)
    StreamActor(pack, store.path, EAGER).advance(0, 4)
    evaluate(
        spec(shelf, [{"name": "pa"}]), store.path, in_process=True, progress=watched
    )
    [group] = watched.evaluation.groups.values()
    assert (group.begun, group.rows_done) == (256, 400)


def test_the_next_evaluation_removes_what_was_left_half_written(
    shelf: Path, store: Store
) -> None:
    """A file that nobody has written to for a day; one of a writer that may live stays."""
    for name, age in (("dead", 90_000), ("alive", 60)):
        file = Path(store.path, "tmp", f"{name}.1.ab")
        file.write_bytes(b"half")
        os.utime(file, (time.time() - age,) * 2)
    sweep_checkpoints(store)
    assert [file.name for file in Path(store.path, "tmp").iterdir()] == ["alive.1.ab"]


@pytest.mark.parametrize(
    "about",
    [
        "[" * 100_000,
        "[]",
        '{"runs": [], "classes": [0, 2], "chunk_rows": 64}',
        '{"runs": {}, "classes": null}',
    ],
)
def test_a_pack_json_that_is_none_is_passed_over(
    shelf: Path, store: Store, about: str
) -> None:
    try:
        data = json_bytes(json.loads(about))
    except (RecursionError, TypeError):  # is no object
        data = about.encode()
    store.put("checkpoints/ab/pack.json", data)
    store.put("checkpoints/ab/000000003.npz", b"")
    experiment = {
        "datasets": [{"path": str(shelf / "dense")}],
        "learners": [{"name": "pa"}],
        "protocol": {"order": "time"},
    }
    plan = make_plan(parse_experiment(experiment))
    sweep_checkpoints(store)
    assert resumable_groups(store, plan.runs, plan.sources) == []


def test_runs_that_stand_twice_in_a_pack_json_are_continued_once(
    shelf: Path, store: Store
) -> None:
    (pack,) = packs(shelf / "dense", {"name": "pa"})
    Checkpoints(store, pack, EAGER).save(through(GroupPass(pack), 3))
    about = f"checkpoints/{pack.key}/pack.json"
    [(_, data)] = store.files.read_many([about])
    assert isinstance(data, bytes)
    content = json_content(data, checked=True)
    store.put(about, json_bytes({**content, "runs": content["runs"] * 2}))
    experiment = {
        "datasets": [{"path": pack.path}],
        "learners": [{"name": "pa"}],
        "protocol": {"order": "time"},
    }
    plan = make_plan(parse_experiment(experiment))
    assert [
        found.runs for found in resumable_groups(store, pack.runs, plan.sources)
    ] == [pack.runs]


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [("fine", "why"), ("oom", "two\nlines"), ("oom", 3), (["oom"], "why")],
)
def test_a_verdict_that_is_none_is_passed_over(
    shelf: Path, store: Store, outcome: Any, reason: Any
) -> None:
    (pack,) = packs(shelf / "dense", {"name": "pa"})
    verdict = {"outcome": outcome, "reason": reason, "budget": pack.budget.model_dump()}
    store.put(f"checkpoints/{pack.key}/{pack.runs[0].id}.json", json_bytes(verdict))
    assert Checkpoints(store, pack).exceeded() == {}


def test_a_verdict_whose_reason_has_changed_is_passed_over(
    shelf: Path, store: Store
) -> None:
    """It would go into the record of the run, and its bytes would be others."""
    (pack,) = packs(shelf / "dense", {"name": "pa"})
    kept = Checkpoints(store, pack)
    name = f"checkpoints/{pack.key}/{pack.runs[0].id}.json"
    store.put(
        name,
        json_bytes(
            {
                "outcome": "timeout",
                "reason": "too long",
                "budget": pack.budget.model_dump(),
            }
        ),
    )
    assert kept.exceeded() == {pack.runs[0].id: BudgetExceeded("timeout", "too long")}
    [(_, data)] = store.files.read_many([name])
    assert isinstance(data, bytes)
    store.put(name, data.replace(b"long", b"long."))
    assert kept.exceeded() == {}
