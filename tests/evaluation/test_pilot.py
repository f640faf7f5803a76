"""Pilots: what learners keep of a thousand rows says what long runs of them will cost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import olscale.evaluation.forecast as pilots
from olscale.data.ingest.ingest import ingest
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.forecast import NUMBERS_A_SECOND
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.run_plan import RunPlan
from olscale.learners.contract.cost import cost_of
from olscale.learners.registry import learner_names, make_learner
from olscale.task import TASKS

ROWS = 6_000
TIME = {"order": "time"}
PERMUTED = {"permutations": 2}


@pytest.fixture(scope="module")
def easy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows sorted by class that a kernel tells apart after a few: next to none of them come in."""
    folder = tmp_path_factory.mktemp("pilot")
    y = np.repeat([0, 1], ROWS // 2)
    X = np.random.default_rng(0).normal(scale=0.1, size=(ROWS, 2)) + np.where(y, 2.0, -2.0)[:, None]
    np.savez(folder / "easy.npz", X=X, y=y)
    ingest(str(folder / "easy.npz"), folder / "easy", chunk_rows=1_000)
    return folder / "easy"


def planned(easy: Path, protocol: dict[str, object], *learners: str, **params: object) -> RunPlan:
    """Return the plan of learners on the easy rows."""
    named = [{"name": name, "params": params} for name in learners]
    return make_plan(
        parse_experiment(
            {"datasets": [{"path": str(easy)}], "learners": named, "protocol": protocol}
        )
    )


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a pilot go before short runs too."""
    monkeypatch.setattr(pilots, "PILOT_SECONDS", 0.0)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("protocol", [PERMUTED, {**PERMUTED, "split": "half"}])
def test_a_pilot_forecasts_the_vectors_that_there_will_be(
    easy: Path, protocol: dict[str, object]
) -> None:
    plan = planned(easy, protocol, "kernel-perceptron", gamma=1.0)
    piloted = pilots.with_pilots(plan, plan.runs).costs
    source = plan.sources[plan.runs[0].stream.fingerprint]
    going = GroupPass(RunGroup(source.path, source.length(plan.runs[0].stream), plan.runs[:1]))
    while not going.ended:
        going.advance()
    assert going.states[0].learner.measures()["support_vectors"] < 50
    for run in plan.runs:
        assert piloted[run.id] < plan.costs[run.id] / 5


@pytest.mark.usefixtures("always")
def test_rows_in_time_order_are_taken_from_several_places(easy: Path) -> None:
    """Of the first thousand alone, all of one class, a perceptron would keep one."""
    plan = planned(easy, TIME, "kernel-perceptron", gamma=1.0)
    stream = pilots.open_streams(str(easy)).train
    for runs in (plan.runs, planned(easy, PERMUTED, "norma").runs):
        rows = pilots._rows(stream, runs[0], 1_000)
        assert len(rows) == 1_000
        assert 400 <= np.count_nonzero(rows.y) <= 600


@pytest.mark.usefixtures("always")
def test_pilots_go_before_learners_that_keep_what_comes_and_change_no_other_cost(
    easy: Path,
) -> None:
    plan = planned(easy, PERMUTED, "norma", "bpas", "pa1")
    piloted = pilots.with_pilots(plan, plan.runs)
    changed = {run.learner for run in plan.runs if piloted.costs[run.id] != plan.costs[run.id]}
    assert changed == {"norma"}
    assert piloted.runs == plan.runs
    assert pilots.with_pilots(plan, plan.runs).costs == piloted.costs
    assert pilots.with_pilots(plan, ()).costs == plan.costs


def test_what_is_short_needs_no_pilot(easy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(easy, PERMUTED, "norma")
    monkeypatch.setattr(pilots, "_factor", lambda run, source: pytest.fail("a pilot went"))
    assert pilots.with_pilots(plan, plan.runs).costs == plan.costs
    least = sum(plan.costs.values()) / NUMBERS_A_SECOND
    monkeypatch.setattr(pilots, "PILOT_SECONDS", least / 2)
    with pytest.raises(pytest.fail.Exception, match="a pilot went"):
        pilots.with_pilots(plan, plan.runs)


@pytest.mark.usefixtures("always")
def test_a_pilot_that_fails_leaves_the_forecast_and_the_fault_to_the_run(easy: Path) -> None:
    plan = planned(easy, PERMUTED, "norma", capacity=10)
    assert pilots.with_pilots(plan, plan.runs).costs == plan.costs


@pytest.mark.parametrize("name", [name for task in TASKS for name in learner_names(task)])
def test_who_asks_for_a_pilot_forecasts_by_it(name: str) -> None:
    """A learner that has seen rows forecasts from them; the same kept share gives the same forecast."""
    learner = make_learner(name, {})
    cost = cost_of(learner)
    if not cost.pilot_rows():
        pytest.skip("keeps no growing model")
    fresh = cost.stream_numbers(2, 2, 2.0, ROWS)
    learner.begin(2, 2)
    learner.state_["seen"][0], learner.state_["counts"][0] = (
        2_000,
        round(2_000 * learner.kept_share),
    )
    assert cost.stream_numbers(2, 2, 2.0, ROWS) == pytest.approx(fresh, rel=1e-3)
    learner.state_["counts"][0] //= 2
    assert cost.stream_numbers(2, 2, 2.0, ROWS) < 0.7 * fresh
