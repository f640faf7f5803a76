"""cluster/slurm.sh on a SLURM of two nodes: the end, the time limit, a preemption, a cancelled job, cron's environment."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clusters import slurm as slurms
from tests.clusters.conftest import ROOT, Work, records

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        bool(slurms.missing()), reason=slurms.missing() or "there is one"
    ),
]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[slurms.Slurm]:
    with slurms.running(tmp_path_factory.mktemp("slurm")) as found:
        yield found


def submit(
    slurm: slurms.Slurm, work: Work, name: str, *options: str
) -> tuple[str, Path]:
    """Submit the job script in the environment of cron; return the job and what it prints."""
    log = work.folder / f"{name}.log"
    words = [
        "env",
        f"OLSCALE_VENV={work.venv}",
        "sbatch",
        "--parsable",
        "--cpus-per-task=1",
        "--mem=1G",
    ]
    words += [*(options or ["--time=10"]), f"--output={log}", f"--chdir={work.folder}"]
    return slurm.call(
        *words, ROOT / "cluster" / "slurm.sh", work.experiment, work.store(name)
    ).strip(), log


def leftovers(work: Work) -> list[str]:
    """Return processes that belong to a job of `work`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            environment = (entry / "environ").read_bytes()
            words = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if f"OLSCALE_VENV={work.venv}".encode() in environment and words:
            found.append(words.replace(b"\0", b" ").decode())
    return found


def begin(slurm: slurms.Slurm, work: Work, job: str, log: Path, store: Path) -> None:
    """Wait until a worker is in the middle of the stream, past a checkpoint."""
    slurm.until(job, "RUNNING")
    deadline = time.monotonic() + 200
    while not (work.begun() and list(store.glob("checkpoints/*/*.npz"))):
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


def test_a_job_submitted_by_cron_ends_without_a_word_too_many(
    slurm: slurms.Slurm, work: Work
) -> None:
    work.pause(0)
    job, log = submit(slurm, work, "good")
    assert slurm.until(job, "COMPLETED", "FAILED") == "COMPLETED", log.read_text()
    assert records(work.store("good")) == work.wanted
    said = log.read_text()
    assert "1 of 1 runs computed" in said
    assert not [
        word
        for word in ("Traceback", "error:", "WARNING", "ERROR", "srun")
        if word in said
    ], said
    assert leftovers(work) == []
    assert not list(work.folder.glob(".cache/olscale/slurm-*"))


def test_a_cancelled_job_leaves_nothing_and_the_next_goes_on(
    slurm: slurms.Slurm, work: Work
) -> None:
    """It saves what goes on, and does not requeue itself."""
    work.pause(0.5)
    job, log = submit(slurm, work, "cancelled")
    begin(slurm, work, job, log, work.store("cancelled"))
    slurm.call("scancel", job)
    assert slurm.until(job, "CANCELLED", "PENDING", seconds=60) == "CANCELLED"
    deadline = time.monotonic() + 30
    while leftovers(work) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert leftovers(work) == []
    assert list(work.store("cancelled").glob("checkpoints/*/*.npz"))
    work.pause(0)
    job, log = submit(slurm, work, "cancelled")
    assert slurm.until(job, "COMPLETED", "FAILED") == "COMPLETED", log.read_text()
    assert records(work.store("cancelled")) == work.wanted


@pytest.mark.slow
def test_a_job_that_is_preempted_goes_on(slurm: slurms.Slurm, work: Work) -> None:
    work.pause(0.5)
    job, log = submit(slurm, work, "preempted")
    begin(slurm, work, job, log, work.store("preempted"))
    slurm.call("scontrol", "requeue", job)
    slurm.until(job, "PENDING")
    assert list(work.store("preempted").glob("checkpoints/*/*.npz"))
    work.pause(0)
    assert slurm.until(job, "COMPLETED", "FAILED", seconds=400) == "COMPLETED", (
        log.read_text()
    )
    assert records(work.store("preempted")) == work.wanted


@pytest.mark.slow
def test_a_job_requeues_itself_before_its_time_limit(
    slurm: slurms.Slurm, work: Work
) -> None:
    """The signal may come a minute early: SLURM looks once a minute."""
    work.pause(3.0)
    job, log = submit(slurm, work, "limit", "--time=2", "--signal=B:TERM@10")
    begin(slurm, work, job, log, work.store("limit"))
    slurm.until(job, "PENDING")
    said = log.read_text()
    assert "work in progress is saved" in said
    assert f"requeueing job {job}" in said
    saved = list(work.store("limit").glob("checkpoints/*/*.npz"))
    assert saved
    work.pause(0)
    assert slurm.until(job, "COMPLETED", "FAILED", seconds=400) == "COMPLETED", (
        log.read_text()
    )
    assert records(work.store("limit")) == work.wanted
