"""Checks of a learner as an estimator of scikit-learn, besides those that scikit-learn ships."""

import copy
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from olscale.compiled.csr import CSR
from olscale.errors import ParameterError
from olscale.learners.contract.capability import learns_targets
from olscale.learners.contract.estimator import Estimator
from olscale.learners.contract.learner import Learner
from olscale.testing.check_list import Check, check_list, name_check
from olscale.testing.equal_arrays import assert_equal_arrays
from olscale.testing.other_values import goes_together, other_values
from olscale.testing.small_streams import (
    ROWS,
    assert_same_state,
    choices,
    class_counts,
    start_with,
    stream,
)


def estimator_checks(learner: type[Learner]) -> list[Check]:
    """Return a check per promise of the class `learner` as an estimator; none for others."""
    if not issubclass(learner, Estimator):
        return []
    checks = check_list(
        [
            check_parameters_set_after_fit_change_updates_or_are_refused,
            check_the_arrays_of_the_caller_are_left_as_they_were,
            check_memory_mapped_models_go_on,
        ],
        learner,
    )
    if learner.update_params:
        checks.append(name_check(check_update_params_are_of_updates_only, learner))
    if learner.task == "classification":
        checks.append(name_check(check_later_classes_that_differ_are_refused, learner))
    for params in choices(learner) if hasattr(learner, "predict_proba") else ():
        words = ", ".join(map(str, params.values()))
        check = check_the_predicted_class_is_the_likeliest
        checks.append(name_check(check, learner, params, of=words))
    for params in choices(learner) if learner.task == "regression" else ():
        words = ", ".join(map(str, params.values()))
        check = check_several_targets_are_taken_as_the_tags_say
        checks.append(name_check(check, learner, params, of=words))
    return checks


def check_parameters_set_after_fit_change_updates_or_are_refused(
    learner: type[Learner],
) -> None:
    """After `set_params` a model predicts as before, or says that `fit` must be called.

    It continues only with other `update_params`, and `fit` works with all parameters.
    """
    X, y = _small_set(learner)
    model = _fitted(learner, {}, X, y)
    expected = model.predict(X)
    for name, value in other_values(model):
        setting = f"{name} = {value!r}"
        changed: Any = copy.deepcopy(model).set_params(**{name: value})
        if name in learner.update_params:
            assert_equal_arrays(changed.predict(X), expected, err_msg=setting)
            if goes_together(changed):
                _quietly(changed.partial_fit, X, y)
        else:
            refusals = (
                _refusal(changed.predict, X),
                _refusal(changed.partial_fit, X, y),
            )
            for refusal in refusals:
                assert "changed after fit; call fit" in refusal, (
                    f"{setting}: {refusal or 'taken'}"
                )
            assert_same_state(changed, model)
        assert "predict" in dir(changed)  # looks at properties, as notebooks do
        if goes_together(changed):
            # Refusals too: `fit` after `set_params` says what a new model of these
            # parameters says.
            fresh: Any = learner(**changed.get_params())
            refusal = _refusal(changed.fit, X, y)
            assert refusal == _refusal(fresh.fit, X, y), setting
            assert_same_state(changed, fresh)


def check_update_params_are_of_updates_only(learner: type[Learner]) -> None:
    """Neither the state at the start nor a score depends on the `update_params`."""
    for classes in class_counts(learner):
        chunk = stream(learner, classes, "dense")
        begun = start_with(learner, {}, chunk.X, classes)
        trained = start_with(learner, {}, chunk.X, classes)
        trained.learn(chunk.X, chunk.y)
        expected = trained.scores(chunk.X)
        for name, value in other_values(begun):
            changed_learner = learner(**{name: value})
            if name not in learner.update_params or not goes_together(changed_learner):
                continue
            begun_changed = start_with(learner, {name: value}, chunk.X, classes)
            assert_same_state(begun_changed, begun)
            changed = copy.deepcopy(trained).set_params(**{name: value})
            setting = f"{name} = {value!r}"
            scores = changed.scores(chunk.X)
            assert_equal_arrays(scores, expected, err_msg=setting)


def check_the_arrays_of_the_caller_are_left_as_they_were(
    learner: type[Learner],
) -> None:
    """Sparse rows with unsorted entries in parts count like others, also if they are read-only."""
    X, y = _small_set(learner)
    rows = _unsorted(X)
    arrays = CSR(rows.indptr, rows.indices, rows.data)
    before = [array.copy() for array in arrays]
    usual_rows = _unsorted(X, merged=True)
    expected = _fitted(learner, {}, usual_rows, y)
    # Loops are compiled apart for read-only arrays, so both need the check.
    for writeable in (True, False):
        for array in arrays:
            array.flags.writeable = writeable
        model = _fitted(learner, {}, rows, y)
        assert_same_state(model, expected)
        predicted = model.predict(rows)
        assert_equal_arrays(predicted, expected.predict(X))
        for current, copied in zip(arrays, before, strict=True):
            assert_equal_arrays(current, copied)


