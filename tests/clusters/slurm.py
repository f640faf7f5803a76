"""A SLURM of two nodes on this machine, with accounts and ports of its own; Debian's packages are enough."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "srun", "scontrol")

_CONFIGURATION = """
ClusterName=olscale
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={port}
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
AuthInfo=socket={folder}/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
KillWait=10
SchedulerParameters=sched_interval=2
NodeName=n[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=2 RealMemory=4000
PartitionName=p Nodes=n[1-2] Default=YES State=UP
"""


@dataclass(frozen=True)
class Slurm:
    """What its commands need, and no more than cron gives them."""

    environment: dict[str, str]

    def call(self, *words: object) -> str:
        return subprocess.run(
            [str(word) for word in words],
            env=self.environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def state(self, job: str) -> str:
        """Return the state of a job; an empty one if it has left the queue."""
        return self.call(
            "squeue", "--noheader", "--states=all", "--job", job, "--format", "%T"
        ).strip()

    def until(self, job: str, *states: str, seconds: float = 200) -> str:
        """Wait until a job is in one of `states`."""
        deadline = time.monotonic() + seconds
        while (state := self.state(job)) not in states:
            assert time.monotonic() < deadline, f"job {job} is {state}"
            time.sleep(0.5)
        return state


def missing() -> str:
    """Return why there can be no SLURM here; an empty text if there can."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if absent:
        return (
            f"this machine has no {', '.join(absent)} (Debian: slurmctld, slurmd, "
            "slurm-client, munge)"
        )
    return "" if os.geteuid() == 0 else "a SLURM of one's own needs root"


@contextmanager
def running(folder: Path) -> Iterator[Slurm]:
    """Yield a SLURM that ends with the block."""
    port = random.randrange(20_000, 30_000)
    host = socket.gethostname().partition(".")[0]
    (folder / "state").mkdir()
    (folder / "key").write_bytes(random.randbytes(1024))
    (folder / "key").chmod(0o400)
    file = folder / "slurm.conf"
    file.write_text(
        _CONFIGURATION.format(
            host=host, folder=folder, port=port, first=port + 1, last=port + 2
        )
    )
    slurm = Slurm({"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SLURM_CONF": str(file)})
    said = folder / "munged"
    munged = [
        "munged",
        "--force",
        "--foreground",
        f"--socket={folder}/munge",
        f"--key-file={folder}/key",
    ]
    munged += [f"--{name}-file={said}.{name}" for name in ("log", "pid", "seed")]
    daemons = [
        munged,
        ["slurmctld", "-D"],
        ["slurmd", "-D", "-N", "n1"],
        ["slurmd", "-D", "-N", "n2"],
    ]
    going = []
    with (folder / "daemons.log").open("w") as log:
        try:
            for words in daemons:
                going.append(
                    subprocess.Popen(
                        words, env=slurm.environment, stdout=log, stderr=log
                    )
                )
                time.sleep(0.5)
            deadline = time.monotonic() + 60
            while _idle(slurm) < 2:
                assert time.monotonic() < deadline, (folder / "daemons.log").read_text()
                time.sleep(0.5)
            yield slurm
            slurm.call("scancel", "--user=root")
            while (
                slurm.call("squeue", "--noheader") and time.monotonic() < deadline + 60
            ):
                time.sleep(0.5)
        finally:
            for process in reversed(going):
                process.terminate()
            for process in reversed(going):
                process.wait(30)


def _idle(slurm: Slurm) -> int:
    done = subprocess.run(
        ["sinfo", "--noheader", "--Node", "--states=idle"],
        env=slurm.environment,
        capture_output=True,
        text=True,
    )
    return len(done.stdout.splitlines())
