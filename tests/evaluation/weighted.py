"""Runs on datasets whose rows have weights: their plans and records, and the scores that they should have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from olscale.data.dataset import open_dataset
from olscale.data.stream import Shuffle, open_streams
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run_plan import RunPlan
from olscale.learners.registry import make_learner
from olscale.results.record import Record

ROWS = 600

TEST_ROWS = 150


def planned(path: Path, *learners: Any, **protocol: Any) -> RunPlan:
    specs = [spec if isinstance(spec, dict) else {"name": spec} for spec in learners]
    content = {"datasets": [{"path": str(path)}], "learners": specs}
    return make_plan(
        parse_experiment(
            content | {"protocol": {"order": "time", "weights": "w"} | protocol}
        )
    )


def records(plan: RunPlan, stop: int | None = None) -> list[Record]:
    """Run a plan in process; save it after `stop` steps, if that is given, and go on with it elsewhere."""
    found = []
    for group in cut_groups(plan.runs, plan.sources, 1):
        going = GroupPass(group)
        for step in range(going.chunks):
            if step == stop:
                saved = {name: array.copy() for name, array in going.state()}
                going = GroupPass(group)
                going.restore(saved)
            going.step(step)
        found += going.finish()
    assert [record.reason for record in found] == [""] * len(found)
    return found


def rows_of(
    path: Path, split: str = "train", shuffle: Shuffle | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    streams = open_streams(str(path), shuffle=shuffle)
    stream = streams.train if split == "train" else streams.test
    assert stream is not None
    chunks = list(stream.chunks())
    parts = zip(*((chunk.X, chunk.y, chunk.weights) for chunk in chunks), strict=True)
    X, y, weights = map(np.concatenate, parts)
    return X, y, weights


def scores_along(
    name: str, params: dict[str, Any], path: Path, shuffle: Shuffle | None = None
) -> np.ndarray:
    """Return the scores of the rows of a stream, each before its row is learned from with its weight, one at a time."""
    X, y, weights = rows_of(path, shuffle=shuffle)
    learner: Any = make_learner(name, params)
    learner.begin(X.shape[1], len(open_dataset(path).classes or ()))
    return np.concatenate(
        [
            learner.learn(X[i : i + 1], y[i : i + 1], weights[i : i + 1])
            for i in range(len(y))
        ]
    )
