"""A short way: few frames stand between what Dask calls and a compiled loop."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import olscale
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.shard_cuts import cut_shards
from olscale.execution.on_worker import StreamActor, run_as_task
from olscale.learners.linear import first_order
from olscale.results.opening import open_store

OURS = str(Path(olscale.__file__).parent)
STACKS: list[list[str]] = []


class Recorded:
    """A compiled loop that notes who called it."""

    def __init__(self, loop: Callable[..., Any]) -> None:
        self._loop = loop

    def __call__(self, *args: Any) -> Any:
        stack = [
            frame.name
            for frame in traceback.extract_stack()
            if frame.filename.startswith(OURS)
        ]
        if {"run_as_task", "advance"} & set(stack) and "compile" not in stack:
            STACKS.append(stack)
        return self._loop(*args)


@pytest.fixture(autouse=True)
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    STACKS.clear()
    monkeypatch.setattr(
        first_order, "_learn_one_vs_all", Recorded(first_order._learn_one_vs_all)
    )
    return None


def group_of(path: Path, params: dict[str, Any], **protocol: Any) -> RunGroup:
    content = {
        "datasets": [{"path": str(path)}],
        "learners": [{"name": "pa1", "params": {"multiclass": "ova", **params}}],
        "protocol": {"order": "time", **protocol},
    }
    plan = make_plan(parse_experiment(content))
    [group] = cut_groups(plan.runs, plan.sources, 1)
    return group


def between(task: str) -> int:
    """Return how many frames at most stand between the task and the loop, both left out."""
    assert STACKS
    return max(len(stack) - 1 - stack.index(task) for stack in STACKS)


@pytest.mark.parametrize(
    ("params", "protocol"),
    [
        ({}, {}),
        ({"C": [0.1, 1.0]}, {}),
        ({}, {"delay": 5}),
        ({}, {"split": "prequential-bootstrap", "folds": 2}),
        ({}, {"holdout_every": 20, "holdout_rows": 5}),
    ],
    ids=["alone", "fused", "delay", "folds", "holdout"],
)
def test_at_most_six_frames_stand_between_a_task_and_the_loop(
    shelf: Path, tmp_path: Path, params: dict[str, Any], protocol: dict[str, Any]
) -> None:
    open_store(tmp_path / "s", create=True)
    done = run_as_task(
        group_of(shelf / "dense", params, **protocol),
        str(tmp_path / "s"),
        lambda stand: None,
    )
    assert set(done.outcomes.values()) == {"ok"}, done.fault
    assert between("run_as_task") <= 6, STACKS[-1]


def test_at_most_six_frames_stand_between_an_actor_and_the_loop(
    shelf: Path, tmp_path: Path
) -> None:
    open_store(tmp_path / "s", create=True)
    assert (
        StreamActor(group_of(shelf / "dense", {}), str(tmp_path / "s"))
        .advance(0, 2)
        .position
        == 2
    )
    assert between("advance") <= 6, STACKS[-1]


def test_at_most_six_frames_stand_between_a_class_shard_and_the_loop(
    shelf: Path, tmp_path: Path
) -> None:
    open_store(tmp_path / "s", create=True)
    [cut] = cut_shards([group_of(shelf / "digits", {})], 1, 2)
    assert (
        run_as_task(cut.parts()[0], str(tmp_path / "s"), lambda stand: None).fault == ""
    )
    assert between("run_as_task") <= 6, STACKS[-1]
