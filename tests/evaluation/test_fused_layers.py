"""Settings of one layer share its features, along the stream or in sums: each has the bytes that it has alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olscale
from olscale.data.ingest.ingest import ingest
from olscale.evaluation import group_pass, summed_rows
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.fused_runs import FusedRuns, fuse_runs
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.plan import make_plan
from olscale.evaluation.summed_rows import can_sum, cut_sums
from olscale.results.opening import open_store
from olscale.results.rows import run_bytes
from tests.cluster import Cluster

GRID: dict[str, list[dict[str, Any]]] = {
    "oselm": [{"nodes": 20, "lam": lam} for lam in (0.1, 1.0)]
    + [{"nodes": 20, "forget": 0.1}, {"nodes": 21}],
    "rff-rls": [{"features": 20, "lam": lam} for lam in (0.1, 1.0)]
    + [{"features": 20, "block": 3}],
}
"""The third of the first two share their layer with the others; it diverges within the first hundred rows."""


def dataset(folder: Path, broken: int | None = None) -> Path:
    """Return 700 rows of three classes; a value of one may be missing."""
    rng = np.random.default_rng(0)
    for part, rows in (("train", 700), ("test", 90)):
        X = rng.normal(size=(rows, 5))
        y = (np.abs(X[:, :2]).sum(axis=1) > 1.0) + (X[:, 2] > 0.5)
        if part == "train" and broken is not None:
            X[broken, 1] = np.nan
        np.savez(folder / f"{part}.npz", X=X, y=y)
    ingest(
        [str(folder / "train.npz")],
        str(folder / "data"),
        test=[str(folder / "test.npz")],
        chunk_rows=300,
    )
    return folder / "data"


def content(
    data: Path, protocol: dict[str, Any], **grid: list[dict[str, Any]]
) -> dict[str, Any]:
    learners = [
        {"name": name.replace("_", "-"), "params": params}
        for name, some in grid.items()
        for params in some
    ]
    return {
        "datasets": [{"path": str(data)}],
        "learners": learners,
        "protocol": protocol,
    }


def outcomes(store: Path) -> dict[str, tuple[str, bytes]]:
    found = open_store(store)
    return {
        id: (found.get(id).outcome, run_bytes(found.get(id))) for id in found.done()
    }


@pytest.mark.parametrize(
    "protocol", [{"order": "time"}, {"order": "time", "test_only": True}]
)
@pytest.mark.parametrize("broken", [None, 430])
def test_settings_have_the_bytes_they_have_alone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    protocol: dict[str, Any],
    broken: int | None,
) -> None:
    monkeypatch.setattr(summed_rows, "LEAST_ROWS", 150)
    experiment = parse_experiment(content(dataset(tmp_path, broken), protocol, **GRID))
    olscale.evaluate(experiment, tmp_path / "together", in_process=True, progress=False)
    monkeypatch.setattr(group_pass, "fuse_runs", list)
    monkeypatch.setattr(summed_rows, "sums_key", lambda learner: None)
    olscale.evaluate(experiment, tmp_path / "alone", in_process=True, progress=False)
    together = outcomes(tmp_path / "together")
    assert together == outcomes(tmp_path / "alone")
    ends = [outcome for outcome, _ in together.values()]
    assert sorted(ends) == (
        ["diverged", *["ok"] * 6] if broken is None else ["diverged"] * 7
    )


def test_settings_of_one_layer_are_fused_and_others_are_not(tmp_path: Path) -> None:
    plan = make_plan(
        parse_experiment(content(dataset(tmp_path), {"order": "time"}, **GRID))
    )
    [group] = cut_groups(plan.runs, plan.sources, 1)
    going = GroupPass(group)
    assert [
        len(each._runs) if isinstance(each, FusedRuns) else 1
        for each in fuse_runs(going.states)
    ] == [3, 1, 3]
    before = [state.learner.state_["A"] for state in going.states[:2]]
    assert before[0] is before[1]  # no more than one layer is kept


def test_settings_of_the_same_sums_are_one_group(tmp_path: Path) -> None:
    """Those that weigh rows by their age have no sums, and are not among them."""
    plan = make_plan(
        parse_experiment(
            content(dataset(tmp_path), {"order": "time", "test_only": True}, **GRID)
        )
    )
    groups = list(cut_sums(cut_groups(plan.runs, plan.sources, 2)))
    assert sorted(len(group.runs) for group in groups if can_sum(group.runs[0])) == [
        1,
        2,
        3,
    ]
    assert [
        run.params["forget"]
        for group in groups
        if not can_sum(group.runs[0])
        for run in group.runs
    ] == [0.1]


@pytest.mark.long
def test_workers_share_the_sums_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: Cluster
) -> None:
    data = dataset(tmp_path)
    experiment = parse_experiment(
        content(data, {"test_only": True, "permutations": 2}, oselm=GRID["oselm"][:2])
    )
    for name, where in (
        ("here", {"in_process": True}),
        ("there", {"scheduler": cluster.scheduler}),
    ):
        olscale.evaluate(experiment, tmp_path / name, progress=False, **where)
        assert not list((tmp_path / name / "tmp").glob("shards-*"))
    assert outcomes(tmp_path / "here") == outcomes(tmp_path / "there")
    assert len(outcomes(tmp_path / "here")) == 4


def test_several_targets_share_a_layer(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = np.column_stack([X[:, 0] * X[:, 1], X[:, 2]])
    settings = [olscale.learners.OSELMR(nodes=10, lam=lam) for lam in (0.1, 1.0)]
    alone = [olscale.learners.OSELMR(nodes=10, lam=lam) for lam in (0.1, 1.0)]
    for learner in (*settings, *alone):
        learner.expect_targets(2)
        learner.begin(3, 0)
    found = settings[0].fuse(settings).learn(X, y)
    for mine, learner in zip(found, alone, strict=True):
        np.testing.assert_array_equal(mine, learner.learn(X, y))


def test_layers_that_differ_are_refused() -> None:
    learners = [olscale.learners.OSELM(nodes=10) for _ in range(2)]
    for seed, learner in enumerate(learners):
        learner.begin(3, 2, (seed, 0))
    with pytest.raises(ValueError, match="settings that share a pass differ in"):
        learners[0].fuse(learners)
