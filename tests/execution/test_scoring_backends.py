"""Options of a protocol on Dask, in process and in class shards: the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.execution.evaluate import evaluate
from tests.cluster import Cluster
from tests.record_bytes import record_bytes

EVERYTHING = {
    "window": 100,
    "fading": 0.99,
    "drift": "adwin",
    "delay": 30,
    "holdout_every": 200,
    "holdout_rows": 50,
}
EVERYTHING |= {"mcnemar": True}


def experiment(faces: Path, **protocol: Any) -> Experiment:
    learners = [{"name": "pa1", "params": {"multiclass": "ova", "C": [0.1, 1.0]}}]
    content = {
        "datasets": [{"path": str(faces)}],
        "learners": learners,
        "protocol": {"order": "time"} | protocol,
    }
    return parse_experiment(content)


@pytest.mark.parametrize(
    "protocol",
    [
        EVERYTHING,
        {"split": "prequential-kfold", "folds": 3, "window": 20, "mcnemar": True},
    ],
    ids=["everything", "kfold"],
)
def test_dask_and_in_process_give_the_same_bytes(
    faces: Path, tmp_path: Path, protocol: dict[str, Any], cluster: Cluster
) -> None:
    made = experiment(faces, **protocol)
    evaluate(made, tmp_path / "here", in_process=True)
    evaluate(made, tmp_path / "dask", scheduler=cluster.scheduler)
    assert record_bytes(tmp_path / "here") == record_bytes(tmp_path / "dask") != {}


@pytest.mark.parametrize("order", ["time", "permuted"])
def test_delays_of_a_column_are_the_same_on_dask_and_in_process(
    late: Path, tmp_path: Path, order: str, cluster: Cluster
) -> None:
    """On actors, which go through time-ordered streams, and in tasks, which go through permutations."""
    made = experiment(
        late,
        delay="late",
        order=order,
        **({"permutations": 2} if order == "permuted" else {}),
    )
    evaluate(made, tmp_path / "here", in_process=True)
    evaluate(made, tmp_path / "dask", scheduler=cluster.scheduler)
    assert record_bytes(tmp_path / "here") == record_bytes(tmp_path / "dask") != {}


@pytest.mark.parametrize(
    ("protocol", "cut"),
    [
        ({"window": 100, "fading": 0.99, "drift": "ddm", "mcnemar": True}, True),
        ({"delay": 5}, False),
    ],
)
def test_class_shards_and_one_piece_give_the_same_bytes(
    faces: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    protocol: dict[str, Any],
    cut: bool,
) -> None:
    """What must look at the learner between rows is not cut."""
    from olscale.execution import in_process as module

    merged = []
    merge = module.merge_group
    monkeypatch.setattr(
        module,
        "merge_group",
        lambda pack, *more: merged.append(pack) or merge(pack, *more),
    )
    made = experiment(faces, **protocol)
    evaluate(made, tmp_path / "whole", in_process=True, class_shards=1)
    evaluate(made, tmp_path / "shards", in_process=True, class_shards=3)
    assert len(merged) == (2 if cut else 0)
    assert record_bytes(tmp_path / "whole") == record_bytes(tmp_path / "shards") != {}


def test_settings_of_a_grid_keep_the_bits_they_have_alone(
    faces: Path, tmp_path: Path
) -> None:
    """They share a pass over the rows, or not, as the protocol allows; the other options come along."""
    protocol = {"window": 100, "drift": "ddm", "fading": 0.9}
    evaluate(experiment(faces, **protocol), tmp_path / "together", in_process=True)
    for C in (0.1, 1.0):
        learners = [{"name": "pa1", "params": {"multiclass": "ova", "C": C}}]
        content = {
            "datasets": [{"path": str(faces)}],
            "learners": learners,
            "protocol": {"order": "time"} | protocol,
        }
        evaluate(parse_experiment(content), tmp_path / "alone", in_process=True)
    assert record_bytes(tmp_path / "together") == record_bytes(tmp_path / "alone") != {}
