"""Whatever form a model answers in, it is scored right or refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin

from olscale.data.chunk import Chunk
from olscale.data.formats.base import Batch
from olscale.errors import ParameterError
from olscale.evaluation.guard import check_scores
from olscale.learners.contract.foreign.learner import ForeignLearner
from olscale.learners.registry import make_learner

ROWS = 4


class Frame:
    """As much of a pandas series or frame as NumPy and we look at."""

    def __init__(self, values: Any, index: Any = None, columns: Any = ()) -> None:
        self.values = np.asarray(values)
        self.index = range(len(self.values)) if index is None else index
        self.columns = columns
        self.iloc = None

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values if dtype is None else self.values.astype(dtype)


class Tensor:
    """As torch's: it turns into an array, unless it cannot."""

    def __init__(self, values: Any, fault: str = "") -> None:
        self.values = np.asarray(values)
        self.fault = fault

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self.fault:
            raise RuntimeError(self.fault)
        return self.values if dtype is None else self.values.astype(dtype)


RIGHT: dict[str, Callable[[Any], Any]] = {
    "list": lambda a: a.tolist(),
    "tuple": lambda a: tuple(a.tolist()),
    "float32": lambda a: a.astype(np.float32),
    "whole floats": lambda a: a.astype(np.float64),
    "column": lambda a: a.reshape(len(a), -1),
    "objects": lambda a: a.astype(object),
    "fractions": lambda a: np.array(
        [Fraction(int(value)) for value in a.ravel()], dtype=object
    ).reshape(a.shape),
    "list of arrays": lambda a: list(a),
    "nothing masked": lambda a: np.ma.array(a, mask=False),
    "matrix": lambda a: csr_matrix(a.reshape(len(a), -1)).todense(),
    "series": Frame,
    "dates for an index": lambda a: Frame(
        a, [f"2024-01-0{i + 1}" for i in range(len(a))]
    ),
    "tensor": Tensor,
}
WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "masked": (
        lambda a: np.ma.array(a, mask=np.arange(a.size).reshape(a.shape) % 2 == 0),
        "masked value",
    ),
    "masked in a list": (lambda a: [np.ma.masked, *a.tolist()[1:]], "masked value"),
    "none": (lambda a: None, "a NoneType"),
    "some none": (
        lambda a: np.array([None, *a.ravel().tolist()[1:]], dtype=object).reshape(
            a.shape
        ),
        "None|type object",
    ),
    "text": (lambda a: a.astype(str), "predicted '|values of type <U"),
    "complex": (lambda a: a + 0j, "predicted|values of type complex"),
    "dates": (
        lambda a: a.astype("datetime64[s]"),
        "predicted|values of type datetime64",
    ),
    "generator": (lambda a: (value for value in a), "a generator, expected an array"),
    "set": (lambda a: {1, 2}, "a set, expected"),
    "dict": (lambda a: dict(enumerate(a)), "a dict, expected"),
    "sparse": (
        lambda a: csr_matrix(a.reshape(len(a), -1)),
        r"a sparse matrix; expected a plain array: call toarray\(\)",
    ),
    "sparse array": (lambda a: coo_array(a.reshape(len(a), -1)), "a sparse matrix"),
    "another order": (lambda a: Frame(a, [1, 0, 3, 2]), "index in another order"),
    "a row less": (lambda a: a[1:], "shape"),
    "a row too many": (lambda a: np.concatenate([a, a]), "shape"),
    "on its side": (lambda a: a.reshape(len(a), -1).T, "shape"),
    "ragged": (lambda a: [[1.0], [1.0, 2.0], [3.0], [4.0]], r"shape \(\)"),
    "tensor elsewhere": (lambda a: Tensor(a, "it requires grad"), "it requires grad"),
}


class Answers(BaseEstimator):
    """Gives what it is told to, in some form."""

    method = "predict"
    form = staticmethod(lambda a: a)

    def partial_fit(self, X: Any, y: Any = None) -> Any:
        return self

    def _answer(self, method: str, values: Any, X: Any) -> Any:
        values = values[: len(X)]
        return self.form(values) if method == self.method else values


class Classes(ClassifierMixin, Answers):
    def predict(self, X: Any) -> Any:
        return self._answer("predict", np.array([1, 0, 1, 1]), X)

    def predict_proba(self, X: Any) -> Any:
        first = np.array([0.25, 0.75, 0.0, 0.5])
        return self._answer("predict_proba", np.stack([first, 1.0 - first], axis=1), X)


class Numbers(RegressorMixin, Answers):
    def predict(self, X: Any) -> Any:
        return self._answer("predict", np.array([1, 0, -3, 7]), X)


class Grades(OutlierMixin, Answers):
    def predict(self, X: Any) -> Any:
        return np.ones(len(X))

    def decision_function(self, X: Any) -> Any:
        return self._answer("decision_function", np.array([1, 0, -3, 7]), X)


class Verdicts(OutlierMixin, Answers):
    def predict(self, X: Any) -> Any:
        return self._answer("predict", np.array([1, -1, -1, 1]), X)


