"""Compaction in processes that are killed, and beside others that read and write."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from olscale.results import open_store
from olscale.results.compact import compact

PROCESS = """
import sys
from olscale.results import Record, compact as compaction, open_store, run_id
from olscale.results.compact import compact

def record(i):
    run = {"dataset": {"name": "d"}, "learner": {"name": "pa"}, "protocol": {"order": "permuted", "permutation": i}}
    return Record(run=run, id=run_id(run), metrics={"mistakes": i}, timings={"fit_seconds": i})

compaction.ROWS = 8
store = open_store(sys.argv[1], create=True)
"""


def start(store: Path, code: str) -> subprocess.Popen[str]:
    source = PROCESS + textwrap.dedent(code)
    return subprocess.Popen(
        [sys.executable, "-c", source, str(store)], stdout=subprocess.PIPE, text=True
    )


@pytest.mark.long
def test_compaction_killed_again_and_again_loses_nothing(tmp_path):
    """Real SIGKILLs at random moments, while a writer adds runs; then one compaction tidies up."""
    path = tmp_path / "store"
    writer = start(path, "for i in range(120): store.write(record(i))")
    rng = random.Random(0)
    deaths = 0
    while writer.poll() is None or deaths < 4:
        compactor = start(
            path, "print('ready', flush=True)\nwhile True: compact(store)"
        )
        assert compactor.stdout.readline() == "ready\n"
        time.sleep(rng.random() * 0.3)
        compactor.send_signal(signal.SIGKILL)
        deaths += compactor.wait() == -signal.SIGKILL
    assert writer.returncode == 0
    assert deaths >= 4

    store = open_store(path)
    mistakes = [
        dict(metrics)["mistakes"]
        for metrics in store.read(["metrics"])["metrics"].to_pylist()
    ]

    assert sorted(mistakes) == list(range(120))
    compact(store)
    assert len(store.done()) == store.read().num_rows == store.timings().num_rows == 120
    assert store.single_files("runs") == []


@pytest.mark.long
def test_readers_see_each_run_once_while_others_write_and_compact(tmp_path):
    path = tmp_path / "store"
    assert start(path, "for i in range(40): store.write(record(i))").wait(60) == 0
    stop = tmp_path / "stop"
    compactors = [
        start(
            path, f"import os\nwhile not os.path.exists({str(stop)!r}): compact(store)"
        )
        for _ in range(2)
    ]
    writer = start(path, "for i in range(40, 100): store.write(record(i))")
    store = open_store(path)
    reads = 0
    seen = 0
    while writer.poll() is None:
        ids = store.read(["id"])["id"].to_pylist()
        assert len(set(ids)) == len(ids) >= max(seen, 40)  # none twice, none gone
        done = store.done()
        assert done >= set(ids)
        seen = len(done)
        reads = reads + 1
    stop.touch()

    assert [process.wait(60) for process in (writer, *compactors)] == [0, 0, 0]
    assert reads > 3
    assert len(store.read(["id"])) == 100
