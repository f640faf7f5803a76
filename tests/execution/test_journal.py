"""The live journal: what it says is so, a reader takes what is added, and nothing depends on it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from time import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olscale.errors import StoppedError
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.evaluation.run import Run, StreamKey
from olscale.execution.evaluate import evaluate
from olscale.execution.evaluation import Background
from olscale.execution.journal import LiveJournal
from olscale.execution.progress import LiveProgress, Silent
from olscale.execution.settings import ExecutionSettings
from olscale.execution.shutdown import Stop
from olscale.execution.task_report import Stand
from olscale.execution.work import Work
from olscale.report.live_html import live_html
from olscale.report.live_text import live_text
from olscale.results.live import SILENT_SECONDS, LiveEvaluation
from olscale.results.live_reader import LiveReader, journal_of
from olscale.results.opening import open_store
from olscale.results.version import unmake

OFTEN = ExecutionSettings(report_seconds=0.0)


def two_learners(shelf: Path, **protocol: Any) -> Experiment:
    learners = [{"name": "perceptron"}, {"name": "pa1"}]
    return parse_experiment(
        {
            "datasets": [{"path": str(shelf / "dense")}],
            "learners": learners,
            "protocol": {"order": "time"} | protocol,
        }
    )


def test_errors_in_the_journal_are_those_of_the_records(
    shelf: Path, tmp_path: Path
) -> None:
    done = evaluate(
        two_learners(shelf), tmp_path / "store", in_process=True, settings=OFTEN
    )
    (live,) = LiveReader(done.store).read()
    assert (live.state(), live.total, live.done, live.failed, live.share_done) == (
        "done",
        2,
        2,
        0,
        1.0,
    )
    for run in live.runs.values():
        record = done.store.get(run.id)
        assert (run.learner, run.outcome) == (record.run["learner"]["name"], "ok")
        assert run.rows[-1] == 400
        at = np.searchsorted(record.curve_rows, run.rows)
        np.testing.assert_array_equal(
            run.errors, record.curve_mistakes[at] / np.array(run.rows)
        )


def test_an_evaluation_with_nothing_to_do_leaves_no_journal(
    shelf: Path, tmp_path: Path
) -> None:
    for _ in range(2):
        done = evaluate(two_learners(shelf), tmp_path / "store", in_process=True)
    assert len(LiveReader(done.store).read()) == 1


def test_of_a_store_that_was_taken_back_nothing_is_said(tmp_path: Path) -> None:
    """A new store without results is removed on the second Ctrl-C: there is no journal to miss."""
    said: list[str] = []

    class Notes(Silent):
        def note(self, line: str) -> None:
            said.append(line)

    store = open_store(tmp_path / "store", create=True)
    stream = StreamKey("dense", "f" * 64, (), None)
    work = {"g": Work(10, 1.0, (Run(stream, "pa1", 1, {}),))}
    journal = LiveJournal(store, Notes())
    journal.start("one", 1, 0, work)
    unmake(store.files)
    journal.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert (said, (tmp_path / "store").exists()) == ([], False)


def test_where_it_cannot_be_written_nothing_but_a_note_is_different(
    shelf: Path, tmp_path: Path
) -> None:
    class Notes(Silent):
        def __init__(self) -> None:
            self.lines: list[str] = []

        def note(self, line: str) -> None:
            self.lines.append(line)

    evaluate(two_learners(shelf), tmp_path / "whole", in_process=True)
    store = open_store(tmp_path / "store", create=True)
    notes = Notes()
    (tmp_path / "store" / "live").write_text("in the way")
    evaluate(two_learners(shelf), store.path, in_process=True, progress=notes)
    said = [line for line in notes.lines if "journal" in line]
    assert said == ["the live journal is not written any more: FileExistsError"]
    folders = [tmp_path / name / "compacted" / "runs" for name in ("store", "whole")]
    [files, expected] = [
        {path.name: path.read_bytes() for path in folder.iterdir()}
        for folder in folders
    ]
    assert files
    assert files == expected


def test_a_reader_takes_what_is_added_and_no_half_lines(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store", create=True)
    file = tmp_path / "store" / "live" / "20260101T000000-here-1-abcd.0001.jsonl"
    file.parent.mkdir()
    reader = LiveReader(store)
    now = time()
    start = {
        "name": "e",
        "runs": 1,
        "done": 0,
        "groups": {"g": [100, 5.0, ["r"]]},
        "settings": [["pa", {}]],
    }
    lines = [
        {
            "t": now,
            "begin": {"host": "here", "pid": 1, "version": "0"},
            "start": start | {"of": {"r": [0, "d", "s", "cumulative_error"]}},
        },
        {"t": now + 1, "at": {"g": [50, "w", 7]}, "errors": {"r": [50, 0.25]}},
    ]
    content = "".join(json.dumps(line) + "\n" for line in lines)
    file.write_text(content[:-5])
    (live,) = reader.read()
    assert live.share_done == 0.0
    assert live.state(now + SILENT_SECONDS - 1) == "running"
    assert live.state(now + SILENT_SECONDS + 1) == "silent"
    file.write_text(content)
    assert reader.read() == [live]
    assert (live.share_done, live.runs["r"].error, live.groups["g"].worker) == (
        0.5,
        0.25,
        "w",
    )
    file.unlink()
    assert reader.read() == []


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.dictionaries(
                st.sampled_from(
                    ["t", "begin", "start", "at", "errors", "notes", "ended", "end"]
                ),
                st.recursive(
                    st.none() | st.integers() | st.floats() | st.text(max_size=3),
                    lambda inner: (
                        st.lists(inner, max_size=3)
                        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
                    ),
                    # Fmt: skip.
                    max_leaves=6,
                ),
            ).map(lambda line: json.dumps(line).encode()),
        ),
        max_size=6,
    )
)
def test_no_journal_is_too_broken_to_be_read(lines: list[bytes]) -> None:
    store = open_store("memory://broken-journals", create=True)
    store.files.put(
        "live/20260101T000000-here-1-abcd.0001.jsonl", b"\n".join(lines) + b"\n"
    )
    for live in LiveReader(store).read():
        assert isinstance(live, LiveEvaluation)


WHOLE = [
    {"t": 1.0, "begin": {"host": "h", "pid": 1, "version": "0"}},
    {"t": 2.0, "start": {"name": "e", "runs": 1, "done": 0, "groups": {"g": [100, 5.0, ["r"]]},
                         "settings": [["pa", {"C": 1.0}]], "of": {"r": [0, "d", "s", "cumulative_error"]}}},
    {"t": 3.0, "at": {"g": [50, "w", 7]}, "errors": {"r": [50, 0.25]}, "notes": ["n"], "ended": {"r": "ok"}},
]  # fmt: skip


def _places(value: Any) -> list[tuple[Any, ...]]:
    """Return the paths to all values within `value`."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [(key, *rest) for key, below in inner for rest in ((), *_places(below))]


