"""Checkpoints: continued to the same bytes wherever the stream was cut, by whoever goes on; damage costs time only."""

from __future__ import annotations

import io
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olscale.data.ingest.ingest import ingest
from olscale.evaluation import group_pass as packs_module
from olscale.evaluation.budget import BudgetExceeded
from olscale.evaluation.class_shards import ShardPass, merge_shards
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.run_state import RunState
from olscale.evaluation.shard_cuts import cut_shards
from olscale.execution import checkpoints
from olscale.execution.checkpoints import (
    Checkpoints,
    read_arrays,
    resumable_groups,
    sweep_checkpoints,
    write_arrays,
)
from olscale.execution.evaluate import evaluate
from olscale.execution.on_worker import StreamActor, run_as_task
from olscale.execution.progress import LiveProgress
from olscale.execution.resumable_pass import ResumablePass
from olscale.execution.settings import ExecutionSettings
from olscale.learners.registry import learner_names
from olscale.results.opening import open_store
from olscale.results.record import Record
from olscale.results.rows import run_bytes
from olscale.results.scratch import Scratch
from olscale.results.store import Store
from olscale.storage.checked_json import json_bytes, json_content

EVERY = [
    # Batch references are trained anew for every row of late labels: minutes a pass, and their
    # state is only their rows.
    *(
        {"name": name}
        for name in learner_names("classification")
        if name not in ("svm", "pvm")
    ),
    {"name": "pa1", "params": {"C": [0.1, 1.0, 10.0]}},  # settings that share a pass
    {"name": "cw", "params": {"covariance": "full"}},
    {"name": "arow", "params": {"covariance": "full"}},
    {"name": "lol", "params": {"prototypes": "offline", "k": 8}},
    {"name": "lol", "params": {"multiclass": "ova", "k": 8}},
]


TARGETS = [
    *(
        {"name": name}
        for name in learner_names("regression")
        if name not in ("svr", "ls-svm")
    ),
    {"name": "pa1-r", "params": {"C": [0.1, 1.0, 10.0]}},
    {"name": "rls", "params": {"forget": 0.9, "form": ["full", "diagonal"]}},
]


PROTOCOLS: tuple[dict[str, Any], ...] = (
    {},
    {"passes": 2},
    {
        "window": 50,
        "fading": 0.99,
        "delay": 70,
        "holdout_every": 90,
        "holdout_rows": 10,
        "drift": "ddm",
    },
)


def packs(
    path: Path,
    *learners: dict[str, Any],
    order: str = "time",
    parts: int = 1,
    **protocol: Any,
) -> list[RunGroup]:
    protocol |= {"order": order} | ({"permutations": 1} if order == "permuted" else {})
    content = {
        "datasets": [{"path": str(path)}],
        "learners": list(learners),
        "protocol": protocol,
    }
    plan = make_plan(parse_experiment(content))
    return cut_groups(plan.runs, plan.sources, parts, restarting=plan.restarting)


def through(passage: GroupPass, last: int | None = None) -> GroupPass:
    while passage.position < (passage.chunks if last is None else last):
        passage.step(passage.position)
    return passage


def saved(passage: GroupPass) -> dict[str, Any]:
    """Return the state as it comes back from a file."""
    file = io.BytesIO()
    write_arrays(file, passage.state())
    return read_arrays(file)


def as_bytes(records: list[Record]) -> list[bytes]:
    return [run_bytes(record) for record in records]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "store"), create=True)


EAGER = ExecutionSettings(checkpoint_seconds=0.0, checkpoint_ratio=0.0)
"""A checkpoint after every chunk."""


