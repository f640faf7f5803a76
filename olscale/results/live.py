r"""The live journal of an evaluation: what it is doing now, as lines of JSON in ``STORE/live/``, for whoever looks.

::

    STORE/live/<when>-<host>-<pid>-<random>.<part>.jsonl

The process that drives the evaluation writes it (`olscale.execution.journal`), terminals, notebooks
and pages read it (`LiveReader`); no result depends on it, and it may be deleted at any time. A line
is an object with the seconds since 1970 as ``t`` and one or more of

- ``begin``: host, process id and version of the writer;
- ``start``: name and runs of what begins, how many are in the store, its run groups with what they
  cost, as ``held`` what it takes to predict held-out rows in the end, in row-passes of learning,
  and the seconds that all is expected to take, 0 where nobody knows; which runs rest on what sees
  rows ahead, and those of references that predict later than is counted;
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
"""A journal to which nothing was added for so long is of a process that is gone; one that lives adds a line in time."""

_MOST_NOTES = 50


@dataclass(slots=True)
class LiveRun:
    """A run of which something was heard: what it is, and its error along the stream.

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
        return share_of_group(self.rows, self.held, self.rows_done, (self.scored, self.to_score))


@dataclass(slots=True)
class LiveEvaluation:
    """An evaluation as its journal tells of it.

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
        Of the work that is done, from which the time left is told.
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
            self.began, self.host, self.pid = (
                float(line["t"]),
                str(begin["host"]),
                _count(begin["pid"]),
            )
            self.version = str(begin["version"])
        if start := line.get("start"):
            self._start(start)
        for name, (rows, worker, memory) in line.get("at", {}).items():
            if (group := self.groups.get(name)) is None:  # half of a group whose workers died
                group = self.groups[name] = LiveGroup(name, _count(rows), 0.0, ())
            group.rows_done, group.memory = _count(rows), _count(memory)
            group.worker, group.heard = str(worker), self.heard
        for name, (scored, whole) in line.get("scored", {}).items():
            if (known_group := self.groups.get(name)) is not None:
                known_group.scored, known_group.to_score = _count(scored), _count(whole)
        for name, compiling in line.get("compiling", {}).items():
            if (known_group := self.groups.get(name)) is not None:
                known_group.compiling = bool(compiling)
        if "at" in line:
            self.pace.step(self.share_done, self.heard)
            going = [group for group in self.groups.values() if group.going]
            self.pace.compiling(
                sum(group.compiling for group in going) / max(1, len(going)), self.heard
            )
        for run, (rows, error) in line.get("errors", {}).items():
            position, value = _count(rows), float(error)
            if (known := self.runs.get(run)) is not None and (
                not known.rows or position > known.rows[-1]
            ):
                known.rows.append(position)
                known.errors.append(value)
        self.notes = [*self.notes, *map(str, line.get("notes", ()))][-_MOST_NOTES:]
        for run, outcome in line.get("ended", {}).items():
            self.done += 1
            self.failed += outcome != "ok"
            if run in self.runs:
                self.runs[run].outcome = str(outcome)
        self.end = str(line.get("end", self.end))

    def _start(self, start: dict[str, Any]) -> None:
        self.name, self.total = str(start["name"]), _count(start["runs"])
        self.done, self.failed = _count(start["done"]), 0
        expected = float(start.get("seconds", 0.0))
        self.pace = Pace(expected if isfinite(expected) else 0.0)
        held = start.get("held", {})
        self.groups = {
            name: LiveGroup(
                name, _count(rows), float(cost), tuple(runs), held=_count(held.get(name, 0))
            )
            for name, (rows, cost, runs) in start["groups"].items()
        }
        settings = [(str(learner), dict(params)) for learner, params in start["settings"]]
        self.runs = {
            run: LiveRun(
                run,
                str(dataset),
                settings[setting][0],
                settings[setting][1],
                str(stream),
                str(metric),
            )
            for run, (setting, dataset, stream, metric) in start["of"].items()
        }
        kinds = [tuple(map(str, kind)) for kind in start.get("kinds", ())]
        for run, kind in start.get("ahead", {}).items():
            self.runs[run].ahead = kinds[kind]
        for run in start.get("late", ()):
            self.runs[run].late = True

    def state(self, now: float | None = None) -> str:
        """Return ``"running"``, ``"silent"`` (its process is gone, or cannot write), or how it ended."""
        return self.end or (
            "silent" if (now or time()) - self.heard > SILENT_SECONDS else "running"
        )

    @property
    def share_done(self) -> float:
        """Share of the work that is done; streams differ in what a row of them takes."""
        groups = self.groups.values()
        whole = sum(group.cost for group in groups)
        if whole:
            return min(1.0, sum(group.cost * group.share_done for group in groups) / whole)
        rows = sum(group.rows for group in groups)
        return min(1.0, sum(group.rows_done for group in groups) / rows) if rows else 1.0

    @property
    def seconds_left(self) -> float:
        """Time left at the speed so far; NaN while there is none."""
        return self.pace.seconds_left(self.heard)

    @property
    def rows_per_second(self) -> float:
        """Row-passes a second, without the time in which machine code is made; one row learned by one learner is one."""
        seconds = self.pace.worked(self.heard)
        return sum(group.rows_done for group in self.groups.values()) / seconds if seconds else 0.0

    @property
    def compiling(self) -> bool:
        """Whether machine code is made, and nothing else goes on."""
        going = [group for group in self.groups.values() if group.going]
        return bool(going) and all(group.compiling for group in going)


_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError)
"""What a line raises that is no JSON, or not that of a journal: numbers without end and lists without end among them."""


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
        """Return the evaluations that have a journal, the newest first; what cannot be read is left out."""
        try:
            names = [name for name in self._files.names(FOLDER) if name.endswith(".jsonl")]
        except OSError:
            names = []
        # A journal that was away and is there again is read from its begin.
        self._read = {name: position for name, position in self._read.items() if name in names}
        there = {journal_of(name) for name in names}
        for gone in self._known.keys() - there:
            del self._known[gone]
        for journal, parts in groupby(sorted(names), journal_of):
            several = list(parts)
            # Parts before the last that was read are never added to.
            for name in several:
                self._take(journal, name, last=name == several[-1])
        found = [evaluation for evaluation in self._known.values() if evaluation.began]
        return sorted(found, key=lambda evaluation: (evaluation.began, evaluation.id), reverse=True)

    def _take(self, journal: str, name: str, last: bool) -> None:
        before = self._read.get(name, 0)
        if before < 0:
            return
        data = self._added(name, before)
        whole = data[: data.rfind(b"\n") + 1]  # the last line may still be in the making
        evaluation = self._known.setdefault(journal, LiveEvaluation(journal))
        for line in whole.splitlines():
            try:
                evaluation.add(_line_content(line))
            except _UNREADABLE:  # of a power cut, or another version
                continue
        self._read[name] = before + len(whole) if last else -1

    def _added(self, name: str, start: int) -> bytes:
        try:
            if self._files.local is not None:
                with open_regular(self._files.local / name) as file:
                    file.seek(start)
                    added: bytes = file.read()
                    return added
            return self._files.read(name)[start:]
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
    """Return what a line says; that it is damaged is a `ValueError`. Lines of earlier versions have no checksum."""
    checked = _CHECKED.fullmatch(line)
    if checked and checked[2] != b"%08x" % zlib.crc32(checked[1]):
        raise ValueError("its checksum is wrong")
    content: dict[str, Any] = json.loads(line)
    return content


def going_on(evaluations: list[LiveEvaluation], most: int = 3) -> list[LiveEvaluation]:
    """Return those evaluations that go on, or else the newest."""
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
