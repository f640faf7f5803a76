"""Held-out rows are work: who looks sees how far models are with them, and the time left counts them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numba
import pytest

from olscale.cli.progress import LineProgress
from olscale.compiled.machine_code import heard_when_made
from olscale.evaluation import run_state, summed_rows
from olscale.evaluation.experiment import parse_experiment
from olscale.execution.evaluate import evaluate
from olscale.execution.progress import LiveProgress, Silent
from olscale.execution.task_report import Stand
from olscale.execution.work import Work
from olscale.results.live_reader import LiveReader
from tests.execution.test_journal import OFTEN, two_learners


class Heard(Silent):
    """Notes what is said of held-out rows."""

    def __init__(self) -> None:
        self.scoring: dict[str, list[tuple[int, int]]] = {}

    def details(self, group: str, stand: Stand, worker: str) -> None:
        if not self.scoring.get(group) or self.scoring[group][-1] != stand.scoring:
            self.scoring.setdefault(group, []).append(stand.scoring)


@pytest.mark.parametrize(
    "protocol", [{}, {"order": "permuted", "permutations": 1}], ids=str
)
def test_the_final_models_say_how_far_they_are(
    shelf: Path, tmp_path: Path, protocol: dict[str, Any]
) -> None:
    """Two runs, and 100 test rows in chunks of 64; the journal has what progress heard last."""
    heard = Heard()
    done = evaluate(
        two_learners(shelf, **protocol),
        tmp_path / "store",
        in_process=True,
        settings=OFTEN,
        progress=heard,
    )
    assert list(heard.scoring.values()) == [[(0, 0), (128, 200), (200, 200)]]
    (live,) = LiveReader(done.store).read()
    [group] = live.groups.values()
    assert (group.held, group.scored, group.to_score, group.going, live.share_done) == (
        200,
        200,
        200,
        False,
        1.0,
    )


def test_of_all_runs_of_a_group_the_last_error_is_known(
    shelf: Path, tmp_path: Path
) -> None:
    """Reports have those of sixteen; a short stream ends with the first."""
    content = {
        "datasets": [{"path": str(shelf / "dense")}],
        "learners": [{"name": "pa1", "params": {"C": 0.01 * i}} for i in range(1, 41)],
        "protocol": {"order": "time"},
    }
    done = evaluate(parse_experiment(content), tmp_path / "store", in_process=True)
    (live,) = LiveReader(done.store).read()
    assert [run.rows[-1] for run in live.runs.values()] == 40 * [400]
    for run in live.runs.values():
        assert run.error == done.store.get(run.id).metrics["cumulative_error"]


def test_models_along_the_stream_say_it_too_and_then_go_on(
    shelf: Path, tmp_path: Path
) -> None:
    heard = Heard()
    plan = two_learners(shelf, holdout_every=200)
    evaluate(plan, tmp_path / "store", in_process=True, settings=OFTEN, progress=heard)
    once = [(128, 200), (200, 200)]
    assert list(heard.scoring.values()) == [
        [(0, 0), *once, (0, 0), *once, (0, 0), *once]
    ]


def test_the_journal_takes_back_what_is_over(shelf: Path, tmp_path: Path) -> None:
    done = evaluate(
        two_learners(shelf, holdout_every=399),
        tmp_path / "store",
        in_process=True,
        settings=OFTEN,
    )
    [file] = (tmp_path / "store" / "live").iterdir()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [200, 200] in [
        scored for line in lines for scored in line.get("scored", {}).values()
    ]
    (live,) = LiveReader(done.store).read()
    assert live.share_done == 1.0


def test_summed_models_report_how_far_their_test_is(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summed_rows, "LEAST_ROWS", 150)
    heard = Heard()
    content = {
        "datasets": [{"path": str(shelf / "dense")}],
        "learners": [
            {"name": "rff-rls", "params": {"features": 8, "lam": lam}}
            for lam in (0.1, 1.0)
        ],
        "protocol": {"order": "time", "test_only": True},
    }
    watched = LiveProgress()
    evaluate(
        parse_experiment(content),
        tmp_path / "store",
        in_process=True,
        settings=OFTEN,
        progress=heard,
    )
    [scoring] = [told for told in heard.scoring.values() if len(told) > 1]
    assert scoring == [(0, 0), (128, 200), (200, 200)]
    evaluate(
        parse_experiment(content),
        tmp_path / "again",
        in_process=True,
        settings=OFTEN,
        progress=watched,
    )
    assert watched.evaluation.share_done == pytest.approx(1.0)


def test_the_terminal_says_it() -> None:
    out = io.StringIO()
    progress = LiveProgress(LineProgress(out, every=-1.0))
    progress.start("plan", 1, 0, {"d, g": Work(100, 1.0, held=100)})
    for scoring, share in (((0, 0), 0.5), ((30, 100), 0.65), ((100, 100), 1.0)):
        progress.details("d, g", Stand(100, 0.25, scoring=scoring), "")
        assert progress.evaluation.share_done == share
    assert out.getvalue().count("held-out rows 30 %") == 1
    assert "held-out rows" not in out.getvalue().splitlines()[-1]


class Stands(Silent):
    """Notes where groups stand."""

    def __init__(self) -> None:
        self.compiling: list[bool] = []

    def details(self, group: str, stand: Stand, worker: str) -> None:
        self.compiling.append(stand.compiling)


@pytest.mark.parametrize(
    "protocol", [{}, {"order": "permuted", "permutations": 1}], ids=str
)
def test_who_makes_machine_code_says_so_once_and_then_that_it_goes_on(
    shelf: Path,
    tmp_path: Path,
    protocol: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def compile_two(learner: Any, X: Any, weighted: bool) -> None:
        for _ in range(2):
            numba.njit(lambda number: number + 1)(1)

    monkeypatch.setattr(run_state, "compile_loops", compile_two)
    heard = Stands()
    plan = two_learners(shelf, **protocol)
    done = evaluate(
        plan, tmp_path / "store", in_process=True, settings=OFTEN, progress=heard
    )
    assert heard.compiling[:2] == [False, True]
    assert heard.compiling.count(True) == 1
    [file] = (tmp_path / "store" / "live").iterdir()
    said = [
        json.loads(line).get("compiling", {}) for line in file.read_text().splitlines()
    ]
    assert any(said)
    (live,) = LiveReader(done.store).read()
    [group] = live.groups.values()
    assert (group.compiling, group.going, live.compiling) == (False, False, False)


def test_what_hears_of_machine_code_ends_nothing() -> None:
    with heard_when_made(lambda: 1 / 0):
        assert numba.njit(lambda number: number + 1)(1) == 2


def test_while_machine_code_is_made_the_terminal_says_so_and_tells_no_time() -> None:
    out = io.StringIO()
    progress = LiveProgress(LineProgress(out, every=-1.0))
    progress.start("plan", 1, 0, {"d, g": Work(100_000, 1.0)})
    for stand in (Stand(), Stand(compiling=True), Stand(10, 0.25)):
        progress.details("d, g", stand, "")
    shown = out.getvalue().splitlines()
    assert shown[3] == "0/1 runs, making machine code, time left not known yet"
    assert "making" not in shown[4]
    assert not progress.evaluation.compiling


def test_to_predict_is_less_work_where_learning_goes_through_a_matrix(
    shelf: Path, tmp_path: Path
) -> None:
    content = {
        "datasets": [{"path": str(shelf / "dense")}],
        "learners": [{"name": "arow"}],
        "protocol": {"order": "time"},
    }
    done = evaluate(parse_experiment(content), tmp_path / "store", in_process=True)
    (live,) = LiveReader(done.store).read()
    [group] = live.groups.values()
    assert 0 < group.held < group.to_score == 100
    assert live.share_done == 1.0
