"""A dashboard in a browser while an evaluation runs on workers and one of them is killed."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.data.ingest.ingest import ingest
from olscale.evaluation.experiment import parse_experiment
from olscale.execution.evaluate import evaluate
from olscale.execution.progress import LiveProgress
from olscale.execution.settings import ExecutionSettings
from olscale.report.dashboard_server import serve
from olscale.results import open_store
from olscale.results.live_reader import LiveReader
from tests.browser import CHROMIUM, Page, browser
from tests.cluster import Cluster

ROWS = 400
PERMUTATIONS = 8
RUNS = 2 * PERMUTATIONS
SECONDS_TO_NOTICE = 2.5
"""Until a worker that was killed is known to be gone, what it had done counts as in hand."""

SLOW = '''
import os
import time
import uuid

from olscale.learners.linear.passive_aggressive import PA1


class Slow(PA1):
    """Takes its time, and notes in which process it has learned how many rows."""

    name = "slow"

    def grid_key(self):
        return None

    def learn(self, X, y):
        scores = super().learn(X, y)
        if len(y):
            time.sleep(0.08)
            self.noted = getattr(self, "noted", None) or uuid.uuid4().hex
            with open({file!r}, "a") as file:
                file.write(f"{{os.getpid()}} {{self.noted}} {{len(y)}}\\n")
        return scores
'''


def learned(file: Path, killed: int = 0) -> float:
    """Return the share of all rows that are learned, without those that died with a process."""
    rows: dict[tuple[int, str], int] = defaultdict(int)
    for line in file.read_text().splitlines() if file.exists() else ():
        pid, learner, count = line.split()
        rows[int(pid), learner] += int(count)
    alive = [n for (pid, _), n in rows.items() if pid != killed or n == ROWS]
    return sum(alive) / (ROWS * RUNS)


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_an_evaluation_appears_moves_survives_a_worker_and_its_progress_is_true(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = tmp_path / "learned"
    monkeypatch.syspath_prepend(cluster.modules)
    (cluster.modules / "slow_learner.py").write_text(SLOW.format(file=str(notes)))
    X = np.random.default_rng(0).normal(size=(ROWS, 4))
    np.savez(tmp_path / "rows.npz", X=X, y=(X[:, 0] > 0).astype(int))
    ingest([str(tmp_path / "rows.npz")], str(tmp_path / "rows"), chunk_rows=64)
    experiment = parse_experiment(
        {
            "name": "slow",
            "datasets": [{"path": str(tmp_path / "rows")}],
            "learners": [
                {
                    "name": "slow_learner:Slow",
                    "params": {"C": C},
                    "label": f"<b>slow {C}</b>",
                }
                for C in (0.5, 1.0)
            ],
            "protocol": {"permutations": PERMUTATIONS},
        }
    )
    store = open_store(tmp_path / "store", create=True)
    settings = ExecutionSettings(report_seconds=0.1)

    def run() -> int:
        return evaluate(
            experiment,
            store,
            scheduler=cluster.scheduler,
            settings=settings,
            progress=LiveProgress(),
        ).computed

    async def watch() -> list[int]:
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        server = asyncio.create_task(serve([store], 0, ready=address.set_result))
        shown: list[int] = []
        async with browser() as page:
            await page.open(await address)
            assert "starts by itself" in await text(page)
            evaluation = asyncio.create_task(asyncio.to_thread(run))
            killed = 0
            when = 0.0
            while not evaluation.done():
                share = max(
                    (one.share_done for one in LiveReader(store).read()), default=0.0
                )
                bar = await page.run(
                    "document.querySelector('.live .bar')?.ariaValueNow ?? '0'"
                )
                done = re.search(r"(\d+) of \d+ runs", await text(page))
                assert done is None or int(done[1]) <= len(store.done())
                has_noticed = killed and time.monotonic() > when + SECONDS_TO_NOTICE
                true_share = learned(notes, killed if has_noticed else 0)
                assert share <= true_share + 0.01
                assert int(bar) <= 100 * learned(notes) + 1
                shown.append(int(bar))
                if not killed and learned(notes) > 0.25:
                    killed = int(notes.read_text().splitlines()[-1].split()[0])
                    when = time.monotonic()
                    os.kill(killed, signal.SIGKILL)
                await asyncio.sleep(0.1)
            assert killed
            assert await evaluation == RUNS
            for _ in range(60):
                if "slow: done" in await text(page):
                    break
                await asyncio.sleep(0.1)
            assert f"{RUNS} of {RUNS} runs" in await text(page)
            assert "<b>slow 0.5</b>" in await text(page)
            assert (
                await page.run("document.querySelectorAll('.live polyline').length")
                == 2
            )
            assert page.said == []
        server.cancel()
        return shown

    shown = asyncio.run(watch())
    assert len({bar for bar in shown if 0 < bar < 100}) >= 2, "the page moves by itself"


async def text(page: Page) -> Any:
    return await page.run("document.querySelector('.live').innerText")
