"""Raw rows, `olscale predict` and the run itself give the same scores, bit for bit.

Learners, transforms and kinds of sources are paired so that each occurs, and a new process loads
all models at once: imports take longer than the rows. ``pytest -m slow`` has every learner of the
package read every kind of source.
"""

from __future__ import annotations

import csv
import json
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from olscale.data.ingest.ingest import ingest
from olscale.learners.contract.usable_rows import score_usable
from olscale.learners.registry import LEARNERS as LEARNERS_OF_OLSCALE
from olscale.learners.registry import learner_class
from olscale.models.predict import predict
from olscale.models.source import ModelSource
from tests.models.test_saved_models import run_through

NAMES = ("size", "weight", "color", "shape", "day", "flag")
LEARNERS = {
    "pa1": "csv",
    "arow": "headerless",
    "lol": "jsonl",
    "pamo1": "parquet",
    "norma": "csv",
    "oselm": "jsonl",
    "pegasos": "svmlight",
    "ollc": "npz",
    "perceptron": "encoded",
    "ospvm": "parquet",
}
TRANSFORMS: tuple[tuple[str, ...], ...] = (
    ("impute:mean", "running-standardize", "bias"),
    ("missing-indicator", "impute:zero", "running-standardize"),
    ("impute:median", "running-standardize"),
    ("impute:mean@numeric", "running-standardize@numeric", "unit-norm", "bias"),
)
MORE_TRANSFORMS: tuple[tuple[str, ...], ...] = (
    *TRANSFORMS,
    ("impute:mean", "ipca:components=3,block=4"),
)
OF_CATEGORIES = ("frequency-encode@shape", "impute:zero", "running-standardize")
NAMED = ("csv", "jsonl", "parquet", "encoded")
"""Kinds of sources whose columns have names."""

READ = """
import pickle, sys
import numpy as np
import olscale
answers = {}
for file, kinds in pickle.load(open(sys.argv[1], "rb")).items():
    model = olscale.load_model(file)
    scores = model.predict if model.about.classes is None else model.decision_function
    of_classes = model.predict_proba if model.probabilities is not None else lambda X: None
    answers[file] = [(np.ravel(scores(X)), of_classes(X)) for X in kinds]
pickle.dump(answers, open(sys.argv[2], "wb"))
"""


def _records(count: int, seed: int = 0) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    records: list[dict[str, Any]] = []
    for _ in range(count):
        size = rng.gauss(0, 1)
        color = rng.choice(["red", "blue", "green"])
        records.append(
            {
                "size": round(size, 4),
                "weight": None if rng.random() < 0.1 else round(rng.uniform(0, 5), 3),
                "color": None if rng.random() < 0.1 else color,
                "shape": rng.choice(["round", "square"]),
                "day": f"2024-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}",
                "flag": rng.randint(0, 1),
                "label": "yes" if size + (color == "red") > 0.4 else "no",
            }
        )
    return records


def _write(
    folder: Path, kind: str, records: list[dict[str, Any]]
) -> tuple[Path, dict[str, Any]]:
    """Return a source with the records, and how to ingest it."""
    encode: dict[str, Any] = {"encode": ["day=date"], "label": "label"}
    if kind in ("csv", "encoded", "headerless"):
        file = folder / "rows.csv"
        with file.open("w", newline="") as out:
            writer = csv.DictWriter(out, records[0])
            if kind != "headerless":
                writer.writeheader()
            writer.writerows(records)
        if kind == "headerless":
            return file, {"label": 6, "drop": "4", "header": False}
        if kind == "encoded":
            return file, {"encode": ["day=hash:features=16", "color=one-hot:values=2"]}
        return file, encode
    if kind == "jsonl":
        file = folder / "rows.jsonl"
        file.write_text("".join(json.dumps(record) + "\n" for record in records))
        return file, encode
    if kind == "parquet":
        file = folder / "rows.parquet"
        parquet.write_table(pa.Table.from_pylist(records), file)
        return file, encode
    numbers = _numbers(records)
    labels = [_number(record["label"]) for record in records]
    if kind == "npz":
        file = folder / "rows.npz"
        np.savez(file, X=numbers, y=np.array(labels))
        return file, {}
    file = folder / "rows.svm"
    file.write_text(
        "".join(
            f"{label} "
            + " ".join(f"{i + 1}:{v!r}" for i, v in enumerate(row) if v)
            + "\n"
            for row, label in zip(numbers.tolist(), labels, strict=True)
        )
    )
    return file, {}


def _number(label: str | float) -> float:
    if isinstance(label, float):
        return label
    return int(label == "yes")


LEARNER_CLASSES = {name: learner_class(name) for name in LEARNERS_OF_OLSCALE}


def _numbers(records: list[dict[str, Any]]) -> np.ndarray:
    return np.array([[r["size"], r["weight"] or 0.0, r["flag"]] for r in records])


