"""Computing again what a store has; what runs that failed mean for the whole; stores that cannot be read or written."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from olscale.analysis import store_status, summarise
from olscale.errors import ExecutionError, OlscaleError, StoreError, UnknownNameError
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.resolve import open_experiment
from olscale.execution.evaluate import evaluate
from olscale.execution.group_records import finished_outcomes, merge_group, write_lost
from olscale.execution.on_worker import run_as_task
from olscale.execution.progress import Silent
from olscale.execution.settings import SETTINGS, ExecutionSettings
from olscale.learners.linear import passive_aggressive
from olscale.results import Record, Store, open_store
from olscale.results.compact import compact
from olscale.results.run_files import stem
from olscale.storage import local
from olscale.storage.local import LocalStorage
from olscale.system import regular_file
from olscale.system.interrupts import UserInterrupt
from tests.execution.test_many_runs import FEW


def experiment(shelf: Path, **changes: Any) -> Experiment:
    content = {
        "name": "again",
        "datasets": [{"path": str(shelf / "dense")}],
        "learners": [
            {"name": "pa1", "tune": {"C": [0.001, 1.0]}},
            {"name": "perceptron"},
        ],
        "protocol": {"permutations": 1},
        "tuning": {"folds": 2},
    }
    return parse_experiment(content | changes)


def results(store: Store) -> dict[str, Any]:
    """Return the rows of runs by id."""
    return {row["id"]: row for row in store.read().to_pylist()}


@contextmanager
def edited(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let pa1 take steps of a hundredth, as an author who edits the source of a learner might."""
    rule = passive_aggressive.PA1._rule
    with monkeypatch.context() as patch:
        patch.setattr(
            passive_aggressive.PA1,
            "_rule",
            lambda self: type(rule(self))(*(C / 100 for C in rule(self))),
        )
        yield


@pytest.fixture(params=["loose", "shared", "compacted"])
def store(request: pytest.FixtureRequest, shelf: Path) -> Store:
    """Return a store with all runs of the experiment: four of tuning, two besides."""
    made = evaluate(
        experiment(shelf),
        f"memory://again/{request.node.name}",
        in_process=True,
        settings=FEW if request.param == "loose" else SETTINGS,
    ).store
    assert len(made.single_files("runs")) == (6 if request.param == "loose" else 0)
    if request.param == "compacted":
        compact(made)
    return made


@pytest.mark.parametrize("how", [{"force": True}, {"retry": "all"}])
def test_forced_runs_are_computed_again_and_say_the_same(
    shelf: Path, store: Store, how: dict[str, Any]
) -> None:
    before = results(store)
    selected = store.files.names("selections")

    done = evaluate(experiment(shelf), store.path, in_process=True, **how)

    assert (done.runs, done.computed, done.changed) == (6, 6, 0)
    assert results(open_store(store.path)) == before
    assert store.files.names("selections") == selected
    assert evaluate(experiment(shelf), store.path, in_process=True).computed == 0


