r"""The live journal of an evaluation: what it is doing now, as lines of JSON in ``STORE/live/``.

::

    STORE/live/<when>-<host>-<pid>-<random>.<part>.jsonl

The process that drives the evaluation writes it (`olscale.execution.journal`), terminals, notebooks
and pages read it (`olscale.results.live_reader`); no result depends on it, and it may be deleted at
any time. A line is an object with the seconds since 1970 as ``t`` and one or more of

- ``begin``: host, process id and version of the writer;
- ``start``: name and runs of what begins, how many are in the store, its run groups with what they
  cost, as ``costs`` what each of several runs of a group costs, as ``held`` what it takes to
  predict held-out rows in the end, in row-passes of learning, and as ``begun`` the row-passes that
  groups continue after; which runs rest on what sees rows ahead, and those of references that
  predict later than is counted;
- ``at``: group -> row-passes done, worker, bytes of the worker's process;
- ``scored``: group -> row-passes of held-out rows that its models have predicted, and how many they
  are to predict;
- ``compiling``: group -> whether machine code is being made for it;
- ``errors``: run -> rows learned from and the error so far;
- ``failed``: run -> rows learned from by a run that has failed, while its group continues;
- ``notes``: lines for the user;
- ``ended``: run -> outcome;
- ``end``: how the evaluation ended.

A line ends with ``crc``, the CRC-32 of what stands before it; one with another is passed over. A
file without an ``end`` to which nothing was added for a minute is of a process that is gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import nan
from statistics import fmean
from time import time
from typing import Any

SILENT_SECONDS = 60.0
"""A journal to which nothing was added for so long is of a process that is gone."""

COMPILING = "making machine code"
"""What is shown while nothing else is done, for seconds, once for each version of the sources."""

# Time left is proportional to time elapsed: paces that forget and speeds of pilot runs took 1,060
# lines and were no better where it mattered.
KNOWN_SHARE = 0.03
"""Share of the work that must be done here before the time left is known."""

_MOST_NOTES = 50


@dataclass(slots=True)
class LiveRun:
    """A run of an evaluation: what it is, and its error along the stream.

    `dataset` is the dataset's label or name, `label` that of the learner, if it has one.
    `ahead` has seen rows before they are predicted; a run that is `late` predicts nothing by the
    first rows that count. One that fails has learned from `failed_row` rows.
    """

    id: str
    dataset: str
    learner: str
    params: dict[str, Any]
    stream: str = ""
    metric: str = "cumulative_error"
    outcome: str = ""
    rows: list[int] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    ahead: tuple[str, ...] = ()
    late: bool = False
    failed_row: int | None = None
    label: str = ""

    @property
    def error(self) -> float:
        """Error so far; NaN before the first."""
        return self.errors[-1] if self.errors else nan


@dataclass(slots=True)
class LiveGroup:
    """A run group: what it costs and where it stands.

    `costs` has the cost of each of its runs. An earlier process has done `begun` of its row-passes.
    """

    name: str
    rows: int
    cost: float
    runs: tuple[str, ...]
    rows_done: int = 0
    worker: str = ""
    memory: int = 0
    heard: float = 0.0
    held: int = 0
    scored: int = 0
    to_score: int = 0
    compiling: bool = False
    costs: tuple[float, ...] = ()
    begun: int = 0

    @property
    def going(self) -> bool:
        """Whether it has begun and not ended."""
        return 0 < self.rows_done < self.rows or self.scoring or self.compiling

    @property
    def scoring(self) -> bool:
        """Whether its models predict held-out rows."""
        return self.scored < self.to_score

    @property
    def share_done(self) -> float:
        """Share of it that is done, by the time it takes.

        Examples
        --------
        >>> LiveGroup("g", 100, 1.0, (), rows_done=50, held=100).share_done
        0.25
        >>> LiveGroup("g", 100, 1.0, (), rows_done=100, held=100, scored=25, to_score=50).share_done
        0.75
        """
        passes = float(self.rows_done)
        # Models are scored along the stream, too; only the final ones are counted in `held`.
        if self.rows_done >= self.rows and self.to_score:
            passes += self.held * self.scored / self.to_score
        return self._share(passes)

    def run_costs(self) -> Iterator[tuple[str, float]]:
        """Return its runs with what each costs: equal parts, where nothing else is known."""
        runs = self.runs or ("",)
        return zip(
            runs, self.costs or (self.cost / len(runs),) * len(runs), strict=False
        )

    @property
    def share_begun(self) -> float:
        """Share of it that an earlier process has done."""
        return self._share(self.begun)

    def share_of_run(self, row: int) -> float:
        """Return the share of one of its runs that is done after `row` rows."""
        return self._share(row * len(self.runs))

    def _share(self, passes: float) -> float:
        work = self.rows + self.held
        return min(1.0, passes / work) if work else 0.0


@dataclass(slots=True)
class LiveEvaluation:
    """An evaluation as its journal has it: the one model that every view of progress draws.

    Attributes
    ----------
    id : str
        Name of the journal.
    name : str
        The experiment, or its tuning.
    total, done, failed : int
        Runs, those that have ended, and those of them with another outcome than ``ok``.
    began, heard : float
        Seconds since 1970 of its begin and of the last line.
    end : str
        How it ended; empty while it has not.
    runs, groups : dict
        By id and by name.
    worked : float
        Seconds since the first report of a group, but the time in which machine code is made.
    """

    id: str
    name: str = ""
    host: str = ""
    pid: int = 0
    version: str = ""
    total: int = 0
    done: int = 0
    failed: int = 0
    began: float = 0.0
    heard: float = 0.0
    end: str = ""
    runs: dict[str, LiveRun] = field(default_factory=dict)
    groups: dict[str, LiveGroup] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    worked: float = 0.0
    _running: set[str] = field(default_factory=set)
    _compiling: set[str] = field(default_factory=set)
    _has_reported: bool = False
    # Cost done here and seconds worked at the first report of learned rows.
    _first_step: tuple[float, float] | None = None

    def add(self, line: dict[str, Any]) -> None:
        """Take in a line of the journal."""
        time = float(line["t"])
        self._pass_time(time)
        self.heard = max(self.heard, time)
        if begin := line.get("begin"):
            self.began = time
            self.host = str(begin["host"])
            self.pid = _count(begin["pid"])
            self.version = str(begin["version"])
        if start := line.get("start"):
            self._start(start)
        self._add_groups(line)
        for run, (rows, error) in line.get("errors", {}).items():
            self._add_error(run, _count(rows), float(error))
        for run, row in line.get("failed", {}).items():
            if run in self.runs:
                self.runs[run].failed_row = _count(row)
        self.notes += map(str, line.get("notes", ()))
        del self.notes[:-_MOST_NOTES]
        for run, outcome in line.get("ended", {}).items():
            self.done += 1
            self.failed += outcome != "ok"
            if run in self.runs:
                self.runs[run].outcome = str(outcome)
        self.end = str(line.get("end", self.end))
        if self._first_step is None and any(
            at[0] for at in line.get("at", {}).values()
        ):
            self._note_first_step()

    def _start(self, start: dict[str, Any]) -> None:
        self.name = str(start["name"])
        self.total = _count(start["runs"])
        self.done = _count(start["done"])
        self.failed = 0
        self.worked = 0.0
        self._has_reported = False
        self._first_step = None
        self._running.clear()
        self._compiling.clear()
        held = start.get("held", {})
        costs = start.get("costs", {})
        begun = start.get("begun", {})
        self.groups = {}
        for name, (rows, cost, runs) in start["groups"].items():
            group = LiveGroup(name, _count(rows), float(cost), tuple(map(str, runs)))
            group.held = _count(held.get(name, 0))
            group.begun = _count(begun.get(name, 0))
            group.costs = tuple(map(float, costs.get(name, ())))
            self.groups[name] = group
        if not any(group.cost for group in self.groups.values()):
            for group in self.groups.values():
                group.cost = float(group.rows)
        # A line has each setting once, and runs say which is theirs.
        settings = [
            (str(learner), dict(params), "".join(map(str, label)))
            for learner, params, *label in start["settings"]
        ]
        self.runs = {}
        for run, (setting, dataset, stream, metric) in start["of"].items():
            learner, params, label = settings[setting]
            self.runs[run] = LiveRun(
                run,
                str(dataset),
                learner,
                params,
                str(stream),
                str(metric),
                label=label,
            )
        kinds = [tuple(map(str, kind)) for kind in start.get("kinds", ())]
        for run, kind in start.get("ahead", {}).items():
            self.runs[run].ahead = kinds[kind]
        for run in start.get("late", ()):
            self.runs[run].late = True

    def _add_groups(self, line: dict[str, Any]) -> None:
        changed = {}
        for name, (rows, worker, memory) in line.get("at", {}).items():
            if name not in self.groups:  # half of a group whose workers died
                self.groups[name] = LiveGroup(name, _count(rows), 0.0, ())
            group = self.groups[name]
            group.rows_done = _count(rows)
            group.memory = _count(memory)
            group.worker = str(worker)
            group.heard = self.heard
            changed[name] = group
        for name, (scored, to_score) in line.get("scored", {}).items():
            if name in self.groups:
                changed[name] = self.groups[name]
                changed[name].scored = _count(scored)
                changed[name].to_score = _count(to_score)
        for name, compiling in line.get("compiling", {}).items():
            if name in self.groups:
                changed[name] = self.groups[name]
                changed[name].compiling = bool(compiling)
        for name, group in changed.items():
            (self._running.add if group.going else self._running.discard)(name)
            (self._compiling.add if group.compiling else self._compiling.discard)(name)
        if changed:
            self._has_reported = True

    def _note_first_step(self) -> None:
        """Begin to measure the speed; what comes before the first rows would make it too low."""
        _, _, done_here = self._work()
        if done_here > 0.0:
            self._first_step = (done_here, self.worked)

    def _add_error(self, id: str, position: int, error: float) -> None:
        run = self.runs.get(id)
        # A run that has gone back to a checkpoint says again what it said before.
        if run is not None and (not run.rows or position > run.rows[-1]):
            run.rows.append(position)
            run.errors.append(error)

    def _pass_time(self, now: float) -> None:
        """Count the time since the last line as work, but the share of groups that compile."""
        if not self._has_reported:
            return
        # A longer silence is that of a machine that was suspended: nothing was done.
        seconds = min(max(0.0, now - self.heard), SILENT_SECONDS)
        if self._running:
            seconds *= 1.0 - len(self._compiling) / len(self._running)
        self.worked += seconds

    def _work(self) -> tuple[float, float, float]:
        """Return the estimated cost of the work, of what is done, and of what was done here."""
        total = 0.0
        done_cost = 0.0
        done_here = 0.0
        for group in self.groups.values():
            begun = group.share_begun
            # A group that has not reported yet continues from its checkpoint.
            share_of_group = max(begun, group.share_done)
            for id, cost in group.run_costs():
                run = self.runs.get(id)
                share = share_of_group
                if run is not None and run.outcome == "ok":
                    share = 1.0
                elif run is not None and (run.outcome or run.failed_row is not None):
                    # A run that has failed costs no more than what it had learned by then.
                    cost *= group.share_of_run(run.failed_row or 0)
                    share = 1.0
                total += cost
                done_cost += cost * share
                done_here += cost * (share - begun)
        return total, done_cost, done_here

    def state(self, now: float | None = None) -> str:
        """Return ``"running"``, ``"silent"`` (its process is gone or cannot write), or its end."""
        if self.end:
            return self.end
        silence = (now or time()) - self.heard
        return "silent" if silence > SILENT_SECONDS else "running"

    @property
    def share_done(self) -> float:
        """Share of the work done, by its estimated cost, with what runs in hand have learned."""
        total, done_cost, _ = self._work()
        if not total:
            return 1.0
        return max(0.0, min(1.0, done_cost / total))

    @property
    def seconds_left(self) -> float:
        """Time left, from the share of the work done here and its time; NaN while unknown."""
        total, done_cost, done_here = self._work()
        if done_cost >= total:
            return 0.0
        if self._first_step is None or self.compiling:
            return nan
        first_done, first_worked = self._first_step
        done_since = done_here - first_done
        if not done_since >= KNOWN_SHARE * total:
            return nan
        return (total - done_cost) / done_since * (self.worked - first_worked)

    @property
    def rows_done(self) -> int:
        """Rows learned, each by one learner."""
        return sum(group.rows_done for group in self.groups.values())

    @property
    def rows_per_second(self) -> float:
        """Rows learned here by a learner, per second without that of making machine code."""
        if not self.worked:
            return 0.0
        begun = sum(group.begun for group in self.groups.values())
        return max(0, self.rows_done - begun) / self.worked

    @property
    def compiling(self) -> bool:
        """Whether all groups at work make machine code."""
        return bool(self._running) and self._running == self._compiling

    @property
    def share_scored(self) -> float:
        """Share of held-out rows predicted by groups that predict them now; NaN without any."""
        scoring = [group for group in self.groups.values() if group.scoring]
        if not scoring:
            return nan
        return sum(group.scored for group in scoring) / sum(
            group.to_score for group in scoring
        )

    def errors(self) -> dict[str, tuple[str, float]]:
        """Return the measure and the mean error so far of the runs on each dataset."""
        last: dict[str, list[float]] = {}
        metrics: dict[str, str] = {}
        for run in self.runs.values():
            if run.errors and not run.late:
                last.setdefault(run.dataset, []).append(run.errors[-1])
                metrics[run.dataset] = run.metric
        return {name: (metrics[name], fmean(errors)) for name, errors in last.items()}


def going_on(evaluations: list[LiveEvaluation], most: int = 3) -> list[LiveEvaluation]:
    """Return the evaluations that are running, or else the newest."""
    running = [
        evaluation for evaluation in evaluations if evaluation.state() == "running"
    ]
    return (running or evaluations[:1])[:most]


def _count(value: Any) -> int:
    count = int(value)
    if not 0 <= count < 2**63:
        raise ValueError(f"{count} is no count")
    return count