_undisturbed: dict[Any, list[bytes]] = {}


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dataset of ten classes, of as many chunks as `shelf` has it in and a quarter of the rows.

    Where labels come late, `ospvm` and `ipca-lda` take four fifths of the time of a pass over all
    digits.
    """
    from sklearn.datasets import load_digits

    folder = tmp_path_factory.mktemp("digits")
    X, y = load_digits(return_X_y=True)
    np.savez(folder / "digits.npz", X=X[:450], y=y[:450])
    ingest([str(folder / "digits.npz")], str(folder / "digits"), chunk_rows=64)
    return folder / "digits"


@settings(max_examples=8)
@given(st.data())
def test_a_pack_cut_anywhere_and_as_often_gives_the_same_bytes(
    shelf: Path, digits: Path, data: st.DataObject
) -> None:
    """Every family and form of learner, both orders, two and ten classes, two passes, late labels and what is measured
    along the stream: the state is all there is."""
    name, order, number = (
        data.draw(st.sampled_from(among))
        for among in (
            ("dense", "sparse", "digits", "targets"),
            ("time", "permuted"),
            range(3),
        )
    )
    learners = EVERY
    protocol = PROTOCOLS[number]
    if name == "targets":
        learners = TARGETS
        protocol = {key: value for key, value in protocol.items() if key != "drift"}
    (pack,) = packs(
        digits if name == "digits" else shelf / name, *learners, order=order, **protocol
    )
    key = (name, order, number)
    if key not in _undisturbed:
        _undisturbed[key] = as_bytes(through(GroupPass(pack)).finish())
    passage = GroupPass(pack)
    cuts = data.draw(st.lists(st.integers(0, passage.chunks), max_size=3).map(sorted))
    for cut in cuts:
        state = saved(through(passage, cut))
        rows = passage.rows
        through(passage)  # what it goes on to do must not reach what was saved
        passage = GroupPass(pack)
        passage.restore(state)
        assert (passage.position, passage.rows) == (cut, rows)
    assert as_bytes(through(passage).finish()) == _undisturbed[key]


def test_part_of_a_pack_goes_on_from_the_checkpoint_of_the_whole(shelf: Path) -> None:
    (pack,) = packs(shelf / "dense", *EVERY[:6])
    state = saved(through(GroupPass(pack), 3))
    expected = as_bytes(through(GroupPass(pack)).finish())
    for half, wanted in zip(pack.halves(), (expected[:3], expected[3:]), strict=True):
        passage = GroupPass(half)
        passage.restore(state)
        assert passage.rows == 3 * 64 * 3
        assert as_bytes(through(passage).finish()) == wanted


def test_a_failed_run_stays_failed(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (pack,) = packs(
        shelf / "dense", {"name": "pa"}, {"name": "pa1", "params": {"C": [0.5, 1.0]}}
    )
    see = RunState.see

    def breaks(self: RunState, chunk: Any, scored: Any, seconds: float) -> None:
        if self.run.params.get("C") == 0.5 and self.position == 128:
            scored = scored._replace(scores=scored.scores * np.nan)
        see(self, chunk, scored, seconds)

    monkeypatch.setattr(RunState, "see", breaks)
    expected = through(GroupPass(pack)).finish()
    assert [record.outcome for record in expected] == ["ok", "diverged", "ok"]
    passage = GroupPass(pack)
    passage.restore(saved(through(GroupPass(pack), 4)))
    assert as_bytes(through(passage).finish()) == as_bytes(expected)


def test_a_class_shard_goes_on_with_the_ballots_it_has(
    faces: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("olscale.evaluation.class_shards.BLOCK_ROWS", 300)
    (whole,) = packs(faces, {"name": "lol", "params": {"k": 5}})
    (cut,) = cut_shards([whole], 1, 2)
    scratch = Scratch(store, cut.runs[0].id)
    for part, at in zip(cut.parts(), (1, 4), strict=True):
        state = saved(through(ShardPass(part, scratch), at))
        passage = ShardPass(part, scratch)
        passage.restore(state)
        assert through(passage).finish() == []
    assert (
        run_bytes(merge_shards(cut, scratch))
        == as_bytes(through(GroupPass(whole)).finish())[0]
    )
    scratch.clear()
    with pytest.raises(ValueError, match="block 0 that the shard has written is gone"):
        ShardPass(part, scratch).restore(state)


@pytest.mark.parametrize("place", ["{tmp}/store", "memory://checkpoints-{tmp}"])
def test_two_are_kept_and_damage_falls_back_to_the_one_before(
    shelf: Path, tmp_path: Path, place: str
) -> None:
    """On disk and on an fsspec URL: a flipped byte, a half file, both damaged."""
    store = open_store(place.format(tmp=tmp_path), create=True)
    (pack,) = packs(shelf / "dense", {"name": "lol"}, {"name": "pa"})
    journey = ResumablePass(pack, store.path, EAGER)
    while journey.position < 5:
        feed(journey)
    folder = f"checkpoints/{pack.key}"
    fifth, fourth = (f"{folder}/00000000{position}.npz" for position in (5, 4))
    assert store.files.names(folder) == [fourth, fifth, f"{folder}/pack.json"]
    assert ResumablePass(pack, store.path, EAGER).position == 5
    [(_, data)] = store.files.read_many([fifth])
    assert isinstance(data, bytes)
    # in the data of an array; zip does not read all of its own headers
    at = data.index(b"\x93NUMPY", len(data) // 2) + 128
    store.files.put(fifth, data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    again = ResumablePass(pack, store.path, EAGER)
    assert again.position == 4
    (note,) = again.report().notes
    assert "damaged checkpoint" in note
    assert note.endswith("; goes on from the one at chunk 4")
    store.files.put(fifth, data[: len(data) // 2])
    store.files.put(fourth, b"")
    both = ResumablePass(pack, store.path, EAGER)
    assert both.position == 0
    assert both.report().notes[0].endswith("; starts over")
    assert store.files.names(folder) == [f"{folder}/pack.json"]


def test_contents_that_the_checksum_does_not_cover_are_refused() -> None:
    """Each array right, the file whole, and yet not what was saved: a name exchanged."""
    file = io.BytesIO()
    other = io.BytesIO()
    write_arrays(file, [("a", np.zeros(3)), ("b", np.ones(3))])
    file.seek(0)
    with np.load(file) as archive:
        arrays = dict(archive)
    np.savez(other, a=arrays["b"], b=arrays["a"], checksum=arrays["checksum"])
    with pytest.raises(ValueError, match="checksum"):
        read_arrays(other)


def test_a_pickle_is_not_loaded() -> None:
    file = io.BytesIO()
    np.savez(file, a=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        read_arrays(file)


def test_a_checkpoint_is_due_by_time_and_cost(
    shelf: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After 10 s, and after 50 times what the last one took."""
    now = [100.0]
    monkeypatch.setattr(checkpoints, "monotonic", lambda: now[0])
    (pack,) = packs(shelf / "dense", {"name": "pa"})
    kept = Checkpoints(store, pack)
    passage = GroupPass(pack)
    slow = checkpoints.write_arrays

    def takes_a_second(file: Any, arrays: Any) -> None:
        now[0] += 1.0
        slow(file, arrays)

    monkeypatch.setattr(checkpoints, "write_arrays", takes_a_second)
    said = []
    for seconds in (9.0, 2.0, 11.0, 38.0, 2.0):
        now[0] += seconds
        passage.step(passage.position)
        said.append(kept.save_if_due(passage))
    assert said == [False, True, False, False, True]


