"""Checkpoints: continued to the same bytes wherever the stream was cut, by whoever goes on; damage costs time only."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olscale.data.ingest.ingest import ingest
from olscale.evaluation.class_shards import ShardPass, merge_shards
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.run_state import RunState
from olscale.evaluation.shard_cuts import cut_shards
from olscale.execution import checkpoints
from olscale.execution.checkpoints import Checkpoints, read_arrays, write_arrays
from olscale.execution.on_worker import run_as_task
from olscale.execution.resumable_pass import ResumablePass
from olscale.execution.settings import ExecutionSettings
from olscale.learners.reference.batch_machine import BatchMachine
from olscale.learners.registry import learner_class, learner_names
from olscale.results.opening import open_store
from olscale.results.rows import run_bytes
from olscale.results.scratch import Scratch
from olscale.results.store import Store
from tests.execution.passes import EAGER, as_bytes, feed, packs, saved, through

SMALL: dict[str, dict[str, Any]] = {"arf": {"trees": 3}}
"""Parameters of learners that take long at their defaults."""


def is_batch(name: str) -> bool:
    """Return whether a learner is trained anew for every row of late labels, minutes a pass.

    Its state is only its rows.
    """
    return name == "pvm" or issubclass(learner_class(name), BatchMachine)


EVERY = [
    *(
        {"name": name, "params": SMALL.get(name, {})}
        for name in learner_names("classification")
        if not is_batch(name)
    ),
    {"name": "pa1", "params": {"C": [0.1, 1.0, 10.0]}},  # settings that share a pass
    {"name": "cw", "params": {"covariance": "full"}},
    {"name": "arow", "params": {"covariance": "full"}},
    {"name": "lol", "params": {"prototypes": "offline", "k": 8}},
    {"name": "lol", "params": {"multiclass": "ova", "k": 8}},
]


TARGETS = [
    *({"name": name} for name in learner_names("regression") if not is_batch(name)),
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


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "store"), create=True)


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
    assert note.endswith("; resumes from the one at chunk 4")
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