@pytest.mark.parametrize(
    "odd",
    [None, float("inf"), float("nan"), -5, 10**400, "<script>\x1b[1m", [], {}, True],
    ids=str,
)
def test_a_journal_with_one_odd_value_is_read_and_shown(odd: object) -> None:
    store = open_store("memory://odd-journal", create=True)
    for path in _places(WHOLE):
        lines = copy.deepcopy(WHOLE)
        at: Any = lines
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = odd
        text = (
            "\n".join(map(json.dumps, [*lines, {"t": 4.0, "errors": {"r": [60, 0.2]}}]))
            + "\n"
        )
        store.files.put("live/20260101T000000-here-1-abcd.0001.jsonl", text.encode())
        found = LiveReader(store).read()
        assert "<script>" not in live_html(found, now=5.0), path
        assert "\x1b" not in live_text(found, now=5.0), path


def test_a_line_without_end_is_left_out() -> None:
    store = open_store("memory://deep-journal", create=True)
    lines = [*map(json.dumps, WHOLE[:2]), "[" * 100_000, json.dumps(WHOLE[2])]
    store.files.put(
        "live/20260101T000000-here-1-abcd.0001.jsonl",
        ("\n".join(lines) + "\n").encode(),
    )
    assert LiveReader(store).read()[0].groups["g"].rows_done == 50


@pytest.mark.parametrize("where", ["local", "memory"])
def test_long_journals_are_read_whole(tmp_path: Path, where: str) -> None:
    """Of an object store in several parts."""
    store = open_store(
        str(tmp_path / "store") if where == "local" else "memory://long-journal",
        create=True,
    )
    work = {f"g{i}": Work(1000, 1.0, ()) for i in range(300)}
    reader = LiveReader(store)
    with LiveJournal(store, LiveProgress()) as journal:
        journal.start("many", 300, 0, work)
        for i in range(300):
            journal.note(f"{i} " + "x" * 2_000)
            journal._flush()
            if i % 100 == 0:
                reader.read()
            journal.finish(f"run {i}", "ok")
    (live,), (fresh,) = reader.read(), LiveReader(store).read()
    assert live.done == fresh.done == 300
    assert live.notes == fresh.notes
    assert live.state() == "done"
    parts = store.files.names("live")
    assert len(parts) == (1 if where == "local" else 3)
    assert {journal_of(name) for name in parts} == {journal.id}


def test_of_very_many_runs_fewer_positions_are_written(tmp_path: Path) -> None:
    """Of 2,500 runs eighty each, so that a journal of 10,000 runs has no more than 20 MB."""
    stream = StreamKey("dense", "f" * 64, (), None)
    runs = tuple(Run(stream, "pa1", 1, {"C": float(i)}) for i in range(2_500))
    store = open_store(tmp_path / "store", create=True)
    with LiveJournal(store, Silent()) as journal:
        journal.start("many", len(runs), 0, {"g": Work(1_000 * len(runs), 1.0, runs)})
        for rows in range(5, 1_001, 5):
            errors = tuple((run.id, rows, 0.5) for run in runs[:3])
            journal.details("g", Stand(rows * len(runs), 0.5, errors), "w")
            journal._flush()
    (live,) = LiveReader(store).read()
    assert [len(live.runs[run.id].rows) for run in runs[:4]] == [81, 81, 81, 0]
    assert live.runs[runs[0].id].rows[-1] == 1_000


def test_an_evaluation_in_the_background_is_waited_for_and_stopped(
    shelf: Path, tmp_path: Path
) -> None:
    job: Any = evaluate(
        two_learners(shelf), tmp_path / "store", in_process=True, background=True
    )
    assert job.wait().computed == 2
    assert not job.running

    def until_stopped(stop: Stop) -> Any:
        while not stop.asked:
            pass
        raise stop.error("saved")

    going = Background(until_stopped)
    assert going.running
    going.stop()
    with pytest.raises(StoppedError, match="SIGTERM: saved"):
        going.wait(10)
