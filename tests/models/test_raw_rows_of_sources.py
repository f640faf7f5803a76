"""Raw rows, `olscale predict` and the run itself give the same scores, bit for bit.

Learners, transforms and kinds of sources are paired so that each occurs, and a new process loads
all models at once: imports take longer than the rows.
"""

from __future__ import annotations

import csv
import json
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from olscale.data.ingest.ingest import ingest
from olscale.learners.contract.usable_rows import score_usable
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
READ = """
import pickle, sys
import numpy as np
import olscale
answers = {}
for file, kinds in pickle.load(open(sys.argv[1], "rb")).items():
    model = olscale.load_model(file)
    answers[file] = [(model.decision_function(X), model.predict_proba(X)) for X in kinds]
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


def _write(folder: Path, kind: str, records: list[dict[str, Any]]) -> tuple[Path, dict[str, Any]]:
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
    labels = [record["label"] == "yes" for record in records]
    if kind == "npz":
        file = folder / "rows.npz"
        np.savez(file, X=numbers, y=np.array(labels, dtype=np.int64))
        return file, {}
    file = folder / "rows.svm"
    file.write_text(
        "".join(
            f"{int(label)} " + " ".join(f"{i + 1}:{v!r}" for i, v in enumerate(row) if v) + "\n"
            for row, label in zip(numbers.tolist(), labels, strict=True)
        )
    )
    return file, {}


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
        return [rows, [{named[name]: record[name] for name in record} for record in records]]
    shuffled = sorted(records[0], key=lambda name: name[::-1])
    dicts = [{name: record[name] for name in shuffled} for record in records]
    text = [
        {name: "" if cell is None else str(cell) for name, cell in record.items()}
        for record in dicts
    ]
    few = dicts[:20]  # another way through the encoder than that of many dictionaries
    return [dicts, pa.Table.from_pylist(dicts), pd.DataFrame(dicts), text, few, few[0]]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, Any, list[Any]]]:
    """Scores of the run, of `predict` and of raw rows in a new process, by learner."""
    expected = {}
    asked = {}
    records = _records(260)
    for number, (learner, kind) in enumerate(LEARNERS.items()):
        folder = tmp_path_factory.mktemp(learner)
        source, how = _write(folder, kind, records)
        dataset = ingest(source, folder / "d", train_rows=200, note=lambda line: None, **how)
        going, model = run_through(dataset, learner, TRANSFORMS[number % len(TRANSFORMS)])
        rows = [chunk.X for chunk in dataset.chunks("test")]
        own = going.states[0].learner
        run = np.vstack([score_usable(own, model.transformed(X)) for X in rows])
        file = str(folder / "m.olm")
        model.save(file)
        (folder / "new").mkdir()
        new, _ = _write(folder / "new", kind, records[200:])
        predict(model, ModelSource(model.about.columns, str(new)), folder / "p.csv", scores=True)
        with (folder / "p.csv").open() as text:
            command = [float(row["score"]) for row in csv.DictReader(text)]
        probabilities = np.vstack([model.probabilities.of(model.scores(X)) for X in rows])
        expected[file] = learner, (run[:, 0], probabilities), np.array(command)
        asked[file] = _forms(kind, records[200:])
    folder = tmp_path_factory.mktemp("process")
    with (folder / "asked").open("wb") as out:
        pickle.dump(asked, out)
    arguments = [sys.executable, "-c", READ, str(folder / "asked"), str(folder / "answers")]
    subprocess.run(arguments, check=True, timeout=300)
    with (folder / "answers").open("rb") as answer:
        got = pickle.load(answer)
    return {
        learner: (run, command, got[file]) for file, (learner, run, command) in expected.items()
    }


@pytest.mark.parametrize("learner", LEARNERS)
def test_all_forms_have_the_scores_of_the_run(answers: Any, learner: str) -> None:
    (run, probabilities), command, forms = answers[learner]
    np.testing.assert_array_equal(command, run)
    for scores, of_classes in forms:
        np.testing.assert_array_equal(scores, run[: len(scores)])
        np.testing.assert_array_equal(of_classes, probabilities[: len(scores)])
    assert len(set(run.tolist())) > 5
