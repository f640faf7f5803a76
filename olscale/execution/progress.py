"""Live progress of an evaluation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isnan, nan
from time import monotonic
from types import MappingProxyType
from typing import NamedTuple, Protocol, runtime_checkable

from olscale.evaluation.run import Run
from olscale.execution.task_report import Stand
from olscale.learners.foresight import Foresight
from olscale.measures import figure_of, measure_of, metric_words
from olscale.results.pace import Pace, share_of_group

MOST_ERRORS = 3
"""Most datasets whose errors are shown next to each other."""


class Work(NamedTuple):
    """The size of a run group, or of a class shard.

    Attributes
    ----------
    rows : int
        Row-passes: one row learned by one learner is one.
    cost : float
        Relative time of these rows, in any unit.
    runs : tuple of Run
        Its runs.
    metric : str
        The displayed measure.
    held : int
        Cost of predicting the held-out rows at the end, in row-passes of learning.
    seconds : float
        Seconds that it adds to the evaluation, if similar runs have been timed; 0 if unknown.
    ahead : mapping of str to tuple of Foresight
        Parts of its runs that see rows before their turn, by run id.
    """

    rows: int
    cost: float
    runs: tuple[Run, ...] = ()
    metric: str = "cumulative_error"
    held: int = 0
    seconds: float = 0.0
    ahead: Mapping[str, tuple[Foresight, ...]] = MappingProxyType({})

    def share(self, rows: int, scoring: tuple[int, int]) -> float:
        """Return the share of it that is done."""
        return share_of_group(self.rows, self.held, rows, scoring)


class Progress(Protocol):
    """Receives progress events; the command line draws them."""

    def note(self, line: str) -> None:
        """Show a note to the user: a dataset is fetched, an optional part left out."""

    def start(self, name: str, runs: int, done: int, groups: Mapping[str, Work]) -> None:
        """Begin `name` with `runs` runs, of which `done` are stored.

        `groups` has the work to do, under the names that `advance` uses.
        """

    def advance(self, group: str, rows: int, error: float) -> None:
        """Report that stream `group` is at row-pass `rows` with this error (NaN: unknown)."""

    def finish(self, run: str, outcome: str) -> None:
        """Report that a run was written to the store."""


@runtime_checkable
class Detailed(Protocol):
    """A `Progress` that receives more details of groups."""

    def details(self, group: str, stand: Stand, worker: str) -> None:
        """Report where a group stands, on which worker; called after each `Progress.advance`."""


def tell(progress: Progress, group: str, stand: Stand, worker: str = "") -> None:
    """Report to `progress` where a group stands."""
    progress.advance(group, stand.rows, stand.error)
    if isinstance(progress, Detailed):
        progress.details(group, stand, worker)


class Silent:
    """Shows nothing."""

    def note(self, line: str) -> None:
        """Ignore."""

    def start(self, name: str, runs: int, done: int, groups: Mapping[str, Work]) -> None:
        """Ignore."""

    def advance(self, group: str, rows: int, error: float) -> None:
        """Ignore."""

    def finish(self, run: str, outcome: str) -> None:
        """Ignore."""


@dataclass
class Tally:
    """Sums up progress events.

    Attributes
    ----------
    runs, done, failed : int
        Runs in all, in the store, and with an outcome other than ``ok``.
    rows, rows_done : int
        Row-passes in all and done.
    errors : dict of str to float
        Mean error of the reported streams by dataset: the cumulative error, or the RMSE in a
        regression.
    """

    name: str = ""
    runs: int = 0
    done: int = 0
    failed: int = 0
    rows: int = 0
    rows_done: int = 0
    _groups: Mapping[str, Work] = field(default_factory=dict)
    _cost: float = 0.0
    _cost_done: float = 0.0
    _pace: Pace = field(default_factory=Pace)
    _shares: dict[str, float] = field(default_factory=dict)
    _scoring: dict[str, tuple[int, int]] = field(default_factory=dict)
    _compiling: dict[str, bool] = field(default_factory=dict)  # of running groups
    _sums: dict[str, tuple[float, int]] = field(default_factory=dict)
    _metrics: dict[str, str] = field(default_factory=dict)
    _streams: dict[str, tuple[int, float]] = field(default_factory=dict)

    def note(self, line: str) -> None:
        """Ignore."""

    def start(self, name: str, runs: int, done: int, groups: Mapping[str, Work]) -> None:
        """Begin counting."""
        self.name = name
        self.runs = runs
        self.done = done
        self.rows = sum(work.rows for work in groups.values())
        self._cost = sum(work.cost for work in groups.values())
        self.failed = self.rows_done = 0
        self._groups = groups
        self._cost_done = 0.0
        self._pace = Pace(sum(work.seconds for work in groups.values()))
        for counts in (self._sums, self._streams, self._shares, self._scoring, self._compiling):
            counts.clear()

    def advance(self, group: str, rows: int, error: float) -> None:
        """Note where a stream stands; the first report starts the clock, not the cluster."""
        before = self._streams.get(group, (0, nan))
        self._streams[group] = after = (rows, error)
        # Reports may go backwards, when a group continues from a checkpoint after a death.
        self.rows_done += rows - before[0]
        self._note_share(group)
        dataset = group.partition(", ")[0]  # the first word of a group's name
        if group in self._groups:
            self._metrics[dataset] = self._groups[group].metric
        # Replacing the earlier error keeps the mean at one entry per stream.
        for sign, (position, value) in ((-1, before), (1, after)):
            if position and not isnan(value):
                total, count = self._sums.get(dataset, (0.0, 0))
                self._sums[dataset] = total + sign * value, count + sign

    def details(self, group: str, stand: Stand, worker: str) -> None:
        """Note the progress of a group's models on held-out rows, and whether it compiles."""
        if stand.scoring[1] or group in self._scoring:
            self._scoring[group] = stand.scoring
            self._note_share(group)
        before = sum(self._compiling.values()), len(self._compiling)
        # Groups that only wait or have ended say nothing about compiling.
        if stand.compiling or 0.0 < self._shares.get(group, 0.0) < 1.0:
            self._compiling[group] = stand.compiling
        else:
            self._compiling.pop(group, None)
        if before != (after := (sum(self._compiling.values()), len(self._compiling))):
            self._pace.compiling(after[0] / max(1, after[1]), monotonic())

    def finish(self, run: str, outcome: str) -> None:
        """Count a run."""
        self.done += 1
        self.failed += outcome != "ok"

    def _note_share(self, group: str) -> None:
        before = self._shares.get(group, 0.0)
        rows = self._streams.get(group, (0, nan))[0]
        work = self._groups.get(group)
        if work is None:  # half of a group whose workers died: the mean suffices
            self._shares[group], cost = rows / max(1, self.rows), self._cost or self.rows
        else:
            self._shares[group] = work.share(rows, self._scoring.get(group, (0, 0)))
            cost = work.cost if self._cost else work.rows
        self._cost_done += (self._shares[group] - before) * cost
        self._pace.step(self.share_done, monotonic())

    @property
    def errors(self) -> dict[str, float]:
        """Mean error of the reported streams by dataset; a mean over datasets means nothing."""
        return {dataset: total / count for dataset, (total, count) in self._sums.items() if count}

    def errors_so_far(self) -> str:
        """Return the errors as text; empty without any, or with too many datasets for a line."""
        metrics = {
            dataset: self._metrics.get(dataset, "cumulative_error") for dataset in self.errors
        }
        units = {
            dataset: " %" if measure_of(metric).unit == "percent" else ""
            for dataset, metric in metrics.items()
        }
        shown = [
            f"{figure_of(metrics[name], error)}{units[name]}" for name, error in self.errors.items()
        ]
        if len(shown) > 1:
            shown = [f"{name} {text}" for name, text in zip(self.errors, shown, strict=True)]
        return ", ".join(shown) if len(shown) <= MOST_ERRORS else ""

    @property
    def error_words(self) -> str:
        """Name of the errors: error, or RMSE in a regression."""
        shown = self.errors or self._metrics
        words = {
            metric: metric_words(metric)
            for metric in (self._metrics.get(d, "cumulative_error") for d in shown)
        }
        return (
            " or ".join({**words, "cumulative_error": "error"}[metric] for metric in words)
            or "error"
        )

    @property
    def rows_per_second(self) -> float:
        """Row-passes per second, without the time of compiling."""
        return self.rows_done / max(self._pace.worked(monotonic()), 1e-9)

    @property
    def compiling(self) -> bool:
        """Whether machine code is being compiled and nothing else runs."""
        return bool(self._compiling) and all(self._compiling.values())

    @property
    def share_done(self) -> float:
        """Share of the work that is done; rows of different streams take different times."""
        total = self._cost or self.rows
        return min(1.0, self._cost_done / total) if total else 1.0

    @property
    def seconds_left(self) -> float:
        """Time left at this speed; NaN while unknown."""
        return self._pace.seconds_left(monotonic())

    @property
    def share_scored(self) -> float:
        """Share of held-out rows predicted by groups that predict them now; NaN without any."""
        unfinished = [(scored, total) for scored, total in self._scoring.values() if scored < total]
        return (
            sum(scored for scored, _ in unfinished) / sum(total for _, total in unfinished)
            if unfinished
            else nan
        )
