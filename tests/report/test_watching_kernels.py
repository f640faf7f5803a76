"""Evaluations seen from kernels of notebooks: their own, and those of other processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep, time
from typing import Any

import numpy as np
import pytest

import olscale
from olscale.report.live_html import live_html
from olscale.report.live_text import live_text
from olscale.results.live import SILENT_SECONDS
from olscale.results.live_reader import LiveReader
from olscale.results.opening import open_store

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")


class Kernel(nbclient.NotebookClient):  # type: ignore[misc]
    """Runs cells, and keeps what each later state of a display was."""

    def __init__(self, *cells: str) -> None:
        made = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell) for cell in cells]
        )
        super().__init__(made, timeout=300)
        self.updates: list[dict[str, str]] = []

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        if msg["msg_type"] == "update_display_data":
            self.updates.append(msg["content"]["data"])
        return super().process_message(msg, cell, cell_index)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    # seconds of work, so that there is something to see
    X = rng.normal(size=(200_000, 20))
    np.savez(folder / "rows.npz", X=X, y=(X[:, 0] * X[:, 1] > 0).astype(int))
    olscale.ingest([str(folder / "rows.npz")], str(folder / "d"))
    return folder / "d"


EXPERIMENT = """
import olscale
from olscale.execution.settings import ExecutionSettings
often = ExecutionSettings(report_seconds=0.1)
experiment = olscale.Experiment(
    name="seen", datasets=[{{"path": {rows!r}}}], protocol={{"permutations": 12}},
    learners=[{{"name": "bsgd", "params": {{"B": 300}}}}, {{"name": "pa1"}}])
"""


@pytest.mark.slow
def test_an_evaluation_on_workers_shows_itself_until_all_runs_are_done(
    rows: Path, tmp_path: Path
) -> None:
    start = EXPERIMENT.format(rows=str(rows))
    kernel = Kernel(
        start,
        f"olscale.evaluate(experiment, {str(tmp_path / 's')!r}, workers=2, settings=often);",
    )
    kernel.execute()
    outputs = kernel.nb.cells[1].outputs
    shown = [one["data"] for one in outputs if one["output_type"] == "display_data"]
    assert "<svg" in shown[0]["text/html"]
    assert "seen: done" in shown[0]["text/plain"]
    assert "24/24 runs" in shown[0]["text/plain"]
    assert len(kernel.updates) >= 3
    assert len({update["text/plain"] for update in kernel.updates}) >= 3
    for data in [*shown, *kernel.updates]:
        assert not any("widget" in kind for kind in data)
        assert "http" not in str(data)


def stood(texts: list[str]) -> list[str]:
    """Return how far the groups were in each text."""
    return [str(re.findall(r", (\d+ %|held-out rows \d+ %),", text)) for text in texts]


@pytest.mark.slow
def test_a_kernel_sees_what_another_process_does_also_after_a_new_start_and_who_is_killed_is_silent(
    rows: Path, tmp_path: Path
) -> None:
    store = str(tmp_path / "s")
    script = tmp_path / "job.py"
    call = f"olscale.evaluate(experiment, {store!r}, in_process=True, settings=often)"
    script.write_text(
        f"{EXPERIMENT.format(rows=str(rows))}\nfor _ in range(1000):\n    {call[:-1]}, "
        "force=True)\n"
    )
    job = subprocess.Popen(
        [sys.executable, str(script)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        deadline = time() + 120
        while not list((tmp_path / "s" / "live").glob("*.jsonl")) and time() < deadline:
            sleep(0.2)
        for _ in range(2):  # the second is a kernel that knows nothing of the first
            kernel = Kernel(
                "import olscale, time",
                f"view = olscale.watch({store!r})",
                "time.sleep(6)",
                "view.stop()",
            )
            kernel.execute()
            assert (
                kernel.nb.cells[1]
                .outputs[0]["data"]["text/plain"]
                .startswith("seen: running")
            )
            assert (
                len(set(stood([update["text/plain"] for update in kernel.updates])))
                >= 2
            ), "streams move"
    finally:
        job.send_signal(signal.SIGKILL)
        job.wait()
    seen = LiveReader(open_store(store)).read()
    last = max(one.heard for one in seen)
    assert last + SILENT_SECONDS <= time() + 60.0, (
        "no later than a minute after it was killed"
    )
    for words in (
        live_text(seen[:1], now=last + 61.0),
        live_html(seen[:1], now=last + 61.0),
    ):
        assert "silent for 1:01" in words
        assert "running" not in words
