"""Live progress of an evaluation: its events make the lines of a journal, and these one model."""

import json
from collections.abc import Callable, Mapping
from math import isfinite
from time import time
from typing import Any, Protocol, TypeGuard

from olscale.addresses import redacted
from olscale.evaluation.run import Run
from olscale.execution.task_report import Stand
from olscale.execution.work import Work
from olscale.learners.foresight import is_counted_in_time
from olscale.results.live import LiveEvaluation

_POINTS = 200
_ALL_POINTS = 200_000
"""Most positions of the error that are kept per run, and for all runs together."""


class Progress(Protocol):
    """Receives progress events."""

    def note(self, line: str) -> None:
        """Show a note to the user: a dataset is fetched, an optional part left out."""

    def start(
        self, name: str, runs: int, done: int, groups: Mapping[str, Work]
    ) -> None:
        """Begin `name` with `runs` runs; `done` of them are stored.

        `groups` has the work to do, under the names that `advance` uses.
        """

    def advance(self, group: str, rows: int, error: float) -> None:
        """Report that stream `group` is at row-pass `rows` with this error (NaN: unknown)."""

    def finish(self, run: str, outcome: str) -> None:
        """Report that a run was written to the store."""


class Detailed(Protocol):
    """A `Progress` that receives more details of groups."""

    def details(self, group: str, stand: Stand, worker: str) -> None:
        """Report where a group stands, on which worker; called after each `Progress.advance`."""


class Display(Protocol):
    """A `Progress` that draws the evaluation; the command line has one."""

    def show(self, evaluation: LiveEvaluation) -> None:
        """Draw `evaluation`, if it is time to; called after each event."""


# Each event of an evaluation asks these, and a look at a name is a hundredth of `isinstance` with a
# protocol.


def _takes_details(progress: object) -> TypeGuard[Detailed]:
    return hasattr(progress, "details")


def _draws(progress: object) -> TypeGuard[Display]:
    return hasattr(progress, "show")


def tell(progress: Progress, group: str, stand: Stand, worker: str = "") -> None:
    """Report to `progress` where a group stands."""
    progress.advance(group, stand.rows, stand.error)
    if _takes_details(progress):
        progress.details(group, stand, worker)


class Silent:
    """Shows nothing."""

    def note(self, line: str) -> None:
        """Ignore."""

    def start(
        self, name: str, runs: int, done: int, groups: Mapping[str, Work]
    ) -> None:
        """Ignore."""

    def advance(self, group: str, rows: int, error: float) -> None:
        """Ignore."""

    def finish(self, run: str, outcome: str) -> None:
        """Ignore."""


