"""A learner of the user's own in the working directory, from the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from olscale import testing
from tests.cli.command import run

ROOT = Path(__file__).parents[2]

MINE = """
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from rate import RATE

class Mine(ClassifierMixin, BaseEstimator):
    \"\"\"A perceptron of my own.\"\"\"

    def __init__(self, eta=1.0):
        self.eta = eta

    def partial_fit(self, X, y, classes=None):
        if not hasattr(self, "coef_"):
            self.coef_ = np.zeros((len(classes), X.shape[1]))
        for x, label in zip(X, y):
            guess = np.argmax(self.coef_ @ x)
            self.coef_[label] += RATE * self.eta * x
            self.coef_[guess] -= RATE * self.eta * x
        return self

    def decision_function(self, X):
        return X @ self.coef_.T

    def predict(self, X):
        return np.argmax(X @ self.coef_.T, axis=1)
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "rate.py").write_text("RATE = 1.0\n")
    return tmp_path


def olscale(here: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "olscale", *args],
        cwd=here,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_a_learner_of_the_working_directory_is_evaluated_on_workers_and_again_after_an_edit(
    here: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [
        "evaluate",
        "--dataset",
        str(shelf / "dense"),
        "--learner",
        "mine:Mine",
        "--learner",
        "perceptron",
    ]
    command += ["--permutations", "1", "--store", "store"]
    first = olscale(here, *command, "--workers", "1")
    assert first.stdout == "2 of 2 runs computed, results in store\n", first.stderr
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    assert "nothing to compute" in run(*command, "--in-process", cwd=here).stdout
    (here / "rate.py").write_text("RATE = 0.0\n")
    forget()
    assert "1 of 2 runs computed" in run(*command, "--in-process", cwd=here).stdout
    forget()
    table = run("results", "store", "--format", "json", cwd=here).stdout
    versions = {
        line["version"] for line in json.loads(table) if line["learner"] == "mine:Mine"
    }
    assert len(versions) == 2
    plain = run("results", "store", cwd=here).stdout
    (last,) = {line for line in plain.splitlines() if "was computed last" in line}
    assert last.startswith("mine:Mine: 2 versions of it; v0+")
    assert all(f"mine:Mine v{version}" in plain for version in versions)


def forget() -> None:
    """Have the modules read anew, as in another process."""
    for name in ("mine", "rate"):
        sys.modules.pop(name, None)


def test_check_and_show_take_what_a_user_writes(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    monkeypatch.delitem(sys.modules, "rate", raising=False)
    checked = run("learners", "check", "mine:Mine:eta=0.5", cwd=here)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert {line.partition(" ")[0] for line in checked.stdout.splitlines()} == {
        "passed"
    }
    shown = run("learners", "show", "mine:Mine", cwd=here).stdout
    assert "A perceptron of my own." in shown
    assert "eta=1.0" in shown
    assert "Version 0+" in shown
    (here / "mine.py").write_text(
        MINE.replace("return np.argmax(X @", "return -np.argmax(X @")
    )
    sys.modules.pop("mine")
    every = testing.foreign_checks
    # the last starts a process
    monkeypatch.setattr(testing, "foreign_checks", lambda *named: every(*named)[:-1])
    failed = run("learners", "check", "mine:Mine", cwd=here)
    forget()
    assert failed.returncode == 1
    assert (
        "FAILED  predictions are classes (2 classes): ValueError: predicted -1, expected a class"
        in failed.stdout
    )
    assert failed.stderr.startswith("olscale: error: mine:Mine fails ")
