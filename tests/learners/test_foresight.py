"""What sees rows of the future is known by name: of every registered learner and transform, by changing the last row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from olscale.data.chunk import Chunk
from olscale.data.transforms.base import Transform
from olscale.data.transforms.pipeline import TRANSFORMS, fit_transforms
from olscale.data.transforms.scaling import Bias, MinMax
from olscale.data.transforms.streaming import StreamLabels
from olscale.errors import ParameterError
from olscale.learners import foresight
from olscale.learners.contract.capability import looks_ahead
from olscale.learners.contract.learner import Learner
from olscale.learners.foresight import (
    FIRST_MACHINE,
    REFERENCES,
    first_predicted,
    learner_ahead,
    transforms_ahead,
)
from olscale.learners.reference.batch_machine import BatchMachine
from olscale.learners.registry import LEARNERS, learner_class, make_learner

ROWS = 300
COLUMNS = 3
NEEDED = {
    "project": "project:2",
    "rff": "rff:4",
    "nystroem": f"nystroem:{ROWS}",
    "svd": "svd:2",
    "ipca": "ipca:2,block=4",
    "frequency-encode": "frequency-encode@x0",
    "ordinal-encode": "ordinal-encode@x0",
    "target-encode": "target-encode@x0",
}
"""Transforms that need a parameter, with one."""


MANIFEST: Any = SimpleNamespace(
    feature_names=None,
    columns=COLUMNS,
    table=None,
    splits={},
    classes=(0, 1),
    targets=None,
    task="classification",
)
"""What a manifest says of columns of numbers without names."""


def rows(count: int = ROWS) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return rows, and the same but for the last."""
    X = np.random.default_rng(0).normal(size=(count, COLUMNS))
    other = X.copy()
    other[-1] = 1e6
    return X, other


TEXTS = [
    *(NEEDED.get(name, name) for name in TRANSFORMS.ours),
    *(
        "rff:4,gamma=median",
        "nystroem:300,gamma=median",
        "impute:median",
        "impute:zero",
    ),
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_transform_is_marked_if_the_last_row_changes_those_before(text: str) -> None:
    earlier = []
    for X in rows():
        chunk = Chunk(X, np.zeros(ROWS, dtype=np.int64), COLUMNS)
        pipeline = fit_transforms(
            [text], lambda chunk=chunk: iter([chunk]), COLUMNS, manifest=MANIFEST
        )
        steps = pipeline.begin()
        labels = StreamLabels(chunk.y, np.zeros(ROWS, dtype=np.int64))
        trains = np.ones(ROWS, dtype=np.bool_)
        transformed = steps.learn(pipeline.apply(chunk), trains, labels)
        earlier.append(np.asarray(transformed.X)[:-1])
    assert bool(transforms_ahead([text])) == (not np.array_equal(*earlier))


def variants(name: str) -> Iterator[Learner]:
    """Yield a learner with its defaults, and with each word that a parameter of it can be."""
    yield make_learner(name, {})
    for parameter, domain in learner_class(name).domains.items():
        for word in getattr(domain, "words", ()):
            with suppress(ParameterError):  # of words that do not go with the defaults
                yield make_learner(name, {parameter: word})


def scores_along(learner: Learner, X: NDArray[np.float64]) -> NDArray[np.float64]:
    y = X[:, 0] if learner.task == "regression" else (X[:, 0] > 0.0).astype(np.int64)
    learner.begin(COLUMNS, 0 if learner.task == "regression" else 2)
    if looks_ahead(learner):
        learner.prepare(X)
    return learner.learn(X if learner.takes_negative else np.abs(X), y)


@pytest.mark.parametrize("name", LEARNERS.ours)
def test_a_learner_is_marked_if_the_last_row_changes_scores_before(name: str) -> None:
    beyond_the_second_machine = 130
    earlier = [
        scores_along(make_learner(name, {}), X)[:-1]
        for X in rows(beyond_the_second_machine)
    ]
    known = learner_ahead(name, make_learner(name, {}).resolved_params())
    assert bool(known) == (not np.array_equal(*earlier))


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("lol", {"prototypes": "offline", "k": 4}),
        ("ogd-kernel", {"gamma": "median"}),
        ("rff-rls", {"gamma": 0.5}),
    ],
)
def test_parameters_tell_whether_the_last_row_changes_scores_before(
    name: str, params: dict[str, Any]
) -> None:
    earlier = [scores_along(make_learner(name, params), X)[:-1] for X in rows(60)]
    assert bool(learner_ahead(name, params)) == (not np.array_equal(*earlier))


@pytest.mark.parametrize("name", LEARNERS.ours)
def test_names_and_words_tell_what_learners_claim(name: str) -> None:
    for learner in variants(name):
        params = learner.resolved_params()
        assert bool(learner_ahead(name, params)) == looks_ahead(learner), params


def test_references_are_the_learners_that_are_batch_machines() -> None:
    assert {
        name for name in LEARNERS.ours if issubclass(learner_class(name), BatchMachine)
    } == set(REFERENCES)


@pytest.mark.parametrize("name", REFERENCES)
def test_a_reference_predicts_nothing_before_the_row_that_is_told(name: str) -> None:
    scores = scores_along(make_learner(name, {}), rows(100)[0])
    assert (
        first_predicted(name, {})
        == FIRST_MACHINE
        == np.flatnonzero(scores.any(axis=1))[0]
    )


@pytest.mark.parametrize("name", REFERENCES)
def test_a_reference_predicts_rows_that_are_scored_apart_by_the_first_rows(
    name: str,
) -> None:
    learner = make_learner(name, {})
    X, _ = rows(20)
    scores_along(learner, X)
    assert learner.scores(X).any()
    assert first_predicted(name, {"delay": 5}) == 0


def test_a_learner_from_elsewhere_is_known_by_having_been_shown_rows() -> None:
    assert not learner_ahead("mine:Mine", {"gamma": "median", "prototypes": "offline"})
    assert [one.name for one in learner_ahead("mine:Mine", {}, prepares=True)] == [
        "mine:Mine"
    ]


@pytest.mark.parametrize(("kind", "fitted"), [(MinMax, True), (Bias, False)])
def test_a_transform_of_another_package_is_known_by_its_fit(
    monkeypatch: pytest.MonkeyPatch, kind: type[Transform], fitted: bool
) -> None:
    class Point:
        name = "other"

    monkeypatch.setattr(foresight, "installed", lambda group: (Point(),))
    monkeypatch.setattr(TRANSFORMS, "load", lambda name: kind)
    assert bool(transforms_ahead(["other:3"])) == fitted
