"""The state of a run: one run as a pure function of its chunks.

``state.step(chunk)`` for each chunk of the stream, ``state.test(chunk)`` for each of the test
split, ``state.record()``. Results depend on no clock, thread or process (times are stored
separately), so that in-process runs, actors and tasks give the same bytes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import nan
from time import perf_counter
from typing import Any

import numpy as np

from olscale.arrays import Array, FloatArray, IntArray
from olscale.compiled.csr import slice_rows
from olscale.data.chunk import Chunk
from olscale.evaluation.budget import BudgetExceeded, Meter
from olscale.evaluation.class_probabilities import (
    begin_probabilities,
    has_plain_scores,
    needs_of,
)
from olscale.evaluation.dataset_fit import check_seen
from olscale.evaluation.guard import check_scores, guarded
from olscale.evaluation.label_delay import Schedule, Scored
from olscale.evaluation.learning_time import LearningTime
from olscale.evaluation.metrics import METRICS, Metric, StreamShape
from olscale.evaluation.metrics.each_target import make_metric
from olscale.evaluation.metrics.model_watch import ModelWatch
from olscale.evaluation.rehearsal import Rehearsal, needs_rehearsal, shared_reason
from olscale.evaluation.run import Run
from olscale.evaluation.run_learner import RunLearner
from olscale.evaluation.run_results import Counted, environment, metric_results
from olscale.evaluation.score_columns import ScoreColumns
from olscale.learners.calibrator import Calibrator
from olscale.learners.class_probabilities import ClassProbabilities
from olscale.learners.contract.capability import ranking_columns, ranks_by_class
from olscale.learners.contract.compilation import compile_loops
from olscale.learners.contract.learner import Learner, score_columns
from olscale.learners.contract.usable_rows import diverged_at, score_usable
from olscale.measures import NOT_REPRODUCIBLE, RANKED_BY_CLASS, headline_of
from olscale.results.record import Record


class RunState(RunLearner):
    """One run in mid-stream.

    Parameters
    ----------
    run : Run
    shape : StreamShape
        Rows, classes and segments of its stream.
    columns : int
        Number of features after the transforms.
    make : callable, optional
        Makes the learner; the run's own by default.
    metrics : sequence of Metric classes
        The metrics that count rows.
    meter : Meter, optional
        Measures what the learner takes, and ends a run that exceeds its budget.
    exceeded : BudgetExceeded, optional
        How an earlier attempt ended whose learner did not return.
    names : sequence of str
        Names of the first features, if they have names.
    calibrates : bool
        Whether scores are calibrated although nothing of the protocol needs probabilities: the
        final model is kept, and has them.

    Attributes
    ----------
    watch : ModelWatch
        Observes the model along the stream.
    probabilities : ClassProbabilities, optional
        Probabilities of classes, and decisions by them, if the protocol or a model that is kept
        needs any.
    """

    def __init__(
        self,
        run: Run,
        shape: StreamShape,
        columns: int,
        make: Callable[[], Learner] | None = None,
        metrics: Sequence[type[Metric]] | None = None,
        meter: Meter | None = None,
        exceeded: BudgetExceeded | None = None,
        names: Sequence[str] = (),
        calibrates: bool = False,
    ) -> None:
        super().__init__(run, columns, shape, make, meter, exceeded)
        self.fold = run.fold
        self._names = names
        self._task = shape.task
        blind = shape.task == "novelty"
        self._schedule = Schedule(run.stream.scoring, run.fold, names, blind=blind)
        kinds = metrics or METRICS.load_all()
        # Looks at the model count rows of the whole stream; metrics only see the rows that are
        # scored.
        stream = shape
        shape = self._schedule.shape(shape)
        self._metrics: list[Metric] = [
            make_metric(kind, shape) for kind in kinds if kind.meets(shape)
        ]
        self.watch = ModelWatch(self._metrics, stream)
        self._learning_time = LearningTime()
        self._tested = 0
        self._again = 0
        self._ready = False
        outputs = len(shape.targets) or score_columns(shape.classes)
        ranking = self._guarded(lambda: ranking_columns(self.learner)) or 0
        self.probabilities: ClassProbabilities | None = None
        needs_probabilities = any(needs_of(shape))
        if needs_probabilities:
            self.probabilities = self._guarded(
                lambda: begin_probabilities(self.learner, shape, ranking)
            )
        elif calibrates and has_plain_scores(self.learner, shape):
            self.probabilities = ClassProbabilities(
                Calibrator(shape.classes), None, 0, ranking
            )
        self._score_columns = ScoreColumns(
            shape,
            ranking,
            self.probabilities,
            shows_probabilities=needs_probabilities,
        )
        further_columns = self._score_columns.further
        self._outputs = (outputs + further_columns, shape.classes + further_columns)
        self._rehearsal: Rehearsal | None = None
        if self.outcome == "ok" and needs_rehearsal(self.learner):
            self._rehearsal = Rehearsal(self._make, self._entropy)

    def calibrate_as(self, known: ClassProbabilities | None) -> None:
        """Begin with the calibrator of a saved model, if it has one and the run needs one."""
        if known is not None and self.probabilities is not None:
            self.probabilities.continue_from(known)

    def step(self, chunk: Chunk) -> None:
        """Predict, then learn, each row of the next chunk, or do so when the protocol says."""
        if not self._ready:
            # Compile before the clock starts: machine code is no part of learning time.
            self._schedule.compile(chunk)
            weighted = self._schedule.weighs(self.learner)
            self._guarded(
                lambda: compile_loops(self.learner, chunk.X, weighted), counts=False
            )
            if not self.learner.checks_rows:
                self._guarded(
                    lambda: self._usable(slice_rows(chunk.X, 0, 0)), counts=False
                )
            self._ready = True
        pieces = self.watch.pieces(chunk, self.position)
        # Watched rows must reach the learner alone; all pieces go through this method again.
        if len(pieces) > 1:
            for piece in pieces:
                self.step(piece)
            return
        self._rehearse(chunk)
        if self.outcome != "ok":
            return
        due = self.watch.is_due(chunk, self.position)
        start = perf_counter()
        # Learning predicts the row as well, so prediction is timed by an additional call.
        if due:
            self._guarded(lambda: score_usable(self.learner, chunk.X))
        predicted = perf_counter()
        scored = None
        begin = LearningTime.now()
        with guarded([self]):
            scored = self._schedule.learn(self.learner, chunk, self.position)
            check_scores(scored.scores, len(scored.rows), self._outputs)
        spent = begin.elapsed()
        if scored is not None:
            self.see(chunk, scored, spent)
        if due:
            times = predicted - start, spent.wall
            self._guarded(
                lambda: self.watch.look(self.position, self.learner, times),
                counts=False,
            )

    def _rehearse(self, chunk: Chunk | None) -> None:
        """Let new models learn the first rows of the stream; `chunk` is next, None at its end."""
        rehearsal = self._rehearsal
        if rehearsal is None:
            return
        if chunk is None:
            self._guarded(rehearsal.hold, counts=False)
        else:
            rows = self.seen_by_learner(chunk)
            weights = None
            if self._schedule.weighs(self.learner):
                weights = rows.weights
            self._guarded(lambda: rehearsal.see(rows.X, rows.y, weights), counts=False)
        if rehearsal.shared:
            self.fail("learner_error", shared_reason(rehearsal.shared), raised=False)

    def seen_by_learner(self, chunk: Chunk) -> Chunk:
        """Return `chunk` as the learner sees it: a novelty detector gets no labels."""
        if self._task == "novelty":
            return replace(chunk, y=np.zeros_like(chunk.y))
        return chunk

    def release(self) -> None:
        """Bring the learner up to date; a single run never lags behind."""

    def see(self, chunk: Chunk, scored: Scored, spent: LearningTime) -> None:
        """Count the next chunk, scored before each update, and the time that learning it took."""
        if self.outcome != "ok":
            return
        rows = scored.rows
        scores = scored.scores
        if not np.isfinite(scores).all():
            finite = np.isfinite(scores).all(axis=1)
            row = int(rows[np.argmin(finite)])
            self._diverge(chunk, row, self.position + row, "row", self.position + row)
            return
        scores, codes = self._score_columns.assess(chunk, scored)
        # Without arrivals all rows are scored and each label comes with its row: metrics need no
        # order of events.
        if scored.arrivals is None:
            self.count(self.position, chunk.y, codes, scores, chunk.weights)
        else:
            burn_in = self.run.stream.scoring.burn_in
            burned_in = int(np.searchsorted(self.position + rows, burn_in))
            counted = slice(burned_in, None)
            for metric in self._counting():
                metric.arrive(scored.arrivals.labels, scored.arrivals.asked[counted])
            self._weigh(self._counting(), chunk.weights, rows[counted])
            self._see(counted, chunk.y[rows], codes, scores)
        self.position += len(chunk)
        self._learning_time += spent

    def count(
        self,
        first: int,
        y: Array,
        codes: Array,
        scores: FloatArray,
        weights: FloatArray | None = None,
    ) -> None:
        """Count rows of the stream from number `first` on.

        They are given by targets, predictions and scores before each update, and weights.
        """
        burned_in = min(max(0, self.run.stream.scoring.burn_in - first), len(y))
        # Rows of the burn-in are not counted, but the baselines of metrics learn their labels.
        for metric in self._counting():
            if burned_in:
                metric.arrive(y[:burned_in], None)
        self._weigh(self._counting(), weights, slice(burned_in, None))
        self._see(slice(burned_in, None), y, codes, scores)

    def _weigh(
        self,
        metrics: Sequence[Metric],
        weights: FloatArray | None,
        rows: slice | IntArray = slice(None),
    ) -> None:
        """Pass to metrics that use weights those of the rows that they get next."""
        if self.run.stream.scoring.weighted_measures:
            assert weights is not None, (
                "the dataset has weights, or the plan would have refused it"
            )
            for metric in metrics:
                metric.weigh(weights[rows])

    def _counting(self) -> Sequence[Metric]:
        """Return the metrics that count rows of the stream."""
        if self.run.stream.scoring.test_only:
            return ()
        return self._metrics

    def _see(self, counted: slice, y: Array, codes: Array, scores: FloatArray) -> None:
        for metric in self._counting():
            read = self._score_columns.read_by(metric, scores[counted])
            metric.see(y[counted], codes[counted], read)

    def hold_out(self, chunk: Chunk, first: int) -> None:
        """Predict held-out rows, from test row number `first` on, with the current model."""
        scores = self._scores(chunk, first)
        if scores is not None:
            self._weigh(self._metrics, chunk.weights)
            _, codes = self._score_columns.answer(scores)
            for metric in self._metrics:
                metric.held_out(chunk.y, codes)

    def test(self, chunk: Chunk) -> None:
        """Predict the next chunk of the test split with the final model."""
        scores = self._scores(chunk, self._tested)
        self._tested += len(chunk)
        if scores is not None:
            self._weigh(self._metrics, chunk.weights)
            scores, codes = self._score_columns.answer(scores)
            self.count_test(chunk.y, codes, scores)

    def predict_again(self, chunk: Chunk) -> None:
        """Predict rows of the stream with the final model."""
        scores = self._scores(chunk, self._again, "training row")
        self._again += len(chunk)
        if scores is not None:
            self._weigh(self._metrics, chunk.weights)
            _, codes = self._score_columns.answer(scores)
            for metric in self._metrics:
                metric.train(chunk.y, codes)

    def counted(self) -> Counted:
        # Metrics add to their arrays in place, so copies are needed.
        """Return the current counts, for `recount`."""
        sums = [
            {name: array.copy() for name, array in metric.sums.items()}
            for metric in self._metrics
        ]
        return Counted(sums, (self._tested, self._again), self.spent.seconds)

    def recount(self, counted: Counted) -> None:
        """Restore earlier counts: predictions of held-out rows change nothing else."""
        for metric, sums in zip(self._metrics, counted.sums, strict=True):
            metric.sums = sums
        (self._tested, self._again), self.spent.seconds = (
            counted.predicted,
            counted.spent,
        )

    def _scores(
        self, chunk: Chunk, first: int, where: str = "test row"
    ) -> FloatArray | None:
        """Return the scores of test rows; None if the run has failed or fails there."""
        scores = self._guarded(
            lambda: check_scores(
                score_usable(self.learner, chunk.X), len(chunk), self._outputs
            )
        )
        if scores is None or self.outcome != "ok":
            return None
        finite = np.isfinite(scores).all(axis=1)
        if finite.all():
            return scores
        row = int(np.argmin(finite))
        self._diverge(chunk, row, first + row, where, self.position + first + row)
        return None

    def _diverge(self, chunk: Chunk, i: int, row: int, where: str, at: int) -> None:
        """End the run at row `i` of `chunk`, which has a score that is not finite."""
        error = self._guarded(
            lambda: diverged_at(self.learner, chunk.X, i, row, where, self._names),
            counts=False,
        )
        if error is not None:
            self.fail("diverged", str(error), raised=False, row=at)

    def count_test(self, y: Array, codes: Array, scores: FloatArray) -> None:
        """Count rows of the test split: targets, predictions of the final model, scores."""
        for metric in self._metrics:
            metric.test(y, codes, self._score_columns.read_by(metric, scores))

    def error(self) -> float:
        """Return the error so far (RMSE in a regression); NaN before the first counted row."""
        return self._metrics[0].values().get(headline_of(self._task), nan)

    def record(self, timings: Mapping[str, float] | None = None) -> Record:
        """Return the result."""
        # A stream shorter than the rehearsal still has to hold it.
        self._rehearse(None)
        # a plan cannot know how many labels arrive
        if self.run.stream.scoring.delay_column:
            self._guarded(lambda: check_seen(self.learner))
        measures = self._guarded(
            lambda: {
                str(name): float(value)
                for name, value in self.learner.measures().items()
            }
        )
        run_timings = self._learning_time.timings(self.position) | self._prepared
        run_timings |= {
            name: seconds
            for metric in self._metrics
            for name, seconds in metric.timings().items()
        }
        if any(metric.overflows() for metric in self._metrics):
            self.fail(
                "diverged",
                "the squared errors overflow; scale the targets, or the features",
                raised=False,
            )
        counted: dict[str, Any] = {}
        # A failed run records only the reason: how far it came depends on how the stream was cut
        # into chunks.
        if measures is not None and self.outcome == "ok":
            counted = metric_results(self._metrics, measures | self._cautions())
        times = run_timings | dict(timings or {})
        end = (self.outcome, self.reason)
        return Record(
            self.run.definition(),
            self.run.id,
            *end,
            **counted,
            timings=times,
            environment=environment(),
        )

    def _cautions(self) -> dict[str, float]:
        """Return warnings about the figures, as metrics that only the affected runs have."""
        cautions = {}
        if any(metric.ranks_rows for metric in self._metrics) and ranks_by_class(
            self.learner
        ):
            cautions[RANKED_BY_CLASS] = 1.0
        if self._rehearsal is not None and self._rehearsal.differs:
            cautions[NOT_REPRODUCIBLE] = 1.0
        return cautions

    def state(self) -> dict[str, Array]:
        """Return the whole run as plain arrays; a failed run returns how it failed."""
        common = {
            "position": np.array([self.position]),
            "seconds": self._learning_time.array(),
            "spent_seconds": np.array([self.spent.seconds]),
            "prepare_seconds": np.array(list(self._prepared.values())),
        }
        if self.outcome != "ok":
            failure = {
                "outcome": np.array([self.outcome, self.reason]),
                "failed_at": np.array(self.failed_at),
            }
            return common | failure
        learned = self._asked("saved", self.learner.state)
        parts = {f"learner.{name}": array for name, array in learned.items()}
        parts |= {
            f"schedule.{name}": array for name, array in self._schedule.state().items()
        }
        if self.probabilities is not None:
            known = self.probabilities.state()
            parts |= {f"probabilities.{name}": array for name, array in known.items()}
        for number, metric in enumerate(self._metrics):
            parts |= {
                f"metric{number}.{name}": array.copy()
                for name, array in metric.sums.items()
            }
        return common | parts

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from a `state`, which replaces everything before it, including `prepare`."""
        groups: dict[str, dict[str, Array]] = {}
        for key, array in state.items():
            group, _, name = key.partition(".")
            groups.setdefault(group, {})[name] = array
        self.position = int(state["position"][0])
        self._learning_time = LearningTime.from_array(state["seconds"])
        self.spent.seconds = float(state["spent_seconds"][0])
        # Only runs whose learner looks ahead have saved a time of preparation.
        self._prepared = dict(
            zip(("prepare_seconds",), state["prepare_seconds"].tolist(), strict=False)
        )
        if self.outcome != "ok":  # its budget was exceeded after the state was saved
            return
        if "outcome" in state:
            self.outcome, self.reason = (str(text) for text in state["outcome"])
            first, raised, row = (int(part) for part in state["failed_at"])
            self.failed_at = (first, raised, row)
            return
        self._asked("restored", lambda: self.learner.restore(groups.get("learner", {})))
        self._schedule.restore(groups.get("schedule", {}))
        if self.probabilities is not None:
            self.probabilities.restore(groups.get("probabilities", {}))
        # Metrics newer than the state lack its rows, and are left out.
        self._metrics = self._metrics[
            : sum(name.startswith("metric") for name in groups)
        ]
        for number, metric in enumerate(self._metrics):
            sums = {
                name: np.array(array)
                for name, array in groups[f"metric{number}"].items()
            }
            if not metric.sums.keys() <= sums.keys():
                raise ValueError(
                    f"it has the sums of other metrics than {type(metric).__name__}"
                )
            metric.sums = sums
