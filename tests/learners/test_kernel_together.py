"""Kernel learners take dense rows of many features four at a time: to the bits of one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from olscale.compiled.csr import read_only
from olscale.compiled.rows_together import LEAST_PRODUCTS
from olscale.learners.registry import make_learner

COLUMNS = 150
LEARNERS: list[tuple[str, dict[str, Any]]] = [
    ("bpas", {"B": 40}),
    ("rbp", {"B": 40}),
    ("forgetron", {"B": 40}),
    ("bogd", {"B": 40, "removal": "oldest"}),
    ("bsgd", {"B": 40, "lam": 0.01}),
    ("bsgd", {"B": 40, "lam": 0.01, "maintenance": "projection"}),
    ("projectron", {"form": "budget", "B": 40}),
    ("nogd", {"B": 40, "k": 10}),
    ("olk", {"threshold": 0.01}),  # drops vectors
    ("norma", {"tau": 40}),
    ("kernel-perceptron", {"kernel": "polynomial"}),
    ("kernel-perceptron", {"kernel": "laplacian"}),
    ("krls", {"B": 40}),
    ("olk-n", {}),
]


def stream(rows: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows of which some lack a feature, some share their lack of it, and whose classes are hard to tell."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(rows, COLUMNS)) / np.sqrt(COLUMNS)
    X[100:140, 7] = 0.0
    X[200:240][rng.random((40, COLUMNS)) < 0.01] = 0.0
    X[10:20] = X[:10]
    return X, np.abs(X @ rng.normal(size=(COLUMNS, 3)))


def outputs_of(name: str, params: dict[str, Any], pieces: int) -> list[NDArray[Any]]:
    """Return scores and state of a learner that sees the stream in pieces of so many rows."""
    X, wanted = stream(400)
    learner = make_learner(name, params | {"gamma": 0.5})
    task = learner.task
    y: NDArray[Any] = wanted[:, 0] if task == "regression" else wanted.argmax(axis=1)
    if task == "novelty":
        y = np.zeros(len(X), np.int64)
    elif task == "classification":
        y[50:60] = -1  # unknown
    learner.begin(
        COLUMNS, {"classification": 3, "regression": 0, "novelty": 2}[task], (1, 2)
    )
    found = []
    for first in range(0, len(X), pieces):
        part = slice(first, first + pieces)
        found.append(np.array(learner.learn(read_only(X[part]), read_only(y[part]))))
    found.append(np.array(learner.scores(read_only(X[:50]))))
    state = learner.state()
    # or nothing was taken together
    assert state["counts"][0] * COLUMNS >= LEAST_PRODUCTS
    return [np.concatenate(found), *(state[name] for name in sorted(state))]


@pytest.mark.parametrize(
    ("name", "params"),
    LEARNERS,
    ids=[f"{name}-{n}" for n, (name, _) in enumerate(LEARNERS)],
)
def test_rows_together_have_the_bits_of_rows_alone(
    name: str, params: dict[str, Any]
) -> None:
    """Of pieces of three rows none are taken together; rows with unknown labels, with fewer features, and known ones are."""
    for mine, alone in zip(
        outputs_of(name, params, 400), outputs_of(name, params, 3), strict=True
    ):
        np.testing.assert_array_equal(mine, alone)


def test_an_unusable_row_ends_what_is_known() -> None:
    """The rows before it in its four are learned; from it on, scores are no numbers."""
    X, wanted = stream(300)
    X[250, 5] = np.nan
    states = []
    for pieces in (300, 3):
        learner: Any = make_learner("bpas", {"B": 40, "gamma": 0.5})
        learner.begin(COLUMNS, 3)
        for first in range(0, 252, pieces):
            part = slice(first, first + pieces)
            scores = learner.learn(
                read_only(X[part]), read_only(wanted[part].argmax(axis=1))
            )
        assert np.isnan(scores[250 % pieces :]).all()
        assert np.isfinite(scores[: 250 % pieces]).all()
        states.append(learner.state())
    for key, array in states[0].items():
        np.testing.assert_array_equal(array, states[1][key], err_msg=key)
