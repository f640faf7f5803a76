"""The task of an external model, and what it lacks."""

import contextlib
from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any

from olscale.errors import ParameterError
from olscale.task import Task

_TASKS: dict[str, Task] = {"regressor": "regression", "outlier_detector": "novelty"}


def task_of(name: str, model: Any) -> Task:
    """Return the task of a model; classification if it does not say.

    Raises
    ------
    ParameterError
        If it does not learn and predict row by row.
    """
    from olscale.learners.contract.learner import Learner

    if isinstance(model, Learner):
        path = f"{type(model).__module__}:{type(model).__qualname__}"
        raise ParameterError(
            f"learner {name} returns an olscale learner; name its class, {path}"
        )
    if isinstance(model, type):
        raise ParameterError(
            f"learner {name} returns a class, {model.__qualname__}; expected a model: call it"
        )
    one_by_one = hasattr(model, "learn_one")
    if one_by_one:
        learns = "learn_one"
    else:
        learns = "partial_fit"
    if not hasattr(model, learns):
        reason = "has neither partial_fit (scikit-learn) nor learn_one (River)"
        raise ParameterError(f"learner {name}: {reason}{_cure(model)}")
    kind = _kind(model)
    task = _TASKS.get(kind, "classification")
    answers = "predict"
    if one_by_one:
        if task == "novelty":
            answers = "score_one"
        else:
            answers = "predict_one"
    if kind == "clusterer" or not hasattr(model, answers):
        if kind == "clusterer":
            fault = f"is a {kind}"
        else:
            fault = f"has {learns} but no {answers}"
        raise ParameterError(
            f"learner {name}: {fault}; expected a classifier, a regressor or, for novelties, an "
            "outlier detector"
        )
    if kind == "outlier_detector" and "SupervisedAnomalyDetector" in _river_bases(
        last_step(model)
    ):
        raise ParameterError(
            f"learner {name}: finds anomalies of a target, learn_one(x, y); expected a detector "
            "of rows, learn_one(x)"
        )
    return task


def takes_targets(model: Any) -> bool:
    """Return whether a scikit-learn model says that it learns several targets per row."""
    with contextlib.suppress(Exception):  # as in `_kind`; River has no such tag
        return hasattr(model, "partial_fit") and bool(
            model.__sklearn_tags__().target_tags.multi_output
        )
    return False


def takes_weights(model: Any) -> bool:
    """Return whether a model takes weights: ``sample_weight`` in scikit-learn, ``w`` in River.

    A pipeline of River passes all keywords to its last step.
    """
    if hasattr(model, "learn_one"):
        return "w" in _arguments(last_step(model).learn_one)
    return "sample_weight" in _arguments(model.partial_fit)


def takes_many(model: Any) -> bool:
    """Return whether a River model, with all its steps, predicts and learns rows in one call.

    Examples
    --------
    >>> from river.linear_model import LogisticRegression
    >>> from river.preprocessing import StandardScaler
    >>> from river.tree import HoeffdingTreeClassifier
    >>> takes_many(LogisticRegression()), takes_many(HoeffdingTreeClassifier())
    (True, False)
    >>> takes_many(StandardScaler() | LogisticRegression())
    True
    """
    steps = getattr(model, "steps", None)
    if isinstance(steps, Mapping) and steps:
        *transformers, last = steps.values()
        return takes_many(last) and all(map(_transforms_many, transformers))
    # A model around another has the methods whatever is within it.
    for name in ("classifier", "regressor"):
        inner = getattr(model, name, None)
        if hasattr(inner, "learn_one"):
            return _has(model, "predict_many") and takes_many(inner)
    return _has(model, "predict_many")


def _has(model: Any, predicts: str) -> bool:
    return hasattr(model, predicts) and hasattr(model, "learn_many")


def _transforms_many(step: Any) -> bool:
    inner = getattr(step, "transformers", None)
    if isinstance(inner, Mapping):
        return all(map(_transforms_many, inner.values()))
    return _has(step, "transform_many")


def takes_classes(estimator: Any) -> bool:
    """Return whether partial_fit takes the possible classes, as scikit-learn's classifiers do."""
    try:
        arguments = signature(estimator.partial_fit).parameters
    except (TypeError, ValueError):  # compiled, without a signature
        return True
    return "classes" in arguments or any(
        argument.kind is Parameter.VAR_KEYWORD for argument in arguments.values()
    )


def _arguments(method: Any) -> set[str]:
    try:
        return set(signature(method).parameters)
    except (TypeError, ValueError):  # compiled, without a signature
        return set()


def fills_in_missing(model: Any) -> bool:
    """Return whether a River model has a step that imputes the values a row lacks (None)."""
    steps = getattr(model, "steps", None)
    if isinstance(steps, dict):
        return any(fills_in_missing(step) for step in steps.values())
    inner = getattr(model, "transformers", None)
    if isinstance(inner, dict):
        return any(fills_in_missing(step) for step in inner.values())
    return type(model).__module__.startswith("river.") and type(
        model
    ).__name__.endswith("Imputer")


def last_step(model: Any) -> Any:
    """Return the last step of a River pipeline, which sets its task; other models unchanged."""
    steps = getattr(model, "steps", None)
    if isinstance(steps, dict) and steps:
        return last_step(list(steps.values())[-1])
    return model


def _cure(model: Any) -> str:
    if hasattr(model, "steps") and hasattr(model, "fit"):
        return (
            "; a scikit-learn Pipeline has none: name its last step, with olscale's transforms "
            "for the others "
            "(--transform standardize,bias), or write a class whose partial_fit teaches one step "
            "after the other"
        )
    if hasattr(model, "fit"):
        return (
            "; it has fit, which needs all rows at once, where a single-pass learner meets "
            "them one by one"
        )
    return f"; it is of class {type(model).__qualname__}"


def _kind(model: Any) -> str:
    """Return the kind of model it declares, in scikit-learn's terms."""
    estimator = last_step(model)
    kind = getattr(estimator, "_estimator_type", None)
    # a mixin in the wrong order, or no scikit-learn at all
    with contextlib.suppress(Exception):
        kind = estimator.__sklearn_tags__().estimator_type
    if kind:
        return str(kind)
    bases = _river_bases(estimator)
    kinds = {
        "Classifier": "classifier",
        "Regressor": "regressor",
        "Clusterer": "clusterer",
    }
    word_of_base = next((word for base, word in kinds.items() if base in bases), "")
    detects = hasattr(estimator, "score_one") and not hasattr(estimator, "predict_one")
    return word_of_base or ("outlier_detector" if detects else "")


def _river_bases(model: Any) -> set[str]:
    return {
        base.__name__
        for base in type(model).__mro__
        if base.__module__.startswith("river.base")
    }
