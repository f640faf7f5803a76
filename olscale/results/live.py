r"""The live journal of an evaluation: what it is doing now, as lines of JSON in ``STORE/live/``.

::

    STORE/live/<when>-<host>-<pid>-<random>.<part>.jsonl

The process that drives the evaluation writes it (`olscale.execution.journal`), terminals, notebooks
and pages read it (`LiveReader`); no result depends on it, and it may be deleted at any time. A line
is an object with the seconds since 1970 as ``t`` and one or more of

- ``begin``: host, process id and version of the writer;
- ``start``: name and runs of what begins, how many are in the store, its run groups with what they
  cost, as ``held`` what it takes to predict held-out rows in the end, in row-passes of learning,
  and the seconds that all is expected to take, 0 where that is unknown; which runs rest on what
  sees rows ahead, and those of references that predict later than is counted;
- ``at``: group -> row-passes done, worker, bytes of the worker's process;
- ``scored``: group -> row-passes of held-out rows that its models have predicted, and how many they
  are to predict;
- ``compiling``: group -> whether machine code is being made for it;
- ``errors``: run -> rows learned from and the error so far;
- ``notes``: lines for the user;
- ``ended``: run -> outcome;
- ``end``: how the evaluation ended.

A line ends with ``crc``, the CRC-32 of what stands before it; one with another is passed over. A
file without an ``end`` to which nothing was added for a minute is of a process that is gone.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from math import isfinite, nan
from time import time
from typing import Any

from olscale.results.pace import Pace, share_of_group
from olscale.results.store import Store
from olscale.system.interrupts import let_interrupt_out
from olscale.system.regular_file import open_regular

FOLDER = "live"
SILENT_SECONDS = 60.0
"""A journal to which nothing was added for so long is of a process that is gone."""

_MOST_NOTES = 50

# In the place of a position in a part of a journal that has a successor.
_READ_TO_ITS_END = -1


@dataclass(slots=True)
class LiveRun:
    """A run of an evaluation: what it is, and its error along the stream.

    `ahead` has seen rows before they are predicted; a run that is `late` predicts nothing by the
    first rows that count.
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

    @property
    def error(self) -> float:
        """Error so far; NaN before the first."""
        return self.errors[-1] if self.errors else nan


@dataclass(slots=True)
class LiveGroup:
    """A run group: what it costs and where it stands."""

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
        """Share of it that is done."""
        return share_of_group(
            self.rows,
            self.held,
            self.rows_done,
            (self.scored, self.to_score),
        )


