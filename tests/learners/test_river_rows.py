"""Rows of River's models: dictionaries made once for all learners of a group, and never shared for writing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river.base import Classifier
from river.naive_bayes import GaussianNB
from river.tree import HoeffdingTreeClassifier

from olscale.compiled.csr import Rows
from olscale.data.feature_names import FeatureNames
from olscale.learners.contract.foreign.river_model import share_rows
from olscale.learners.registry import make_learner
from olscale.models.pickled import from_pickle, to_pickle
from tests.evaluation.planned import plan
from tests.evaluation.test_protocol import records

NAIVE = "river.naive_bayes:GaussianNB"
TREE = "river.tree:HoeffdingTreeClassifier"


class Emptying(Classifier):  # type: ignore[misc]
    """Removes from each row what it has read, as a user's model may."""

    def __init__(self) -> None:
        self.totals: dict[Any, float] = {}

    def predict_one(self, x: dict[Any, Any], **_: Any) -> int:
        total = 0.0
        while x:
            total += x.popitem()[1]
        return int(total > 0.0)

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        self.totals[y] = self.totals.get(y, 0.0) + len(x)


@pytest.mark.parametrize("protocol", [{}, {"batch": 50}], ids=["rows", "batches"])
def test_dictionaries_are_made_once_for_all_learners_of_a_group(
    shelf: Path, monkeypatch: pytest.MonkeyPatch, protocol: dict[str, Any]
) -> None:
    made = []
    rows_of = FeatureNames.rows

    def counted(self: FeatureNames, X: Rows) -> Iterator[dict[Any, Any]]:
        for row in rows_of(self, X):
            made.append(1)
            yield row

    group = plan(shelf, "dense", (NAIVE, TREE), **protocol)
    monkeypatch.setattr(FeatureNames, "rows", counted)
    done = records(group)
    assert {record.outcome for record in done} == {"ok"}
    # Each rehearsal takes 100 rows twice; in batches each learner makes those of a batch once.
    rows = 400 + 100
    rehearsed = 2 * 2 * 100 * (2 if protocol else 1)
    assert len(made) <= rehearsed + rows * (2 if protocol else 1)


def test_a_model_that_changes_its_rows_leaves_those_of_others(shelf: Path) -> None:
    emptying = "tests.learners.test_river_rows:Emptying"
    alone = {
        r.run["learner"]["name"]: r for r in records(plan(shelf, learners=(NAIVE,)))
    }
    for learners in ((emptying, NAIVE), (NAIVE, emptying)):
        beside = {
            r.run["learner"]["name"]: r for r in records(plan(shelf, learners=learners))
        }
        assert dict(beside[NAIVE].metrics) == dict(alone[NAIVE].metrics)


@pytest.mark.parametrize(
    ("name", "make"), [(NAIVE, GaussianNB), (TREE, HoeffdingTreeClassifier)]
)
@pytest.mark.parametrize("classes", [2, 3])
def test_answers_are_those_of_the_models_own_loop(
    name: str, make: Any, classes: int
) -> None:
    random = np.random.default_rng(2)
    y = random.integers(0, classes, 300)
    X = random.normal(size=(300, 4)) + y[:, None]
    learner = make_learner(name, {})
    learner.begin(4, classes)
    scores = learner.learn(X, y)
    model = make()
    for i, (values, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        row = dict(enumerate(values))
        answer = model.predict_one(row)
        if answer is None:
            assert not scores[i].any()
        else:
            expected = answer if classes > 2 else int(answer > 0)
            code = scores[i].argmax() if classes > 2 else int(scores[i, 0] > 0)
            assert code == expected
        model.learn_one(row, label)
    assert learner.measures()["updates"] == 300


def test_dictionaries_of_dense_rows_have_their_keys_in_the_order_of_old() -> None:
    """Sums of naive Bayes follow that order, to the last bit."""
    X = np.array([[1.0, 2.0, 3.0], [0.0, 5.0, np.nan]])
    names = ("a", "b", "c")
    for blank in ({}, {"a": 0.0}, {"b": 0.0}, dict.fromkeys("abc", 0.0)):
        rows = list(FeatureNames(names, blank).rows(X))
        order = [*blank, *(name for name in names if name not in blank)]
        assert [list(row) for row in rows] == [order, order]
        whole = list(FeatureNames(names, blank).rows(X[:1]))
        assert list(whole[0].items()) == list(rows[0].items())
        assert rows[1]["c"] is None
    assert list(FeatureNames().rows(X[:1])) == [{0: 1.0, 1: 2.0, 2: 3.0}]


def test_a_pickle_has_the_model_and_no_rows() -> None:
    """As pickles of olscale 0.2 do, which are read as well."""
    random = np.random.default_rng(4)
    y = random.integers(0, 2, 100)
    X = random.normal(size=(100, 4)) + y[:, None]
    learner = make_learner(NAIVE, {})
    learner.begin(4, 2)
    share_rows([learner, learner])
    learner.learn(X, y)
    assert "river_model" not in learner.__getstate__()
    again: Any = from_pickle(to_pickle(learner), NAIVE)
    assert again.river_model.shared is None
    np.testing.assert_array_equal(again.scores(X), learner.scores(X))
    np.testing.assert_array_equal(again.learn(X, y), learner.learn(X, y))
