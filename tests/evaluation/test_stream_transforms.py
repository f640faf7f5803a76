"""Transforms that learn as rows come: a run is a plain loop, however it is cut, and held-out rows teach nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.compiled.csr import read_only
from olscale.data.dataset import open_dataset
from olscale.data.ingest.ingest import ingest
from olscale.data.transforms.pipeline import check_order, make_transform
from olscale.data.transforms.streaming import StreamingTransform
from olscale.errors import ParameterError
from olscale.evaluation import group_pass
from olscale.evaluation.class_shards import ShardPass, merge_shards
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.online_folds import OnlineFolds
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.shard_cuts import cut_shards
from olscale.learners.contract.learner import codes_of
from olscale.learners.registry import make_learner
from olscale.results.opening import open_store
from olscale.results.record import Record
from olscale.results.rows import run_bytes
from olscale.results.scratch import Scratch

STEPS = ["missing-indicator", "impute:mean", "running-standardize", "bias"]
ROWS = 300
TESTED = 80


@pytest.fixture(scope="module")
def holes(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Return datasets of three classes with missing values, in chunks of 32 and of 200 rows."""
    rng = np.random.default_rng(0)
    made = {}
    arrays = {}
    for name, rows in (("train", ROWS), ("test", TESTED)):
        y = rng.integers(0, 3, rows)
        X = 10.0 * rng.normal(size=(3, 5))[y] + rng.normal(size=(rows, 5)) + 100.0
        X[rng.random(X.shape) < 0.2] = np.nan
        arrays |= {f"X_{name}": X, f"y_{name}": y}
    folder = tmp_path_factory.mktemp("holes")
    np.savez(folder / "rows.npz", **arrays)
    for chunk_rows in (32, 200):
        ingest(
            str(folder / "rows.npz"),
            str(folder / str(chunk_rows) / "rows"),
            chunk_rows=chunk_rows,
        )
        made[chunk_rows] = folder / str(chunk_rows) / "rows"
    return made


def group(path: Path, *learners: dict[str, Any], **protocol: Any) -> RunGroup:
    content = {
        "datasets": [{"path": str(path)}],
        "learners": list(learners)
        or [{"name": "pa1", "params": {"C": [0.1, 1.0]}}, {"name": "perceptron"}],
        "transforms": STEPS,
        "protocol": {"order": "time", **protocol},
    }
    plan = make_plan(parse_experiment(content))
    (made,) = cut_groups(plan.runs, plan.sources, 1)
    return made


def through(passage: GroupPass, last: int | None = None) -> GroupPass:
    while passage.position < (passage.chunks if last is None else last):
        passage.step(passage.position)
    return passage


def records(made: RunGroup) -> list[Record]:
    return through(GroupPass(made)).finish()


def as_bytes(found: list[Record]) -> list[bytes]:
    return [run_bytes(record) for record in found]


