"""Rehearsals: two new models learn the first rows of a stream and should give the same scores.

Models that depend on a clock or on the system's random numbers differ, and so do models that share
state. Only external models are rehearsed; olscale's own learners are tested before release.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType, ModuleType
from typing import Any, TypeGuard

import numpy as np

from olscale.arrays import Array, FloatArray
from olscale.compiled.csr import (
    Rows,
    read_only,
    read_only_rows,
    rows_of,
    slice_rows,
    stack_rows,
)
from olscale.evaluation.guard import GlobalRandom
from olscale.learners.contract.capability import LearnsBatches
from olscale.learners.contract.foreign.answers import numbers_of
from olscale.learners.contract.foreign.learner import ForeignLearner
from olscale.learners.contract.foreign.parts import differences, parts_of
from olscale.learners.contract.learner import Learner, learn_rows
from olscale.learners.contract.usable_rows import usable_rows
from olscale.system.user_source import is_installed

ROWS = 100
"""Most rows that are learned twice."""

# most rows of a batch: later batches are predicted by what was learned
_BATCH = ROWS // 4

_MOST_NUMBERS = 1_000_000


class Rehearsal:
    """The rehearsal of one run.

    Parameters
    ----------
    make : callable
        Makes a new learner at the start of the stream.
    entropy : sequence of int
        Seed of the run's random numbers.

    Attributes
    ----------
    differs : bool
        Whether the two models gave different scores.
    shared : str
        State that the models share and change while they learn; empty if unknown.
    """

    def __init__(self, make: Callable[[], Learner], entropy: Sequence[int]) -> None:
        self._make = make
        self._entropy = entropy
        self._parts: list[tuple[Rows, Array, FloatArray | None]] = []
        self._weights: FloatArray | None = None
        self._rows_left = ROWS
        self.differs = False
        self.shared = ""

    def see(self, X: Rows, y: Array, weights: FloatArray | None = None) -> None:
        """Take the next rows of the stream, of any number; rehearse once there are enough."""
        if not self._rows_left:
            return
        count = min(self._rows_left, rows_of(X))
        self._parts.append(
            (
                slice_rows(X, 0, count),
                y[:count],
                None if weights is None else weights[:count],
            )
        )
        self._rows_left -= count
        if not self._rows_left:
            self.hold()

    def hold(self) -> None:
        """Let two new models learn the collected rows, one after the other."""
        parts = self._parts
        self._parts = []
        self._rows_left = 0
        if not parts:
            return
        # Read-only, since a learner that changed its rows would show others to the second model.
        X = read_only_rows(stack_rows([rows for rows, _, _ in parts]))
        y = read_only(np.concatenate([labels for _, labels, _ in parts]))
        weights = [counts for _, _, counts in parts if counts is not None]
        self._weights = None
        if weights:
            self._weights = read_only(np.concatenate(weights))
        shared = SharedState(_model_of(self._make()))
        try:
            first = self._learned(X, y)
            first_changes = shared.changed()
            shared.keep()
            second = self._learned(X, y)
            twice = shared.changed()
        except Exception:  # the run itself meets this fault and reports it
            return
        self.differs = not _are_equal(first, second)
        # A change by the first model only may be a cache; growing numbers may name parts.
        learned = [name for name, is_number in twice if self.differs or not is_number]
        if self.differs:
            learned += [name for name, _ in first_changes]
        self.shared = next(iter(learned), "")

    def _learned(self, X: Rows, y: Array) -> dict[str, Array]:
        """Return a new model's scores of rows, each before its update, and its learned numbers."""
        with GlobalRandom(self._entropy).in_place():
            learner = self._make()
            usable = usable_rows(X, learner.norm_limits())
            # The rehearsal ends at the first unusable row, as the run will.
            end = rows_of(X) if usable.all() else int(np.argmin(usable))
            counts = None
            if self._weights is not None:
                counts = self._weights[:end]
            batch = None
            if isinstance(learner, LearnsBatches) and learner.batch > 1:
                batch = min(learner.batch, _BATCH)
            scores = learn_rows(
                learner, slice_rows(X, 0, end), y[:end], counts, batch=batch
            )
            return {"": scores} | {
                name: np.array(values)
                for name, values in numbers_of(_model_of(learner))
            }


def _model_of(learner: Learner) -> Any:
    if needs_rehearsal(learner):
        return learner.estimator
    return learner


def _are_equal(first: dict[str, Array], second: dict[str, Array]) -> bool:
    return first.keys() == second.keys() and all(
        np.array_equal(values, second[name], equal_nan=True)
        for name, values in first.items()
    )


def needs_rehearsal(learner: Learner) -> TypeGuard[ForeignLearner]:
    """Return whether a learner is rehearsed, as external models are."""
    return isinstance(learner, ForeignLearner)


def shared_reason(name: str) -> str:
    """Return the reason for the failure of a run whose model shares learned state, in `name`."""
    return (
        f"models of it share {name}, which one changes while it learns: what one run has learned "
        "others would know; keep "
        "it in each model, as an attribute that __init__ sets"
    )


class SharedState:
    """State that all models of a user's classes share: class attributes and module variables."""

    def __init__(self, model: Any) -> None:
        self._holders = list(_holders(model))
        self.keep()

    def keep(self) -> None:
        """Note the current state."""
        self._before = [
            {name: _kept(value) for name, value in _variables(holder)}
            for _, holder in self._holders
        ]

    def changed(self) -> list[tuple[str, bool]]:
        """Return the names of values that have changed, and whether each is a number."""
        names = []
        for (title, holder), before in zip(self._holders, self._before, strict=True):
            for name, value in _variables(holder):
                earlier = before.get(name, _UNKNOWN)
                if earlier is not _UNKNOWN and any(differences(earlier, value)):
                    names.append((f"{title}.{name}", isinstance(value, int)))
        return names


_UNKNOWN = object()


def _kept(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # it cannot be copied, so that no change could be detected later
        return _UNKNOWN


def _holders(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield the user's classes that a model consists of, and their modules, with their names."""
    held: dict[str, Any] = {}
    for part in parts_of(model):
        for kind in type(part.value).__mro__:
            if kind.__module__ not in ("builtins", "abc") and not _is_elsewhere(
                kind.__module__
            ):
                held.setdefault(kind.__qualname__, kind)
                held.setdefault(kind.__module__, sys.modules.get(kind.__module__))
    return ((title, holder) for title, holder in held.items() if holder is not None)


def _is_elsewhere(module: str) -> bool:
    top = module.partition(".")[0]
    return (
        top in sys.stdlib_module_names
        or top == __name__.partition(".")[0]
        or is_installed(module)
    )


def _variables(holder: Any) -> Iterator[tuple[str, Any]]:
    for name, value in list(vars(holder).items()):
        is_code = isinstance(
            value,
            type | ModuleType | FunctionType | classmethod | staticmethod | property,
        )
        # Copies of large arrays would take more time than the rehearsal itself.
        is_large = isinstance(value, np.ndarray) and value.size > _MOST_NUMBERS
        if not (
            name.startswith("__") or is_code or is_large or name.startswith("_abc_")
        ):
            yield name, value
