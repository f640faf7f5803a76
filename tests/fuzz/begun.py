"""What an evaluation leaves in a store for whoever goes on with it: checkpoints, verdicts, scratch arrays of shards."""

from __future__ import annotations

import io
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import numpy as np

from olscale.data.ingest.ingest import ingest
from olscale.errors import ExecutionError
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.run_plan import RunPlan
from olscale.execution.checkpoints import (
    Checkpoints,
    resumable_groups,
    sweep_checkpoints,
)
from olscale.results.opening import open_store
from olscale.results.rows import run_bytes
from olscale.results.scratch import Scratch
from olscale.storage.checked_json import json_bytes
from tests.fuzz.json_values import JSON_WORDS, vary_json
from tests.fuzz.target import Broken, Files, Target, files_of

LEARNERS = [{"name": "pa1"}, {"name": "lol", "params": {"k": 4}}]
ID = "ab" * 16
_kept: list[tempfile.TemporaryDirectory[str]] = []
"""The dataset that checkpoints are of; it lies outside of what is changed, for as long as the process lives."""


@cache
def plan() -> tuple[RunPlan, RunGroup]:
    """Return a plan of two learners in time order and the one pack of it."""
    _kept.append(tempfile.TemporaryDirectory())
    source = Path(_kept[0].name, "rows.csv")
    dest = Path(_kept[0].name, "rows")
    source.write_text("".join(f"{i % 7},{i % 3},{'yn'[i % 2]}\n" for i in range(40)))
    ingest([str(source)], str(dest), chunk_rows=10)
    content = {
        "datasets": [{"path": str(dest)}],
        "learners": LEARNERS,
        "protocol": {"order": "time"},
    }
    made = make_plan(parse_experiment(content))
    (pack,) = cut_groups(made.runs, made.sources, 1)
    return made, pack


@cache
def undisturbed() -> dict[str, bytes]:
    """Return the files of the runs."""
    return {
        record.id: run_bytes(record)
        for record in _through(GroupPass(plan()[1])).finish()
    }


@cache
def begun() -> list[Files]:
    """Return the files of stores in which the pack has two checkpoints, and in the second of them a verdict."""
    found = []
    pack = plan()[1]
    for terminated in (0, 1):
        with tempfile.TemporaryDirectory() as folder:
            store = open_store(Path(folder, "store"), create=True)
            kept = Checkpoints(store, pack)
            passage = GroupPass(pack)
            for _ in range(3):
                passage.step(passage.position)
                kept.save(passage)
            verdict = {
                "outcome": "timeout",
                "reason": "too long",
                "budget": pack.budget.model_dump(),
            }
            for run in pack.runs[:terminated]:
                store.put(f"checkpoints/{pack.key}/{run.id}.json", json_bytes(verdict))
            found.append(files_of(Path(folder, "store")))
    return found


def read_begun(folder: Path) -> None:
    """Go on with what there is: the records must be those of the undisturbed pack, whatever could be used."""
    made, _ = plan()
    store = open_store(folder)
    begun = resumable_groups(store, made.runs, made.sources)
    left = set(made.runs).difference(*(pack.runs for pack in begun))
    notes: list[str] = []
    for pack in [
        *begun,
        *cut_groups([run for run in made.runs if run in left], made.sources, 1),
    ]:
        notes += _go_on(Checkpoints(store, pack), pack)
    sweep_checkpoints(store)
    if notes:  # this is what a refusal is here
        raise ExecutionError(notes[0])


def _go_on(kept: Checkpoints, pack: RunGroup) -> list[str]:
    exceeded = kept.exceeded()
    kept.place()
    passage = kept.restored(lambda: GroupPass(pack, exceeded=exceeded))
    for record in _through(passage).finish():
        if record.id not in exceeded and run_bytes(record) != undisturbed()[record.id]:
            raise Broken(
                f"run {record.id} is another one after the checkpoint at chunk {passage.position}"
            )
    return kept.notes


def _through(passage: GroupPass) -> GroupPass:
    while passage.position < passage.chunks:
        passage.step(passage.position)
    return passage


def vary_begun(random: Random, files: Files) -> Files:
    """Change a value of a JSON file, or exchange, drop, double or pack the members of a checkpoint."""
    if random.random() < 0.4:
        return vary_json("checkpoints/", checked=True)(random, files)
    return vary_npz("checkpoints/")(random, files)


def vary_npz(begins: str) -> Callable[[Random, Files], Files]:
    """Return a change of the members of an archive of arrays."""

    def vary(random: Random, files: Files) -> Files:
        chosen = random.choice(
            [
                name
                for name in sorted(files)
                if name.startswith(begins) and name.endswith(".npz")
            ]
        )
        with zipfile.ZipFile(io.BytesIO(files[chosen])) as archive:
            members = [
                (info.filename, archive.read(info)) for info in archive.infolist()
            ]
        for _ in range(random.choice((1, 1, 2))):
            at = random.randrange(len(members))
            other = random.randrange(len(members))
            name, data = members[at]
            way = random.randrange(5)
            if way == 0 and len(members) > 1:
                members.pop(at)
            elif way == 1:
                members[at] = name, members[other][1]
            elif way == 2:
                members.append((name, data))
            elif way == 3:
                members[at] = name, _header(random, data)
            else:
                members[at] = name, data[: random.randrange(len(data) + 1)]
        out = io.BytesIO()
        kind = random.choice(
            (
                zipfile.ZIP_STORED,
                zipfile.ZIP_DEFLATED,
                zipfile.ZIP_BZIP2,
                zipfile.ZIP_LZMA,
            )
        )
        with zipfile.ZipFile(out, "w", kind) as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of members of one name
            for name, data in members:
                archive.writestr(zipfile.ZipInfo(name), data, kind)
        return {chosen: out.getvalue()}

    return vary


def _header(random: Random, data: bytes) -> bytes:
    """Return an array with another shape or type in its header, of the same length."""
    old = random.choice((b"<f8", b"<i8", b"|u1", b"(1,)", b"False", b"(", b","))
    new = random.choice((b"|O ", b"<U9", b"<f4", b"(9,)", b"True ", b"9", b"-", b"()"))
    return data.replace(old, new[: len(old)].ljust(len(old)), 1)


@cache
def scratch() -> list[Files]:
    """Return the files of a store with scratch arrays of shards."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Scratch(open_store(Path(folder, "store"), create=True), ID)
        kept.write(
            "first",
            {"best": np.linspace(0, 1, 20), "code": np.arange(20, dtype=np.int32)},
        )
        kept.write("second", {"best": np.empty((0, 3)), "name": np.array(["a", "b"])})
        return [files_of(Path(folder, "store"))]


def read_scratch(folder: Path) -> None:
    kept = Scratch(open_store(folder), ID)
    for name in ("first", "second"):
        for array in kept.read(name).values():
            array.tobytes()


TARGETS = (
    Target("checkpoints", begun, read_begun, JSON_WORDS, vary_begun, ("checkpoints/",)),
    Target("scratch", scratch, read_scratch, vary=vary_npz("tmp/"), changed=("tmp/",)),
)
