"""Budgets: a learner that takes too much ends as `timeout` or `oom`; the others on its stream keep their bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from olscale.errors import ExperimentError
from olscale.evaluation.budget import Budget, Spent
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.evaluation.run_state import RunState
from olscale.execution.evaluate import evaluate
from olscale.results.store import Store
from tests.cluster import Cluster
from tests.record_bytes import record_bytes

MODULE = '''
import ctypes
import time

import numpy as np

from olscale.compiled.decorator import compiled
from olscale.learners.linear.passive_aggressive import PA1


@compiled
def turn(x):
    while x[0] >= 0.0:
        x[0] += 1.0 if x[0] < 1e300 else -1e300


class Stuck(PA1):
    """Never returns from compiled code, from row 200 on."""

    name = "stuck"

    def learn(self, X, y):
        if self.state_["seen"][0] >= 192 and len(y):
            turn(np.zeros(1))
        return super().learn(X, y)


class Holds(PA1):
    """Never returns, and never lets go of Python's lock."""

    name = "holds"

    def learn(self, X, y):
        if self.state_["seen"][0] >= 192 and len(y):
            ctypes.PyDLL(None).sleep(1000)
        return super().learn(X, y)


class Slow(PA1):
    """Returns, late."""

    name = "slow"

    def learn(self, X, y):
        time.sleep(0.2 if len(y) else 0.0)
        return super().learn(X, y)


class Grows(PA1):
    """Takes memory without end in one call."""

    name = "grows"

    def learn(self, X, y):
        kept = []
        while self.state_["seen"][0] >= 192 and len(y):
            kept.append(np.ones(2_000_000))
            time.sleep(0.005)
        return super().learn(X, y)


class Asks(PA1):
    """Asks for more than there is."""

    name = "asks"

    def learn(self, X, y):
        if len(y):
            np.ones(1 << 50)
        return super().learn(X, y)


class Begins(PA1):
    """Never begins."""

    name = "begins"

    def begin(self, columns, classes, entropy=()):
        while True:
            pass
