"""River's models get rows as River's own users have them."""

import csv
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.data.dataset import open_dataset
from olscale.data.feature_names import feature_names
from olscale.data.ingest.ingest import ingest
from olscale.data.transforms.drop import Drop
from olscale.data.transforms.pipeline import make_transform
from olscale.evaluation.experiment import parse_experiment
from olscale.execution.evaluate import evaluate
from olscale.learners.registry import make_learner

pytest.importorskip("river")

HERE = "tests.learners.river_models"
KEYS = ("x1", "x2", "colour", "shape")
"""In the manifest's order: columns of numbers first."""


def table(rows: int = 300) -> list[dict[str, Any]]:
    """Return rows of numbers and words whose label depends on both, with words that are missing."""
    draw = random.Random(1)
    made = []
    for _ in range(rows):
        x1 = round(draw.gauss(0, 1), 4)
        colour = draw.choice(["red", "green", "blue", ""])
        label = "yes" if (colour == "red") ^ (x1 > 0.3) else "no"
        row = {
            "x1": x1,
            "colour": colour,
            "x2": float(draw.randrange(3)),
            "shape": draw.choice("ab"),
        }
        made.append({**row, "y": label})
    return made


def write(rows: list[dict[str, Any]], path: Path) -> str:
    with (path / "t.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return ingest([str(path / "t.csv")], str(path / "t"), chunk_rows=64).path


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(table(), tmp_path_factory.mktemp("words"))


def mistakes_of_river(model: Any, rows: list[dict[str, Any]]) -> int:
    """Return the mistakes of River's own loop; a model of two classes gets false and true."""
    wrong = 0
    for row in rows:
        x = {key: None if row[key] == "" else row[key] for key in KEYS}
        y = row["y"] if model._multiclass else row["y"] == "yes"
        predicted = model.predict_one(x)
        wrong += (
            ("yes" if model._multiclass else True) != y
            if predicted is None
            else predicted != y
        )
        model.learn_one(x, y)
    return wrong


def test_eleven_models_make_the_mistakes_of_rivers_own_loop(
    words: str, tmp_path: Path
) -> None:
    from tests.learners.river_models import MODELS

    content = {
        "datasets": [{"path": words}],
        "learners": [{"name": f"{HERE}:{make.__name__}"} for make in MODELS],
        "protocol": {"order": "time"},
    }
    store = evaluate(
        parse_experiment(content), tmp_path / "store", in_process=True
    ).store
    found = {
        row["learner"].partition(":")[2]: dict(row["metrics"]).get(
            "mistakes", row["reason"]
        )
        for row in store.read(["learner", "metrics", "reason"]).to_pylist()
    }
    assert found == {
        make.__name__: mistakes_of_river(make(), table()) for make in MODELS
    }


def test_rows_are_named_as_the_manifest_says(words: str) -> None:
    dataset = open_dataset(words)
    rows = [
        row
        for chunk in dataset.chunks("train")
        for row in feature_names(dataset.manifest, ()).rows(chunk.X)
    ]
    expected = [
        {key: None if row[key] == "" else row[key] for key in KEYS} for row in table()
    ]
    assert rows == expected
    assert [list(row) for row in rows] == [list(KEYS)] * len(rows)


@pytest.mark.parametrize(
    ("transforms", "start"),
    [
        (["bias"], ["x1", "x2", "colour", "shape", "bias"]),
        (["impute:mean"], ["x1", "x2", "colour", "shape"]),
        (["standardize"], ["x1", "x2", "colour=red"]),
        (["project:2"], ["project0", "project1"]),
    ],
)
def test_names_go_through_transforms(
    words: str, transforms: list[str], start: list[str]
) -> None:
    """A word stays one until its features are scaled; what is mixed of all features is named by the transform."""
    manifest = open_dataset(words).manifest
    names = feature_names(manifest, [make_transform(text) for text in transforms])
    [row] = names.rows(np.ones((1, len(names.names))))
    assert list(names.names)[: len(row)] == start or set(start) <= set(row)


def test_words_stay_words_where_a_column_is_dropped(words: str) -> None:
    """A number that is left out moves the words up, into the places of numbers."""
    manifest = open_dataset(words).manifest
    values = dict.fromkeys(manifest.feature_names or (), 0.0)
    values |= {"x2": 2.5, "colour=red": 1.0}
    del values["x1"]
    [row] = feature_names(manifest, [Drop(0)]).rows(np.array([[*values.values()]]))
    assert row == {"x2": 2.5, "colour": "red", "shape": None}


def test_the_version_says_that_names_are_given(words: str) -> None:
    """A dataset without names gives what it did before, under the ids of before."""
    manifest = open_dataset(words).manifest
    learner = make_learner("river.tree:HoeffdingTreeClassifier", {})
    before = learner.version
    learner.expect_names(
        feature_names(replace(manifest, feature_names=None), ()), (0, 1)
    )
    assert learner.version == before
    learner.expect_names(feature_names(manifest, ()), ("no", "yes"))
    assert learner.version == f"{before}+adapter2"
    scikit = make_learner("sklearn.linear_model:SGDClassifier", {})
    before = scikit.version
    scikit.expect_names(feature_names(manifest, ()), ("no", "yes"))
    assert scikit.version == before


def test_an_imputer_of_rivers_gets_what_is_missing(tmp_path: Path) -> None:
    rows = table()
    for row in rows[::10]:
        row["x1"] = ""
    path = write(rows, tmp_path)
    content = {
        "datasets": [{"path": path}],
        "learners": [{"name": f"{HERE}:imputed"}, {"name": f"{HERE}:two_columns"}],
        "protocol": {"order": "time"},
    }
    store = evaluate(
        parse_experiment(content), tmp_path / "store", in_process=True
    ).store
    found = {
        row["learner"].partition(":")[2]: row
        for row in store.read(["learner", "metrics", "reason"]).to_pylist()
    }
    from tests.learners.river_models import imputed

    assert dict(found["imputed"]["metrics"])["mistakes"] == mistakes_of_river(
        imputed(), rows
    )
    assert "NaN in column 'x1'" in found["two_columns"]["reason"]