@dataclass(slots=True)
class LiveEvaluation:
    """An evaluation as its journal has it.

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
    pace : Pace
        Of the work that is done, which gives the time left.
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
    pace: Pace = field(default_factory=Pace)

    def add(self, line: dict[str, Any]) -> None:
        """Take in a line of the journal."""
        self.heard = max(self.heard, float(line["t"]))
        if begin := line.get("begin"):
            self.began = float(line["t"])
            self.host = str(begin["host"])
            self.pid = _count(begin["pid"])
            self.version = str(begin["version"])
        if start := line.get("start"):
            self._start(start)
        self._add_groups(line)
        for run, (rows, error) in line.get("errors", {}).items():
            self._add_error(run, _count(rows), float(error))
        self.notes += map(str, line.get("notes", ()))
        del self.notes[:-_MOST_NOTES]
        for run, outcome in line.get("ended", {}).items():
            self.done += 1
            self.failed += outcome != "ok"
            if run in self.runs:
                self.runs[run].outcome = str(outcome)
        self.end = str(line.get("end", self.end))

    def _start(self, start: dict[str, Any]) -> None:
        self.name = str(start["name"])
        self.total = _count(start["runs"])
        self.done = _count(start["done"])
        self.failed = 0
        expected = float(start.get("seconds", 0.0))
        self.pace = Pace(expected if isfinite(expected) else 0.0)
        held = start.get("held", {})
        self.groups = {}
        for name, (rows, cost, runs) in start["groups"].items():
            group = LiveGroup(name, _count(rows), float(cost), tuple(runs))
            group.held = _count(held.get(name, 0))
            self.groups[name] = group
        # A line has each setting once, and runs say which is theirs.
        settings = [(str(learner), dict(params)) for learner, params in start["settings"]]
        self.runs = {}
        for run, (setting, dataset, stream, metric) in start["of"].items():
            learner, params = settings[setting]
            self.runs[run] = LiveRun(
                run,
                str(dataset),
                learner,
                params,
                str(stream),
                str(metric),
            )
        kinds = [tuple(map(str, kind)) for kind in start.get("kinds", ())]
        for run, kind in start.get("ahead", {}).items():
            self.runs[run].ahead = kinds[kind]
        for run in start.get("late", ()):
            self.runs[run].late = True

    def _add_groups(self, line: dict[str, Any]) -> None:
        for name, (rows, worker, memory) in line.get("at", {}).items():
            if name not in self.groups:  # half of a group whose workers died
                self.groups[name] = LiveGroup(name, _count(rows), 0.0, ())
            group = self.groups[name]
            group.rows_done = _count(rows)
            group.memory = _count(memory)
            group.worker = str(worker)
            group.heard = self.heard
        for name, (scored, to_score) in line.get("scored", {}).items():
            if name in self.groups:
                self.groups[name].scored = _count(scored)
                self.groups[name].to_score = _count(to_score)
        for name, compiling in line.get("compiling", {}).items():
            if name in self.groups:
                self.groups[name].compiling = bool(compiling)
        if "at" in line:
            self.pace.step(self.share_done, self.heard)
            running = self._running()
            compiling = sum(group.compiling for group in running)
            self.pace.compiling(compiling / max(1, len(running)), self.heard)

    def _add_error(self, id: str, position: int, error: float) -> None:
        run = self.runs.get(id)
        # A run that has gone back to a checkpoint says again what it said before.
        if run is not None and (not run.rows or position > run.rows[-1]):
            run.rows.append(position)
            run.errors.append(error)

    def _running(self) -> list[LiveGroup]:
        return [group for group in self.groups.values() if group.going]

    def state(self, now: float | None = None) -> str:
        """Return ``"running"``, ``"silent"`` (its process is gone or cannot write), or its end."""
        if self.end:
            return self.end
        silence = (now or time()) - self.heard
        return "silent" if silence > SILENT_SECONDS else "running"

    @property
    def share_done(self) -> float:
        """Share of the work that is done; streams differ in what a row of them takes."""
        # A journal of before the first start has no costs, and rows at most.
        groups = self.groups.values()
        cost = sum(group.cost for group in groups)
        if cost:
            return min(
                1.0,
                sum(group.cost * group.share_done for group in groups) / cost,
            )
        rows = sum(group.rows for group in groups)
        if rows:
            return min(1.0, sum(group.rows_done for group in groups) / rows)
        return 1.0

    @property
    def seconds_left(self) -> float:
        """Time left at the speed so far; NaN while there is none."""
        return self.pace.seconds_left(self.heard)

    @property
    def rows_per_second(self) -> float:
        """Rows learned by a learner, per second without the time in which machine code is made."""
        seconds = self.pace.worked(self.heard)
        if not seconds:
            return 0.0
        return sum(group.rows_done for group in self.groups.values()) / seconds

    @property
    def compiling(self) -> bool:
        """Whether all groups at work make machine code."""
        running = self._running()
        return bool(running) and all(group.compiling for group in running)


# What a line raises that is no JSON, or not that of a journal.
_UNREADABLE = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)


class LiveReader:
    """Reads the journals of a store; each call reads only what was added since the last.

    Parameters
    ----------
    store : Store

    Examples
    --------
    >>> from olscale.results.store import open_store
    >>> LiveReader(open_store("memory://doctest-live", create=True)).read()
    []
    """

    def __init__(self, store: Store) -> None:
        self._files = store.files
        self._known: dict[str, LiveEvaluation] = {}
        self._read: dict[str, int] = {}

    def read(self) -> list[LiveEvaluation]:
        """Return the evaluations that have a journal, newest first, by all readable lines."""
        try:
            names = [name for name in self._files.names(FOLDER) if name.endswith(".jsonl")]
        except OSError:
            names = []
        # A journal that was away and is there again is read from its begin.
        self._read = {name: position for name, position in self._read.items() if name in names}
        journals = {journal_of(name) for name in names}
        for journal in self._known.keys() - journals:
            del self._known[journal]
        for journal, group in groupby(sorted(names), journal_of):
            parts = list(group)
            # Parts before the last that was read are never added to.
            for name in parts:
                self._read_part(journal, name, is_last=name == parts[-1])
        evaluations = [evaluation for evaluation in self._known.values() if evaluation.began]
        return sorted(
            evaluations,
            key=lambda one: (one.began, one.id),
            reverse=True,
        )

    def _read_part(self, journal: str, name: str, is_last: bool) -> None:
        position = self._read.get(name, 0)
        if position == _READ_TO_ITS_END:
            return
        data = self._added(name, position)
        lines = data[: data.rfind(b"\n") + 1]  # the last line may still be in the making
        evaluation = self._known.setdefault(journal, LiveEvaluation(journal))
        for line in lines.splitlines():
            try:
                evaluation.add(_line_content(line))
            except _UNREADABLE:  # of a power cut, or another version
                continue
        self._read[name] = position + len(lines) if is_last else _READ_TO_ITS_END

    def _added(self, name: str, start: int) -> bytes:
        """Return what a file has from a position on."""
        try:
            if self._files.local is None:
                return self._files.read(name)[start:]
            with open_regular(self._files.local / name) as file:
                file.seek(start)
                added: bytes = file.read()
                return added
        except Exception as fault:  # removed meanwhile, or the object store does not answer
            let_interrupt_out(fault)
            return b""


def line_bytes(content: Mapping[str, Any]) -> bytes:
    r"""Return a line of a journal, with its checksum.

    Examples
    --------
    >>> line_bytes({"t": 1.5, "end": "done"})
    b'{"t":1.5,"end":"done","crc":"7fd29d23"}\n'
    """
    text = json.dumps(content, separators=(",", ":")).encode()[:-1]
    return b'%b,"crc":"%08x"}\n' % (text, zlib.crc32(text))


_CHECKED = re.compile(rb'(.*),"crc":"([0-9a-f]{8})"\}', re.DOTALL)


def _line_content(line: bytes) -> dict[str, Any]:
    """Return what a line says; that it is damaged is a `ValueError`.

    Lines of earlier versions have no checksum.
    """
    checked = _CHECKED.fullmatch(line)
    if checked and checked[2] != b"%08x" % zlib.crc32(checked[1]):
        raise ValueError("its checksum is wrong")
    content: dict[str, Any] = json.loads(line)
    return content


def going_on(evaluations: list[LiveEvaluation], most: int = 3) -> list[LiveEvaluation]:
    """Return the evaluations that are running, or else the newest."""
    running = [evaluation for evaluation in evaluations if evaluation.state() == "running"]
    return (running or evaluations[:1])[:most]


def _count(value: Any) -> int:
    count = int(value)
    if not 0 <= count < 2**63:
        raise ValueError(f"{count} is no count")
    return count


def journal_of(name: str) -> str:
    """Return which journal a file is part of.

    Examples
    --------
    >>> journal_of("live/20261122T101500-node7-4711-3fa9.0001.jsonl")
    '20261122T101500-node7-4711-3fa9'
    """
    return name.rpartition("/")[2].rsplit(".", 2)[0]
