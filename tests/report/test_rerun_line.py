"""The command on the page of a run evaluates that very run again."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from olscale.cli.evaluate import evaluate
from olscale.data.ingest.ingest import ingest
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.evaluation.plan import make_plan
from olscale.report.rerun_line import rerun_line

PROTOCOLS: list[dict[str, Any]] = [
    {
        "order": "permuted",
        "permutations": 2,
        "measures": ["kappa", "macro_f1"],
        "window": 20,
    },
    {"order": "time", "passes": 2, "delay": 3},
    {"order": "time", "batch": 20},
    {"order": "time", "projections": 2, "threshold": "0,1,1;10,0,1;1,1,0"},
    {"order": "permuted", "split": "kfold", "folds": 3, "permutations": 2},
    {"order": "time", "split": "prequential-kfold", "folds": 2},
]


class _GivenError(Exception):
    """Carries the experiment that a command line describes."""


def _definitions(experiment: Experiment) -> dict[str, dict[str, Any]]:
    return {run.id: run.definition() for run in make_plan(experiment).runs}


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=str)
def test_the_line_of_a_run_evaluates_that_run_again(
    protocol: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(spec: Experiment, *_: Any, **__: Any) -> None:
        raise _GivenError(spec)

    monkeypatch.setattr("olscale.execution.evaluate.evaluate", run)
    ingest("sklearn:iris", str(tmp_path / "iris"))
    content = {
        "name": "first",
        "seed": 7,
        "datasets": [{"path": str(tmp_path / "iris")}],
        "transforms": ["standardize", "project:features=2", "bias"],
        "learners": [{"name": "pa1", "params": {"C": 0.25}}],
        "protocol": protocol,
    }
    for id, definition in _definitions(parse_experiment(content)).items():
        words = shlex.split(rerun_line(definition))
        words[words.index("--dataset") + 1] = str(tmp_path / "iris")
        with pytest.raises(_GivenError) as given:
            evaluate.main(words[2:], standalone_mode=False)
        assert id in _definitions(given.value.args[0]), words


def test_a_run_that_options_cannot_say_has_no_line() -> None:
    run = {"dataset": {"name": "d"}, "learner": {"name": "pa1", "params": {}}}
    run["protocol"] = {"order": "time"}
    assert rerun_line(run).startswith(
        "olscale evaluate --dataset d --learner pa1 --order time"
    )
    assert rerun_line(run | {"protocol": {"order": "time", "from_model": "ab"}}) == ""
    assert rerun_line(run | {"learner": {"name": "pa1", "params": {"C": [1, 2]}}}) == ""
