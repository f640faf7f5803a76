"""The pass of a run group over its stream."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import isfinite
from time import perf_counter
from types import MappingProxyType
from typing import Protocol, TypeVar

import numpy as np

from olscale.arrays import Array, part_of
from olscale.compiled.csr import values_of
from olscale.compiled.machine_code import machine_code_seconds
from olscale.data.chunk import Chunk
from olscale.data.dataset import Dataset
from olscale.data.stream import Stream, open_streams
from olscale.data.transforms.pipeline import Pipeline
from olscale.errors import StoppedError
from olscale.evaluation.batches import BatchedRows
from olscale.evaluation.budget import BudgetExceeded, Meter
from olscale.evaluation.from_model import (
    load_beginning,
    streaming_pipeline,
    streaming_state,
)
from olscale.evaluation.fused_runs import fuse_runs
from olscale.evaluation.metrics import METRICS, StreamShape
from olscale.evaluation.run import StreamKey
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.run_state import RunState
from olscale.evaluation.stream_transforms import StreamTransforms
from olscale.learners.contract.foreign.river_model import share_rows
from olscale.results.record import Record

_State = TypeVar("_State", bound=RunState)


class _Learns(Protocol):
    """What processes a stream: a run, several fused runs, or the sums that runs share."""

    @property
    def fold(self) -> int | None: ...

    def step(self, chunk: Chunk) -> None: ...

    def release(self) -> None: ...


LOOK_AHEAD_ROWS = 65_536
"""Rows shown to learners that look ahead: all of a shorter stream, else a uniform sample."""

PIECE_NUMBERS = 1e9
"""Numbers that a group processes between checks of signals, budgets and the clock: up to a second.

