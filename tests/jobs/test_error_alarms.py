"""Errors of other code: a learner whose sign is flipped alarms the same night, and what is accepted does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from olscale.data.generators import generate
from olscale.jobs.error_alarms import error_changes
from olscale.jobs.home import JobHome, write_night
from olscale.jobs.job_file import AlarmRules, ErrorRule

LEARNER = """
import numpy as np

class Signed:
    def __init__(self):
        self.w = None
    def partial_fit(self, X, y, classes=None):
        self.classes_ = np.asarray(classes if classes is not None else self.classes_)
        mean = (X * np.where(y == self.classes_[1], 1.0, -1.0)[:, None]).sum(axis=0)
        self.w = mean if self.w is None else self.w + mean
        return self
    def predict(self, X):
        return self.classes_[(SIGN * (X @ self.w) > 0.0).astype(int)]
"""

JOB = """
home = "nights"
[[evaluate]]
experiment = "experiment.toml"
where = {{ in_process = true }}
[[notify]]
command = [{python!r}, "-S", "-c", "import sys; open('said', 'a').write(sys.stdin.read() + chr(10))"]
"""

EXPERIMENT = """
[protocol]
permutations = 2
[[datasets]]
path = "rows"
[[learners]]
name = "signed:Signed"
"""


def test_a_learner_whose_sign_is_flipped_alarms_that_night(tmp_path: Path) -> None:
    """By exit code, message and page, with the figures before and after and both digests."""
    generate("rotating-xor", tmp_path / "rows", rows=400)
    (tmp_path / "job.toml").write_text(JOB.format(python=sys.executable))
    (tmp_path / "experiment.toml").write_text(EXPERIMENT)
    codes = []
    for night, sign in (("1", "1.0"), ("2", "-1.0")):
        (tmp_path / "signed.py").write_text(LEARNER.replace("SIGN", sign))
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "olscale",
                "jobs",
                "run",
                "job.toml",
                "--night",
                night,
            ],
            cwd=tmp_path,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
        )
        codes.append(done.returncode)
    assert codes == [0, 3], done.stderr
    [alarm, _] = done.stdout.splitlines()
    assert "signed:Signed {} on rows is higher than on 1, of other code: " in alarm
    assert "; version 0+" in alarm
    message = json.loads((tmp_path / "said").read_text())
    assert (message["event"], message["lines"]) == ("alarm", [alarm])
    page = (tmp_path / "nights" / "page" / "index.html").read_text()
    section = page.partition('id="s0"')[2].partition('id="s1"')[0]
    assert "is higher than on 1" in section
    assert "There is none" not in section


def history(home: JobHome, *nights: dict[str, Any]) -> list[dict[str, Any]]:
    """Write all nights but the last, named 1, 2 ...; return the rows of the last."""
    rows: list[dict[str, Any]] = []
    for number, night in enumerate(nights, 1):
        name = str(number)
        common = {
            "night": name,
            "made_by": [("code", night["version"])],
            "state": "good",
        } | night
        setting = {"dataset": "d", "fingerprint": "f", "learner": "a:B", "params": "{}"}
        rows = [
            common | {"kind": "results", "error_metric": "cumulative_error"} | setting,
            common | {"kind": "night", "error": None},
        ]
        if number < len(nights):
            write_night(home, name, rows)
    return rows


@pytest.mark.parametrize(
    ("nights", "rules", "said"),
    [
        # Until the error is what it was, whatever is edited meanwhile.
        ([(1, 0.03, "good"), (2, 0.9, "alarm"), (3, 0.9, "good")], {}, "3.00 % -> 90.00 %; version 1 -> 3, code 1 -> 3"),
        ([(1, 0.03, "good"), (2, 0.9, "alarm"), (2, 0.9, "good")], {}, "3.00 % -> 90.00 %; version 1 -> 2, code 1 -> 2"),
        # Back again, or less than counts, or accepted, or the same version: no alarm.
        ([(1, 0.03, "good"), (2, 0.9, "alarm"), (3, 0.03, "good")], {}, ""),
        ([(1, 0.03, "good"), (2, 0.04, "good")], {}, ""),
        ([(1, 0.03, "good"), (2, 0.04, "good")], {"error": ErrorRule(change=0.005)}, "3.00 % -> 4.00 %"),
        ([(1, 0.03, "good"), (2, 0.9, "alarm"), (2, 0.9, "good")], {"since": "2"}, ""),
        ([(1, 0.03, "good"), (1, 0.9, "good")], {}, ""),
        ([(1, 0.03, "good"), (1, 0.9, "good")], {"results": "ignore"}, "3.00 % -> 90.00 %"),
        ([(1, 0.03, "failed"), (2, 0.9, "good")], {}, ""),
    ],
)  # fmt: skip
def test_an_error_is_held_against_the_last_good_night_of_other_code(
    home: JobHome,
    nights: list[tuple[int, float, str]],
    rules: dict[str, Any],
    said: str,
) -> None:
    rows = history(
        home,
        *(
            {"version": str(v), "error": error, "state": state}
            for v, error, state in nights
        ),
    )
    changes = error_changes(home, rows, AlarmRules(**rules), str(len(nights)))
    worse = [change.text for change in changes if change.is_worse]
    assert bool(worse) == bool(said)
    assert all(said in text for text in worse)
