"""What the ways to run on many machines share: an experiment, its undisturbed bytes, and an environment to activate."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from olscale.data.generators import generate
from tests.record_bytes import record_bytes

ROOT = Path(__file__).parents[2]

_PACED = """
import os, time
from olscale.learners.linear.passive_aggressive import PA1

class Paced(PA1):
    "PA-I with a pause before each chunk, as long as a file says, which may change meanwhile."
    name = "paced"

    def learn(self, X, y):
        if len(y):
            open(os.path.join(os.path.dirname(__file__), f"begun-{os.getpid()}"), "w").close()
            time.sleep(float(open(os.path.join(os.path.dirname(__file__), "pause")).read()))
        return super().learn(X, y)
"""


@dataclass(frozen=True)
class Work:
    """An experiment in a folder of its own.

    Attributes
    ----------
    folder : Path
        Has the experiment and the learner's module; `venv` is the environment to activate.
    wanted : dict of str to bytes
        The records of an undisturbed evaluation in process.
    """

    folder: Path
    wanted: dict[str, bytes]

    @property
    def experiment(self) -> Path:
        return self.folder / "experiment.toml"

    @property
    def venv(self) -> Path:
        return self.folder / "venv"

    @property
    def environment(self) -> dict[str, str]:
        """What a shell has that has activated `venv`."""
        return {
            "PATH": f"{self.venv / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(self.folder)]),
            "HOME": str(self.folder),
            "NUMBA_CACHE_DIR": str(self.folder / "numba"),
            "OLSCALE_CHECKPOINT_SECONDS": "1",
        }

    def pause(self, seconds: float) -> None:
        """Let the learner wait before each chunk."""
        (self.folder / "pause").write_text(str(seconds))
        for file in self.folder.glob("begun-*"):
            file.unlink()

    def begun(self) -> bool:
        """Return whether any worker has met a chunk since the last call of `pause`."""
        return any(self.folder.glob("begun-*"))

    def store(self, name: str) -> Path:
        return self.folder / name


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def records(store: Path) -> dict[str, bytes]:
    """Return the records of a store, by run."""
    return record_bytes(store)


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory) -> Work:
    """Write an experiment of a stream, and evaluate it in process with the loops compiled once."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "paced.py").write_text(_PACED)
    generate("rotating-xor", folder / "xor", rows=6400, chunk_rows=64)
    path = folder / "experiment.toml"
    path.write_text(
        f'[protocol]\norder = "time"\n[[datasets]]\npath = "{folder / "xor"}"\n[[learners]]\nname '
        '= "paced:Paced"\n'
    )
    made = Work(folder, {})
    (made.venv / "bin").mkdir(parents=True)
    lines = "".join(
        f"export {name}='{value}'\n" for name, value in made.environment.items()
    )
    (made.venv / "bin" / "activate").write_text(lines)
    for name, words in (("python", ""), ("olscale", "-m olscale ")):
        script = made.venv / "bin" / name
        # Machine code is where the other tests have it, too, and not compiled once more.
        script.write_text(
            f'#!/bin/sh\nunset NUMBA_CACHE_DIR\nexec {sys.executable} {words}"$@"\n'
        )
        script.chmod(0o755)
    made.pause(0)
    words = [
        made.venv / "bin" / "olscale",
        "evaluate",
        path,
        "--store",
        folder / "wanted",
        "--in-process",
    ]
    subprocess.run(
        words, env=os.environ | made.environment, check=True, capture_output=True
    )
    made.wanted.update(records(folder / "wanted"))
    assert len(made.wanted) == 1
    return made