def check_memory_mapped_models_go_on(learner: type[Learner]) -> None:
    """A model with arrays in a read-only file predicts and learns as it does in memory."""
    X, y = _small_set(learner)
    model = _fitted(learner, {}, X, y)
    with tempfile.TemporaryDirectory() as folder:
        # Two copies: predicting must work on a map that nothing was written to.
        mapped = _mapped(model, Path(folder))
        scored = _mapped(model, Path(folder))
        predicted = scored.predict(X)
        assert_equal_arrays(predicted, model.predict(X))
        for candidate in (mapped, model):
            _quietly(candidate.partial_fit, X, y)
        assert_same_state(mapped, model)
        predicted = mapped.predict(X)
        assert_equal_arrays(predicted, model.predict(X))


def _mapped(model: Any, folder: Path) -> Any:
    """Return a copy of `model` whose arrays are in files, read-only, as joblib maps them."""
    mapped = copy.deepcopy(model)
    arrays = model.state_.items()
    for number, (name, array) in enumerate(arrays):
        file = folder / f"{number}.npy"
        np.save(file, array)
        # Read-only, so that a learner that writes into its arrays fails here.
        mapped.state_[name] = np.load(file, mmap_mode="r", allow_pickle=False)
    return mapped


def check_later_classes_that_differ_are_refused(learner: type[Learner]) -> None:
    """`classes` of a later call are those of the first."""
    X, y = _small_set(learner)
    model = _fitted(learner, {}, X, y)
    classes = np.unique(y)
    _quietly(model.partial_fit, X, y, classes=classes)
    before = model.state()
    # More classes, fewer, and others that look alike.
    as_text = [str(label) for label in classes]
    for different in ([*classes, 7], classes[:-1], as_text):
        try:
            model.partial_fit(X, y, classes=different)
        except ValueError:
            continue
        raise AssertionError(f"classes = {different} was accepted after {classes}")
    for name, array in model.state().items():
        assert_equal_arrays(array, before[name])


def check_the_predicted_class_is_the_likeliest(
    learner: type[Learner], params: dict[str, Any]
) -> None:
    """`predict_proba` has a column for each of `classes_`, also those without rows; rows sum to 1.

    No class is likelier than the one that `predict` gives.
    """
    chunk = stream(learner, class_counts(learner)[-1], "dense")
    X = np.array(chunk.X)
    y = np.array(chunk.y)
    of_two = y < 2
    first_row = [int(np.argmax(y == 0))]
    streams = (
        (X[first_row], y[first_row], [0, 1]),
        (X[first_row], y[first_row], np.unique(y)),
        (X[of_two], y[of_two], [0, 1]),
        (X[of_two], y[of_two], [*np.unique(y), 99]),
        (X, y, np.unique(y)),
    )
    for rows, labels, classes in streams:
        model: Any = learner(**params)
        _quietly(model.partial_fit, rows, labels, classes=classes)
        probabilities = model.predict_proba(X)
        assert probabilities.shape == (len(X), len(classes))
        assert (probabilities >= 0.0).all()
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-9)
        predicted = np.searchsorted(model.classes_, model.predict(X))
        of_predicted = probabilities[np.arange(len(X)), predicted]
        assert_equal_arrays(of_predicted, probabilities.max(axis=1))


def check_several_targets_are_taken_as_the_tags_say(
    learner: type[Learner], params: dict[str, Any]
) -> None:
    """A regressor that declares several targets to scikit-learn takes them; others refuse."""
    model: Any = learner(**params)
    X, y = _small_set(learner, ROWS)  # some learners collect 200 rows before they learn
    tags = model.__sklearn_tags__()
    tagged = tags.target_tags.multi_output
    assert not tagged or learns_targets(model)
    two_targets = np.column_stack([y, -y])
    try:
        _quietly(model.fit, X, two_targets)
    except ValueError:
        assert not tagged, "several targets are refused"
    else:
        assert tagged, "several targets are taken"


def _small_set(learner: type[Learner], rows: int = 100) -> tuple[Any, Any]:
    most_classes = class_counts(learner)[-1]
    chunk = stream(learner, most_classes, "dense")[:rows]
    X = np.array(chunk.X)
    return X, np.array(chunk.y)


def _fitted(learner: type[Learner], params: dict[str, Any], X: Any, y: Any) -> Any:
    model: Any = learner(**params)
    return _quietly(model.fit, X, y)


def _quietly(call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call without the warning of divergence, which few rows and odd parameters may cause."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return call(*arguments, **named)


def _refusal(call: Callable[..., Any], *arguments: Any) -> str:
    """Return the reason why a call is refused, or an empty text."""
    try:
        _quietly(call, *arguments)
    except ParameterError as error:
        return str(error)
    return ""


def _unsorted(X: Any, merged: bool = False) -> Any:
    """Return dense rows as a sparse matrix: reversed features, halved values; or as usual."""
    from scipy.sparse import csr_matrix

    rows = csr_matrix(X)
    if merged:
        return rows
    backwards = rows[:, ::-1]
    last = X.shape[1] - 1
    indices = np.repeat(last - backwards.indices, 2)
    halves = backwards.data / 2
    data = np.repeat(halves, 2)
    indptr = 2 * backwards.indptr
    return csr_matrix((data, indices, indptr), X.shape)