A larger chunk is fed in pieces; contiguous pieces give the same bits as the whole chunk.
"""


class GroupPass:
    """The runs of a group on their way through their stream, driven by a task or an actor.

    Parameters
    ----------
    group : RunGroup
    meter : Meter, optional
        Measures the runs; by default one for the group's budget.
    exceeded : dict of str to BudgetExceeded, optional
        How runs ended in earlier attempts at the group, by run id.
    dataset : Dataset, optional
        Dataset of the group, if it is open already.

    Attributes
    ----------
    chunks : int
        Number of chunks of the stream, over all passes.
    position, within : int
        Chunks fed so far, and rows fed of the next chunk.
    rows : int
        Row-passes fed: one row learned by one learner is one.
    scoring : tuple of int
        Row-passes of held-out rows that the models have predicted so far, and the total that they
        will predict.
    on_scored : callable
        Called whenever `scoring` changes, which may take a long time while the stream stands
        still.
    leaving : callable
        Called between rows that final models predict; returns whether to abandon the predictions
        and repeat them later.

    Examples
    --------
    A task is a loop::

        group_pass = GroupPass(group)
        while not group_pass.ended:
            group_pass.advance()  # a second's rows at a time
        records = group_pass.finish()
    """

    def __init__(
        self,
        group: RunGroup,
        meter: Meter | None = None,
        exceeded: Mapping[str, BudgetExceeded] = MappingProxyType({}),
        dataset: Dataset | None = None,
    ) -> None:
        key = group.runs[0].stream
        self.group = group
        self._meter = meter or Meter(group.budget)
        self._exceeded = exceeded
        self._read_seconds = 0.0
        self._machine_code_before = machine_code_seconds()
        begins = (
            load_beginning(group.model, key.scoring.from_model) if group.model else None
        )
        options = (
            key.projection or 0,
            group.memory_limit,
            key.scoring.delay_position,
            None if begins is None else streaming_pipeline(begins),
        )
        with self._reading():
            streams = open_streams(
                dataset or group.path,
                key.transforms,
                key.shuffle,
                key.part,
                *options,
            )
        self._stream = streams.train
        self._test = streams.test
        rows = self._stream.rows * key.passes
        self._transforms = StreamTransforms(self._stream.pipeline, group.runs, rows)
        self._batches = BatchedRows(key.scoring.batch, rows)
        shape = stream_shape(self._stream.dataset, key, rows)
        shape = replace(shape, features=self._stream.feature_names)
        if begins is not None:
            self._transforms.restore(streaming_state(begins))
        self._begins = begins
        self._classes_of_stream = shape.classes
        self.states = self._begin(shape, self._stream.columns)
        self._learning: Sequence[_Learns] | None = None
        self.chunks = len(self._stream) * key.passes
        self.position = 0
        self.within = 0
        self._chunk: Chunk | None = None
        self.rows = 0
        self.scoring = (0, 0)
        self.on_scored: Callable[[], object] = lambda: None
        self.leaving: Callable[[], bool] = lambda: False

    @contextmanager
    def _reading(self) -> Iterator[None]:
        start = perf_counter()
        before = machine_code_seconds()
        yield
        # No rows are read while machine code is compiled or loaded.
        self._read_seconds += perf_counter() - start - (machine_code_seconds() - before)

    def _new_states(
        self,
        kind: type[_State],
        shape: StreamShape,
        columns: int,
        calibrates: bool = False,
    ) -> list[_State]:
        metrics = METRICS.load_all()
        return [
            kind(
                run,
                shape,
                columns,
                None,
                metrics,
                self._meter,
                self._exceeded.get(run.id),
                self._stream.names,
                calibrates,
            )
            for run in self.group.runs
        ]

    def _begin(self, shape: StreamShape, columns: int) -> Sequence[RunState]:
        """Return the states of the runs before the first row."""
        states = self._new_states(RunState, shape, columns, self.group.keeps_models)
        share_rows([state.learner for state in states if state.outcome == "ok"])
        if self._begins is not None:
            for state in states:
                state.begin_with(
                    self._begins.learner, self._begins.about.learner.entropy
                )
                state.calibrate_as(self._begins.probabilities)
        return states

    def pipeline(self, state: RunState) -> Pipeline:
        """Return the current transforms of a run."""
        return self._transforms.pipeline(state.fold)

    @property
    def ended(self) -> bool:
        """Whether all chunks have been fed."""
        return self.position == self.chunks

    def _started(self) -> Sequence[_Learns]:
        """Return what learns, alone or fused; first show coming rows to learners that want them."""
        if self._learning is None:
            # Rows are shown before learners are fused: `prepare` is a call to a single learner.
            if states := [state for state in self.states if state.looks_ahead]:
                self._show(states)
            self._learning = self._fused()
        return self._learning

    def _fused(self) -> Sequence[_Learns]:
        return fuse_runs(self.states)

    def _show(self, states: Sequence[RunState]) -> None:
        """Show learners that look ahead the coming rows, as transformed by the stream."""
        for folds in self._transforms.folds:  # once for all that see the same rows
            # Nothing of a label that is yet to come may be shown, not even through a transform.
            transforms = StreamTransforms(self._stream.pipeline, self.group.runs, 0)
            with self._reading():
                transform = transforms.rows_of(folds[0])
                rows = self._stream.sample(LOOK_AHEAD_ROWS, transform)
            for state in states:
                if state.fold in folds:
                    state.prepare(rows)

    def step(self, i: int) -> None:
        """Feed chunk number `i`, or its rest, to every run; chunks come in order, each once."""
        while self.position == i:
            self.advance()

    def advance(self) -> None:
        """Feed the next rows of one chunk, about a second of work, to every run."""
        learning = self._started()
        if self._chunk is None:
            with self._reading():
                # Later passes read the same chunks again, so the number wraps around.
                self._chunk = self._stream.untransformed(
                    self.position % len(self._stream)
                )
        chunk = self._chunk
        start_row = self.within
        stop = min(len(chunk), start_row + self._piece_rows(chunk))
        passed, number = divmod(self.position, len(self._stream))
        first = passed * self._stream.rows + self._stream.first_row(number)
        until_measurement = None
        if self._test is not None:
            until_measurement = self.group.runs[0].stream.scoring.rows_to_measurement(
                first + start_row
            )
        # The piece ends where a measurement is due: the test split needs the model of that row.
        if until_measurement is not None:
            stop = min(stop, start_row + until_measurement)
        available = len(chunk) - start_row
        stop = start_row + self._batches.rows_to_take(
            first + start_row, stop - start_row, available
        )
        piece = chunk if (start_row, stop) == (0, len(chunk)) else chunk[start_row:stop]
        batches = self._batches.add(
            piece, first + start_row, (self.position, start_row)
        )
        if batches is not None:
            with self._reading():
                transformed = self._stream.pipeline.apply(batches)
                pieces = self._transforms.learn(
                    transformed, first + stop - len(batches)
                )
            for learner in learning:
                learner.step(pieces[learner.fold])
        if stop - start_row == until_measurement:
            self._measure()
        self._count_rows(piece)
        self.within = stop
        if stop == len(chunk):
            self.position = self.position + 1
            self.within = 0
            self._chunk = None

    @property
    def resumes_at(self) -> tuple[int, int]:
        """The chunk, and the row within it, from which on a saved `state` is fed.

        Rows that wait for the end of their batch are read again.
        """
        return self._batches.begin or (self.position, self.within)

    def _piece_rows(self, chunk: Chunk) -> int:
        """Return how many rows like those of `chunk` take `PIECE_NUMBERS` in all runs, at least 1.

        Rows that become dense are limited to a small amount of memory.
        """
        pipeline = self._stream.pipeline
        values = values_of(chunk.X) / max(1, len(chunk))
        columns, values = self._transforms.size_after(
            *pipeline.size_after(chunk.columns, values)
        )
        costs = (
            state.row_numbers(columns, self._classes_of_stream, values)
            for state in self.states
        )
        # Runs that have failed cost nothing, and a broken estimate must not stop the stream.
        cost = sum(cost for cost in costs if isfinite(cost))
        affordable = int(PIECE_NUMBERS / max(1.0, cost))
        return min(pipeline.block_rows(chunk), max(1, affordable))

    def _measure(self) -> None:
        """Predict the test split with the current models."""
        assert self._test is not None
        first = 0
        self.scoring = (0, self._test.rows * len(self.states))
        for rows in self._test.blocks():
            rows_of = self._transforms.apply(rows)
            for state in self.states:
                state.hold_out(rows_of[state.fold], first)
            first += len(rows)
            self._count_scored(rows)
        self.scoring = (0, 0)

    def _count_scored(self, rows: Chunk) -> None:
        scored, total = self.scoring
        self.scoring = scored + len(rows) * len(self.states), total
        self.on_scored()

    def _count_rows(self, chunk: Chunk) -> None:
        self.rows += len(chunk) * len(self.states)

    def error(self) -> float:
        """Return the mean error of the runs so far, for progress reports only."""
        errors = [
            state.error()
            for state in self.states
            if state.outcome == "ok" and state.position
        ]
        # No run may be left, and progress still needs a number.
        if not errors:
            return 0.0
        return sum(errors) / len(errors)

    def errors(self) -> list[tuple[str, int, float]]:
        """Return id, rows learned and error (RMSE in a regression) so far of each run."""
        running = [
            state for state in self.states if state.outcome == "ok" and state.position
        ]
        return [(state.run.id, state.position, state.error()) for state in running]

    def failures(self) -> list[tuple[str, int]]:
        """Return id and rows learned of each run that has failed."""
        return [
            (state.run.id, state.position)
            for state in self.states
            if state.outcome != "ok"
        ]

    def finish(self) -> list[Record]:
        """Run the test split through the final models and return the records.

        Raises
        ------
        StoppedError
            If `leaving` returned true; the runs then stand at the end of the stream, as if no model
            had predicted a row.
        """
        self._close()
        machine_code = machine_code_seconds() - self._machine_code_before
        seconds = {
            "read_seconds": self._read_seconds,
            "machine_code_seconds": machine_code,
        }
        return [state.record(seconds) for state in self.states]

    @property
    def filled_bytes(self) -> int:
        """Size of the learners' states without blocks of zeros: what a checkpoint has to save."""
        return sum(state.filled_bytes for state in self.states)

    def state(self) -> Iterator[tuple[str, Array]]:
        """Yield the states of the runs as named plain arrays: ``<run id>/...`` and ``stream/...``.

        A learner's arrays are copied when requested, except for untouched parts, so that at most
        one copy exists at a time.
        """
        for learning in self._started():
            learning.release()
        position, within = self.resumes_at
        yield "stream/cut", np.array([self.chunks, position])
        if within:
            yield "stream/within", np.array([within])
        yield (
            "stream/rows",
            np.array([self.rows - self._batches.count * len(self.states)]),
        )
        yield "stream/read_seconds", np.array([self._read_seconds])
        for name, array in self._transforms.state().items():
            yield f"stream/{name}", array
        for run in self.states:
            for name, array in run.state().items():
                yield f"{run.run.id}/{name}", array

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue, before the first chunk, from a `state` of this group or of one with more runs.

        Raises
        ------
        ValueError, KeyError
            If the state does not belong to these runs on this stream, cut into these chunks.
        """
        # Bounds of chunks must agree: a position means nothing in a stream that is cut differently.
        chunks, position = (int(number) for number in state["stream/cut"])
        if chunks != self.chunks:
            raise ValueError(
                f"the stream had {chunks} chunks, now it has {self.chunks}"
            )
        for run_state in self.states:
            run_state.restore(part_of(state, f"{run_state.run.id}/"))
        self._transforms.restore(part_of(state, "stream/"))
        # Restored learners have seen the rows that they ask for, so `_started` must not show them.
        self._learning = self._fused()
        self._batches.clear()
        self.position = position
        self.within = 0
        if "stream/within" in state:
            self.within = int(state["stream/within"][0])
        self._read_seconds += float(state["stream/read_seconds"][0])
        runs = {name.partition("/")[0] for name in state} - {"stream"}
        # The state may be that of a larger group: count the rows of this group's runs only.
        fed = int(state["stream/rows"][0])
        self.rows = fed * len(self.states) // len(runs)

    def _close(self) -> None:
        for learning in self._started():
            learning.release()
        predictions = [] if self._test is None else [(self._test, RunState.test)]
        if self.group.runs[0].stream.scoring.predicts_again:
            predictions.append((self._stream, RunState.predict_again))
        if not predictions:
            return
        total = sum(stream.rows for stream, _ in predictions)
        self.scoring = (0, total * len(self.states))
        # Predictions abandoned halfway must not count, or the next attempt counts them twice.
        before = [state.counted() for state in self.states]
        try:
            for stream, count in predictions:
                self._predict(stream, count)
        except StoppedError:
            for state, counted in zip(self.states, before, strict=True):
                state.recount(counted)
            self.scoring = (0, 0)
            raise

    def _predict(
        self, stream: Stream, count: Callable[[RunState, Chunk], None]
    ) -> None:
        """Predict all rows of a stream with the final models."""
        for i in range(len(stream)):
            chunk = stream.untransformed(i)
            size = self._piece_rows(chunk)
            for start in range(0, len(chunk), size):
                rows = stream.pipeline.apply(chunk[start : start + size])
                pieces = self._transforms.apply(rows)
                for state in self.states:
                    count(state, pieces[state.fold])
                self._count_scored(rows)
                if self.leaving():
                    raise StoppedError("held-out rows are predicted another time", 0)


def stream_shape(dataset: Dataset, key: StreamKey, rows: int) -> StreamShape:
    """Return what is known before the first of the `rows` rows, over all passes, of a stream."""
    in_file_order = key.shuffle is None and key.part is None and key.passes == 1
    # Segments are ranges of rows in file order.
    segments = dataset.segments("train") if in_file_order else ()
    labels = tuple(dataset.classes or ())
    return StreamShape(
        rows,
        len(labels),
        tuple(segments),
        key.scoring,
        dataset.task,
        dataset.targets,
        labels=labels,
    )
