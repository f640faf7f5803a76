"""A local cluster in a process of its own: tests share it, since starting one takes longer than what most run on it.

Killed workers come back. A test starts one of its own where its workers need another environment,
or starting is the point.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

_CODE = """
import asyncio
import sys

from olscale.execution.cluster import connect
from olscale.execution.settings import ClusterOptions


async def serve():
    async with connect(ClusterOptions(workers=int(sys.argv[1]))) as client:
        print(client.scheduler.address, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve())
"""


@dataclass(frozen=True)
class Cluster:
    """Where a cluster is reached, and a folder in which its workers find modules."""

    scheduler: str
    modules: Path


@contextmanager
def running(folder: Path, workers: int) -> Iterator[Cluster]:
    """Yield a cluster of this tree's olscale that has this process's environment, and ends with the block."""
    (folder / "modules").mkdir()
    # a file: workers are spawned, which imports it again
    (folder / "serve.py").write_text(_CODE)
    paths = [str(ROOT), str(folder / "modules")]
    # by the workers too: pipes would fill up
    said = folder / "said"
    errors = folder / "errors"
    with said.open("w") as out, errors.open("w") as err:
        process = subprocess.Popen(
            [sys.executable, str(folder / "serve.py"), str(workers)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=err,
        )
        try:
            while "\n" not in said.read_text():
                assert process.poll() is None, errors.read_text()
                time.sleep(0.05)
            yield Cluster(said.read_text().partition("\n")[0], folder / "modules")
            process.communicate(timeout=60)
        finally:
            process.kill()
            process.wait()