class LiveProgress:
    """Keeps the live model of an evaluation up to date, and passes events on.

    Each event is the content of a journal line, so that a terminal shows what the readers of the
    journal see.

    Parameters
    ----------
    progress : Progress, optional
        Also receives the events, and draws the model if it is a `Display`.
    clock : callable, optional
        Returns the seconds since 1970.

    Attributes
    ----------
    evaluation : LiveEvaluation
    """

    def __init__(
        self, progress: Progress | None = None, clock: Callable[[], float] = time
    ) -> None:
        self.evaluation = LiveEvaluation("")
        self._progress = progress or Silent()
        self._clock = clock
        # Per run: rows of its last error, and the place of it among the positions.
        self._steps: dict[str, tuple[int, int]] = {}
        self._rows: dict[str, int] = {}
        self._points = _POINTS
        # Groups whose last event says that they predict held-out rows, or compile.
        self._scoring: set[str] = set()
        self._compiling: set[str] = set()
        self._failed: set[str] = set()

    def note(self, line: str) -> None:
        """Pass a line on."""
        self._progress.note(line)
        self._add({"notes": [redacted(line)]})

    def start(
        self, name: str, runs: int, done: int, groups: Mapping[str, Work]
    ) -> None:
        """Begin anew with these groups."""
        self._progress.start(name, runs, done, groups)
        self._rows = {
            run.id: max(1, work.rows // max(1, len(work.runs)))
            for work in groups.values()
            for run in work.runs
        }
        self._points = max(1, min(_POINTS, _ALL_POINTS // max(1, len(self._rows))))
        for kept in (self._steps, self._scoring, self._compiling, self._failed):
            kept.clear()
        self._add(
            {"start": {"name": name, "runs": runs, "done": done, **_content(groups)}}
        )

    def advance(self, group: str, rows: int, error: float) -> None:
        """Pass on where a group stands; `details` says more."""
        self._progress.advance(group, rows, error)

    def details(self, group: str, stand: Stand, worker: str) -> None:
        """Note where a group stands, on which worker, and the errors so far."""
        if _takes_details(self._progress):
            self._progress.details(group, stand, worker)
        content: dict[str, Any] = {"at": {group: [stand.rows, worker, stand.memory]}}
        if stand.scoring[1] or group in self._scoring:
            content["scored"] = {group: stand.scoring}
            (self._scoring.add if stand.scoring[1] else self._scoring.discard)(group)
        if stand.compiling or group in self._compiling:
            content["compiling"] = {group: stand.compiling}
            (self._compiling.add if stand.compiling else self._compiling.discard)(group)
        errors = {
            run: [rows, error]
            for run, rows, error in stand.errors
            if isfinite(error) and self._is_due(run, rows)
        }
        if errors:
            content["errors"] = errors
        if failed := {
            run: rows for run, rows in stand.failed if run not in self._failed
        }:
            content["failed"] = failed
            self._failed |= failed.keys()
        self._add(content)

    def finish(self, run: str, outcome: str) -> None:
        """Note that a run has ended."""
        self._progress.finish(run, outcome)
        self._add({"ended": {run: outcome}})

    def _add(self, content: dict[str, Any]) -> None:
        """Take in the content of a line."""
        self.evaluation.add({"t": self._clock(), **content})
        if _draws(self._progress):
            self._progress.show(self.evaluation)

    def _is_due(self, run: str, rows: int) -> bool:
        total = self._rows.get(run, 0)
        step = rows * self._points // total if total else rows
        if step <= self._steps.get(run, (0, -1))[1] and rows < total:
            return False
        self._steps[run] = rows, step
        return True


def _content(groups: Mapping[str, Work]) -> dict[str, Any]:
    """Return the journal's description of groups, with each setting of a learner once."""
    settings: dict[str, int] = {}
    of: dict[str, tuple[int, str, str, str]] = {}
    kinds: dict[tuple[str, ...], int] = {}
    ahead: dict[str, int] = {}
    uncounted: list[str] = []
    for work in groups.values():
        for run in work.runs:
            dataset, label = work.labels.get(run.id, (run.stream.dataset, run.learner))
            # Without a label a setting is as earlier versions read it.
            words = [
                run.learner,
                run.params,
                *([label] if label != run.learner else []),
            ]
            setting = json.dumps(words, sort_keys=True)
            number = settings.setdefault(setting, len(settings))
            of[run.id] = number, dataset, _stream(run), work.metric
            if names := tuple(
                foresight.name for foresight in work.ahead.get(run.id, ())
            ):
                ahead[run.id] = kinds.setdefault(names, len(kinds))
            if not is_counted_in_time(run.learner, run.stream.scoring.definition()):
                uncounted.append(run.id)
    return {
        "groups": {
            name: (work.rows, work.cost, [run.id for run in work.runs])
            for name, work in groups.items()
        },
        "costs": {
            name: work.costs for name, work in groups.items() if len(work.costs) > 1
        },
        "held": {name: work.held for name, work in groups.items() if work.held},
        "begun": {name: work.begun for name, work in groups.items() if work.begun},
        "settings": [json.loads(setting) for setting in settings],
        "of": of,
        "kinds": list(kinds),
        "ahead": ahead,
        "late": uncounted,
    }


def _stream(run: Run) -> str:
    """Return the name of the stream of its dataset that a run is on."""
    shuffle = run.stream.shuffle
    part = run.stream.part
    words = [] if shuffle is None else [f"permutation {shuffle.index}"]
    words += [] if part is None else [f"fold {part.fold}"]
    words += [] if run.fold is None else [f"model {run.fold}"]
    return ", ".join(words) or "time order"
