"""Rows for a saved model: columns go by name wherever they have names, and what is no number is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix

from olscale.data.transforms.pipeline import Pipeline
from olscale.errors import ParameterError
from olscale.learners.registry import make_learner
from olscale.models.about import About, ColumnsEntry, LearnerEntry
from olscale.models.final_model import FinalModel

ROWS = np.array([[3.0, 1.0], [-2.0, 5.0]])


class Frame:
    """As much of a data frame as is asked: of polars, or with `loc` of pandas."""

    def __init__(self, values: Any, columns: list[str]) -> None:
        self.values = np.asarray(values)
        self.columns = columns

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values if dtype is None else self.values.astype(dtype)

    def select(self, names: list[str]) -> Frame:
        return Frame(self.values[:, [self.columns.index(name) for name in names]], names)


class Loc(Frame):
    @property
    def loc(self) -> Any:
        return self

    def __getitem__(self, which: tuple[Any, list[str]]) -> Frame:
        return self.select(which[1])


@pytest.fixture
def model() -> FinalModel:
    about = About(
        learner=LearnerEntry(name="pa1", version=1, params={"C": 0.5}),
        columns=ColumnsEntry(count=2, kind="dense", names=("a", "b")),
        classes=("ham", "spam"),
    )
    learner = make_learner("pa1", {"C": 0.5})
    learner.begin(2, 2)
    return FinalModel(about, learner, Pipeline((), 2, 2)).partial_fit(
        [[1.0, 0.0], [0.0, 1.0]], ["spam", "ham"]
    )


def test_columns_with_names_are_found_in_any_order(model: FinalModel) -> None:
    """A frame of polars and a table of Arrow were read by place, and predicted from the wrong columns."""
    expected = model.decision_function(ROWS)
    turned = ROWS[:, ::-1]
    for rows in (
        Frame(turned, ["b", "a"]),
        Loc(turned, ["b", "a"]),
        pa.table({"b": turned[:, 0], "a": turned[:, 1]}),
        pa.table({"a": ROWS[:, 0], "b": ROWS[:, 1]}),
        ROWS.tolist(),
        csr_matrix(ROWS),
    ):
        np.testing.assert_array_equal(model.decision_function(rows), expected)
    assert not np.array_equal(model.decision_function(turned), expected)


def test_columns_that_the_model_does_not_have_are_named(model: FinalModel) -> None:
    for rows, odd in (
        (Frame(ROWS, ["a", "c"]), "b, c"),
        (Loc(np.ones((2, 3)), ["a", "b", "a"]), "a"),
        (pa.table({"a": [1.0], "b": [1.0], "z": [1.0]}), "z"),
    ):
        with pytest.raises(
            ParameterError, match=f"columns of X differ from those of the model: {odd}$"
        ):
            model.predict(rows)


def test_what_is_no_number_is_refused(model: FinalModel) -> None:
    hidden = np.ma.array(ROWS, mask=[[True, False], [False, False]])
    for rows, said in (
        (ROWS + 1j, "it holds complex128"),
        (csr_matrix(ROWS + 1j), "it holds complex128"),
        (ROWS.astype("datetime64[s]"), "it holds datetime64"),
        (hidden, "masked values in X"),
    ):
        with pytest.raises(ParameterError, match=said):
            model.predict(rows)
    with pytest.raises(ParameterError, match="masked values in y"):
        model.partial_fit(ROWS, np.ma.array(["ham", "spam"], mask=[True, False]))
