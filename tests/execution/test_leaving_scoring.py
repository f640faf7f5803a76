"""Who is asked to stop while final models predict held-out rows does so at once, and loses nothing."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from olscale.errors import StoppedError
from olscale.evaluation import group_pass, summed_rows
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.plan import PlannedExperiment
from olscale.evaluation.resolve import resolve
from olscale.execution.evaluate import evaluate
from olscale.execution.on_worker import StreamActor
from olscale.execution.progress import Silent
from olscale.execution.shutdown import Stop
from olscale.execution.task_report import Stand
from olscale.results.opening import open_store
from tests.execution.test_journal import OFTEN, two_learners
from tests.record_bytes import record_bytes


class AsksOnce(Silent):
    """Asks to stop when so many of the held-out rows are predicted."""

    def __init__(self, stop: Stop, scored: int) -> None:
        self.stop = stop
        self._scored = scored
        self.most = 0

    def details(self, group: str, stand: Stand, worker: str) -> None:
        self.most = max(self.most, stand.scoring[0])
        if stand.scoring[0] >= self._scored:
            self.stop.signal = signal.SIGTERM


def sums() -> list[dict[str, Any]]:
    return [
        {"name": "rff-rls", "params": {"features": 8, "lam": lam}} for lam in (0.1, 1.0)
    ]


@pytest.mark.parametrize(
    "protocol",
    [
        {},
        {"order": "permuted", "permutations": 1},
        {"measures": ["train_error", "confusion"]},
    ],
    ids=str,
)
def test_it_stops_between_two_pieces_and_goes_on_at_the_end_of_the_stream(
    shelf: Path,
    tmp_path: Path,
    protocol: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = two_learners(shelf, **protocol)
    stop = Stop()
    asks = AsksOnce(stop, 100)
    store = tmp_path / "store"
    with pytest.raises(StoppedError, match="was saved at chunk 7 of 7"):
        evaluate(plan, store, in_process=True, settings=OFTEN, progress=asks, stop=stop)
    assert asks.most == 128, "two runs on a chunk of 64 rows"
    assert not record_bytes(store)

    def learn(*_: Any) -> None:
        raise AssertionError("it has learned from all rows")

    with monkeypatch.context() as patch:
        patch.setattr(group_pass.GroupPass, "advance", learn)
        evaluate(plan, store, in_process=True, settings=OFTEN)
    evaluate(plan, tmp_path / "undisturbed", in_process=True)
    assert record_bytes(store) == record_bytes(tmp_path / "undisturbed") != {}


def test_the_test_of_summed_models_is_left_and_done_again(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summed_rows, "LEAST_ROWS", 150)
    content = {
        "datasets": [{"path": str(shelf / "dense")}],
        "learners": sums(),
        "protocol": {"order": "time", "test_only": True},
    }
    plan = parse_experiment(content)
    stop = Stop()
    store = tmp_path / "store"
    with pytest.raises(StoppedError, match="was saved"):
        evaluate(
            plan,
            store,
            in_process=True,
            settings=OFTEN,
            progress=AsksOnce(stop, 64),
            stop=stop,
        )
    assert not record_bytes(store)
    evaluate(plan, store, in_process=True, settings=OFTEN)
    evaluate(plan, tmp_path / "undisturbed", in_process=True)
    assert record_bytes(store) == record_bytes(tmp_path / "undisturbed") != {}


def test_an_actor_that_is_to_leave_saves_and_says_so(
    shelf: Path, tmp_path: Path
) -> None:
    plan = two_learners(shelf)
    made = PlannedExperiment(resolve(plan, lambda line: None)).chosen([])
    [group] = cut_groups(made.runs, made.sources, 1)
    store = str(tmp_path / "store")
    open_store(store, create=True)
    actor = StreamActor(group, store)
    actor.begin()
    stood = actor.advance(0, 7)
    assert (stood.position, stood.chunks) == (7, 7)
    assert actor._going is not None
    actor._going.group_pass.leaving = lambda: True
    left = actor.finish(7)
    assert (left.stopped, left.fault, left.outcomes) == (True, "", {})
    again = StreamActor(group, store)
    assert again.begin().position == 7
    assert set(again.finish(7).outcomes.values()) == {"ok"}
    evaluate(plan, tmp_path / "undisturbed", in_process=True)
    assert record_bytes(Path(store)) == record_bytes(tmp_path / "undisturbed") != {}