def scores(kind: type[Answers], method: str, form: Callable[[Any], Any]) -> Any:
    made = type(kind.__name__, (kind,), {"method": method, "form": staticmethod(form)})
    learner = ForeignLearner("mine:Model", made, {}, "1")
    learner.begin(2, 2 if learner.task != "regression" else 0)
    if method == "predict_proba":
        learner.show_probabilities()
    learner._fitted = True
    return learner.scores(np.ones((ROWS, 2)))


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        (Classes, "predict"),
        (Classes, "predict_proba"),
        (Numbers, "predict"),
        (Grades, "decision_function"),
        (Verdicts, "predict"),
    ],
)
def test_every_form_of_an_answer_is_scored_right_or_refused(
    kind: type[Answers], method: str
) -> None:
    plain = scores(kind, method, lambda a: a)
    for name, form in RIGHT.items():
        if method == "predict_proba" and name in ("whole floats", "fractions"):
            continue
        np.testing.assert_array_equal(scores(kind, method, form), plain, err_msg=name)
    for name, (form, said) in WRONG.items():
        if name == "on its side" and method == "predict_proba":
            continue
        with pytest.raises((ValueError, RuntimeError), match=said) as caught:
            scores(kind, method, form)
        assert "\n" not in str(caught.value), name


def test_floats_that_are_no_classes_are_refused() -> None:
    for value in (0.5, -1.0, 2.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="expected a class it was taught"):
            scores(
                Classes, "predict", lambda a, value=value: np.where(a == 0, value, a)
            )


def test_probabilities_stand_with_the_classes_that_the_model_names() -> None:
    """Columns are those of ``classes_``: one that learns its classes as they come has another order, or fewer."""
    right = np.array([[0.25, 0.75], [0.75, 0.25], [0.0, 1.0], [0.5, 0.5]])

    class Turned(Classes):
        classes_ = np.array([1, 0])

    class One(Classes):
        classes_ = np.array([1])

    found = scores(Turned, "predict_proba", lambda a: a[:, ::-1])
    np.testing.assert_array_equal(found[:, 1:], right)
    found = scores(One, "predict_proba", lambda a: np.ones((len(a), 1)))
    np.testing.assert_array_equal(found[:, 1:], [[0.0, 1.0]] * ROWS)
    with pytest.raises(ValueError, match="columns in another order"):
        scores(
            Classes, "predict_proba", lambda a: Frame(a[:, ::-1], columns=["1", "0"])
        )


def test_what_is_no_probability_is_refused() -> None:
    with pytest.raises(
        ValueError,
        match=r"predict_proba gave .*, expected probabilities: no scores or logarithms",
    ):
        scores(Classes, "predict_proba", lambda a: np.log(a + 0.1))
    nearly = scores(Classes, "predict_proba", lambda a: np.where(a == 0.0, -1e-17, a))
    np.testing.assert_array_equal(nearly[2], [1.0, 0.0, 1.0])


def test_river_s_probabilities_are_of_classes_that_it_was_taught() -> None:
    class One:
        answer: Any

        def learn_one(self, x: Any, y: Any) -> None: ...

        def predict_one(self, x: Any) -> Any:
            return True

        def predict_proba_one(self, x: Any) -> Any:
            return self.answer

    def shown(answer: Any) -> Any:
        learner = ForeignLearner(
            "mine:Model", type("One", (One,), {"answer": answer}), {}, "1"
        )
        learner.begin(2, 2)
        assert learner.show_probabilities()
        learner._fitted = True
        return learner.scores(np.ones((1, 2)))[0].tolist()

    assert shown({True: 0.75, False: 0.25}) == [*shown({1: 3})[:1], 0.25, 0.75]
    assert shown({}) == [1.0, 0.5, 0.5]
    for answer, said in (
        ({"1": 1.0}, "gave the class '1'"),
        ({0: "a"}, "of type"),
        ({0: -2.0, 1: 1.0}, "gave -2"),
    ):
        with pytest.raises(ValueError, match=said):
            shown(answer)


def test_masked_scores_of_a_learner_of_one_s_own_are_refused() -> None:
    found = np.ma.array(np.ones((3, 1)), mask=[[False], [True], [False]])
    with pytest.raises(
        ValueError,
        match="masked values in the array that the learner returned as scores",
    ):
        check_scores(found, 3, (1,))
    assert check_scores(np.ma.array(np.ones((3, 1))), 3, (1,)).shape == (3, 1)


@pytest.mark.parametrize("name", ["pa1", "pa1-r", "norma-n"])
def test_masked_rows_and_labels_are_refused_by_the_estimators(name: str) -> None:
    X = np.ones((4, 2))
    y = np.array([0.0, 1.0, 0.0, 1.0])
    hidden = np.ma.array(X, mask=[[True, False]] + [[False, False]] * 3)
    learner: Any = make_learner(name, {})
    with pytest.raises(ParameterError, match=r"masked values in X \(1\) hold"):
        learner.fit(hidden, y)
    learner.fit(np.ma.array(X), y)
    with pytest.raises(ParameterError, match=r"masked values in X \(1\) hold"):
        learner.predict(hidden)
    if learner.task != "novelty":
        with pytest.raises(ParameterError, match=r"masked values in y \(2\) hold"):
            learner.partial_fit(X, np.ma.array(y, mask=y > 0))


def test_masked_rows_of_transforms_and_formats_are_refused() -> None:
    hidden = np.ma.array(np.ones((2, 1)), mask=[[True], [False]])
    with pytest.raises(ParameterError, match="masked values in rows"):
        Chunk(hidden, np.zeros(2), 1)
    with pytest.raises(ParameterError, match="masked values in the rows of a source"):
        Batch(hidden, np.zeros(2), 1)
    with pytest.raises(ParameterError, match="masked values in the labels of a source"):
        Batch(np.ones((2, 1)), hidden[:, 0], 1)
