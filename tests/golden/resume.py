"""Checkpoints stored beside this file, of each kind of pass, and what runs that continue them give.

``python -m tests.golden.resume KIND...`` stores some anew: only where a change means to give up the
old ones.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from olscale.data.ingest.ingest import ingest
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.shard_cuts import cut_shards
from olscale.evaluation.summed_rows import cut_sums
from olscale.execution.group_records import merge_group
from olscale.execution.resumable_pass import ResumablePass
from olscale.results.opening import open_store
from tests.golden.evaluated import Digests, files

STORED = Path(__file__).with_name("checkpoints")
CHUNKS = 3
"""After so many of the seven chunks each pass has its checkpoint."""

MANY = (
    *("pa1", "scw1", "soft-lol", "pamo1", "norma", "forgetron"),
    *("fogd:D=10", "oselm:nodes=10"),
)
KINDS: dict[
    str, tuple[Sequence[str], dict[str, Any], Callable[[RunGroup], RunGroup]]
] = {
    "time": (MANY, {"order": "time"}, lambda group: group),
    "permuted": (
        ("arow",),
        {"order": "permuted", "permutations": 1},
        lambda group: group,
    ),
    "classes": (
        ("lol",),
        {"order": "time"},
        lambda group: next(iter(cut_shards([group], 1, 2))),
    ),
    "sums": (
        ("rff-rls:features=10",),
        {"order": "time", "test_only": True},
        lambda group: next(iter(cut_sums([group]))),
    ),
}
"""Of each kind: learners, the protocol, and how their group is cut."""


def resume(folder: Path) -> Digests:
    """Runs from their stored checkpoints on: where they continue, and their files."""
    dataset = _ingested(folder)
    digests: Digests = {}
    for kind in KINDS:
        group = _group(kind, dataset)
        resumed = folder / "resumed" / kind
        shutil.copytree(STORED / kind, resumed)
        positions = _finished(group, resumed)
        digests[f"{kind}/positions"] = str(positions)
        digests |= {
            f"{kind}/{name}": of for name, of in files(resumed, "runs/**/*").items()
        }
        undisturbed = folder / "undisturbed" / kind
        _finished(group, undisturbed)
        same = files(undisturbed, "runs/**/*") == files(resumed, "runs/**/*")
        digests[f"{kind}/as without a break"] = str(same)
    return digests


def store_checkpoints(kinds: Sequence[str]) -> None:
    """Replace the stored checkpoints of some kinds by those of today."""
    with tempfile.TemporaryDirectory() as folder:
        dataset = _ingested(Path(folder))
        for kind in kinds:
            store = Path(folder, kind)
            open_store(str(store), create=True)
            for part in _group(kind, dataset).parts():
                passage = ResumablePass(part, str(store))
                for _ in range(CHUNKS):
                    passage.group_pass.advance()
                passage.save()
                passage.close()
            shutil.rmtree(STORED / kind, ignore_errors=True)
            shutil.copytree(store, STORED / kind)


def _ingested(folder: Path) -> Path:
    for part, rows in (("train", 70), ("test", 20)):
        lines = (
            f"{i % 7},{i % 3},{i % 5 / 2},{'abcd'[i * i % 7 % 4]}\n"
            for i in range(rows)
        )
        (folder / f"{part}.csv").write_text("".join(lines))
    dataset = folder / "rows"
    ingest(
        [str(folder / "train.csv")],
        str(dataset),
        test=[str(folder / "test.csv")],
        chunk_rows=10,
    )
    return dataset


def _group(kind: str, dataset: Path) -> RunGroup:
    learners, protocol, cut = KINDS[kind]
    content = {
        "datasets": [{"path": str(dataset)}],
        "transforms": ["running-standardize", "bias"] if kind != "sums" else [],
        "learners": [_learner(text) for text in learners],
        "protocol": protocol,
    }
    plan = make_plan(parse_experiment(content))
    [group] = cut_groups(plan.runs, plan.sources, 1)
    return cut(group)


def _learner(text: str) -> dict[str, Any]:
    name, *params = text.split(":")
    values = (param.split("=") for param in params)
    return {"name": name, "params": {param: int(value) for param, value in values}}


def _finished(group: RunGroup, store: Path) -> list[int]:
    """Run a group in a store to its end, and return the chunks at which its passes began."""
    open_store(str(store), create=True)
    positions = []
    for part in group.parts():
        passage = ResumablePass(part, str(store))
        positions.append(passage.position)
        while not passage.ended:
            passage.group_pass.advance()
        passage.finish()
    if group.shards:
        merge_group(group, str(store))
    return positions


if __name__ == "__main__":
    store_checkpoints(sys.argv[1:] or tuple(KINDS))
