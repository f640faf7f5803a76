"""Learners that look ahead are shown rows of the stream first, all or a sample, without labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from olscale.data.chunk import Chunk
from olscale.data.dataset import open_dataset
from olscale.data.ingest.ingest import ingest
from olscale.data.stream import Shuffle, Stream
from olscale.errors import FormatError
from olscale.evaluation import group_pass as module
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.metrics import StreamShape
from olscale.evaluation.run import Run, StreamKey
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.run_state import RunState
from olscale.learners.registry import make_learner
from olscale.results.record import Record
from olscale.results.rows import run_bytes

OFFLINE = {"k": 6, "prototypes": "offline"}


def run_of(key: StreamKey, **params: object) -> Run:
    learner = make_learner("lol", {**OFFLINE, **params})
    return Run(key, "lol", learner.version, learner.resolved_params())


def records(
    path: Path, shuffle: Shuffle | None, *settings: dict[str, object]
) -> list[Record]:
    dataset = open_dataset(str(path))
    key = StreamKey("d", dataset.fingerprint, (), shuffle)
    passage = GroupPass(
        RunGroup(
            str(path),
            dataset.rows("train"),
            tuple(run_of(key, **params) for params in settings),
        )
    )
    for i in range(passage.chunks):
        passage.step(i)
    return passage.finish()


@pytest.mark.parametrize(
    ("suffix", "shuffle", "sampled"),
    [  # any two of these meet
        ("npz", None, 100),
        ("npz", Shuffle(0, 1), 1000),
        ("svm", None, 1000),
        ("svm", Shuffle(0, 1), 100),
    ],
)
def test_the_record_does_not_depend_on_the_chunks(
    shelf: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    suffix: str,
    shuffle: Shuffle | None,
    sampled: int,
) -> None:
    monkeypatch.setattr(module, "LOOK_AHEAD_ROWS", sampled)
    found = set()
    for chunk_rows in (7, 64, 1000):
        ingest(
            [str(shelf / f"train.{suffix}")],
            str(tmp_path / f"d{chunk_rows}"),
            chunk_rows=chunk_rows,
        )
        (record,) = records(tmp_path / f"d{chunk_rows}", shuffle, {})
        assert record.outcome == "ok"
        assert record.timings["prepare_seconds"] > 0.0
        found.add(run_bytes(record))
    assert len(found) == 1


def test_in_company_as_alone(shelf: Path) -> None:
    """One sample serves all that look ahead; those that do not are not delayed by it."""
    settings: list[dict[str, object]] = [{}, {"C": 0.1}, {"prototypes": "sequential"}]
    together = records(shelf / "dense", None, *settings)
    for setting, record in zip(settings, together, strict=True):
        assert run_bytes(record) == run_bytes(
            records(shelf / "dense", None, setting)[0]
        )
    assert "prepare_seconds" not in together[2].timings


def test_a_fold_restored_in_mid_stream_needs_no_second_look(shelf: Path) -> None:
    dataset = open_dataset(str(shelf / "dense"))
    stream = module.open_streams(str(shelf / "dense")).train
    run = run_of(StreamKey("d", dataset.fingerprint, (), None))
    whole, first, second = (
        RunState(run, StreamShape(stream.rows, 2), stream.columns) for _ in range(3)
    )
    for fold in (whole, first):
        fold.prepare(stream.sample(1000))
    for i in range(len(stream)):
        whole.step(stream.chunk(i))
        (first if i < 3 else second).step(stream.chunk(i))
        if i == 2:
            second.restore(first.state())
    assert whole.outcome == "ok"
    assert run_bytes(second.record()) == run_bytes(whole.record())


def test_rows_that_cannot_be_clustered_end_this_run_only(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[20, 1] = np.nan
    fold = RunState(
        run_of(StreamKey("made", "f" * 64, (), None)), StreamShape(50, 2), 3
    )
    fold.prepare(X)
    fold.step(Chunk(X, (X[:, 0] > 0).astype(np.int64), 3))
    assert (fold.outcome, "NaN" in fold.reason) == ("diverged", True)


def test_damaged_data_are_no_fault_of_the_learner(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Stream, i: int) -> Chunk:
        raise FormatError("d", f"chunk {i} is damaged")

    monkeypatch.setattr(Stream, "untransformed", broken)
    with pytest.raises(FormatError, match="chunk 0 is damaged"):
        records(shelf / "dense", None, {})
