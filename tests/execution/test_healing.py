"""Any damaged file of a store is set aside by `evaluate`, in one line, and the tables are the right ones again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from olscale.analysis import store_status, summarise
from olscale.analysis.names import UNNAMED
from olscale.data.ingest.ingest import ingest
from olscale.errors import StoreError
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.execution.evaluate import evaluate
from olscale.execution.progress import Silent
from olscale.execution.settings import SETTINGS
from olscale.measures import WAITED
from olscale.report import plain, tables
from olscale.results import Store, open_store
from olscale.results.compact import compact
from olscale.results.version import version_bytes
from tests.execution.test_many_runs import FEW

FLIPS = 5
"""Of each kind of file. `python -m tests.execution.test_healing 100` tries more."""

KINDS = (
    "store.json",
    "plans",
    "selections",
    "runs",
    "timings",
    "compacted/runs",
    "compacted/timings",
)


class Notes(Silent):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, line: str) -> None:
        self.lines.append(line)


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    return make_experiment(tmp_path_factory.mktemp("rows"))


def make_experiment(folder: Path) -> Experiment:
    """Return a tuned experiment on a few rows."""
    rng = np.random.default_rng(0)
    for name, rows in (("train", 120), ("test", 40)):
        y = rng.integers(0, 2, rows)
        np.savez(
            folder / f"{name}.npz",
            X=rng.normal(size=(rows, 4)) + 0.4 * (2 * y - 1)[:, None],
            y=y,
        )
    ingest(
        [str(folder / "train.npz")],
        str(folder / "rows"),
        test=[str(folder / "test.npz")],
        chunk_rows=64,
    )
    learners = [
        {"name": "pa1", "tune": {"C": [0.001, 0.1, 10.0]}},
        {"name": "perceptron"},
    ]
    content = {
        "name": "healed",
        "datasets": [{"path": str(folder / "rows")}],
        "learners": learners,
    }
    return parse_experiment(
        {**content, "protocol": {"permutations": 2}, "tuning": {"folds": 2}}
    )


@pytest.fixture(scope="module")
def whole(experiment: Experiment) -> Iterator[dict[str, dict[str, bytes]]]:
    """Return the files of a store with this experiment, and of the same store compacted."""
    path = "memory://healing/whole"
    store = evaluate(experiment, path, in_process=True, settings=FEW).store
    loose = files_of(store)
    compact(store)
    yield {"loose": loose, "compacted": files_of(store)}
    store.files.remove("")


def files_of(store: Store) -> dict[str, bytes]:
    return {
        name: data
        for name, data in store.files.read_many(store.files.names(""))
        if isinstance(data, bytes)
    }


def put(path: str, files: dict[str, bytes]) -> Store:
    """Write a store with these files alone; in memory, since a disk would be waited for at each of some thousand files."""
    store = Store(path)
    store.files.remove("")
    for name, data in files.items():
        store.files.put(name, data)
    return Store(path)


def shown(store: Store) -> Any:
    """Return all that is shown of a store but for times, and how many runs have them."""
    # Without the places of learners: a plan that is written anew counts as the newest of the store.
    found = [
        replace(
            s,
            dataset_name=UNNAMED,
            learner_names=(),
            warned=tuple(name for name in s.warned if name != WAITED),
        )
        for s in summarise(store)
        if not s.metric.endswith(("seconds", "_second"))
    ]
    timed = [(s.learner, s.n) for s in summarise(store) if s.metric == "fit_seconds"]
    progress = [
        (of.experiment, of.done, of.total) for of in store_status(store).experiments
    ]
    return plain(tables(summarise(store))), found, timed, progress


def check_flips(
    experiment: Experiment,
    whole: dict[str, dict[str, bytes]],
    kind: str,
    flips: int,
    seed: int,
) -> None:
    """Flip a bit of one file of a kind at a time, evaluate, and compare what is shown and the results."""
    form = "compacted" if kind.startswith("compacted") else "loose"
    settings = FEW if form == "loose" else SETTINGS
    right = shown(put("memory://healing/right", whole[form]))
    names = sorted(name for name in whole[form] if name.startswith(kind))
    assert names
    random = Random(f"{kind}:{seed}")
    for _ in range(flips):
        name = random.choice(names)
        data = bytearray(whole[form][name])
        at = random.randrange(len(data))
        bit = random.randrange(8)
        data[at] ^= 1 << bit
        store = put("memory://healing/damaged", {**whole[form], name: bytes(data)})
        notes = Notes()
        evaluate(
            experiment, store.path, in_process=True, progress=notes, settings=settings
        )
        seen = open_store(store.path)
        where = f"bit {bit} of byte {at} of {name}"
        assert [line.split(";")[0] for line in notes.lines] == [
            f"set aside damaged file {name.lstrip('/')} of {store.path}"
        ], where
        assert shown(seen) == right, where
        if form == "loose":
            runs = {
                name: data
                for name, data in files_of(seen).items()
                if name.startswith("runs/")
            }
            assert runs == {name: whole[form][name] for name in runs}, where


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_is_healed(
    experiment: Experiment, whole: dict[str, dict[str, bytes]], kind: str
) -> None:
    check_flips(experiment, whole, kind, FLIPS, seed=0)


@pytest.mark.parametrize("content", [b"", b"{}", b"\x00" * 40])
def test_whatever_stands_in_the_place_of_a_file_is_healed(
    experiment: Experiment, whole: dict[str, dict[str, bytes]], content: bytes
) -> None:
    right = shown(put("memory://healing/right", whole["loose"]))
    for kind in ("store.json", "plans", "selections", "runs"):
        name = next(name for name in sorted(whole["loose"]) if name.startswith(kind))
        store = put("memory://healing/damaged", {**whole["loose"], name: content})
        evaluate(experiment, store.path, in_process=True)
        assert shown(open_store(store.path)) == right, name


def test_a_selection_of_an_earlier_version_is_compared_with_its_runs(
    experiment: Experiment, whole: dict[str, dict[str, bytes]]
) -> None:
    """It has no checksum; other errors of its points, and another choice, contradict nothing in the file."""
    import json

    files = {
        **whole["loose"],
        next(
            name for name in whole["loose"] if name.endswith("store.json")
        ): version_bytes(2),
    }
    name = next(name for name in files if "selections/" in name)
    content = json.loads(files[name])
    del content["checksum"]
    old = {**files, name: json.dumps(content).encode()}
    store = put("memory://healing/old", old)
    evaluate(experiment, store.path, in_process=True)
    assert files_of(store)[name] == old[name]

    points = [point["params"] for point in content["points"]]
    other = next(point for point in points if point != content["chosen"])
    store = put(
        "memory://healing/old",
        {**files, name: json.dumps({**content, "chosen": other}).encode()},
    )
    notes = Notes()
    evaluate(experiment, store.path, in_process=True, progress=notes)
    assert [line.split(";")[0] for line in notes.lines] == [
        f"set aside damaged file {name.lstrip('/')} of {store.path}"
    ]
    right = shown(put("memory://healing/right", whole["loose"]))
    assert shown(open_store(store.path)) == right


def test_a_store_json_of_an_earlier_version_comes_back_as_such(
    experiment: Experiment, whole: dict[str, dict[str, bytes]]
) -> None:
    """Else its files without a checksum would be damaged from then on."""
    import json

    name = next(name for name in whole["loose"] if "plans/" in name)
    content = json.loads(whole["loose"][name])
    del content["checksum"]
    top = next(name for name in whole["loose"] if name.endswith("store.json"))
    store = put(
        "memory://healing/old",
        {**whole["loose"], top: b"\0", name: json.dumps(content).encode()},
    )
    evaluate(experiment, store.path, in_process=True)
    assert files_of(store)[top] == version_bytes(2)


def test_what_belongs_to_another_experiment_is_left_and_named(
    experiment: Experiment, whole: dict[str, dict[str, bytes]], tmp_path: Path
) -> None:
    """Nobody can make its selection anew here; without it the runs that tuning compared would stand in the tables."""
    name = next(name for name in whole["loose"] if "selections/" in name)
    store = put("memory://healing/damaged", {**whole["loose"], name: b"{"})
    other = experiment.model_copy(
        update={"name": "other", "learners": experiment.learners[1:]}
    )
    evaluate(other, store.path, in_process=True)
    with pytest.raises(
        StoreError, match=r"damaged file selections/.* evaluate its experiment again"
    ):
        summarise(open_store(store.path))


if __name__ == "__main__":
    import sys
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        made = make_experiment(Path(folder))
        path = "memory://healing/whole"
        stored = evaluate(made, path, in_process=True, settings=FEW).store
        both = {"loose": files_of(stored)}
        compact(stored)
        both["compacted"] = files_of(stored)
        for each in KINDS:
            check_flips(made, both, each, int(sys.argv[1]), seed=1)
            print(f"{each}: {sys.argv[1]} flips healed")