def plain(
    path: Path, trains: np.ndarray, passes: int = 1, order: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the transformed rows of the stream and of the test split, and their targets: one row at a time."""
    dataset = open_dataset(path)
    parts = []
    for split in ("train", "test"):
        chunks = list(dataset.chunks(split))
        parts.append(
            (
                np.concatenate([c.X for c in chunks]),
                np.concatenate([c.y for c in chunks]),
            )
        )
    (X, y), (test, targets) = parts
    if order is not None:
        X = X[order]
        y = y[order]
    X = np.tile(X, (passes, 1))
    y = np.tile(y, passes)
    for step in map(make_transform, STEPS):
        columns = X.shape[1]
        if isinstance(step, StreamingTransform):
            step.begin(columns)
            rows = [
                step.learn(X[i : i + 1], columns, trains[i : i + 1])
                for i in range(len(X))
            ]
            X = np.concatenate(rows)
            test = step.apply(test, columns)
        else:
            X = step.apply(X, columns)
            test = step.apply(test, columns)
    return read_only(X), y, read_only(test), targets


def pa1(columns: int) -> Any:
    learner = make_learner("pa1", {"C": 0.1})
    learner.begin(columns, 3)
    return learner


@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("chunk_rows", [32, 200])
def test_a_run_is_a_plain_loop_over_rows_that_are_learned_from_and_then_transformed(
    holes: dict[int, Path], chunk_rows: int, passes: int
) -> None:
    record = records(group(holes[chunk_rows], passes=passes))[0]
    X, y, test, targets = plain(holes[32], np.ones(passes * ROWS, dtype=bool), passes)
    learner = pa1(X.shape[1])
    mistakes = np.count_nonzero(codes_of(learner.learn(X, y)) != y)
    assert record.metrics["mistakes"] == mistakes
    assert record.metrics["test_error"] == np.mean(
        codes_of(learner.scores(test)) != targets
    )


def test_rows_held_out_teach_no_transform(holes: dict[int, Path]) -> None:
    record = records(group(holes[32], holdout_every=40, holdout_rows=15))[0]
    trains = np.arange(ROWS) % 55 < 40
    X, y, test, targets = plain(holes[32], trains)
    learner = pa1(X.shape[1])
    wrong = 0
    for i in range(ROWS):
        row = X[i : i + 1]
        scores = learner.learn(row, y[i : i + 1]) if trains[i] else learner.scores(row)
        wrong += int(codes_of(scores)[0] != y[i])
    assert record.metrics["mistakes"] == wrong
    assert record.metrics["test_error"] == np.mean(
        codes_of(learner.scores(test)) != targets
    )


def test_each_of_several_models_has_transforms_that_its_test_rows_do_not_teach(
    holes: dict[int, Path],
) -> None:
    made = group(
        holes[32],
        {"name": "pa1", "params": {"C": 0.1}},
        split="prequential-kfold",
        folds=3,
    )
    found = {record.run["protocol"]["fold"]: record for record in records(made)}
    for fold in range(3):
        trains = OnlineFolds("prequential-kfold", 0, 3).weights(fold, 0, ROWS) > 0
        X, y, test, targets = plain(holes[32], trains)
        learner = pa1(X.shape[1])
        wrong = 0
        for i in range(ROWS):
            if trains[i]:
                learner.learn(X[i : i + 1], y[i : i + 1])
            else:
                wrong += int(codes_of(learner.scores(X[i : i + 1]))[0] != y[i])
        assert found[fold].metrics["mistakes"] == wrong
        assert found[fold].metrics["test_error"] == np.mean(
            codes_of(learner.scores(test)) != targets
        )


PROTOCOLS: list[dict[str, Any]] = [
    {},
    {"order": "permuted", "permutations": 1, "passes": 2},
    {"holdout_every": 50, "delay": 40},
    {"holdout_every": 50, "holdout_rows": 20, "delay": 40},
    {"split": "prequential-bootstrap", "folds": 3},
]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=str)
def test_no_cut_leaves_a_trace(
    holes: dict[int, Path], monkeypatch: pytest.MonkeyPatch, protocol: dict[str, Any]
) -> None:
    """Chunks of another size, pieces of chunks, and a state that another pass goes on from in mid-chunk."""
    expected = as_bytes(records(group(holes[32], **protocol)))
    assert as_bytes(records(group(holes[200], **protocol))) == expected
    monkeypatch.setattr(group_pass, "PIECE_NUMBERS", 500.0)
    made = group(holes[200], **protocol)
    first = GroupPass(made)
    for _ in range(7):
        first.advance()
    assert first.within
    state = dict(first.state())
    through(first)  # what it goes on to do must not reach what was saved
    second = GroupPass(made)
    second.restore(state)
    assert as_bytes(through(second).finish()) == as_bytes(first.finish()) == expected


def test_class_shards_have_the_same_transforms(
    holes: dict[int, Path], tmp_path: Path
) -> None:
    made = group(holes[32], {"name": "pa1", "params": {"multiclass": "ova"}})
    (sharded,) = cut_shards([made], 2, asked=3)
    store = open_store(str(tmp_path / "store"), create=True)
    scratch = Scratch(store, made.runs[0].id)
    for part in sharded.parts():
        through(ShardPass(part, scratch)).finish()
    assert run_bytes(merge_shards(sharded, scratch)) == as_bytes(records(made))[0]


def test_learners_that_look_ahead_are_shown_the_rows_that_come(
    holes: dict[int, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(group_pass.RunState, "looks_ahead", True)
    monkeypatch.setattr(group_pass.RunState, "prepare", lambda self, X: shown.append(X))
    through(GroupPass(group(holes[32], {"name": "pa1", "params": {"C": 0.1}})), 1)
    np.testing.assert_array_equal(
        shown[0], plain(holes[32], np.ones(ROWS, dtype=bool))[0]
    )


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        (
            ["impute:mean", "standardize"],
            "standardize is fitted on all training rows ahead of the stream",
        ),
        (["running-standardize", "rff:4,gamma=median"], "fitted on all training rows"),
        (
            ["standardize", "impute:mean"],
            "impute:mean comes after standardize, which makes other values of a missing one",
        ),
        (["unit-norm", "missing-indicator"], "missing-indicator comes after unit-norm"),
        (["impute:zero", "missing-indicator"], "leaves no value missing"),
    ],
)
def test_an_order_that_cannot_do_its_work_is_refused(
    steps: list[str], why: str
) -> None:
    with pytest.raises(ParameterError, match=why):
        check_order(steps)


def test_steps_for_some_columns_leave_no_trace_of_chunks_and_checkpoints(
    holes: dict[int, Path],
) -> None:
    steps = [
        "missing-indicator@gaps",
        "impute:mean",
        "running-standardize@x0+x3",
        "bias@x1",
    ]
    groups = []
    for chunk_rows in (32, 200):
        content = {
            "datasets": [{"path": str(holes[chunk_rows])}],
            "learners": [{"name": "pa1"}],
            "transforms": steps,
            "protocol": {"order": "time"},
        }
        plan = make_plan(parse_experiment(content))
        groups += cut_groups(plan.runs, plan.sources, 1)
    first, second = (as_bytes(records(made)) for made in groups)
    assert first == second
    stopped = through(GroupPass(groups[0]), 4)
    again = GroupPass(groups[0])
    again.restore({name: np.copy(array) for name, array in stopped.state()})
    assert as_bytes(through(again).finish()) == first
