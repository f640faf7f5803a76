"""The learner of a run: what it raises, takes or lacks ends only this run."""

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import TypeVar

import numpy as np

from olscale.compiled.csr import Rows, take_rows
from olscale.compiled.pages import filled_bytes
from olscale.errors import ModelError, one_line
from olscale.evaluation.budget import NO_BUDGET, Budget, BudgetExceeded, Meter, Spent
from olscale.evaluation.guard import GlobalRandom, attempt
from olscale.evaluation.metrics import StreamShape
from olscale.evaluation.run import Run
from olscale.learners.contract.capability import (
    LooksAhead,
    expect_batches,
    expect_names,
    expect_ranking,
    expect_targets,
    looks_ahead,
)
from olscale.learners.contract.class_weights import name_classes
from olscale.learners.contract.cost import cost_of
from olscale.learners.contract.fused_settings import grid_key
from olscale.learners.contract.learner import Learner
from olscale.learners.contract.usable_rows import usable_rows
from olscale.learners.registry import is_ours, make_learner
from olscale.measures import ranking_measures
from olscale.system.interrupts import let_interrupt_out, text_of

T = TypeVar("T")


class RunLearner:
    """The learner of a run, and the outcome of the run if the learner fails.

    Parameters
    ----------
    run : Run
    columns : int
        Number of features after the transforms.
    shape : StreamShape
        Classes and targets of its stream.
    make : callable, optional
        Makes the learner; the run's own by default.
    meter : Meter, optional
        Measures what the learner takes, and ends a run that exceeds its budget.
    exceeded : BudgetExceeded, optional
        How an earlier attempt ended whose learner did not return.

    Attributes
    ----------
    position : int
        Number of rows of the stream processed so far.
    learner : Learner
        The model.
    outcome : str
        ``"ok"`` until the learner fails: ``"diverged"``, ``"learner_error"``, ``"timeout"`` or
        ``"oom"``.
    spent : Spent
        What the learner has taken so far.
    random : GlobalRandom, optional
        The global random numbers of an external learner.
    failed_at : tuple of int
        Sort key of failures of parts of one learner: row (rows of the test split follow the
        stream), whether the learner raised nothing, row.
    """

    def __init__(
        self,
        run: Run,
        columns: int,
        shape: StreamShape,
        make: Callable[[], Learner] | None = None,
        meter: Meter | None = None,
        exceeded: BudgetExceeded | None = None,
    ) -> None:
        self.run = run
        self.position = 0
        self.outcome = "ok"
        self.reason = ""
        self.failed_at = (0, 0, 0)
        self.meter = meter or Meter(NO_BUDGET)
        self.spent = Spent()
        self._prepared: dict[str, float] = {}
        if exceeded is not None:
            self.fail(exceeded.outcome, exceeded.reason)
        entropy = run.stream.entropy
        if is_ours(run.learner):
            self.random = None
        else:
            self.random = GlobalRandom(entropy)
        self._make = partial(
            _begun,
            self.meter.budget,
            make or partial(make_learner, run.learner, run.params),
            columns,
            shape,
            entropy,
        )
        self._entropy = entropy
        learner = self._guarded(self._make)
        # otherwise the run has failed and its learner is not used again
        if learner is not None:
            self.learner = learner
        self._begun_with_model = False

    def begin_with(self, learner: Learner, entropy: Sequence[int]) -> None:
        """Begin the stream with what a saved model has learned under `entropy`.

        Raises
        ------
        ModelError
            If the state of the model is not all that it has learned.
        """
        if not learner.restorable:
            raise ModelError(
                f"a stream cannot begin with a model of {learner.name}, an estimator from "
                "elsewhere, whose state is no plain arrays; olscale models learn learns on with it"
            )
        self._entropy = tuple(entropy)
        make = self._make
        self._make = partial(make.func, *make.args[:-1], self._entropy)
        self._begun_with_model = True
        begun = self._guarded(self._make)
        if begun is not None:
            self.learner = begun
            self._guarded(lambda: begun.restore(learner.state()))

    @property
    def looks_ahead(self) -> bool:
        """Whether the learner requests rows before the first chunk."""
        if self._begun_with_model:  # the model has seen the rows that it asks for
            return False
        return bool(self._guarded(lambda: looks_ahead(self.learner)))

    @property
    def shares_passes(self) -> bool:
        """Whether the learner can share passes over the stream with others of its kind."""
        # The key comes from the learner and is used in dictionaries: an unhashable one ends the
        # run.
        return self._guarded(lambda: hash(grid_key(self.learner) or 0)) is not None

    def prepare(self, X: Rows) -> None:
        """Show rows of the stream to a learner that looks ahead, before the first chunk.

        `prepare_seconds` is the time that this takes.
        """
        rows = self._guarded(lambda: self._usable(X), counts=False)
        start = perf_counter()
        if rows is not None and isinstance(learner := self.learner, LooksAhead):
            self._guarded(lambda: learner.prepare(rows))
        self._prepared = {"prepare_seconds": perf_counter() - start}

    def _usable(self, X: Rows) -> Rows:
        """Return the usable rows; unusable ones end the run at their place in the stream."""
        usable = usable_rows(X, self.learner.norm_limits())
        if usable.all():
            return X
        return take_rows(X, np.flatnonzero(usable))

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return the numbers that the learner processes per row; 0 for a failed run."""
        numbers = self._guarded(
            lambda: float(cost_of(self.learner).row_numbers(columns, classes, values)),
            counts=False,
        )
        return numbers or 0.0

    @property
    def filled_bytes(self) -> int:
        """Size of the learner's state without blocks of zeros; 0 for a failed run."""
        if self.outcome != "ok":
            return 0
        try:
            return sum(map(filled_bytes, self.learner.state_.values()))
        except Exception:  # an unusual state of a learner; saving it reports the fault
            return 0

    def fail(
        self, outcome: str, reason: str, raised: bool = True, row: int | None = None
    ) -> None:
        """End the run with `outcome` because its learner failed; the first failure stays."""
        if self.outcome == "ok":
            at = self.position if row is None else row
            self.outcome = outcome
            self.reason = one_line(reason)
            # Of failures at the same row, one that the learner raised comes before one found in
            # scores.
            self.failed_at = (at, int(not raised), at)

    def _guarded(self, call: Callable[[], T], counts: bool = True) -> T | None:
        if self.outcome != "ok":
            return None
        return attempt([self], call, counts)

    def _asked(self, what: str, call: Callable[[], T]) -> T:
        """Call into the learner for its checkpoint; an exception of it is raised as `ValueError`.

        The run continues after such an exception.
        """
        # A failed save costs a checkpoint, not the run.
        with self.meter.calling([self], counts=False):
            try:
                return call()
            except BaseException as error:
                let_interrupt_out(error)
                raise ValueError(
                    f"{self.run.learner} cannot be {what}: {text_of(error)}"
                ) from None


def _begun(
    budget: Budget,
    make: Callable[[], Learner],
    columns: int,
    shape: StreamShape,
    entropy: Sequence[int],
) -> Learner:
    """Return a new learner that knows what is known of its stream before the first row."""
    learner = make()
    budget.check_reserved(cost_of(learner).reserved_bytes(columns, shape.classes))
    expect_batches(learner, shape.scoring.batch)
    expect_names(learner, shape.features, shape.labels)
    name_classes(learner, shape.labels)
    if ranking_measures(shape.scoring.measures):
        expect_ranking(learner)
    if shape.targets:
        expect_targets(learner, len(shape.targets))
    learner.begin(columns, shape.classes, entropy)
    return learner