def _forms(kind: str, records: list[dict[str, Any]]) -> list[Any]:
    """Return the same rows in every form that the model takes."""
    if kind in ("npz", "svmlight"):
        numbers = _numbers(records)
        return [numbers, numbers.tolist()]
    if kind == "headerless":
        places = [name for name in NAMES if name != "day"]
        rows = [[record[name] for name in places] for record in records]
        named = {name: f"x{place}" for place, name in enumerate((*NAMES, "label"))}
        return [
            rows,
            [{named[name]: record[name] for name in record} for record in records],
        ]
    shuffled = sorted(records[0], key=lambda name: name[::-1])
    dicts = [{name: record[name] for name in shuffled} for record in records]
    text = [
        {name: "" if cell is None else str(cell) for name, cell in record.items()}
        for record in dicts
    ]
    few = dicts[:20]  # another way through the encoder than that of many dictionaries
    return [dicts, pa.Table.from_pylist(dicts), pd.DataFrame(dicts), text, few, few[0]]


class Asked(NamedTuple):
    """What one learner, trained on a source of one kind, is asked for."""

    learner: str
    run: np.ndarray
    probabilities: np.ndarray | None
    command: np.ndarray
    forms: list[Any]


def _asked(learner: str, kind: str, transforms: tuple[str, ...], folder: Path) -> Asked:
    """Train and save ``m.olm`` in `folder`; return what it is to answer."""
    task = LEARNER_CLASSES[learner].task
    records = _records(260)
    if task == "regression":
        # The target is a number that depends on the features.
        for record in records:
            record["label"] = round(record["size"] + 0.5 * record["flag"], 4)
    source, how = _write(folder, kind, records)
    if task == "novelty":
        how["novel"] = 0 if kind in ("npz", "svmlight") else "no"
    dataset = ingest(
        source, folder / "d", train_rows=200, note=lambda line: None, **how
    )
    going, model = run_through(dataset, learner, transforms)
    rows = [chunk.X for chunk in dataset.chunks("test")]
    own = going.states[0].learner
    run = np.vstack([score_usable(own, model.transformed(X)) for X in rows])
    model.save(folder / "m.olm")
    (folder / "new").mkdir()
    new, _ = _write(folder / "new", kind, records[200:])
    has_scores = task != "regression"
    source_of_model = ModelSource(model.about.columns, str(new))
    predict(model, source_of_model, folder / "p.csv", scores=has_scores)
    column = "score" if has_scores else "prediction"
    with (folder / "p.csv").open() as text:
        command = [float(row[column]) for row in csv.DictReader(text)]
    probabilities = None
    if model.probabilities is not None:
        probabilities = np.vstack(
            [model.probabilities.of(model.scores(X)) for X in rows]
        )
    return Asked(
        learner,
        run[:, 0],
        probabilities,
        np.array(command),
        _forms(kind, records[200:]),
    )


def _answered(asked: dict[str, Asked], folder: Path) -> dict[str, list[Any]]:
    """Return what a new process answers, by model file."""
    with (folder / "asked").open("wb") as out:
        pickle.dump({file: of_file.forms for file, of_file in asked.items()}, out)
    arguments = [
        sys.executable,
        "-c",
        READ,
        str(folder / "asked"),
        str(folder / "answers"),
    ]
    subprocess.run(arguments, check=True, timeout=600)
    with (folder / "answers").open("rb") as answer:
        answers: dict[str, list[Any]] = pickle.load(answer)
    return answers


def _check(asked: Asked, answers: list[Any]) -> None:
    np.testing.assert_array_equal(asked.command, asked.run)
    for scores, of_classes in answers:
        np.testing.assert_array_equal(scores, asked.run[: len(scores)])
        if asked.probabilities is not None:
            np.testing.assert_array_equal(
                of_classes, asked.probabilities[: len(scores)]
            )


@pytest.fixture(scope="module")
def paired(
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, tuple[Asked, list[Any]]]:
    """What each learner of `LEARNERS` is asked, and what it answers in a new process."""
    asked = {}
    for number, (learner, kind) in enumerate(LEARNERS.items()):
        folder = tmp_path_factory.mktemp(learner)
        transforms = TRANSFORMS[number % len(TRANSFORMS)]
        asked[str(folder / "m.olm")] = _asked(learner, kind, transforms, folder)
    answers = _answered(asked, tmp_path_factory.mktemp("process"))
    return {
        of_file.learner: (of_file, answers[file]) for file, of_file in asked.items()
    }


@pytest.mark.parametrize("learner", LEARNERS)
def test_all_forms_have_the_scores_of_the_run(paired: Any, learner: str) -> None:
    asked, answers = paired[learner]
    _check(asked, answers)
    assert len(set(asked.run.tolist())) > 5


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(set(LEARNERS.values())))
@pytest.mark.parametrize("part", range(4))
def test_every_learner_reads_every_kind_of_source(
    kind: str, part: int, tmp_path: Path
) -> None:
    asked = {}
    for number, name in enumerate(LEARNER_CLASSES):
        if number % 4 != part or not LEARNER_CLASSES[name].restorable:
            continue
        folder = tmp_path / name
        folder.mkdir()
        choices = [*MORE_TRANSFORMS]
        if kind in NAMED:
            choices.append(OF_CATEGORIES)
        if kind in NAMED and LEARNER_CLASSES[name].task != "novelty":
            choices.append(("target-encode@color", *OF_CATEGORIES))
        transforms = choices[(number + len(kind)) % len(choices)]
        asked[str(folder / "m.olm")] = _asked(name, kind, transforms, folder)
    answers = _answered(asked, tmp_path)
    for file, of_file in asked.items():
        _check(of_file, answers[file])
