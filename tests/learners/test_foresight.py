"""What sees rows of the future is known by name: of every registered learner and transform, by changing the last row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from olscale.data.chunk import Chunk
from olscale.data.transforms.base import Transform
from olscale.data.transforms.pipeline import TRANSFORMS, fit_transforms
from olscale.data.transforms.scaling import Bias, MinMax
from olscale.learners import foresight
from olscale.learners.batch_machine import BatchMachine
from olscale.learners.contract.learner import Learner
from olscale.learners.contract.look_ahead import LooksAhead, looks_ahead
from olscale.learners.foresight import FIRST_MACHINE, REFERENCES, first_predicted, learner_ahead, transforms_ahead
from olscale.learners.registry import LEARNERS, learner_class, make_learner

ROWS = 1_000
COLUMNS = 3
NEEDED = {"project": "project:2", "rff": "rff:4", "nystroem": "nystroem:4", "svd": "svd:2", "ipca": "ipca:2,block=4"}
"""Transforms that need a parameter, with one."""


def rows() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return rows, and the same but for the last."""
    X = np.random.default_rng(0).normal(size=(ROWS, COLUMNS))
    other = X.copy()
    other[-1] = 1e6
    return X, other


TEXTS = [
    *(NEEDED.get(name, name) for name in TRANSFORMS.ours),
    *("rff:4,gamma=median", "nystroem:4,gamma=median", "impute:median", "impute:zero"),
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_transform_is_marked_if_the_last_row_changes_those_before(text: str) -> None:
    earlier = []
    for X in rows():
        chunk = Chunk(X, np.zeros(ROWS, dtype=np.int64), COLUMNS)
        pipeline = fit_transforms([text], lambda chunk=chunk: iter([chunk]), COLUMNS)
        steps = pipeline.begin()
        transformed = steps.learn(pipeline.apply(chunk), np.ones(ROWS, dtype=np.bool_))
        earlier.append(np.asarray(transformed.X)[:-1])
    assert bool(transforms_ahead([text])) == (not np.array_equal(*earlier))


def variants(name: str) -> Iterator[dict[str, Any]]:
    """Yield the defaults of a learner, and for one that may look ahead each word that a parameter can be."""
    yield {}
    kind = learner_class(name)
    if issubclass(kind, LooksAhead):
        defaults = kind().get_params(deep=False)
        for parameter, domain in kind.domains.items():
            others = [word for word in getattr(domain, "words", ()) if word != defaults[parameter]]
            yield from ({parameter: word} for word in others)


def scores_along(learner: Learner, X: NDArray[np.float64]) -> NDArray[np.float64]:
    y = X[:, 0] if learner.task == "regression" else (X[:, 0] > 0.0).astype(np.int64)
    learner.begin(COLUMNS, 0 if learner.task == "regression" else 2)
    if looks_ahead(learner):
        learner.prepare(X)
    return learner.learn(X, y)


@pytest.mark.parametrize("name", LEARNERS.ours)
def test_a_learner_is_marked_if_the_last_row_changes_scores_before(name: str) -> None:
    for params in variants(name):
        count = 60 if params else 130  # beyond the second machine of references
        earlier = [scores_along(make_learner(name, params), X[-count:])[:-1] for X in rows()]
        known = learner_ahead(name, make_learner(name, params).resolved_params())
        assert bool(known) == (not np.array_equal(*earlier)), params


def test_references_are_the_learners_that_are_batch_machines() -> None:
    assert {name for name in LEARNERS.ours if issubclass(learner_class(name), BatchMachine)} == set(REFERENCES)


@pytest.mark.parametrize("name", REFERENCES)
def test_a_reference_predicts_nothing_before_the_row_that_is_told(name: str) -> None:
    scores = scores_along(make_learner(name, {}), rows()[0][:100])
    assert first_predicted(name, {}) == FIRST_MACHINE == np.flatnonzero(scores.any(axis=1))[0]


def test_a_learner_from_elsewhere_is_known_by_having_been_shown_rows() -> None:
    assert not learner_ahead("mine:Mine", {"gamma": "median", "prototypes": "offline"})
    assert [one.name for one in learner_ahead("mine:Mine", {}, prepares=True)] == ["mine:Mine"]


@pytest.mark.parametrize(("kind", "fitted"), [(MinMax, True), (Bias, False)])
def test_a_transform_of_another_package_is_known_by_its_fit(
    monkeypatch: pytest.MonkeyPatch, kind: type[Transform], fitted: bool
) -> None:
    class Point:
        name = "other"

    monkeypatch.setattr(foresight, "installed", lambda group: (Point(),))
    monkeypatch.setattr(TRANSFORMS, "load", lambda name: kind)
    assert bool(transforms_ahead(["other:3"])) == fitted
