"""The plan of an experiment on one dataset of the shelf."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run_plan import RunPlan


def plan(
    shelf: Path,
    dataset: str = "dense",
    learners: tuple[str, ...] = ("pa1",),
    **protocol: Any,
) -> RunPlan:
    content = {
        "datasets": [{"path": str(shelf / dataset)}],
        "learners": [{"name": name} for name in learners],
    }
    return make_plan(
        parse_experiment(content | {"protocol": {"order": "time"} | protocol})
    )
