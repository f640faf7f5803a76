"""Checks of a learner from another package; each raises `AssertionError` with the reason.

They check what an evaluation relies on: it makes a new model for each run, in any process, gives
it rows one by one and believes what it predicts.
"""

import copy
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from olscale.arrays import Array, FloatArray
from olscale.data.feature_names import FeatureNames
from olscale.errors import ParameterError
from olscale.learners.contract.capability import expect_names, expect_ranking
from olscale.learners.contract.learner import codes_of, predictions_of
from olscale.learners.registry import make_learner
from olscale.testing.check_list import Check, name_check
from olscale.testing.small_streams import (
    assert_apart,
    assert_known,
    rows_and_novelties,
    rows_on_a_line,
)

ROWS = 300
COLUMNS = 6
CLASSES = 4
PROCESS_SECONDS = 120

_Make = Callable[[], Any]


def foreign_checks(name: str, params: Mapping[str, Any] | None = None) -> list[Check]:
    """Return the named checks that a learner of another package should pass.

    Parameters
    ----------
    name : str
        ``module:name`` of a scikit-learn or River estimator, or of a function that returns one.
    params : dict, optional
        Its parameters.

    Returns
    -------
    list of (str, callable)
        A check about streams exists for two classes and, unless the model only handles two,
        for four; once for a model of another task.

    Raises
    ------
    OlscaleError
        If it cannot be imported or made, or does not learn row by row.
    """
    make = partial(make_learner, name, dict(params or {}))
    task = make().task
    by_task = {
        "classification": (
            check_an_untrained_model_predicts_a_class_or_says_it_cannot,
            check_predictions_are_classes,
            check_a_stream_that_begins_with_one_class_is_fine,
            check_a_separable_stream_is_learned,
            check_the_class_that_is_predicted_is_the_likely_one,
            check_scores_rank_rows_as_classes_do,
            check_features_and_classes_may_have_names,
        ),
        "regression": (
            check_predictions_are_numbers,
            check_a_smooth_target_is_learned,
            check_features_and_classes_may_have_names,
        ),
        "novelty": (
            check_predictions_are_numbers,
            check_rows_far_from_all_others_score_lower,
        ),
    }
    of_streams = (
        *by_task[task],
        check_the_same_stream_gives_the_same_predictions,
        check_predicting_learns_nothing,
        check_rows_are_left_as_they_were,
        check_rows_of_zeros_break_nothing,
        check_a_row_of_nan_ends_its_run,
    )
    counts = _class_counts(make)
    words = "{} classes" if task == "classification" else task
    return [
        *(
            name_check(check, make, count, of=words.format(count))
            for check in of_streams
            for count in counts
        ),
        name_check(check_a_copy_has_the_same_parameters, make),
        name_check(
            check_another_process_gives_the_same_predictions, name, dict(params or {})
        ),
    ]


def check_an_untrained_model_predicts_a_class_or_says_it_cannot(
    make: _Make, classes: int
) -> None:
    """Before its first row a model predicts a class or None, or raises.

    olscale calls River's models before the first row, but not scikit-learn's.
    """
    learner = start(make, classes)
    X, _ = stream(classes)
    scores = learner.scores(X[:1])
    assert np.isfinite(scores).all(), "before its first row its scores are not finite"
    predict = getattr(learner.estimator, "predict", None)
    if hasattr(learner.estimator, "learn_one") or predict is None:
        return
    try:
        predicted = np.asarray(predict(X[:1])).ravel()
    except Exception:
        return
    answers = [*range(classes), None]
    assert predicted[0] in answers, (
        f"before its first row it predicts {predicted[:1].tolist()[0]!r}; expected an error, as "
        "NotFittedError"
    )


def check_predictions_are_classes(make: _Make, classes: int) -> None:
    """Every prediction is one of the learned classes, one per row, along the stream and later."""
    learner = start(make, classes)
    X, y = stream(classes)
    scores = learner.learn(X, y)
    updates = int(learner.measures()["updates"])
    assert np.isfinite(scores).all(), (
        f"it breaks down after {updates} rows: {_NOT_FINITE}"
    )
    final_scores = learner.scores(X)
    assert np.isfinite(final_scores).all(), f"at the end of the stream {_NOT_FINITE}"


def check_predictions_are_numbers(make: _Make, classes: int) -> None:
    """Every prediction or detector's score is a finite number, one per row, also later."""
    check_predictions_are_classes(make, classes)


def check_the_same_stream_gives_the_same_predictions(make: _Make, classes: int) -> None:
    """Two new models on the same rows predict the same: no chance, no clock, no shared state.

    Between them a third learns other labels, which the second must not know of.
    """
    # Noise keeps the models updating, so that differences have a chance to show.
    X, y = stream(classes, noise=1.5)
    other_labels = (y + 1) % (classes or np.inf)
    first = start(make, classes).learn(X, y)
    start(make, classes).learn(X, other_labels)
    second = start(make, classes).learn(X, y)
    differs = np.nan_to_num(first) != np.nan_to_num(second)
    row_differs = differs.any(axis=1)
    differing = np.flatnonzero(row_differs)
    assert not len(differing), (
        f"from row {differing[0]} on the second model predicts otherwise: is its seed left open, "
        "or does a list, "
        "dict or array stand in the class instead of in each model?"
    )


