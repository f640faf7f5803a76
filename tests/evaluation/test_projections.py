"""Several random projections: which run has which, that runs share the rows projected, that old ids stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.analysis.summary import summarise
from olscale.data.stream import Shuffle
from olscale.data.transforms.projection import RandomProjection
from olscale.evaluation.cut_groups import GROUP_NUMBERS, PROJECTED_RUNS, cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.plan import PlannedExperiment, make_plan
from olscale.evaluation.resolve import open_experiment
from olscale.evaluation.run import Run, StreamKey
from olscale.evaluation.run_group import StreamSource
from olscale.evaluation.run_plan import RunPlan
from olscale.evaluation.settings import settings
from olscale.execution.evaluate import evaluate
from olscale.results import open_store

TIME = {"order": "time", "projections": 3}


def content(shelf: Path, protocol: dict[str, Any], **more: Any) -> dict[str, Any]:
    given = {
        "datasets": [{"path": str(shelf / "sparse")}],
        "learners": [{"name": "pa1"}, {"name": "lol"}],
    }
    return {**given, "transforms": ["project:5"], "protocol": protocol, **more}


def plan(shelf: Path, protocol: dict[str, Any], **more: Any) -> RunPlan:
    return make_plan(parse_experiment(content(shelf, protocol, **more)))


def protocols(plan: RunPlan) -> list[dict[str, Any]]:
    return [run.definition()["protocol"] for run in plan.runs if run.learner == "pa1"]


def test_in_time_order_each_projection_is_a_run(shelf: Path) -> None:
    made = plan(shelf, TIME)
    assert protocols(made) == [{"order": "time", "projection": i} for i in range(3)]
    assert made.runs[0].definition()["transforms"] == [
        "project:features=5,kind=gaussian,seed=0"
    ]
    assert protocols(plan(shelf, {"order": "time"})) == [
        {"order": "time", "projection": 0}
    ]


def test_permutation_and_fold_have_the_projection_of_their_number(shelf: Path) -> None:
    made = protocols(plan(shelf, {"permutations": 3}))
    assert [(one["permutation"], one["projection"]) for one in made] == [
        (0, 0),
        (1, 1),
        (2, 2),
    ]
    made = protocols(plan(shelf, {"split": "kfold", "folds": 2, "permutations": 2}))
    assert [(one["fold"], one["permutation"], one["projection"]) for one in made] == [
        (0, 0, 0),
        (0, 1, 1),
        (1, 2, 2),
        (1, 3, 3),
    ]
    made = protocols(plan(shelf, {"split": "kfold", "folds": 2, **TIME}))
    assert [(one["fold"], one["projection"]) for one in made] == [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 3),
        (1, 4),
        (1, 5),
    ]


def test_without_a_projection_no_definition_speaks_of_one(shelf: Path) -> None:
    for protocol in (
        {"order": "time"},
        {"permutations": 2},
        {"split": "half", "folds": 2},
    ):
        made = plan(shelf, protocol, transforms=["bias"])
        assert all(
            "projection" not in run.definition()["protocol"] for run in made.runs
        )


def test_the_id_of_a_projected_run_never_changes() -> None:
    key = StreamKey(
        "url",
        "f" * 64,
        ("project:features=100,kind=gaussian,seed=0",),
        Shuffle(0, 3),
        projection=3,
    )
    run = Run(key, "pa1", 1, {"C": 1.0, "dtype": "float64", "multiclass": "max-score"})
    assert run.id == "d381a508fba08a33b7877a6ab19d8a16"


def test_a_dataset_may_have_a_protocol_of_its_own(shelf: Path) -> None:
    datasets = [
        {"path": str(shelf / "dense"), "transforms": []},
        {"path": str(shelf / "sparse"), "protocol": TIME},
    ]
    experiment = parse_experiment(
        content(shelf, {"permutations": 2}, datasets=datasets)
    )
    made = make_plan(experiment)
    found = [
        (run.stream.dataset, run.definition()["protocol"])
        for run in made.runs
        if run.learner == "pa1"
    ]
    permuted = [
        ("dense", {"order": "permuted", "seed": 0, "permutation": i}) for i in range(2)
    ]
    assert found == permuted + [
        ("sparse", {"order": "time", "projection": i}) for i in range(3)
    ]
    asked = [
        (one.dataset, dict(one.protocol))
        for one in settings(experiment, []).settings
        if one.learner == "pa1"
    ]
    assert asked == [
        ("dense", {"order": "permuted", "seed": 0}),
        ("sparse", {"order": "time"}),
    ]


def test_tuning_projects_each_half_anew(shelf: Path) -> None:
    learners = [{"name": "pa1", "tune": {"C": [0.1, 1.0]}}]
    made = PlannedExperiment(
        open_experiment(
            parse_experiment(
                content(shelf, TIME, learners=learners, tuning={"folds": 3})
            )
        )
    ).tuning
    assert {(run.stream.part.fold, run.stream.projection) for run in made.runs} == {
        (0, 0),
        (1, 1),
        (2, 2),
    }


def test_learners_of_a_pack_share_each_chunk_projected(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    projected: list[tuple[int, int]] = []
    apply = RandomProjection.apply

    def counting(self: RandomProjection, X: Any, columns: int) -> Any:
        made = apply(self, X, columns)
        projected.append((self.projection, len(made)))
        return made

    made = plan(
        shelf, TIME, learners=[{"name": name} for name in ("pa1", "arow", "lol", "ogd")]
    )
    packs = cut_groups(made.runs, made.sources, 1)
    assert [len(pack.runs) for pack in packs] == [4, 4, 4]
    assert [pack.name.split(", ")[1:3] for pack in packs] == [
        ["time order", f"projection {i}"] for i in range(3)
    ]
    monkeypatch.setattr(RandomProjection, "apply", counting)
    for number, pack in enumerate(packs):
        passage = GroupPass(pack)
        for i in range(passage.chunks):
            passage.step(i)
            assert len(projected) == i + 1
            assert projected[-1][0] == number
        projected.clear()


def test_a_projection_is_worth_a_pack_of_several_runs() -> None:
    source = StreamSource("d", 100, int(GROUP_NUMBERS))
    for projection, size in ((None, 1), (0, PROJECTED_RUNS)):
        key = StreamKey("d", "0" * 64, (), Shuffle(0, 0), projection=projection)
        runs = [Run(key, "pa1", 1, {"C": float(j)}) for j in range(16)]
        assert {len(pack.runs) for pack in cut_groups(runs, {"0" * 64: source}, 1)} == {
            size
        }


def test_projections_are_averaged(shelf: Path, tmp_path: Path) -> None:
    experiment = parse_experiment(content(shelf, TIME))
    evaluate(experiment, tmp_path / "store", in_process=True)
    found = [
        s
        for s in summarise(open_store(str(tmp_path / "store")))
        if s.metric == "cumulative_error"
    ]
    assert [(s.learner, s.n, dict(s.protocol)) for s in found] == [
        ("pa1", 3, {"order": "time"}),
        ("lol", 3, {"order": "time"}),
    ]
    assert all(s.std > 0.0 and np.isfinite(s.mean) for s in found)
