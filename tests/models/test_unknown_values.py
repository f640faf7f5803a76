"""What a model never met is said once a call, with its counts, wherever the rows come from."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from olscale.data.ingest.ingest import ingest
from olscale.data.transforms.pipeline import Pipeline
from olscale.learners.registry import make_learner
from olscale.models.about import About, ColumnsEntry, LearnerEntry
from olscale.models.final_model import FinalModel

COLUMNS = ColumnsEntry(
    count=5,
    kind="sparse",
    names=("n", "c=blue", "c=red", "d=x", "d=other"),
    text=("c", "d"),
    coded={"d": "one-hot:values=1"},
    label="y",
)
ROWS = [
    {"n": 1.0, "c": "red", "d": "x"},
    {"n": 2.0, "c": "pink", "d": "z"},
    {"n": 0.5, "c": None, "d": "z"},
    {"n": 0.5, "c": "green", "d": None},
]


@pytest.fixture
def model() -> FinalModel:
    learner = make_learner("logistic")
    learner.begin(5, 2)
    learner.learn(np.eye(5), np.array([0, 1, 0, 1, 1]))
    entry = LearnerEntry(name="logistic", version=1, params=learner.resolved_params())
    about = About(learner=entry, columns=COLUMNS, classes=("a", "b"))
    return FinalModel(about, learner, Pipeline([], 5, 5))


@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba"])
@pytest.mark.parametrize(
    "rows", [ROWS, ROWS * 20, pd.DataFrame(ROWS), pa.Table.from_pylist(ROWS)]
)
def test_a_call_warns_once_with_its_counts(
    model: FinalModel, rows: Any, method: str
) -> None:
    count = 2 * len(rows) // len(ROWS)
    # A second call says the same of its own rows, and not of those before.
    for _ in range(2):
        with pytest.warns(UserWarning, match="never seen") as caught:
            getattr(model, method)(rows)
        assert [str(warning.message) for warning in caught] == [
            "text cells of X with values that the model has never seen are ignored: "
            f"{count} of 'c'"
        ]
        assert caught[0].filename == __file__


def test_rows_that_are_learned_warn_too(model: FinalModel) -> None:
    with pytest.warns(UserWarning, match="are ignored: 2 of 'c'$"):
        model.partial_fit(ROWS, ["a", "b", "a", "b"])


def test_known_and_missing_cells_are_nothing_to_warn_of(model: FinalModel) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict([{"n": 1.0, "c": cell, "d": "z"} for cell in ("red", "", "NA")])
        model.predict(np.eye(5), encoded=True)


def test_a_dataset_is_counted_as_a_whole(model: FinalModel, tmp_path: Path) -> None:
    source = tmp_path / "rows.csv"
    lines = [f"{i},{('red', 'pink')[i % 2]},x,a" for i in range(1, 41)]
    source.write_text("\n".join(["n,c,d,y", *lines, ""]))
    dataset = ingest(
        str(source),
        str(tmp_path / "set"),
        label="y",
        encode=("d=one-hot:values=1",),
        chunk_rows=16,
        target="classes",
    )
    with pytest.warns(
        UserWarning, match="of the dataset .* are ignored: 20$"
    ) as caught:
        model.predict(dataset)
    assert len(caught) == 1