'''
OURS = ("pa", "lol", "pa1")


@pytest.fixture(scope="module")
def greedy(cluster: Cluster) -> Iterator[str]:
    """Put a module of learners on the path, for worker processes too."""
    (cluster.modules / "greedy_learners.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(cluster.modules))
        yield "greedy_learners"


def experiment(
    shelf: Path, learners: tuple[str, ...], order: str = "time", **budget: Any
) -> Experiment:
    protocol = {"order": order} | ({"permutations": 1} if order == "permuted" else {})
    return parse_experiment(
        {
            "datasets": [{"path": str(shelf / "dense")}],
            "learners": [{"name": name} for name in learners],
            "protocol": protocol,
            "budget": budget,
        }
    )


def ends(store: Store) -> dict[str, tuple[str, str]]:
    table = store.read(["learner", "outcome", "reason"])
    return {
        row["learner"].rpartition(":")[2]: (row["outcome"], row["reason"])
        for row in table.to_pylist()
    }


def ok_bytes(store: Store, learners: tuple[str, ...] = OURS) -> dict[str, bytes]:
    found = store.read(["id", "learner"]).to_pylist()
    ids = {row["learner"]: row["id"] for row in found if row["learner"] in learners}
    records = record_bytes(store.path)
    return {name: records[id] for name, id in ids.items()}


TIMEOUT = ("timeout", "took more than its budget of 3 s (max_seconds)")
OOM = ("oom", "took more than its budget of 300000000 bytes (max_memory)")


@pytest.mark.parametrize(
    ("order", "names"),
    [("time", ("Stuck", "Grows")), ("permuted", ("Holds", "Begins"))],
)
def test_what_never_returns_is_ended_and_its_neighbours_keep_their_bytes(
    shelf: Path,
    tmp_path: Path,
    greedy: str,
    order: str,
    names: tuple[str, ...],
    cluster: Cluster,
) -> None:
    """Compiled code and memory without end in an actor; in a task a call that keeps Python's lock, a loop in `begin`."""
    guilty = tuple(f"{greedy}:{name}" for name in names)
    undisturbed = evaluate(
        experiment(shelf, OURS, order), tmp_path / "undisturbed", in_process=True
    )
    limits: dict[str, Any] = {"max_seconds": 3, "max_memory": "300MB"}
    wanted = experiment(shelf, OURS + guilty, order, **limits)
    done = evaluate(wanted, tmp_path / "store", scheduler=cluster.scheduler)
    assert ends(done.store) == {
        **dict.fromkeys(OURS, ("ok", "")),
        **{name: OOM if name == "Grows" else TIMEOUT for name in names},
    }
    assert ok_bytes(done.store) == ok_bytes(undisturbed.store)
    assert not list(Path(done.store.path, "checkpoints").iterdir())


def test_what_returns_late_is_ended_without_a_process(
    shelf: Path, tmp_path: Path, greedy: str
) -> None:
    """In process too; an allocation that fails is `oom`; a larger budget is for the next evaluation to give."""
    learners = ("pa", f"{greedy}:Slow", f"{greedy}:Asks")
    done = evaluate(
        experiment(shelf, learners, max_seconds=0.5),
        tmp_path / "store",
        in_process=True,
    )
    found = ends(done.store)
    assert found["pa"] == ("ok", "")
    assert found["Slow"] == (
        "timeout",
        "took more than its budget of 0.5 s (max_seconds)",
    )
    assert found["Asks"][0] == "oom"
    assert "Unable to allocate" in found["Asks"][1]
    unchanged = evaluate(
        experiment(shelf, learners, max_seconds=60), tmp_path / "store", in_process=True
    )
    assert unchanged.computed == 0
    again = evaluate(
        experiment(shelf, learners, max_seconds=0.5),
        tmp_path / "store",
        in_process=True,
        budget=Budget(max_seconds=60),
        retry="failed",
    )
    assert again.computed == 2
    assert {name: outcome for name, (outcome, _) in ends(again.store).items()} == {
        "pa": "ok",
        "Slow": "ok",
        "Asks": "oom",
    }


def test_a_budget_is_no_part_of_a_run(shelf: Path, tmp_path: Path) -> None:
    first = evaluate(experiment(shelf, OURS), tmp_path / "a", in_process=True)
    second = evaluate(
        experiment(shelf, OURS, max_seconds=600, max_memory="8GB"),
        tmp_path / "b",
        in_process=True,
    )
    assert ok_bytes(first.store) == ok_bytes(second.store)


def test_memory_is_that_which_the_process_grows_by_in_calls(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Added up over calls; what it shrinks by is taken off; settings that share a pass share what it takes."""
    from olscale.evaluation import budget

    held = [1000]
    limits = []
    monkeypatch.setattr(budget, "resident_bytes", lambda: held[0])

    class Watch:
        def enter(self, runs: Any, seconds: float, most_bytes: float) -> None:
            limits.append(most_bytes - held[0])

        def leave(self) -> None:
            limits.append(None)

    meter = budget.Meter(Budget(max_memory=100), Watch())

    class Run:
        def __init__(self) -> None:
            self.spent = Spent()
            self.outcome = "ok"

        def fail(self, outcome: str, reason: str) -> None:
            self.outcome = outcome

    one = Run()
    two = Run()
    for grown, runs in ((60, [one]), (80, [one, two]), (-40, [one]), (60, [two])):
        with meter.calling(runs):
            held[0] += grown
    assert (one.spent.bytes, two.spent.bytes) == (60, 100)
    with meter.calling([two]):
        held[0] += 1
    assert (one.outcome, two.outcome) == ("ok", "oom")
    # What the process may still grow by in each call, and that each has returned: two share 2 *
    # (100 - 60).
    assert limits == [100, None, 80, None, 0, None, 60, None, 0, None]


def test_a_call_is_ended_some_time_after_its_budget() -> None:
    """Two seconds or a tenth later; what several share takes as many times as long; compiling is no part of it."""
    from olscale.evaluation import budget

    seconds = []

    class Watch:
        def enter(self, runs: Any, left: float, most_bytes: float) -> None:
            seconds.append(left)

        def leave(self) -> None:
            pass

    class Run:
        def __init__(self, spent: float) -> None:
            self.spent = Spent(spent)

        def fail(self, outcome: str, reason: str) -> None:
            pass

    runs = [Run(1.0), Run(2.0)]
    meter = budget.Meter(Budget(max_seconds=3), Watch())
    long = budget.Meter(Budget(max_seconds=100), Watch())
    for called, each, counts in (
        (meter, runs[:1], True),
        (meter, runs, True),
        (long, runs[:1], True),
        (meter, runs[:1], False),
    ):
        before = [run.spent.seconds for run in each]
        with called.calling(each, counts):
            pass
        for run, spent in zip(each, before, strict=True):
            run.spent = Spent(spent)
    assert seconds == [4.0, 6.0, 109.0, 4.0 + 300.0]


def test_seconds_spent_are_saved_with_the_run(shelf: Path) -> None:
    from olscale.evaluation.metrics import StreamShape
    from olscale.evaluation.run import Run, StreamKey

    folds = [
        RunState(Run(StreamKey("x", "y", (), None), "pa", 1, {}), StreamShape(10, 2), 3)
        for _ in range(2)
    ]
    folds[0].spent.seconds = 12.5
    folds[1].restore(folds[0].state())
    assert folds[1].spent.seconds == 12.5


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_seconds": 0},
        {"max_memory": "2 apples"},
        {"max_memory": "5iB"},
        {"max_memory": True},
        {"seconds": 1},
    ],
)
def test_wrong_budgets_are_refused(shelf: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(ExperimentError, match=next(iter(wrong))):
        experiment(shelf, OURS, **wrong)