def check_predicting_learns_nothing(make: _Make, classes: int) -> None:
    """Requesting predictions or scores from a model does not change what it predicts later."""
    X, y = stream(classes)
    quiet = start(make, classes)
    busy = start(make, classes)
    half = ROWS // 2
    for learner in (quiet, busy):
        learner.learn(X[:half], y[:half])
    # Only one of two equal models predicts; afterwards they must still be equal.
    busy.scores(X)
    expected = quiet.learn(X[half:], y[half:])
    got = busy.learn(X[half:], y[half:])
    assert np.array_equal(expected, got, equal_nan=True), (
        "it predicts otherwise after it was asked for predictions"
    )


def check_rows_are_left_as_they_were(make: _Make, classes: int) -> None:
    """Learning and predicting do not write into the rows, which other learners receive too."""
    X, y = (np.array(array) for array in stream(classes))
    rows = X.copy()
    labels = y.copy()
    learner = start(make, classes)
    learner.learn(rows, labels)
    learner.scores(rows)
    assert np.array_equal(rows, X), "it changes the rows"
    assert np.array_equal(labels, y), "it changes the labels"


def check_rows_of_zeros_break_nothing(make: _Make, classes: int) -> None:
    """Learning survives rows of only zeros, at the start of a stream and later."""
    X, y = (np.array(array) for array in stream(classes))
    # Early and adjacent rows, where norms and running means are zero.
    X[[0, 1, 2, 50, 51]] = 0.0
    learner = start(make, classes)
    scores = learner.learn(X, y)
    assert np.isfinite(scores).all(), f"after a row of zeros {_NOT_FINITE}"


def check_a_stream_that_begins_with_one_class_is_fine(
    make: _Make, classes: int
) -> None:
    """The first rows may all be of one class, as in many streams in time order."""
    X, y = stream(classes)
    # Sorted by class is the extreme case: each class appears only after the previous ones.
    order = np.argsort(y, kind="stable")
    learner = start(make, classes)
    scores = learner.learn(X[order], y[order])
    assert np.isfinite(scores).all(), f"in a stream sorted by class {_NOT_FINITE}"


def check_a_separable_stream_is_learned(make: _Make, classes: int) -> None:
    """One pass classifies well separated clusters far better than chance."""
    X, y = stream(classes, rows=2 * ROWS)
    learner = start(make, classes)
    learner.learn(X, y)
    predicted = codes_of(learner.scores(X))
    error = float(np.mean(predicted != y))
    chance = 100.0 * (1.0 - 1.0 / classes)
    assert error < 0.2, (
        f"its error is {100 * error:.0f} % where the classes lie far apart; chance has "
        f"{chance:.0f} %"
    )


def check_the_class_that_is_predicted_is_the_likely_one(
    make: _Make, classes: int
) -> None:
    """Probabilities are in the order of the classes: the likeliest class is the prediction."""
    learner = start(make, classes)
    if not learner.show_probabilities():
        return
    X, y = stream(classes, rows=2 * ROWS)
    learner.learn(X, y)
    scores = learner.scores(X)
    # The columns of probabilities follow the learner's own scores.
    own_scores = scores[:, :-classes]
    probabilities = scores[:, -classes:]
    predicted = codes_of(own_scores)
    likeliest = np.argmax(probabilities, axis=1)
    agreement = float(np.mean(predicted == likeliest))
    assert agreement > 0.9, (
        f"of {100 - 100 * agreement:.0f} % of the rows it predicts another class than the one that "
        "it holds to be likeliest: are the columns of predict_proba those of classes_?"
    )


def check_scores_rank_rows_as_classes_do(make: _Make, classes: int) -> None:
    """Rows that are predicted to be of the second of two classes have the higher scores."""
    learner = make()
    expect_ranking(learner)
    learner.begin(COLUMNS, classes)
    if not learner.ranking_columns:
        return
    X, y = stream(classes, rows=2 * ROWS)
    learner.learn(X, y)
    own, ranking = learner.scores(X).T
    high = ranking[own > 0.0]
    low = ranking[own < 0.0]
    share = 1.0
    # A learner that predicts one class only has no pairs to rank.
    if len(high) and len(low):
        is_higher = high[:, np.newaxis] > low  # of each pair
        share = float(np.mean(is_higher))
    assert share > 0.9, (
        f"of {100 - 100 * share:.0f} % of the pairs of a row of each class the first class has "
        "the higher score: is "
        "decision_function that of the second of classes_?"
    )


def check_features_and_classes_may_have_names(make: _Make, classes: int) -> None:
    """A model that learns from dictionaries accepts feature names, and words as classes."""
    learner = make()
    words = [f"class {code}" for code in range(classes)]
    names = tuple(f"column {number}" for number in range(COLUMNS))
    features = FeatureNames(names)
    expect_names(learner, features, words)
    learner.begin(COLUMNS, classes)
    X, y = stream(classes)
    try:
        scores = learner.learn(X, y)
    except Exception as error:
        raise AssertionError(
            f"with names and words it raises {type(error).__name__}: {error}"
        ) from None
    assert np.isfinite(scores).all(), f"with names and words {_NOT_FINITE}"


