"""Scheduler and workers on hosts of their own, here network namespaces behind a bridge, and a link that is cut."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

from olscale.evaluation.experiment import load_experiment
from olscale.execution.evaluate import evaluate
from tests.execution.test_tls import ROOT, environment
from tests.hosts import HERE, HOSTS, ip, laid_out
from tests.record_bytes import record_bytes

pytestmark = pytest.mark.chaos


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[str]:
    """Return the program that runs a command on a host, as ssh does."""
    remote = tmp_path / "remote"
    remote.write_text('#!/bin/sh\nexec ip netns exec "$1" sh -c "$2"\n')
    remote.chmod(0o755)
    with laid_out():
        yield str(remote)


DAWDLER = """
import os, time
from pathlib import Path
from sklearn.linear_model import SGDClassifier

class Dawdler(SGDClassifier):
    def partial_fit(self, X, y, classes=None):
        if "DAWDLE" in os.environ:
            Path(os.environ["DAWDLE"], f"begun-{os.getpid()}").touch()
            time.sleep(0.03)
        return super().partial_fit(X, y, classes)
"""


def experiment(folder: Path, shelf: Path, order: str) -> Path:
    """Write an experiment whose learner dawdles, so that the link is cut in the midst of actors and tasks."""
    (folder / "dawdler.py").write_text(DAWDLER)
    path = folder / "experiment.toml"
    protocol = 'order = "time"' if order == "time" else "permutations = 3"
    path.write_text(
        f'[protocol]\n{protocol}\n[[datasets]]\npath = "{shelf / "dense"}"\n[[datasets]]\npath = '
        f'"{shelf / "sparse"}"\n'
        '[[learners]]\nname = "pa1"\n[[learners]]\nname = "lol"\n[[learners]]\nname = '
        '"dawdler:Dawdler"\n'
    )
    return path


@pytest.mark.parametrize(
    ("order", "seconds"), [("time", 30), ("permuted", 30), ("time", 75)]
)
def test_a_link_that_is_cut_and_restored_changes_no_byte(
    hosts: str,
    shelf: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    order: str,
    seconds: int,
) -> None:
    """For 30 s, which connections outlast, and for longer than a worker's silence is borne: it is given up then."""
    path = experiment(tmp_path, shelf, order)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    evaluate(load_experiment(str(path)), tmp_path / "calm", in_process=True)
    command = [
        sys.executable,
        "-m",
        "olscale",
        "evaluate",
        str(path),
        "--store",
        str(tmp_path / "store"),
    ]
    start = monotonic()
    running = subprocess.Popen(
        [
            str(ROOT / "cluster" / "ssh.sh"),
            ",".join(HOSTS),
            "1",
            *command,
            "--scheduler",
            "{}",
        ],
        env=environment()
        | {
            "OLSCALE_HOST": HERE,
            "OLSCALE_REMOTE": hosts,
            "OLSCALE_TLS": "none",
            "PYTHON": sys.executable,
        }
        | {"PYTHONPATH": f"{ROOT}:{tmp_path}", "DAWDLE": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while len(list(tmp_path.glob("begun-*"))) < len(HOSTS):
            assert running.poll() is None, running.communicate()[1]
            assert monotonic() - start < 120
            sleep(0.1)
        assert running.poll() is None
        ip("link", "set", HOSTS[0], "down")
        sleep(seconds)
        ip("link", "set", HOSTS[0], "up")
        out, errors = running.communicate(timeout=240)
    finally:
        running.terminate()
        running.wait(30)
    assert running.returncode == 0, errors
    assert "runs computed" in out
    assert record_bytes(tmp_path / "store") == record_bytes(tmp_path / "calm")
