"""Weights of rows and of classes: workers, actors and class shards give the bytes of one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.data.ingest.ingest import ingest
from olscale.evaluation.experiment import parse_experiment
from olscale.execution.evaluate import evaluate
from olscale.execution.progress import Silent
from tests.cluster import Cluster
from tests.record_bytes import record_bytes


class Notes(Silent):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, line: str) -> None:
        self.lines.append(line)


@pytest.fixture(scope="module")
def weighted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weighted")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=400), [-0.5, 1.0])
    np.savez(folder / "t.npz", X=X, y=y, w=rng.exponential(size=400))
    ingest(folder / "t.npz", folder / "d", weights="w", chunk_rows=64)
    return folder / "d"


@pytest.mark.parametrize(
    ("protocol", "class_shards"),
    [
        ({"order": "time", "weights": "w", "weighted_measures": True}, None),
        ({"order": "time", "weights": "w", "delay": 9}, None),
        ({"order": "permuted", "permutations": 2, "weights": "w"}, 2),
    ],
)
def test_workers_give_the_bytes_of_one_process(
    weighted: Path,
    tmp_path: Path,
    protocol: dict[str, Any],
    class_shards: int | None,
    cluster: Cluster,
) -> None:
    pa1 = {
        "name": "pa1",
        "params": {"C": [0.1, 1.0], "class_weight": ["balanced", {"0": 2.0, "2": 0.5}]},
    }
    learners = [
        pa1,
        {"name": "pa1", "params": {"multiclass": "ova"}},
        {"name": "majority"},
    ]
    content = {
        "datasets": [{"path": str(weighted)}],
        "learners": learners,
        "protocol": protocol,
    }
    notes = Notes()
    here = evaluate(
        parse_experiment(content), tmp_path / "here", in_process=True, progress=notes
    )
    there = evaluate(
        parse_experiment(content),
        tmp_path / "there",
        scheduler=cluster.scheduler,
        class_shards=class_shards,
    )
    assert here.computed == there.computed == here.runs > 0
    assert not here.failed
    assert record_bytes(tmp_path / "here") == record_bytes(tmp_path / "there")
    assert [
        line
        for line in notes.lines
        if line.startswith("majority: all rows count alike")
    ]
