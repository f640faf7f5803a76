"""A chunk that takes long is fed in pieces, between which signals, budgets and progress are heard; bits are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from olscale.data.chunk import Chunk
from olscale.data.dataset import open_dataset
from olscale.data.stream import _FITTED
from olscale.data.transforms import pipeline as pipelines
from olscale.data.transforms.pipeline import Pipeline
from olscale.evaluation import group_pass as packing
from olscale.evaluation.class_shards import ShardPass, merge_shards
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.forecast import check_workers, long_runs
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.run_plan import RunPlan
from olscale.evaluation.shard_cuts import cut_shards
from olscale.execution.on_worker import StreamActor, run_as_task
from olscale.execution.settings import ExecutionSettings
from olscale.learners.linear.passive_aggressive import PA1
from olscale.results.opening import open_store
from olscale.results.rows import run_bytes
from olscale.results.scratch import Scratch

CALLS: list[int] = []


class Slow(PA1):
    """Says that a row takes a tenth of a piece."""

    name = "slow"

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        return packing.PIECE_NUMBERS / 10

    def learn(self, X, y):  # type: ignore[no-untyped-def]
        if len(y):
            CALLS.append(len(y))
        return super().learn(X, y)


SLOW = f"{__name__}:Slow"


def plan_of(path: Path, *learners: dict[str, Any], **protocol: Any) -> RunPlan:
    content = {
        "datasets": [{"path": str(path)}],
        "learners": list(learners),
        "protocol": {"order": "time", **protocol},
    }
    return make_plan(parse_experiment(content))


def pack_of(path: Path, *learners: dict[str, Any], **protocol: Any) -> RunGroup:
    plan = plan_of(path, *learners, **protocol)
    (pack,) = cut_groups(plan.runs, plan.sources, 1)
    return pack


def records(passage: GroupPass) -> list[bytes]:
    while passage.position < passage.chunks:
        passage.advance()
    return [run_bytes(record) for record in passage.finish()]


def test_a_slow_learner_gets_a_second_of_rows_at_a_time(shelf: Path) -> None:
    """400 rows in chunks of 64: ten rows at a time, and what is left of each chunk."""
    CALLS.clear()
    records(GroupPass(pack_of(shelf / "dense", {"name": SLOW})))
    assert CALLS == 6 * [10, 10, 10, 10, 10, 10, 4] + [10, 6]


def test_runs_of_a_pack_share_the_second(shelf: Path) -> None:
    CALLS.clear()
    two = [
        {"name": SLOW, "params": {"dtype": dtype}} for dtype in ("float64", "float32")
    ]
    passage = GroupPass(pack_of(shelf / "dense", *two))
    passage.advance()
    assert CALLS == [5, 5]


def test_ordinary_learners_get_whole_chunks(shelf: Path) -> None:
    passage = GroupPass(pack_of(shelf / "dense", {"name": "lol"}, {"name": "pa1"}))
    passage.advance()
    assert (passage.position, passage.within) == (1, 0)


@pytest.mark.parametrize(
    "protocol", [{}, {"holdout_every": 90}, {"delay": 7}, {"passes": 2}], ids=str
)
def test_pieces_leave_no_trace(
    shelf: Path, monkeypatch: pytest.MonkeyPatch, protocol: dict[str, Any]
) -> None:
    """Also where a checkpoint is taken within a chunk and another passage goes on from it."""
    pack = pack_of(
        shelf / "dense",
        {"name": "pa1"},
        {"name": "arow"},
        {"name": "lol", "params": {"k": 5}},
        **protocol,
    )
    expected = records(GroupPass(pack))
    monkeypatch.setattr(packing, "PIECE_NUMBERS", 1e3)
    passage = GroupPass(pack)
    while (passage.position, passage.within) < (3, 1):
        passage.advance()
    assert 0 < passage.within < 64
    state = {name: array.copy() for name, array in passage.state()}
    again = GroupPass(pack)
    again.restore(state)
    assert (again.position, again.within, again.rows) == (
        passage.position,
        passage.within,
        passage.rows,
    )
    assert records(passage) == expected
    assert records(again) == expected


def test_class_shards_are_cut_alike(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their blocks must end at the same rows, though some have fewer classes."""
    (cut,) = cut_shards(
        [pack_of(shelf / "digits", {"name": "lol", "params": {"k": 5}})], 1, 3
    )
    whole = records(
        GroupPass(pack_of(shelf / "digits", {"name": "lol", "params": {"k": 5}}))
    )
    monkeypatch.setattr(packing, "PIECE_NUMBERS", 3e4)
    monkeypatch.setattr("olscale.evaluation.class_shards.BLOCK_ROWS", 50)
    scratch = Scratch(open_store(tmp_path / "store", create=True), cut.runs[0].id)
    for part in cut.parts():
        records(ShardPass(part, scratch))
    assert [run_bytes(merge_shards(cut, scratch))] == whole


