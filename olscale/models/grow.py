"""Growing models: new classes, values of text columns and features of SVMlight text.

What is new gets the state that a new model has there: a learner to which features were added is,
bit for bit, one that knew them from the start and met only zeros. That holds where every array of
the learner has axes of features or of classes and nothing else that depends on their numbers; other
learners are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from olscale.data.transforms.base import Transform
from olscale.data.transforms.drop import Drop
from olscale.data.transforms.on_columns import OnColumns
from olscale.data.transforms.pipeline import Pipeline, make_transform
from olscale.errors import ModelError, ParameterError
from olscale.learners.calibrator import Calibrator
from olscale.learners.class_probabilities import ClassProbabilities
from olscale.learners.contract.capability import expect_targets
from olscale.learners.contract.class_weights import name_classes
from olscale.learners.contract.learner import Learner, score_columns
from olscale.learners.registry import make_learner
from olscale.models.about import ColumnsEntry
from olscale.models.final_model import FinalModel

Grow: TypeAlias = Literal["none", "classes", "features", "all"]
"""What a model may grow by."""

_LINEAR = (
    *("perceptron", "pa", "pa1", "pa2", "ogd", "pegasos", "cw", "arow", "scw1", "scw2"),
    *("logistic", "adagrad", "ftrl"),
)

GROWS_FEATURES = frozenset(
    (
        *_LINEAR,
        *("pa-r", "pa1-r", "pa2-r", "sgd-r", "rls", "ridge"),
        *("majority", "no-change", "mean", "last-value"),
    )
)
"""Learners whose models can get features; tests compare each with one that had them before."""

_PADDED = ("covariance", "P")
"""Arrays of a row and a column per feature, with columns of zeros up to a multiple of 8."""

GROWS_CLASSES = frozenset((*_LINEAR, "majority"))
"""Learners whose models of three or more classes can get classes."""


def check_grow(grow: str) -> None:
    """Refuse a word that is none of `Grow`.

    Raises
    ------
    ParameterError
    """
    if grow not in get_args(Grow):
        raise ParameterError(f"grow was {grow!r}, expected {', '.join(get_args(Grow))}")


def grow_features(model: FinalModel, columns: ColumnsEntry) -> None:
    """Give a model more features, after those that it has.

    Parameters
    ----------
    model : FinalModel
        Is changed.
    columns : ColumnsEntry
        All features; the first are those of the model.

    Raises
    ------
    ModelError
        If its learner or one of its transforms cannot grow.
    """
    name = model.about.learner.name
    if name not in GROWS_FEATURES:
        raise ModelError(
            f"a model of {name} cannot get features: its state is not kept by feature; learn with "
            "--grow none, or begin a new model"
        )
    pipeline, places = _grown_pipeline(model, columns.count)
    learner = _grown_learner(
        model,
        pipeline.width,
        len(model.about.classes or ()),
        (model.pipeline.width, places),
    )
    _set(model, learner, pipeline, model.about.changed(columns=columns))


def grow_classes(model: FinalModel, new: Sequence[Any]) -> None:
    """Give a model more classes.

    Parameters
    ----------
    model : FinalModel
        Is changed.
    new : sequence
        Labels of the type of its classes, none of them known.

    Raises
    ------
    ModelError
        If its learner cannot grow, or labels have another type.
    """
    about = model.about
    name = about.learner.name
    old = about.classes or ()
    listed = ", ".join(map(repr, new[:5]))
    if name not in GROWS_CLASSES:
        raise ModelError(
            f"a model of {name} cannot get the class {listed}: its state is not kept by class; "
            "begin a new model"
        )
    if len(old) < 3:
        raise ModelError(
            f"a model of two classes has one score for both and cannot get the class {listed}; "
            "begin a new model"
        )
    if any(isinstance(label, str) is not isinstance(old[0], str) for label in new):
        raise ModelError(
            f"the new label {listed} is of another type than the classes {old[:5]}"
        )
    known = model.probabilities
    if known is not None and known.decision is not None:
        raise ModelError(
            f"a model that decides by a threshold of {len(old)} classes cannot get the class "
            f"{listed}; begin a new model"
        )
    if any(getattr(step, "learns_labels", False) for step in model.pipeline.steps):
        raise ModelError(
            f"a model whose transforms encode classes cannot get the class {listed}; begin a new "
            "model"
        )
    classes = tuple(sorted((*old, *new)))
    # Codes are places among sorted labels, so a new class may move the old ones.
    places = np.array([classes.index(label) for label in old])
    about = about.changed(classes=classes)
    width = model.pipeline.width
    learner = _grown_learner(
        model, width, len(classes), (len(old), places), about.classes
    )
    _set(model, learner, model.pipeline, about)
    if known is not None:
        # What became of scores among fewer classes says nothing about more of them.
        model.probabilities = ClassProbabilities(Calibrator(len(classes)), None)


def _set(model: FinalModel, learner: Learner, pipeline: Pipeline, about: Any) -> None:
    # In place, since callers hold on to the model that they are learning with.
    FinalModel.__init__(model, about, learner, pipeline)


def _grown_learner(
    model: FinalModel,
    width: int,
    classes: int,
    axis: tuple[int, NDArray[np.int64]],
    labels: Any = None,
) -> Learner:
    """Return a new learner that has learned what that of `model` has.

    `axis` is the old length of an axis that grows, and the new places of what is on it.
    """
    about = model.about
    learner = make_learner(about.learner.name, about.learner.params)
    if about.columns.targets:
        expect_targets(learner, len(about.columns.targets))
    name_classes(learner, labels or about.classes or ())
    learner.begin(width, classes, about.learner.entropy)
    # Axes are recognised by their old length, and exactly one of features and classes
    # grows at a time.
    lengths = {axis[0]: width if labels is None else score_columns(classes)}
    learner.restore(
        _embedded(model.learner.state(), learner.state(), lengths, axis[1], learner)
    )
    return learner


def _embedded(
    old: Mapping[str, NDArray[Any]],
    new: Mapping[str, NDArray[Any]],
    lengths: Mapping[int, int],
    places: NDArray[np.int64],
    learner: Learner,
) -> dict[str, NDArray[Any]]:
    """Return the `new` arrays with the `old` ones in them."""
    embedded = {}
    for name, begun in new.items():
        learned = old[name]
        axes = []
        last = learned.ndim - 1
        for axis, (before, after) in enumerate(
            zip(learned.shape, begun.shape, strict=True)
        ):
            if (
                name in _PADDED
                and axis == last
                and learned.shape[-2] != begun.shape[-2]
            ):
                learned = learned[..., : len(places)]
                axes.append(places)
            elif before == after:
                axes.append(np.arange(before))
            elif lengths.get(before) == after:
                axes.append(places)
            else:
                raise ModelError(
                    f"a model of {learner.name} cannot grow with these parameters: {name} has "
                    f"shape {learned.shape}, and {begun.shape} in a new model"
                )
        # What is new keeps the value that it has in a new model, which is not always 0.
        array = begun.copy()
        array[np.ix_(*axes)] = learned
        embedded[name] = array
    return embedded


def _grown_pipeline(
    model: FinalModel, columns: int
) -> tuple[Pipeline, NDArray[np.int64]]:
    """Return the transforms for so many features, and the new places of the old results."""
    entry = model.about.transforms
    # Transforms move and drop features; names carried through old and new steps show
    # where each old one has gone.
    names = [f"x{i}" for i in range(model.about.columns.count)]
    more = [f"x{i}" for i in range(columns)]
    steps: list[Transform] = []
    kinds = [
        *([] if entry.dropped is None else [Drop(entry.dropped)]),
        *map(make_transform, entry.names),
    ]
    for step, learned in zip(kinds, model.pipeline.steps, strict=True):
        step.projection = entry.projection
        step.restore(_grown_state(step, learned, names, more), len(more))
        steps.append(step)
        names = step.feature_names(names)
        more = step.feature_names(more)
    at = {name: place for place, name in enumerate(more)}
    places = np.array([at[name] for name in names], dtype=np.int64)
    return Pipeline(tuple(steps), columns, len(more)), places


def _grown_state(
    step: Transform, learned: Transform, names: Sequence[str], more: Sequence[str]
) -> dict[str, NDArray[Any]]:
    state = learned.state()
    # New features come after the old ones, and are none of the chosen columns.
    if isinstance(step, OnColumns) and not step.mixes_features:
        return state
    if step.mixes_features:
        raise ModelError(
            f"transform {step.name} combines all features, and cannot get more of them; begin a "
            "new model"
        )
    if not state:
        return {}
    if not step.streams:
        raise ModelError(
            f"transform {step.name} was fitted before the stream and knows nothing of new "
            "features; take one that streams, as running-standardize"
        )
    at = {name: place for place, name in enumerate(more)}
    places = np.array([at[name] for name in names], dtype=np.int64)
    begin = getattr(step, "begin")  # noqa: B009, of a StreamingTransform
    begin(len(more))
    grown = {}
    for name, begun in step.state().items():
        if begun.shape == state[name].shape:
            grown[name] = state[name]
        else:
            begun[places] = state[name]
            grown[name] = begun
    return grown