def test_the_first_of_a_large_model_is_due_later(
    shelf: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """50 times what it is expected to take, by the size of the model."""
    now = [100.0]
    monkeypatch.setattr(checkpoints, "monotonic", lambda: now[0])
    (pack,) = packs(shelf / "dense", {"name": "pa"})
    # it takes one second
    settings = ExecutionSettings(first_bytes_a_second=6 * 8 + 2 * 8)
    kept = Checkpoints(store, pack, settings)
    passage = GroupPass(pack)
    passage.step(0)
    assert passage.filled_bytes == 6 * 8 + 2 * 8
    said = []
    for seconds in (11.0, 38.0, 2.0):
        now[0] += seconds
        said.append(kept.save_if_due(passage))
    assert said == [False, False, True]


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return 120 sparse rows of three million features."""
    from olscale.data.ingest.ingest import ingest

    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("wide")
    lines = []
    for row in range(120):
        features = (
            np.unique(rng.integers(1, 3_000_001, 20)) if row else np.array([3_000_000])
        )
        lines.append(f"{row % 2} " + " ".join(f"{feature}:1" for feature in features))
    (folder / "wide.svm").write_text("\n".join(lines) + "\n")
    ingest(str(folder / "wide.svm"), str(folder / "wide"), chunk_rows=40)
    return folder / "wide"


@pytest.mark.parametrize("name", ["lol", "soft-lol"])
def test_a_wide_sparse_model_is_saved_as_what_was_written_to(
    wide: Path, store: Store, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The first checkpoint is due after ten seconds, as for everybody; it is small, and goes on to the same bytes."""
    now = [100.0]
    monkeypatch.setattr(checkpoints, "monotonic", lambda: now[0])
    (pack,) = packs(wide, {"name": name, "params": {"k": 60, "dtype": "float32"}})
    expected = as_bytes(through(GroupPass(pack)).finish())
    kept = Checkpoints(store, pack)
    passage = through(GroupPass(pack), 2)
    size = sum(
        array.nbytes
        for fold in passage.states
        for array in fold.learner.state_.values()
    )
    now[0] += 11.0
    assert kept.save_if_due(passage)
    saved = Path(store.path, "checkpoints", pack.key, "000000002.npz").stat().st_size
    assert saved < size / 20
    assert (
        as_bytes(through(kept.restored(lambda: GroupPass(pack))).finish()) == expected
    )
    assert kept.notes == []


def test_a_checkpoint_of_the_first_format_is_continued(
    shelf: Path, store: Store
) -> None:
    """One member an array, and no word of a format."""
    import hashlib

    (pack,) = packs(shelf / "dense", {"name": "lol"})
    arrays = dict(through(GroupPass(pack), 3).state())
    digest = hashlib.sha256()
    for name, array in arrays.items():
        digest.update(f"{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(array.tobytes())
    with store.files.writing(f"checkpoints/{pack.key}/000000003.npz") as file:
        np.savez(
            file, **arrays, checksum=np.frombuffer(digest.digest(), dtype=np.uint8)
        )
    kept = Checkpoints(store, pack)
    passage = kept.restored(lambda: GroupPass(pack))
    assert (passage.position, kept.notes) == (3, [])
    assert as_bytes(through(passage).finish()) == as_bytes(
        through(GroupPass(pack)).finish()
    )


def test_a_checkpoint_of_a_later_version_is_left_to_it(
    shelf: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    (pack,) = packs(shelf / "dense", {"name": "pa"})
    with monkeypatch.context() as later:
        later.setattr("olscale.storage.checked_arrays.FORMAT", 3)
        Checkpoints(store, pack).save(through(GroupPass(pack), 3))
    kept = Checkpoints(store, pack)
    assert kept.restored(lambda: GroupPass(pack)).position == 0
    assert "its format is 3, of a later version of olscale" in kept.notes[0]
    assert f"checkpoints/{pack.key}/000000003.npz" in store.files.names(
        f"checkpoints/{pack.key}"
    )


def test_a_store_that_cannot_take_a_checkpoint_costs_only_the_checkpoint(
    shelf: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints, "write_arrays", full)
    (pack,) = packs(shelf / "dense", {"name": "pa"})
    envelope = run_as_task(pack, store.path, lambda stand: None, settings=EAGER)
    assert "ok" in envelope.outcomes.values()
    assert (
        "no checkpoint could be written (No space left on device)" in envelope.notes[0]
    )


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
    assert runs(tmp_path / "store") == runs(tmp_path / "undisturbed")
    assert not list((tmp_path / "store" / "checkpoints").iterdir())


def spec(shelf: Path, learners: list[dict[str, Any]]) -> Any:
    content = {
        "datasets": [{"path": str(shelf / "dense")}],
        "learners": learners,
        "protocol": {"order": "time"},
    }
    return parse_experiment(content)


def runs(store: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in (store / "runs").rglob("*.parquet")
    }


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


def feed(going: ResumablePass) -> None:
    going.group_pass.advance()
    going.save_if_due()


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
    before = runs(Path(store.path))
    while not behind.ended:
        feed(behind)
    assert behind.finish().outcomes == first.outcomes
    assert runs(Path(store.path)) == before
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
    assert sorted(runs(tmp_path / "store").values()) == sorted(expected)


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