def test_stopping_is_heard_within_a_chunk_and_the_run_goes_on_from_there(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = pack_of(shelf / "dense", {"name": SLOW})
    store = str(tmp_path / "store")
    open_store(store, create=True)
    CALLS.clear()
    stopped = run_as_task(pack, store, lambda stand: None, lambda: len(CALLS) == 9)
    assert (stopped.stopped, stopped.fault, stopped.position, stopped.stand.rows) == (
        True,
        "",
        1,
        64 + 20,
    )
    ended = run_as_task(pack, store, lambda stand: None)
    assert (ended.fault, list(ended.outcomes.values())) == ("", ["ok"])
    assert CALLS[:10] == [10, 10, 10, 10, 10, 10, 4, 10, 10, 10]
    assert sum(CALLS) == 400, "rows were learned twice"
    alone = records(GroupPass(pack))
    assert [run_bytes(open_store(store).get(pack.runs[0].id))] == alone


def test_an_actor_answers_within_a_chunk(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that its driver tells of progress, and can have it saved and stopped."""
    store = str(tmp_path / "store")
    open_store(store, create=True)
    CALLS.clear()
    actor = StreamActor(
        pack_of(shelf / "dense", {"name": SLOW}),
        store,
        ExecutionSettings(call_seconds=0.0),
    )
    answer = actor.advance(0, 7)
    assert (answer.position, answer.stand.rows) == (0, 10)
    while answer.position < answer.chunks:
        rows = answer.stand.rows
        answer = actor.advance(answer.position, 7)
        assert answer.stand.rows > rows
    assert list(actor.finish(answer.position).outcomes.values()) == ["ok"]
    assert sum(CALLS) == 400


def test_long_runs_are_announced_with_what_to_do_instead(tmp_path: Path) -> None:
    """Full AROW on 3,000 sparse features in 200,000 passes over a few rows; the diagonal is quick."""
    from olscale.data.ingest.ingest import ingest

    (tmp_path / "rows.svm").write_text(
        "".join(f"{sign} {i}:1 3000:2\n" for i, sign in enumerate([1, -1] * 4, 1))
    )
    ingest([str(tmp_path / "rows.svm")], str(tmp_path / "wide"))
    plan = plan_of(
        tmp_path / "wide",
        {"name": "arow"},
        {"name": "arow", "params": {"covariance": "diagonal"}},
        {"name": "pa1"},
        passes=200_000,
    )
    (line,) = long_runs(plan, plan.runs)
    assert line.startswith(
        "arow on wide may take 71 min a run (1 run): it goes through 1.3e+07 numbers for each of "
        "1,600,000"
    )
    assert "covariance=diagonal" in line
    assert "project:features=" in line
    assert list(long_runs(plan, plan.runs[1:])) == []


def test_a_model_that_does_not_fit_into_a_worker_is_refused(shelf: Path) -> None:
    from olscale.errors import ParameterError

    plan = plan_of(shelf / "dense", {"name": "arow"}, {"name": "pa1"})
    columns = open_dataset(str(shelf / "dense")).columns
    (needed,) = {size for size in plan.state_bytes.values() if size}
    assert needed >= 8 * (columns * columns + columns)
    check_workers(plan.runs, plan.state_bytes, needed, plan.labels)
    with pytest.raises(
        ParameterError,
        match=r"learner arow on dense: its model takes .* GB, a worker has .* fewer workers",
    ):
        check_workers(plan.runs, plan.state_bytes, needed - 1, plan.labels)


TRANSFORMS = [
    *(
        ["standardize"],
        ["minmax"],
        ["unit-norm", "bias"],
        ["project:features=4"],
        ["rff:features=8"],
    ),
    *(
        ["nystroem:features=10"],
        ["svd:components=2"],
        ["impute:mean", "running-standardize", "bias"],
        ["ipca:components=2"],
    ),
]


@pytest.mark.parametrize("transforms", TRANSFORMS, ids=" ".join)
@pytest.mark.parametrize(
    "protocol",
    [{"holdout_every": 100}, {"order": "permuted", "permutations": 1}],
    ids=["time", "permuted"],
)
def test_rows_that_become_dense_are_transformed_a_few_at_once(
    shelf: Path,
    monkeypatch: pytest.MonkeyPatch,
    transforms: list[str],
    protocol: dict[str, Any],
) -> None:
    """Fitted, shown ahead, learned and predicted in parts: the same bits, and no part takes more than it may."""
    learners = [{"name": "pa1"}, {"name": "lol", "params": {"k": 3}}]
    content = {
        "datasets": [{"path": str(shelf / "sparse")}],
        "learners": learners,
        "transforms": transforms,
    }
    plan = make_plan(
        parse_experiment({**content, "protocol": {"order": "time", **protocol}})
    )
    [pack] = cut_groups(plan.runs, plan.sources, 1)
    at_once = records(GroupPass(pack))

    largest: list[int] = []
    apply = Pipeline.apply

    def watched(self: Pipeline, chunk: Chunk) -> Chunk:
        if self.steps:
            largest.append(len(chunk))
        return apply(self, chunk)

    monkeypatch.setattr(pipelines, "BLOCK_BYTES", 1_000)
    monkeypatch.setattr(Pipeline, "apply", watched)
    _FITTED.clear()
    assert records(GroupPass(pack)) == at_once
    assert max(largest, default=0) < 64
    _FITTED.clear()
