"""replay-svm: its figures by plain NumPy, any cut of a stream, and models that go on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from olscale.compiled.csr import read_only_csr
from olscale.errors import ParameterError
from olscale.learners.contract.learner import UNKNOWN
from olscale.learners.kernel.replay_svm import ReplaySVM
from olscale.learners.local.soft_lol import SoftLOL
from tests.learners.plain_replay import PlainReplay

FloatArray = NDArray[np.float64]
Labels = NDArray[np.int64]


def stream(
    rows: int, columns: int, classes: int, seed: int = 0
) -> tuple[FloatArray, Labels]:
    """Return noisy clusters, two for each class; a third of the values is 0."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(2 * classes, columns)) * 1.2
    cluster = rng.integers(0, 2 * classes, rows)
    X = centres[cluster] + rng.normal(size=(rows, columns))
    X[rng.random(X.shape) < 1 / 3] = 0.0
    return X, cluster % classes


def learned(
    params: dict[str, Any], X: FloatArray, y: Labels, cuts: Sequence[int] = ()
) -> Any:
    """Return a learner after a stream that is cut into chunks, and its scores."""
    learner = ReplaySVM(**params)
    learner.begin(X.shape[1], int(y.max()) + 1)
    edges = [0, *cuts, len(X)]
    chunks = [slice(*edge) for edge in pairwise(edges)]
    return learner, np.concatenate([learner.learn(X[part], y[part]) for part in chunks])


def same_state(one: ReplaySVM, other: ReplaySVM) -> bool:
    a = one.state()
    b = other.state()
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


SMALL = {"B": 60, "D": 30, "race": 700}


# Of several classes, steps on rows again meet ties between classes, which rounding breaks.
@pytest.mark.parametrize(("classes", "R"), [(2, 2), (2, 0), (3, 0)])
def test_scores_are_those_of_plain_numpy(classes: int, R: int) -> None:
    X, y = stream(1100, 5, classes)
    learner, scores = learned(SMALL | {"R": R}, X, y)
    expected = PlainReplay(learner, R=R, **SMALL).learn(X, y)
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("columns", [3, 80])
def test_bits_do_not_depend_on_chunks_or_layout(classes: int, columns: int) -> None:
    X, y = stream(900, columns, classes)
    whole, scores = learned(SMALL, X, y)
    for cuts in ([1, 25, 50, 399, 400, 401, 640], [24, 702], range(7, 900, 7)):
        cut, cut_scores = learned(SMALL, X, y, cuts)
        assert np.array_equal(cut_scores, scores)
        assert same_state(cut, whole)
    sparse = ReplaySVM(**SMALL)
    sparse.begin(columns, classes)
    assert np.array_equal(sparse.learn(read_only_csr(X), y), scores)
    assert same_state(sparse, whole)
    assert np.array_equal(sparse.scores(read_only_csr(X)), whole.scores(X))


@pytest.mark.parametrize("at", [0, 25, 70, 200, 400, 401, 690, 699, 705, 850])
def test_a_restored_learner_goes_on_to_the_same_bits(at: int) -> None:
    X, y = stream(900, 12, 3)
    whole, scores = learned(SMALL, X, y)
    first = ReplaySVM(**SMALL)
    first.begin(12, 3)
    first.learn(X[:at], y[:at])
    other = ReplaySVM(**SMALL)
    other.begin(12, 3)
    other.restore(first.state())
    assert np.array_equal(other.learn(X[at:], y[at:]), scores[at:])
    assert same_state(other, whole)


class LateReplaySVM(ReplaySVM):
    """The learner with machines that open only once their width is final."""

    early_openings = ()


@pytest.mark.parametrize("classes", [2, 4])
def test_nothing_is_left_of_early_machines_once_the_width_is_final(
    classes: int,
) -> None:
    X, y = stream(900, 12, classes)
    # Features that come late, and leave with the rows: places are as without early machines.
    X[:60, 3:5] = 0.0
    learner, scores = learned({}, X, y)
    late = LateReplaySVM()
    late.begin(12, classes)
    late_scores = late.learn(X, y)
    assert np.array_equal(scores[:25], late_scores[:25])
    assert not np.array_equal(scores[25:400], late_scores[25:400])
    assert np.array_equal(scores[400:], late_scores[400:])
    assert same_state(learner, late)


