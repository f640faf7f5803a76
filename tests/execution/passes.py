"""Passes that tests stop in the middle: packs to run, and what is saved of them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run_group import RunGroup
from olscale.execution.checkpoints import read_arrays, write_arrays
from olscale.execution.resumable_pass import ResumablePass
from olscale.execution.settings import ExecutionSettings
from olscale.results.record import Record
from olscale.results.rows import run_bytes


def packs(
    path: Path,
    *learners: dict[str, Any],
    order: str = "time",
    parts: int = 1,
    **protocol: Any,
) -> list[RunGroup]:
    protocol |= {"order": order} | ({"permutations": 1} if order == "permuted" else {})
    content = {
        "datasets": [{"path": str(path)}],
        "learners": list(learners),
        "protocol": protocol,
    }
    plan = make_plan(parse_experiment(content))
    return cut_groups(plan.runs, plan.sources, parts, restarting=plan.restarting)


def through(passage: GroupPass, last: int | None = None) -> GroupPass:
    while passage.position < (passage.chunks if last is None else last):
        passage.step(passage.position)
    return passage


def saved(passage: GroupPass) -> dict[str, Any]:
    """Return the state as it comes back from a file."""
    file = io.BytesIO()
    write_arrays(file, passage.state())
    return read_arrays(file)


def as_bytes(records: list[Record]) -> list[bytes]:
    return [run_bytes(record) for record in records]


EAGER = ExecutionSettings(checkpoint_seconds=0.0, checkpoint_ratio=0.0)
"""A checkpoint after every chunk."""


def feed(going: ResumablePass) -> None:
    going.group_pass.advance()
    going.save_if_due()