def test_what_an_edited_learner_gives_takes_the_place_of_what_was(
    shelf: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tuning is done again too, and the choice is another; records of other learners keep their bytes."""
    before = results(store)
    with edited(monkeypatch):
        assert evaluate(experiment(shelf), store.path, in_process=True).computed == 0
        done = evaluate(experiment(shelf), store.path, in_process=True, force=True)
        fresh = evaluate(
            experiment(shelf), f"{store.path}-fresh", in_process=True
        ).store

    after = results(open_store(store.path))
    assert done.changed == sum(after[id] != before[id] for id in before) >= 4
    assert {id: after[id] for id in results(fresh)} == results(fresh)
    assert dict(store.files.read_many(store.files.names("selections"))) == dict(
        fresh.files.read_many(fresh.files.names("selections"))
    )
    compact(store)
    assert results(open_store(store.path)) == after


def test_a_record_stays_until_the_new_one_is_there(
    shelf: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted at any chunk, the store has all runs, and the same call computes all of them again."""
    before = results(store)
    advance = GroupPass.advance
    fed: list[int] = []

    def interrupted(passage: GroupPass) -> None:
        if len(fed) == 9:
            raise UserInterrupt
        fed.append(passage.position)
        advance(passage)

    with edited(monkeypatch):
        monkeypatch.setattr(GroupPass, "advance", interrupted)
        with pytest.raises(KeyboardInterrupt):
            evaluate(experiment(shelf), store.path, in_process=True, force=True)
        monkeypatch.setattr(GroupPass, "advance", advance)
        between = results(open_store(store.path))
        assert between.keys() == before.keys()
        assert any(between[id] != before[id] for id in before)
        assert any(between[id] == before[id] for id in before)
        assert (
            evaluate(
                experiment(shelf), store.path, in_process=True, force=True
            ).computed
            >= 6
        )


def test_forced_runs_do_not_go_on_from_a_checkpoint_of_before(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = experiment(shelf, learners=[{"name": "pa1"}], protocol={"order": "time"})
    eager = ExecutionSettings(checkpoint_seconds=0.0, checkpoint_ratio=0.0)
    fed: list[int] = []
    advance = GroupPass.advance

    def noted(passage: GroupPass) -> None:
        if len(fed) == 4:
            raise UserInterrupt
        fed.append(passage.position)
        advance(passage)

    monkeypatch.setattr(GroupPass, "advance", noted)
    with pytest.raises(KeyboardInterrupt):
        evaluate(plain, tmp_path, in_process=True, settings=eager)
    assert any(
        name.endswith(".npz") for name in open_store(tmp_path).names("checkpoints")
    )
    fed += [-1]
    other = evaluate(plain, tmp_path / "other", in_process=True).store
    [id] = other.done()
    open_store(tmp_path).write(other.get(id))

    evaluate(plain, tmp_path, in_process=True, force=True)

    assert fed[5:] == [*range(7), *range(7)]


@pytest.mark.parametrize("compacted", [False, True])
def test_lost_and_failed_runs_are_retried_as_asked_for(
    shelf: Path, tmp_path: Path, compacted: bool
) -> None:
    asked = experiment(
        shelf, learners=[{"name": "pa1"}, {"name": "pa2"}, {"name": "perceptron"}]
    )
    made = evaluate(asked, tmp_path / "whole", in_process=True).store
    outcomes = {"pa1": "ok", "pa2": "lost", "perceptron": "diverged"}
    store = open_store(tmp_path / "s", create=True)
    for id in made.done():
        record = made.get(id)
        outcome = outcomes[record.run["learner"]["name"]]
        store.write(
            record if outcome == "ok" else Record(record.run, id, outcome, "why")
        )
    if compacted:
        compact(store)

    assert evaluate(asked, store.path, in_process=True).computed == 1
    assert store.lost() == set()
    assert evaluate(asked, store.path, in_process=True, retry="failed").computed == 1
    assert results(store) == results(made)
    with pytest.raises(
        UnknownNameError, match="unknown value of retry 'fail'; did you mean 'failed'"
    ):
        evaluate(asked, store.path, retry="fail")


def test_a_forced_run_that_is_lost_takes_the_place_of_its_result(
    shelf: Path, tmp_path: Path
) -> None:
    """Its old figure would be shown as if it were that of today; a worker that died is never taken for done."""
    from dataclasses import replace

    from olscale.evaluation.cut_groups import cut_groups
    from olscale.evaluation.plan import make_plan

    asked = experiment(shelf, learners=[{"name": "pa1"}])
    store = evaluate(asked, tmp_path, in_process=True).store
    compact(store)
    plan = make_plan(asked)
    [pack] = cut_groups(plan.runs, plan.sources, 1)
    assert set(finished_outcomes(pack, store.path).values()) == {"ok"}
    again = replace(pack, replaces=True)
    assert finished_outcomes(again, store.path) == {}

    write_lost(again, store.path, "its workers died")

    assert (store.done(), store.lost()) == (set(), {pack.runs[0].id})
    assert not run_as_task(again, store.path, lambda stand: None).fault
    assert (len(store.done()), store.lost()) == (1, set())


def test_class_shards_of_a_forced_run_are_merged_anew(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = experiment(
        shelf,
        datasets=[{"path": str(shelf / "digits")}],
        learners=[{"name": "pa1", "params": {"multiclass": "ova"}}],
    )
    store = evaluate(asked, tmp_path, in_process=True, class_shards=2).store
    before = results(store)
    done = evaluate(asked, tmp_path, in_process=True, class_shards=2, force=True)
    assert (done.computed, done.changed, results(store)) == (1, 0, before)
    from olscale.evaluation.cut_groups import cut_groups
    from olscale.evaluation.plan import make_plan
    from olscale.evaluation.shard_cuts import cut_shards

    plan = make_plan(asked)
    [pack] = cut_shards(cut_groups(plan.runs, plan.sources, 1), 2, 2)
    assert merge_group(pack, store.path).outcomes == {pack.runs[0].id: "ok"}, (
        "another process has merged them"
    )
    from dataclasses import replace

    assert merge_group(replace(pack, replaces=True), store.path).fault, (
        "nobody knows whether that was before"
    )


def failing(shelf: Path, *names: str) -> Experiment:
    """Return an experiment whose runs of ``pa2`` all end as timeout."""
    return experiment(
        shelf, learners=[{"name": name} for name in names], protocol={"permutations": 2}
    )


def write_failed(store: Store, asked: Experiment, *failed: str) -> None:
    from olscale.evaluation.plan import make_plan

    for run in make_plan(asked).runs:
        if run.learner in failed:
            store.write(Record(run.definition(), run.id, "timeout", "it took too long"))


def test_runs_that_failed_are_counted_and_an_error_where_asked_for(
    shelf: Path, tmp_path: Path
) -> None:
    some = failing(shelf, "pa1", "pa2")
    every = failing(shelf, "pa2")
    write_failed(open_store(tmp_path, create=True), some, "pa2")

    done = evaluate(some, tmp_path, in_process=True)

    assert (done.outcomes, done.failed) == ({"ok": 2, "timeout": 2}, 2)
    done.check()
    with pytest.raises(
        ExecutionError,
        match=r"^2 of 4 runs failed \(2 timeout\); `olscale status .*` says why$",
    ):
        evaluate(some, tmp_path, in_process=True, strict=True)
    with pytest.raises(ExecutionError, match=r"^all 2 runs failed \(2 timeout\)"):
        evaluate(every, tmp_path, in_process=True).check()


def test_a_candidate_of_tuning_that_failed_is_no_failure(
    shelf: Path, tmp_path: Path
) -> None:
    from olscale.evaluation.plan import PlannedExperiment

    asked = experiment(shelf)
    store = open_store(tmp_path, create=True)
    run = PlannedExperiment(open_experiment(asked)).tuning.searches[0].runs[0][0]
    store.write(Record(run.definition(), run.id, "diverged", "norm is inf"))
    assert evaluate(asked, tmp_path, in_process=True, strict=True).outcomes == {"ok": 2}


class Notes(Silent):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, line: str) -> None:
        self.lines.append(line)


def refuse_writes(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    """Let nobody write below `root`, not even root."""

    def refused(self: LocalStorage, *args: Any) -> Any:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    for name in ("writing", "discard", "remove", "make"):
        monkeypatch.setattr(LocalStorage, name, refused)
    monkeypatch.setattr(LocalStorage, "is_writable", lambda self: False)


def test_a_read_only_store_is_shown_and_evaluated_where_nothing_is_to_be_done(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = evaluate(experiment(shelf), tmp_path / "s", in_process=True).store
    before = summarise(store)
    refuse_writes(monkeypatch, tmp_path)
    notes = Notes()

    done = evaluate(experiment(shelf), tmp_path / "s", in_process=True, progress=notes)

    assert (done.computed, done.outcomes, notes.lines) == (0, {"ok": 2}, [])
    assert summarise(open_store(tmp_path / "s")) == before
    part = experiment(shelf, name="part", learners=[{"name": "perceptron"}])
    assert evaluate(part, tmp_path / "s", in_process=True, progress=notes).computed == 0
    assert len(notes.lines) == 1
    assert "cannot write plans/part" in notes.lines[0]
    for more in ({"force": True}, {"retry": "failed", "learners": [{"name": "pa2"}]}):
        learners = {"learners": more.pop("learners")} if "learners" in more else {}
        with pytest.raises(
            StoreError,
            match=r"^cannot write to the metrics store .*; name another store$",
        ):
            evaluate(
                experiment(shelf, **learners), tmp_path / "s", in_process=True, **more
            )


@contextmanager
def barred(monkeypatch: pytest.MonkeyPatch, path: Path) -> Iterator[None]:
    """Let nobody read a folder or a file, not even root."""
    denied = PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    def guarded(call: Any) -> Any:
        def read(of: Any, *args: Any) -> Any:
            if Path(of).is_relative_to(path):
                raise denied
            return call(of, *args)

        return read

    with monkeypatch.context() as patch:
        patch.setattr(regular_file, "_open", guarded(regular_file._open))
        patch.setattr(local, "_scan", guarded(local._scan))
        patch.setattr(pa, "OSFile", guarded(pa.OSFile))
        yield


FOLDERS = ("runs", "timings", "plans", "selections", "compacted/runs", "checkpoints")


@pytest.mark.parametrize("kind", FOLDERS)
def test_a_folder_that_may_not_be_looked_into_is_one_line_that_names_it(
    shelf: Path, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = experiment(shelf)
    more = experiment(shelf, learners=[{"name": "pa2"}])
    store = evaluate(asked, tmp_path / "s", in_process=True).store
    if kind.startswith("compacted"):
        compact(store)
    uses = (
        [lambda: evaluate(more, tmp_path / "s", in_process=True)]
        if kind not in ("plans", "selections")
        else []
    )
    if kind != "checkpoints":
        uses.append(lambda: show(tmp_path / "s"))
    with barred(monkeypatch, tmp_path / "s" / kind):
        for use in uses:
            with pytest.raises(
                StoreError,
                match=rf"^cannot read {kind} .*: Permission denied; check its permissions",
            ):
                use()
    assert evaluate(asked, tmp_path / "s", in_process=True).computed == 0


def show(path: Path) -> None:
    """Read all that a report and a status read."""
    store = open_store(path)
    summarise(store)
    store_status(store)


@pytest.mark.parametrize(
    "kind",
    [
        "runs",
        "compacted/runs",
        "compacted/timings",
        "plans",
        "selections",
        "store.json",
    ],
)
def test_a_file_that_cannot_be_read_is_not_called_damaged(
    shelf: Path, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is set aside, and nothing computed in its place."""
    asked = experiment(shelf)
    store = evaluate(asked, tmp_path / "s", in_process=True, settings=FEW).store
    if kind.startswith("compacted"):
        compact(store)
    [path, *_] = sorted(
        path
        for path in (tmp_path / "s").rglob("*.*")
        if f"/s/{kind}" in path.as_posix()
    )
    uses = [lambda: show(tmp_path / "s")]
    if kind != "plans":  # where nothing is to be computed
        uses.append(lambda: evaluate(asked, tmp_path / "s", in_process=True))
    if kind not in ("plans", "selections"):
        uses.append(lambda: compact(open_store(tmp_path / "s")))
    with barred(monkeypatch, path):
        for use in uses:
            with pytest.raises(
                StoreError, match=rf"^cannot read {kind}.*Permission denied"
            ) as caught:
                use()
            assert "damaged" not in str(caught.value).replace("--skip-damaged", "")
        if kind in ("runs", "compacted/runs"):
            skipping = open_store(tmp_path / "s")
            summarise(skipping, on_damage="skip")
            assert skipping.unreadable == {
                path.relative_to(tmp_path / "s").as_posix(): "Permission denied"
            }
    assert not (tmp_path / "s" / "damaged").exists()
    assert evaluate(asked, tmp_path / "s", in_process=True).computed == 0


def test_a_disk_that_is_full_in_the_middle_of_computing_again_is_one_line_and_loses_nothing(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = evaluate(experiment(shelf), tmp_path / "s", in_process=True).store
    compact(store)
    before = results(store)
    writing = LocalStorage.writing
    left = iter(range(5))

    def full(self: LocalStorage, name: str) -> Any:
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return writing(self, name)

    with monkeypatch.context() as patch:
        patch.setattr(LocalStorage, "writing", full)
        with pytest.raises(
            OlscaleError,
            match=r"^cannot write .*: No space left on device; check its permissions and free",
        ):
            evaluate(experiment(shelf), tmp_path / "s", in_process=True, force=True)

    assert results(open_store(tmp_path / "s")) == before


def test_ids_of_files_are_those_of_their_runs(shelf: Path, store: Store) -> None:
    evaluate(experiment(shelf), store.path, in_process=True, settings=FEW, force=True)
    assert {stem(name) for name in store.single_files("runs")} == store.done()