def check_a_smooth_target_is_learned(make: _Make, classes: int) -> None:
    """One pass explains at least half the variance of a target that follows the rows."""
    X, y = rows_on_a_line(COLUMNS)
    learner = start(make, classes)
    learner.learn(X, y)
    predicted = learner.scores(X)[:, 0]
    assert_known(predicted, y)


def check_rows_far_from_all_others_score_lower(make: _Make, classes: int) -> None:
    """Rows in [0, 1] far from all earlier ones nearly always score lower than similar rows."""
    familiar, alike, far = (0.5 + 0.1 * X for X in rows_and_novelties(COLUMNS))
    learner = start(make, classes)
    labels = np.zeros(len(familiar), dtype=np.int64)
    learner.learn(familiar, labels)
    scores_alike = learner.scores(alike)
    scores_far = learner.scores(far)
    assert_apart(scores_alike[:, 0], scores_far[:, 0])


def check_a_row_of_nan_ends_its_run(make: _Make, classes: int) -> None:
    """A row with missing values ends a run, as ``diverged`` or by an error.

    Later figures would be worthless.
    """
    X, y = stream(classes)
    X = X.copy()
    X[20, 2] = np.nan
    learner = start(make, classes)
    try:
        scores = learner.learn(X, y)
    except Exception:  # the run ends as learner_error
        return
    is_finite = np.isfinite(scores)
    assert is_finite[:20].all(), f"before the row of NaN {_NOT_FINITE}"
    assert not is_finite[20:].any(), (
        "it goes on after a row of NaN as if nothing were the matter"
    )


def check_a_copy_has_the_same_parameters(make: _Make) -> None:
    """A clone has the same parameters, so ``__init__`` stores them unchanged."""
    model = make().estimator
    if not hasattr(model, "get_params"):
        return  # it belongs to neither library
    if hasattr(model, "learn_one"):
        model.clone()
        return
    from sklearn.base import clone

    expected, got = (
        sorted(candidate.get_params(deep=False))
        for candidate in (model, clone(copy.deepcopy(model)))
    )
    assert got == expected, f"a copy has the parameters {got}, expected {expected}"


def check_another_process_gives_the_same_predictions(
    name: str, params: dict[str, Any]
) -> None:
    """A separate process, such as a worker, predicts the same, also with other hash seeds."""
    code = (
        "import json, sys; name, params, path = json.loads(sys.argv[1]); sys.path[:] = path; "
        "from olscale.testing.foreign import predictions_digest; print('digest', "
        "predictions_digest(name, params))"
    )
    here = str(Path.cwd())
    path = [part or here for part in sys.path]
    arguments = json.dumps([name, params, path])
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    process = subprocess.run(
        [sys.executable, "-c", code, arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=PROCESS_SECONDS,
        env=environment,
    )
    # The last line of a traceback names the error.
    lines = process.stderr.strip().splitlines() or ["no message"]
    last = lines[-1]
    assert process.returncode == 0, f"there it ends in: {last}"
    output = process.stdout.strip()
    got = output.rpartition("digest ")[2]
    expected = predictions_digest(name, params)
    assert got == expected, (
        "there it predicts otherwise: by the clock, a set's order or a file?"
    )


def predictions_digest(name: str, params: dict[str, Any]) -> str:
    """Return a digest of a learner's predictions along a stream."""
    make = partial(make_learner, name, params)
    classes = _class_counts(make)[0]
    task = make().task
    X, y = stream(classes)
    scores = start(make, classes).learn(X, y)
    predicted = predictions_of(scores, task)
    digest = hashlib.sha256(predicted.tobytes())
    return digest.hexdigest()


def stream(
    classes: int, rows: int = ROWS, noise: float = 0.3
) -> tuple[FloatArray, Array]:
    """Return read-only clusters, well separated if noise is low, or rows with targets."""
    rng = np.random.default_rng(classes)
    y: Array = rng.integers(0, classes or CLASSES, rows)
    centres = 3.0 * np.eye(COLUMNS)
    X = centres[y] + noise * rng.normal(size=(rows, COLUMNS))
    if not classes:
        error = 0.1 * rng.normal(size=rows)
        y = X[:, 0] - 0.5 * X[:, 1] + error
    # As rows of streams are: a model that writes into them fails here, too.
    X.flags.writeable = False
    y.flags.writeable = False
    return X, y


def start(make: _Make, classes: int) -> Any:
    """Return a new learner at the start of a stream."""
    learner = make()
    learner.begin(COLUMNS, classes)
    return learner


def _class_counts(make: _Make) -> tuple[int, ...]:
    task = make().task
    if task != "classification":
        return (0,) if task == "regression" else (2,)
    try:
        start(make, CLASSES)
    except ParameterError:  # it takes only two classes
        return (2,)
    return (2, CLASSES)


_NOT_FINITE = "its scores or weights are not finite"
