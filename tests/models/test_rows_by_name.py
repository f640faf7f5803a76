"""Rows for a saved model: columns go by name wherever they have names, and cells are encoded."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix

from olscale.data.chunk import Chunk
from olscale.data.transforms.pipeline import Pipeline
from olscale.errors import DivergedError, ParameterError
from olscale.learners.registry import make_learner
from olscale.models.about import About, ColumnsEntry, LearnerEntry
from olscale.models.final_model import FinalModel

ROWS = np.array([[3.0, 1.0], [-2.0, 5.0]])


class Frame:
    """As much of a data frame as is asked: of polars, or with `loc` and `iloc` of pandas."""

    def __init__(self, values: Any, columns: list[Any]) -> None:
        self.values = np.asarray(values)
        self.columns = columns

    def __getitem__(self, name: Any) -> Any:
        return self.values[:, self.columns.index(name)]


class Loc(Frame):
    loc = None

    @property
    def iloc(self) -> Any:
        return self.values


def _model(**columns: Any) -> FinalModel:
    entry = ColumnsEntry(**columns)
    about = About(
        learner=LearnerEntry(name="pa1", version=1, params={"C": 0.5}),
        columns=entry,
        classes=("ham", "spam"),
    )
    learner = make_learner("pa1", {"C": 0.5})
    learner.begin(entry.count, 2)
    return FinalModel(about, learner, Pipeline((), entry.count, entry.count))


@pytest.fixture
def model() -> FinalModel:
    model = _model(
        count=2,
        kind="dense",
        names=("a", "b"),
        label="mail",
        dropped=("id",),
        missing=("-9",),
    )
    return model.partial_fit([[1.0, 0.0], [0.0, 1.0]], ["spam", "ham"], encoded=True)


@pytest.fixture
def of_words() -> FinalModel:
    names = (
        "n",
        "c=red",
        "c=5",
        "d=year",
        "d=month",
        "d=day",
        "d=weekday",
        "d=hour",
        "d=minute",
    )
    model = _model(
        count=12,
        kind="sparse",
        names=(*names, "d=second", "k=1", "k=other"),
        text=("c", "d", "k"),
        coded={"d": "date", "k": "one-hot:values=1"},
        label="mail",
    )
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 12))
    return model.partial_fit(X, rng.choice(["ham", "spam"], 20), encoded=True)


def test_no_rows_have_no_predictions_and_teach_nothing(
    model: FinalModel, of_words: FinalModel
) -> None:
    """A service may have nothing to predict; an empty frame is answered so, too."""
    for each in (model, of_words):
        assert each.predict([]).shape == (0,)
        seen = each.learner.state_["seen"].copy()
        each.partial_fit([], [])
        assert each.learner.state_["seen"] == seen


def test_a_value_that_is_not_finite_is_named_by_its_column(model: FinalModel) -> None:
    with pytest.raises(ParameterError, match=r"row 0 of X .* infinity in column 'b'"):
        model.predict({"a": 1.0, "b": np.inf})
    with pytest.raises(DivergedError, match="infinity in column 'b'"):
        model.partial_fit({"a": 1.0, "b": np.inf}, ["spam"])


def test_columns_with_names_are_found_in_any_order(model: FinalModel) -> None:
    """Columns that are read by place predict from the wrong ones, and nobody notices."""
    expected = model.decision_function(ROWS, encoded=True)
    turned = ROWS[:, ::-1]
    dicts = [{"b": b, "a": a} for a, b in ROWS.tolist()]
    for rows in (
        Frame(turned, ["b", "a"]),
        Loc(turned, ["b", "a"]),
        pa.table({"b": turned[:, 0], "a": turned[:, 1]}),
        pa.table({"a": ROWS[:, 0], "b": ROWS[:, 1]}),
        pa.table({"b": turned[:, 0], "a": turned[:, 1]}).to_batches()[0],
        dicts,
        tuple(dicts),
        dicts * 20,
        [{"a": str(a), "b": f" {b}"} for a, b in ROWS.tolist()],
        Chunk(ROWS, np.array([0, 1]), 2),
    ):
        got = model.decision_function(rows)[:2]
        np.testing.assert_array_equal(got, expected)
    assert model.decision_function(dicts[0]) == expected[:1]
    assert not np.array_equal(model.decision_function(turned, encoded=True), expected)


def test_columns_without_names_are_refused_where_the_model_has_names(
    model: FinalModel,
) -> None:
    for rows in (ROWS, ROWS.tolist(), csr_matrix(ROWS)):
        with pytest.raises(
            ParameterError, match=r"X has no column names.*encoded=True"
        ):
            model.predict(rows)
        np.testing.assert_array_equal(
            model.predict(rows, encoded=True),
            model.predict(pa.table({"a": [3.0, -2], "b": [1.0, 5]})),
        )
    nameless = _model(count=2, kind="dense")
    assert (
        nameless.predict(ROWS).shape == nameless.predict(csr_matrix(ROWS)).shape == (2,)
    )
    with pytest.raises(ParameterError, match="have no names"):
        nameless.predict({"a": 1.0, "b": 2.0})


def test_a_missing_column_is_named_and_others_are_ignored(model: FinalModel) -> None:
    for rows in (Frame(ROWS, ["a", "c"]), {"a": 1.0}, pa.table({"a": [1.0]})):
        with pytest.raises(
            ParameterError, match=r"X lacks columns that the model learned from.*'b'"
        ):
            model.predict(rows)
    with pytest.raises(ParameterError, match="twice"):
        model.predict(Loc(np.ones((2, 3)), ["a", "b", "a"]))
    # label, identifier: every warning is an error in tests
    with warnings.catch_warnings():
        model.predict({"a": 1.0, "b": 1.0, "mail": "ham", "id": 7})
        model.predict(pa.table({"a": [1.0], "b": [1.0], "mail": ["x"], "id": [None]}))
    with pytest.warns(UserWarning, match="does not know are ignored: z$"):
        model.predict(pa.table({"a": [1.0], "b": [1.0], "z": [1.0]}))
    model.predict({"a": 1.0, "b": 1.0, "z": 1.0})  # said once


def test_cells_are_encoded_as_at_ingest(of_words: FinalModel) -> None:
    record = {"n": 2, "c": "red", "d": "2024-01-31 10:30", "k": "9", "mail": "ham"}
    expected = of_words.decision_function(
        [[2, 1, 0, 2024, 1, 31, 2, 10, 30, 0, 0, 1]], encoded=True
    )
    table = pa.Table.from_pylist([record])
    features = {"n": [2.0], "c=red": [1.0], "c=5": [0.0], "d": table["d"], "k": ["9"]}
    for rows in (record, [record] * 40, table, pa.table(features)):
        assert of_words.decision_function(rows)[:1] == expected
    five = of_words.decision_function([[2, 0, 1, *[0] * 7, 1, 0]], encoded=True)
    for c, k in ((5, 1), (5.0, 1.0), ("5", " 1")):
        assert (
            of_words.decision_function({"n": "2.0", "c": c, "d": None, "k": k}) == five
        )
    none = of_words.decision_function([[0] * 12], encoded=True)
    for empty in (None, "", "NA", float("nan"), "?"):
        assert (
            of_words.decision_function({"n": 0, "c": empty, "d": empty, "k": empty})
            == none
        )
    with pytest.warns(UserWarning, match="are ignored: 1 of 'c'"):
        unknown = of_words.decision_function(
            {"n": 0, "c": "never met", "d": None, "k": None}
        )
    assert unknown == none


def test_labels_come_along_with_rows(model: FinalModel) -> None:
    one = model.decision_function(ROWS, encoded=True)
    model.partial_fit([{"a": 1.0, "b": 4.0, "mail": "spam"}])
    after = model.decision_function(ROWS, encoded=True)
    assert not np.array_equal(one, after)
    model.partial_fit(pa.table({"a": [2.0], "mail": ["ham"], "b": [-1.0]}))
    assert not np.array_equal(model.decision_function(ROWS, encoded=True), after)
    with pytest.raises(ParameterError, match="y is missing"):
        model.partial_fit({"a": 1.0, "b": 4.0})


class LazyFrame(Frame):
    """Runs its query when it is collected, as that of polars."""

    def collect(self) -> Frame:
        return Frame(ROWS, ["a", "b"])


def test_what_has_no_rows_in_memory_is_refused_by_what_gives_them(
    model: FinalModel,
) -> None:
    lazy = LazyFrame(ROWS, ["a", "b"])
    with pytest.raises(ParameterError, match=r"LazyFrame .* not in memory.*X\.collect"):
        model.predict(lazy)
    assert model.predict(lazy.collect()).shape == (2,)
    with pytest.raises(ParameterError, match="X is a path, expected rows"):
        model.predict("new.csv")


def test_what_is_no_number_is_refused(model: FinalModel) -> None:
    hidden = np.ma.array(ROWS, mask=[[True, False], [False, False]])
    for rows, said in (
        (ROWS + 1j, "it holds complex128"),
        (csr_matrix(ROWS + 1j), "it holds complex128"),
        (ROWS.astype("datetime64[s]"), "it holds datetime64"),
        (hidden, "masked values in X"),
        (
            [{"a": 1.0, "b": "tall"}],
            "column 'b' of X was 'tall' in row 0, expected a number",
        ),
        (pa.table({"a": [1.0], "b": ["tall"]}), "column 'b' of X was 'tall' in row 0"),
        ({"a": 1.0, "b": "-9"}, "NaN in column 'b'"),
        (pa.table({"a": [1.0], "b": [-9]}), "NaN in column 'b'"),
    ):
        with pytest.raises(ParameterError, match=said):
            model.predict(
                rows, encoded=isinstance(rows, np.ndarray) or hasattr(rows, "tocsr")
            )
    with pytest.raises(ParameterError, match="masked values in y"):
        model.partial_fit(
            ROWS, np.ma.array(["ham", "spam"], mask=[True, False]), encoded=True
        )
