"""`[protocol] measures` from the plan to the record: what is refused, what runs have, in one piece and in class shards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.data.ingest.ingest import ingest
from olscale.errors import ExperimentError
from olscale.evaluation.class_shards import ShardPass, merge_shards
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.experiment_sections import TuningSpec
from olscale.evaluation.fused_runs import fuse_runs
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.plan import make_plan
from olscale.evaluation.protocol_fit import check_task
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.run_plan import Search
from olscale.evaluation.shard_cuts import cut_shards
from olscale.measures import WAITED, askable
from olscale.results.opening import open_store
from olscale.results.record import Record
from olscale.results.rows import run_bytes
from olscale.results.scratch import Scratch


def groups(path: Path, **protocol: Any) -> list[RunGroup]:
    content = {
        "datasets": [{"path": str(path)}],
        "learners": [{"name": "pa1", "params": {"multiclass": "ova"}}],
        "protocol": {"order": "time"} | protocol,
    }
    plan = make_plan(parse_experiment(content))
    return cut_groups(plan.runs, plan.sources, 1)


def record(group: RunGroup, restore: int | None = None) -> Record:
    """Return the record of a pass that is saved and gone on with by another after `restore` chunks."""
    going = GroupPass(group)
    for i in range(going.chunks):
        if i == restore:
            state = dict(going.state())
            going = GroupPass(group)
            going.restore(state)
        going.step(i)
    [made] = going.finish()
    return made


EVERY = {
    "measures": [
        name
        for name in askable("classification")
        if name not in ("auc", "cost", "roc", "latency", "model_bytes", "train_error")
        # Class shards keep the best score of a row, not all of them.
        and name not in ("log_loss", "brier", "ece", "average_precision")
    ],
    "positive": "3",
    "window": 50,
    "fading": 0.99,
}


def test_shards_and_a_resumed_run_have_the_bytes_of_the_whole(
    shelf: Path, tmp_path: Path
) -> None:
    """Confusion matrix, kappas and all their forms and curves."""
    [group] = groups(shelf / "digits", **EVERY)
    whole = record(group)
    assert {"kappa", "window_kappa", "fading_macro_f1", "weighted_f1"} <= set(
        whole.metrics
    )
    assert {"confusion", "kappa_t", "window_macro_f1"} <= {
        series.name for series in whole.series
    }
    assert run_bytes(record(group, restore=1)) == run_bytes(whole)
    [cut] = cut_shards([group], 1, 3)
    assert len(cut.parts()) == 3
    scratch = Scratch(open_store(tmp_path / "store", create=True), group.runs[0].id)
    for part in cut.parts():
        going = ShardPass(part, scratch)
        for i in range(going.chunks):
            going.step(i)
        going.finish()
    assert run_bytes(merge_shards(cut, scratch)) == run_bytes(whole)


def test_measures_are_in_the_definition_where_they_are_given(shelf: Path) -> None:
    """Once each and in one order, so that the order in a file makes no other run."""
    plain, one, other = (
        groups(shelf / "digits", **given)[0].runs[0]
        for given in (
            {},
            {"measures": ["kappa", "accuracy"]},
            {"measures": ["accuracy", "kappa", "kappa"]},
        )
    )
    assert "measures" not in plain.definition()["protocol"]
    assert one.id == other.id != plain.id


def test_a_state_without_the_newer_metrics_goes_on_without_them(shelf: Path) -> None:
    """As a checkpoint of an earlier version: what it lacks is absent, the rest as ever."""
    [group] = groups(shelf / "digits")
    whole = record(group)
    going = GroupPass(group)
    going.step(0)
    state = {name: array for name, array in going.state() if "/metric2." not in name}
    going = GroupPass(group)
    going.restore(state)
    for i in range(1, going.chunks):
        going.step(i)
    [found] = going.finish()
    old = {"mistakes", "cumulative_error", "updates"}
    assert {name: found.metrics[name] for name in old} == {
        name: whole.metrics[name] for name in old
    }
    assert "kappa" in whole.metrics
    assert "kappa" not in found.metrics


@pytest.mark.parametrize(
    ("measures", "message"),
    [
        (["kapa"], "unknown measure 'kapa'; did you mean 'kappa'"),
        (["window_kappa"], "'window_kappa' is a form of 'kappa'; expected 'kappa'"),
        (["rmse"], "measures has 'rmse', which is for regression, not classification"),
        (["auc"], "measures has 'auc', which is for two classes, not 10"),
        (["cost"], "measures has 'cost', which needs protocol.costs"),
    ],
)
def test_measures_that_cannot_be_had_are_refused(
    shelf: Path, measures: list[str], message: str
) -> None:
    with pytest.raises(ExperimentError) as error:
        groups(shelf / "digits", measures=measures)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("task", "classes", "protocol", "message"),
    [
        (
            "regression",
            0,
            {"split": "stratified"},
            "split was 'stratified', which needs classes",
        ),
        ("regression", 0, {"drift": "ddm"}, "drift was 'ddm', which watches mistakes"),
        ("novelty", 2, {"delay": 5}, "delay was 5, but no label is shown"),
        (
            "classification",
            2,
            {"costs": [1.0, 2.0, 3.0]},
            "costs has 3 numbers, expected one for each of its 2 classes",
        ),
    ],
)
def test_options_that_make_no_sense_for_a_task_are_refused(
    task: Any, classes: int, protocol: dict[str, Any], message: str
) -> None:
    content = {"datasets": ["d"], "learners": ["pa"], "protocol": protocol}
    content |= {"datasets": [{"path": "d"}], "learners": [{"name": "pa"}]}
    with pytest.raises(ExperimentError, match=message):
        check_task(parse_experiment(content).protocol, "d", task, classes)


def test_tuning_takes_the_better_one() -> None:
    """The highest kappa, the least error; by default the test error, or the RMSE of a regression."""
    definition = TuningSpec(metric="test_kappa").definition(0, "classification")
    search = Search({}, (), {}, {}, definition, ({"C": 1}, {"C": 2}))
    runs = [[type("Run", (), {"id": name})()] for name in "ab"]
    assert search.over(runs).choose({"a": 0.2, "b": 0.7}).chosen == {"C": 2}
    assert TuningSpec().definition(0, "classification")["metric"] == "test_error"
    assert TuningSpec().definition(0, "regression")["metric"] == "test_rmse"
    assert TuningSpec(metric="test_kappa").protocol("classification").measures == ()
    assert TuningSpec(metric="weighted_f1").protocol("classification").measures == (
        "weighted_f1",
    )
    with pytest.raises(
        ValueError, match="unknown metric 'test_kapa'; did you mean 'test_kappa'"
    ):
        TuningSpec(metric="test_kapa")


def test_one_class_of_two_is_no_fault(tmp_path: Path) -> None:
    """A test split of one class: what is not defined there is absent."""
    rng = np.random.default_rng(0)
    for name, y in (("train", np.arange(40) % 2), ("test", np.zeros(10, dtype=int))):
        np.savez(tmp_path / f"{name}.npz", X=rng.normal(size=(len(y), 3)), y=y)
    ingest(
        str(tmp_path / "train.npz"),
        str(tmp_path / "d"),
        test=str(tmp_path / "test.npz"),
    )
    [group] = groups(tmp_path / "d", measures=["auc"])
    metrics = record(group).metrics
    assert {"auc", "kappa", "test_balanced_accuracy"} <= set(metrics)
    assert "test_auc" not in metrics


@pytest.mark.parametrize("delay", [0, 7])
def test_looks_at_the_model_change_nothing_else(delay: int, shelf: Path) -> None:
    """Its size is a curve, the same when resumed; what the clock says stays out of the bytes of results."""
    [plain] = groups(shelf / "digits", delay=delay)
    [watched] = groups(
        shelf / "digits", delay=delay, measures=["model_bytes", "latency"]
    )
    found = record(watched)
    before = record(plain)
    assert found.outcome == "ok", found.reason
    assert found.metrics == before.metrics
    np.testing.assert_array_equal(found.curve_mistakes, before.curve_mistakes)
    [size] = [each for each in found.series if each.name == "model_bytes"]
    assert size.rows[-1] == found.curve_rows[-1]
    assert len(size.rows) == len(found.curve_rows)
    assert set(size.values) == {found.metrics["model_bytes"]}
    names = {
        f"{call}_{share}_seconds"
        for call in ("predict", "learn")
        for share in ("p50", "p99")
    }
    assert found.timings.keys() - before.timings.keys() - {WAITED} == names, (
        "a busy machine may mark either run"
    )
    assert all(0.0 < found.timings[name] < 1.0 for name in names)
    assert found.timings["learn_p50_seconds"] <= found.timings["learn_p99_seconds"]
    assert run_bytes(record(watched, restore=1)) == run_bytes(found)


def test_a_run_whose_model_is_watched_goes_alone(shelf: Path) -> None:
    [watched] = groups(shelf / "digits", measures=["model_bytes"])
    assert [each.shards for each in cut_shards([watched], 1, 3)] == [watched.shards]
    going = GroupPass(watched)
    assert [*fuse_runs([*going.states, *going.states])] == [
        *going.states,
        *going.states,
    ]
