"""A job of a moment: two learners on four hundred rows, in process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from olscale.data.generators import generate
from olscale.jobs.home import JobHome
from olscale.jobs.job_file import JobFile, parse_job

EXPERIMENT = """
name = "small"
[protocol]
permutations = 2
[[datasets]]
path = "xor"
[[learners]]
name = "pa1"
params = {{ C = [0.5, 1.0] }}
[[learners]]
name = "{learner}"
"""


@pytest.fixture
def home(tmp_path: Path) -> JobHome:
    return JobHome(tmp_path / "home")


@pytest.fixture
def make_job(tmp_path: Path) -> Callable[..., JobFile]:
    """Return a job on a dataset in `tmp_path`, with more sections of a job file."""

    def make(learner: str = "perceptron", **more: Any) -> JobFile:
        if not (tmp_path / "xor").exists():
            generate("rotating-xor", tmp_path / "xor", rows=400)
        (tmp_path / "experiment.toml").write_text(EXPERIMENT.format(learner=learner))
        step = {
            "experiment": "experiment.toml",
            "where": {"in_process": True},
            "repeat": more.pop("repeat", 1),
        }
        return parse_job({"name": "small", "evaluate": [step], **more}, folder=tmp_path)

    return make
