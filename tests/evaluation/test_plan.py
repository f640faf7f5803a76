"""Plans and packs: which runs an experiment has, under ids that stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olscale.data.ingest.ingest import ingest
from olscale.data.stream import Part, Shuffle
from olscale.errors import (
    DatasetError,
    ExperimentError,
    ParameterError,
    UnknownNameError,
)
from olscale.evaluation.cut_groups import GROUP_NUMBERS, GROUPS_A_THREAD, cut_groups
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.evaluation.forecast import NUMBERS_A_SECOND, ROW_NUMBERS
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run import Run, StreamKey
from olscale.evaluation.run_group import StreamSource
from olscale.evaluation.run_plan import RunPlan
from olscale.evaluation.settings import settings
from olscale.learners.registry import learner_names, make_learner


def plan(shelf: Path, **content: Any) -> RunPlan:
    given = {
        "datasets": [{"path": str(shelf / "dense")}],
        "learners": [{"name": "pa1"}],
        **content,
    }
    return make_plan(parse_experiment(given))


def ids(plan: RunPlan) -> list[str]:
    return [run.id for run in plan.runs]


def test_the_id_of_a_definition_never_changes() -> None:
    """Stores written by older versions must go on counting as done."""
    key = StreamKey("digits", "f" * 64, ("standardize", "bias"), Shuffle(0, 3))
    run = Run(key, "pa1", 1, {"C": 1.0, "dtype": "float64", "multiclass": "max-score"})
    assert run.id == "5ff7a683478f7bd8f7ae1823886d807a"
    time = Run(StreamKey("digits", "f" * 64, (), None), "perceptron", 1, {})
    assert time.id == "552b175c388e3eb27b95aa4d80b2354e"


def test_equal_values_are_one_run(shelf: Path) -> None:
    learners = [
        {"name": "pa1", "params": params}
        for params in ({}, {"C": 1}, {"C": 1.0}, {"C": [1, 1.0]})
    ]
    assert ids(plan(shelf, learners=learners)) == ids(plan(shelf))


def test_adding_learners_datasets_or_permutations_leaves_the_other_ids(
    shelf: Path,
) -> None:
    few = set(ids(plan(shelf)))
    more = plan(
        shelf,
        learners=[{"name": "lol"}, {"name": "pa1"}],
        datasets=[{"path": str(shelf / name)} for name in ("sparse", "dense")],
        protocol={"permutations": 12},
    )
    assert few < set(ids(more))
    assert len(few) == 10
    assert len(more.runs) == 2 * 2 * 12


def test_another_seed_order_transform_or_parameter_is_another_run(shelf: Path) -> None:
    plans = [
        plan(shelf),
        plan(shelf, seed=1),
        plan(shelf, transforms=["bias"]),
        plan(shelf, protocol={"order": "time"}),
        plan(shelf, learners=[{"name": "pa1", "params": {"C": 2}}]),
    ]
    everything = [id for one in plans for id in ids(one)]
    assert len(set(everything)) == len(everything) == 41


def test_listed_values_are_one_learner_each(shelf: Path) -> None:
    expanded = plan(
        shelf,
        learners=[
            {
                "name": "pa1",
                "params": {"C": [0.25, 1, 4], "dtype": ["float32", "float64"]},
            }
        ],
        protocol={"order": "time"},
    )
    assert {(run.params["C"], run.params["dtype"]) for run in expanded.runs} == {
        (C, dtype) for C in (0.25, 1.0, 4.0) for dtype in ("float32", "float64")
    }


def test_a_dataset_may_have_transforms_of_its_own(shelf: Path) -> None:
    paths = {name: str(shelf / name) for name in ("dense", "sparse")}
    datasets = [{"path": paths["dense"]}, {"path": paths["sparse"], "transforms": []}]
    made = plan(shelf, transforms=["bias"], datasets=datasets)
    assert {(run.stream.dataset, run.stream.transforms) for run in made.runs} == {
        ("dense", ("bias",)),
        ("sparse", ()),
    }


def test_a_learner_may_have_transforms_of_its_own(shelf: Path) -> None:
    paths = {name: str(shelf / name) for name in ("dense", "sparse")}
    datasets = [{"path": paths["dense"]}, {"path": paths["sparse"], "transforms": []}]
    learners = [
        {"name": "pa"},
        {"name": "pa1", "transforms": ["unit-norm"], "datasets": ["dense"]},
    ]
    made = plan(shelf, transforms=["bias"], datasets=datasets, learners=learners)
    assert {
        (run.learner, run.stream.dataset, run.stream.transforms) for run in made.runs
    } == {
        ("pa", "dense", ("bias",)),
        ("pa", "sparse", ()),
        ("pa1", "dense", ("unit-norm",)),
    }


def test_a_learner_with_transforms_of_its_own_meets_a_dataset_that_is_listed_twice_once() -> (
    None
):
    datasets = [
        {"name": "a1a", "transforms": []},
        {"name": "a1a", "transforms": ["bias"]},
    ]
    learners = [{"name": "pa"}, {"name": "pa1", "transforms": ["unit-norm"]}]
    found = settings(Experiment(datasets=datasets, learners=learners), []).settings
    assert [(one.learner, one.transforms) for one in found] == [
        ("pa", ()),
        ("pa1", ("unit-norm",)),
        ("pa", ("bias",)),
    ]


@pytest.mark.parametrize(
    ("content", "error", "said"),
    [
        (
            {"learners": [{"name": "pa3"}]},
            UnknownNameError,
            "unknown learner 'pa3'; did you mean 'pa",
        ),
        (
            {"learners": [{"name": "pa1", "params": {"c": 1}}]},
            UnknownNameError,
            "parameter of learner pa1 'c'",
        ),
        (
            {"learners": [{"name": "pa1", "params": {"C": -1}}]},
            ParameterError,
            "learner pa1: parameter C was -1",
        ),
        (
            {"learners": [{"name": "oselm", "params": {"start": "boost", "N0": 401}}]},
            ParameterError,
            "learner oselm: 400 rows are learned from before the last is predicted, and nothing "
            "is before 401; take a",
        ),
        (
            {"transforms": ["standardise"]},
            UnknownNameError,
            "unknown transform 'standardise'; did you mean 'standardize'",
        ),
        ({"datasets": [{"path": "nowhere"}]}, DatasetError, "nowhere does not exist"),
        (
            {"protocol": {"order": "time", "permutations": 2}},
            ExperimentError,
            "needs protocol.order = 'permuted'",
        ),
        (
            {"protocol": {"projections": 2}},
            ExperimentError,
            "protocol.projections needs protocol.order = 'time'",
        ),
        (
            {"protocol": {"order": "time", "projections": 2}, "transforms": ["bias"]},
            ExperimentError,
            "protocol.projections was 2, but no transform of dense projects at random; add one, "
            "such as project:",
        ),
    ],
)
def test_what_cannot_be_planned_is_named(
    shelf: Path, content: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said.replace("(", r"\(")):
        plan(shelf, **content)


@given(
    streams=st.integers(1, 6),
    learners=st.integers(1, 7),
    parts=st.integers(1, 9),
    heavy=st.sampled_from([1e-3, 0.3, 1.0, 4.0]),
)
def test_packs_hold_every_run_once_and_one_stream_each(
    streams: int, learners: int, parts: int, heavy: float
) -> None:
    keys = [StreamKey("d", f"{i % 2}" * 64, (), Shuffle(0, i)) for i in range(streams)]
    runs = [Run(key, "pa", j, {}) for j in range(learners) for key in keys]
    sources = {
        "0" * 64: StreamSource("d", 10, 10),
        "1" * 64: StreamSource("d", 100, int(heavy * GROUP_NUMBERS)),
    }
    packs = cut_groups(runs, sources, parts)
    assert sorted(run.id for pack in packs for run in pack.runs) == sorted(
        run.id for run in runs
    )
    assert all(len({run.stream for run in pack.runs}) == 1 for pack in packs)
    assert len({pack.name for pack in packs}) == len(packs)
    assert len(packs) >= min(parts, streams)
    assert all(
        len(pack.runs) == 1 or pack.rows == 10 or len(pack.runs) * heavy <= 1
        for pack in packs
    )
    through = [
        len(pack.runs) * sources[pack.runs[0].stream.fingerprint].numbers
        for pack in packs
    ]
    assert through == sorted(through, reverse=True)


@given(
    costs=st.lists(st.floats(0.0, 60.0), min_size=1, max_size=60),
    parts=st.integers(1, 4),
)
def test_no_worker_is_long_at_a_pack_when_the_others_have_none(
    costs: list[float], parts: int
) -> None:
    """Each takes the longest that is left: none ends later than another by more than one run, or a second."""
    keys = [StreamKey("d", "0" * 64, (), Shuffle(0, i)) for i in range(3)]
    runs = [Run(keys[i % 3], "pa", i, {}) for i in range(len(costs))]
    seconds = {run.id: cost for run, cost in zip(runs, costs, strict=True)}
    numbers = {id: 4e9 * cost for id, cost in seconds.items()}
    packs = cut_groups(
        runs, {"0" * 64: StreamSource("d", 10, 10)}, parts, costs=numbers
    )
    assert sorted(run.id for pack in packs for run in pack.runs) == sorted(
        run.id for run in runs
    )
    lengths = [sum(seconds[run.id] for run in pack.runs) for pack in packs]
    assert lengths == sorted(lengths, reverse=True)
    ends = [0.0] * parts
    for length in lengths:
        ends[ends.index(min(ends))] += length
    assert max(ends) <= sum(costs) / parts + max(1.0, *costs)


@pytest.mark.parametrize("shuffle", [None, Shuffle(0, 0)], ids=["time", "permuted"])
@pytest.mark.parametrize("seconds", [0.02, 0.1, 1.0, 20.0])
@pytest.mark.parametrize("settings", [58, 100, 250])
def test_each_worker_of_a_cluster_has_work_until_the_end(
    shuffle: Shuffle | None, seconds: float, settings: int
) -> None:
    """58 settings on 8 workers were two groups, and six workers never got anything."""
    runs = [
        Run(StreamKey("d", "0" * 64, (), shuffle), "pa", i, {}) for i in range(settings)
    ]
    numbers = {run.id: 4e9 * seconds for run in runs}
    packs = cut_groups(
        runs,
        {"0" * 64: StreamSource("d", 10, 10)},
        8,
        costs=numbers,
        groups_a_part=GROUPS_A_THREAD,
    )
    assert sorted(run.id for pack in packs for run in pack.runs) == sorted(
        run.id for run in runs
    )
    ends = [0] * 8
    for pack in packs:
        ends[ends.index(min(ends))] += len(pack.runs)
    assert min(ends) >= 0.85 * max(ends)


def test_a_cluster_of_more_workers_than_runs_gets_a_group_each() -> None:
    runs = [Run(StreamKey("d", "0" * 64, (), None), "lol", i, {}) for i in range(25)]
    assert (
        len(
            cut_groups(
                runs,
                {"0" * 64: StreamSource("d", 10, 10)},
                64,
                groups_a_part=GROUPS_A_THREAD,
            )
        )
        == 25
    )


def test_a_stream_is_not_read_more_often_than_there_are_workers_where_reading_is_much_of_the_work() -> (
    None
):
    """A linear learner goes through a value about once: each further slice would double what its runs cost."""
    runs = [Run(StreamKey("d", "0" * 64, (), None), "pa", i, {}) for i in range(58)]
    source = StreamSource("d", 1000, 30_000)
    for numbers, groups in ((30_000.0, 8), (460_000.0, 19), (60_000_000.0, 24)):
        costs = {run.id: numbers for run in runs}
        assert (
            len(cut_groups(runs, {"0" * 64: source}, 8, costs=costs, groups_a_part=3))
            == groups
        )


def test_a_permutation_is_not_cut_for_learners_that_take_less_time_than_reading_it() -> (
    None
):
    """Two workers have four permutations each: a second task on one would permute the rows again."""
    source = StreamSource("d", 1_000_000, 10_000_000)
    keys = [StreamKey("d", "0" * 64, (), Shuffle(0, i)) for i in range(8)]
    runs = [Run(key, name, i, {}) for key in keys for i, name in enumerate("ab")]
    for numbers, groups in ((1e7, 8), (1e8, 8), (1e9, 16)):
        costs = {run.id: numbers for run in runs}
        cut = cut_groups(runs, {"0" * 64: source}, 2, costs=costs, groups_a_part=3)
        assert len(cut) == groups


@given(
    costs=st.lists(st.sampled_from([0.0, 1.0, 2.0, 60.0]), min_size=1, max_size=20),
    parts=st.integers(1, 6),
)
def test_a_stream_that_is_read_from_disk_is_cut_into_slices_of_equal_time(
    costs: list[float], parts: int
) -> None:
    key = StreamKey("d", "0" * 64, (), None)
    runs = [Run(key, "pa", i, {}) for i in range(len(costs))]
    seconds = {run.id: cost for run, cost in zip(runs, costs, strict=True)}
    packs = cut_groups(
        runs, {"0" * 64: StreamSource("d", 10, 10)}, parts, costs=seconds
    )
    assert sorted(run.id for pack in packs for run in pack.runs) == sorted(
        run.id for run in runs
    )
    assert len(packs) == min(parts, len(runs))
    assert all(pack.runs for pack in packs)
    lengths = [sum(seconds[run.id] for run in pack.runs) for pack in packs]
    assert lengths == sorted(lengths, reverse=True)
    assert max(lengths) - min(lengths) <= max(costs)
    assert all([*pack.runs] == sorted(pack.runs, key=runs.index) for pack in packs)


def in_plans(learner: str, numbers: float) -> float:
    """Return as what `numbers` of a learner count in plans, which go by the time they take."""
    made = make_learner(learner, {})
    return NUMBERS_A_SECOND * (numbers / made.numbers_per_second + made.row_seconds)


@pytest.mark.parametrize(
    ("learner", "params", "numbers"),
    [
        ("pa1", {}, 4 * 12 + 3 * 16),
        ("arow", {}, 4 * 12 + 3 * 16 + 0.27 * 12 * 12 + 330),
        ("arow", {"multiclass": "ova"}, 4 * 12 + 3 * 16 + 3 * (0.27 * 12 * 12 + 330)),
        ("arow", {"covariance": "diagonal"}, 4 * 12 + 3 * 16 + 3 * 12),
        ("lol", {"k": 15}, 12 * (3 + 2.4 / 4**1.4)),
        ("soft-lol", {"k": 15, "m": 2}, 12 * (2 * 3 + 12 / 4**1.4)),
        ("pamo1", {"h": 4, "k": 2}, 4 * 2 * 3 * (12 + 33)),
    ],
)
def test_a_run_costs_the_numbers_it_goes_through(
    tmp_path: Path, learner: str, params: dict[str, Any], numbers: float
) -> None:
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "rows.npz", X=rng.normal(size=(30, 11)), y=np.arange(30) % 3)
    ingest([str(tmp_path / "rows.npz")], str(tmp_path / "d"))
    datasets = [{"path": str(tmp_path / "d")}]
    learners = [{"name": learner, "params": params}]
    made = plan(
        tmp_path,
        datasets=datasets,
        learners=learners,
        transforms=["bias"],
        protocol={"permutations": 2},
    )
    expected = 30 * (in_plans(learner, numbers) + ROW_NUMBERS)
    assert [made.costs[run.id] for run in made.runs] == pytest.approx([expected] * 2)


@pytest.mark.parametrize(
    ("transforms", "values", "looked_up"),
    [
        ([], 2, True),
        (["bias"], 3, True),
        (["standardize"], 9, False),
        (["standardize", "bias"], 10, False),
    ],
)
def test_sparse_rows_cost_the_values_that_are_stored(
    tmp_path: Path, transforms: list[str], values: int, looked_up: bool
) -> None:
    """And to look their weights up: half a nanosecond each."""
    (tmp_path / "rows.svm").write_text(
        "".join(f"{sign} {i}:1 9:2\n" for i, sign in enumerate([1, -1] * 4, 1))
    )
    ingest([str(tmp_path / "rows.svm")], str(tmp_path / "d"))
    made = plan(
        tmp_path,
        datasets=[{"path": str(tmp_path / "d")}],
        transforms=transforms,
        protocol={"order": "time"},
    )
    learning = in_plans("pa1", 2 * values + 16) + 0.5 * values * looked_up
    expected = 8 * (learning + ROW_NUMBERS)
    assert [made.costs[run.id] for run in made.runs] == pytest.approx([expected])


def test_folds_are_runs_of_their_own_with_one_permutation_each(shelf: Path) -> None:
    protocol = {"split": "stratified", "folds": 4}
    plan = make_plan(
        parse_experiment(
            {
                "datasets": [{"path": str(shelf / "dense")}],
                "learners": [{"name": "pa"}],
                "protocol": protocol,
            }
        )
    )
    found = [run.definition()["protocol"] for run in plan.runs]
    assert [
        (one["split"], one["folds"], one["fold"], one["permutation"]) for one in found
    ] == [("stratified", 4, fold, fold) for fold in range(4)]


@pytest.mark.parametrize(
    ("protocol", "message"),
    [
        ({"folds": 3}, "protocol.split other than 'given'"),
        ({"split": "kfold", "folds": 1}, "expected at least 2"),
    ],
)
def test_folds_that_make_no_sense_are_refused(
    shelf: Path, protocol: dict[str, object], message: str
) -> None:
    content = {
        "datasets": [{"path": str(shelf / "dense")}],
        "learners": [{"name": "pa"}],
        "protocol": protocol,
    }
    with pytest.raises(ExperimentError, match=message):
        make_plan(parse_experiment(content))


@pytest.mark.parametrize("part", [None, Part("half", 0, 0, 2)])
@pytest.mark.parametrize("shuffle", [None, Shuffle(0, 0)])
def test_packs_on_what_is_held_in_memory_are_bounded_and_others_share_the_pass(
    part: Part | None, shuffle: Shuffle | None
) -> None:
    runs = [
        Run(StreamKey("d", "0" * 64, (), shuffle, part), "pa1", 1, {"C": float(j)})
        for j in range(6)
    ]
    sources = {"0" * 64: StreamSource("d", 100, int(GROUP_NUMBERS), bytes=1_000)}
    held, not_held = (
        cut_groups(runs, sources, 1, memory_limit=limit) for limit in (1_000, 999)
    )
    whole_file = shuffle is None and part is None
    assert [len(pack.runs) for pack in held] == (
        [6] if whole_file else [1] * 6 if part is None else [2] * 3
    )
    assert [len(pack.runs) for pack in not_held] == [6]
    assert {pack.memory_limit for pack in held} == {1_000}


def test_settings_of_every_learner_are_those_of_each_by_its_name(
    tmp_path: Path,
) -> None:
    """Found without a dataset: `olscale reproduce` asks for them when all have run."""
    content = {"datasets": [{"path": str(tmp_path / "x")}], "learners": [{"name": "*"}]}
    every = settings(parse_experiment(content), [])
    assert (
        {setting.learner for setting in every.settings}
        == every.labels
        == set(learner_names())
    )