def test_a_hundred_rows_suffice_for_machines() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, size=(2100, 2))
    y = (X[:, 0] * X[:, 1] > 0.0).astype(np.int64)
    learner = ReplaySVM().fit(X[:100], y[:100])
    late = LateReplaySVM().fit(X[:100], y[:100])
    assert np.mean(learner.predict(X[100:]) != y[100:]) < 0.15
    assert np.mean(late.predict(X[100:]) != y[100:]) > 0.3


@pytest.mark.parametrize("at", [60, 400])
def test_the_state_of_a_learner_without_early_machines_goes_on(at: int) -> None:
    X, y = stream(600, 12, 3)
    late = LateReplaySVM()
    late.begin(12, 3)
    late.learn(X[:at], y[:at])
    learner = ReplaySVM()
    learner.begin(12, 3)
    learner.restore(late.state())
    expected, scores = learned({}, X, y)
    goes_on = learner.learn(X[at:], y[at:])
    assert np.array_equal(goes_on[400 - at :], scores[400:])
    assert same_state(learner, expected)


def test_rows_without_a_label_are_only_scored() -> None:
    X, y = stream(900, 6, 3)
    hidden = np.arange(len(y)) % 4 == 1
    late = np.where(hidden, UNKNOWN, y)
    learner = ReplaySVM(**SMALL)
    learner.begin(6, 3)
    scores = learner.learn(X, late)
    known, own_scores = learned(SMALL, X[~hidden], y[~hidden])
    assert np.array_equal(scores[~hidden], own_scores)
    assert same_state(learner, known)


def test_each_row_is_looked_at_once_without_replay() -> None:
    X, y = stream(900, 6, 2)
    learner, _ = learned(SMALL | {"R": 0}, X, y)
    replayed, _ = learned(SMALL, X, y)
    assert not same_state(learner, replayed)


def test_a_larger_memory_errs_less() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, size=(6000, 2))
    y = (np.floor(2.0 * X[:, 0]) + np.floor(2.0 * X[:, 1])).astype(np.int64) % 2
    errors = []
    for B in (20, 400):
        learner = ReplaySVM(B=B, D=20).fit(X[:4000], y[:4000])
        errors.append(float(np.mean(learner.predict(X[4000:]) != y[4000:])))
    assert errors[1] < 0.5 * errors[0]
    assert errors[1] < 0.06


def test_wide_rows_are_refused_with_what_they_need() -> None:
    with pytest.raises(
        ParameterError,
        match=r"learner replay-svm: 2,304 rows of 900,000,000 features may take ",
    ):
        ReplaySVM().begin(900_000_000, 2)


def test_a_damaged_state_is_refused() -> None:
    X, y = stream(600, 4, 2)
    learner, _ = learned(SMALL, X, y)
    for name, value in (
        ("landmarks", 31),
        ("label", 5),
        ("alive", 2),
        ("gamma", np.nan),
        ("key", 2**40),
    ):
        state = learner.state()
        state[name][0] = value
        other = ReplaySVM(**SMALL)
        other.begin(4, 2)
        with pytest.raises(ValueError, match="state does not fit learner replay-svm"):
            other.restore(state)


def test_wide_rows_have_no_local_expert() -> None:
    X, y = stream(600, 90, 2)
    wide = np.zeros((600, 70_000))
    wide[:, :90] = X
    learner, scores = learned({"B": 20, "D": 10}, wide, y)
    narrow, own_scores = learned({"B": 20, "D": 10}, X, y)
    assert learner.local() is None
    assert "local_V" in narrow.state_
    # PA-I alone scores the first rows.
    assert np.array_equal(scores[:25], own_scores[:25])
    assert not np.array_equal(scores[25:], own_scores[25:])


def test_rows_that_the_local_expert_cannot_place_have_scores() -> None:
    # Rows so near to each other that rounding hides which prototype is the nearest.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    X[:, 0] += 1e8
    y = np.arange(600) % 2
    local = SoftLOL()
    local.begin(3, 2)
    assert not np.isfinite(local.learn(X, y)).all()
    learner, scores = learned(SMALL, X, y)
    assert np.isfinite(scores).all()
    assert np.isfinite(learner.scores(X)).all()
    cut, cut_scores = learned(SMALL, X, y, [1, 30, 31, 400, 555])
    assert np.array_equal(cut_scores, scores)
    assert same_state(cut, learner)
