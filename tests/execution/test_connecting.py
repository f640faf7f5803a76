"""Before anything runs: a cluster that starts late or not at all, learners that workers lack, ports that are taken."""

from __future__ import annotations

import asyncio
import io
import logging
import multiprocessing
import socket
import subprocess
import sys
import warnings
from collections.abc import AsyncIterator, Generator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from olscale.errors import ExecutionError, ExperimentError
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.execution import cluster
from olscale.execution.compatibility import (
    agree_on_learners,
    learner_modules,
    misfit,
    modules_of,
    software,
)
from olscale.execution.evaluate import evaluate
from olscale.execution.settings import ClusterOptions
from olscale.results.opening import open_store

MODULE = "from olscale.learners.linear.passive_aggressive import PA1\n\n\nclass Mine(PA1):\n    name = 'mine'\n"


def experiment(shelf: Path, name: str) -> Experiment:
    return parse_experiment(
        {
            "datasets": [{"path": str(shelf / "dense")}],
            "learners": [{"name": name}],
            "protocol": {"order": "time"},
        }
    )


class Starting:
    """A local cluster whose workers are killed while it starts, as often as it is told."""

    failures = 0
    made = 0

    def __init__(self, **options: Any) -> None:
        Starting.made += 1
        self.closed = False

    def __await__(self) -> Any:
        return self._start().__await__()

    async def _start(self) -> None:
        if Starting.made <= Starting.failures:
            raise RuntimeError("Nanny failed to start.")
        raise ValueError("it is up")  # as far as this test goes

    async def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("failures", "said"),
    [(2, "it is up"), (9, "of 2 workers did not start in 3 attempts")],
)
def test_a_local_cluster_whose_workers_are_killed_is_started_again(
    shelf: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failures: int,
    said: str,
) -> None:
    monkeypatch.setattr(Starting, "failures", failures)
    monkeypatch.setattr(Starting, "made", 0)
    monkeypatch.setattr(cluster, "LocalCluster", Starting)
    with pytest.raises((ExecutionError, ValueError), match=said) as caught:
        evaluate(experiment(shelf, "pa"), tmp_path / "store", workers=2)
    assert Starting.made == 3
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "store").exists()


def test_workers_within_a_daemon_process_are_refused(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python lets those of Dask and of multiprocessing.Pool have no children, however often Dask tries."""
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # type: ignore[attr-defined]
    with pytest.raises(
        ExecutionError, match=r"daemon process .* evaluate there with in_process=True"
    ):
        evaluate(experiment(shelf, "pa"), tmp_path / "store", workers=1)
    assert not (tmp_path / "store").exists()
    assert (
        evaluate(experiment(shelf, "pa"), tmp_path / "store", in_process=True).computed
        == 1
    )


def test_a_script_that_workers_would_run_as_a_whole_is_named(
    shelf: Path, tmp_path: Path
) -> None:
    """Each worker imports it, and would begin to evaluate in its turn: Python ends it."""
    lines = [
        "import olscale",
        f"rows = {{'path': {str(shelf / 'dense')!r}}}",
        "experiment = olscale.Experiment.model_validate({'datasets': [rows], 'learners': "
        "[{'name': 'pa1'}]})",
        f"olscale.evaluate(experiment, {str(tmp_path / 'store')!r}, workers=1)",
    ]
    (tmp_path / "script.py").write_text("\n".join(lines))
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py"], capture_output=True, text=True
    )
    assert (
        "workers import script.py, which is to evaluate below `if __name__ == '__main__':`;"
        in done.stderr.splitlines()[-1]
    )
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("given", ["experiment.toml", {"learners": []}])
def test_what_is_no_experiment_is_said_with_what_makes_one(
    tmp_path: Path, given: Any
) -> None:
    with pytest.raises(
        ExperimentError,
        match=f"experiment is a {type(given).__name__}, expected .*olscale.load_experiment",
    ):
        evaluate(given, tmp_path / "store", in_process=True)


def test_a_port_that_is_taken_is_one_line(shelf: Path, tmp_path: Path) -> None:
    with socket.socket() as taken, warnings.catch_warnings():
        warnings.simplefilter("error")
        # Dask leaves the socket that it tried to the garbage collector
        warnings.simplefilter("ignore", ResourceWarning)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            ExecutionError,
            match=f"port {port} of --dashboard 127.0.0.1:{port} is in use",
        ):
            evaluate(
                experiment(shelf, "pa"),
                tmp_path / "store",
                workers=1,
                dashboard=f"127.0.0.1:{port}",
            )


@pytest.mark.parametrize("debug", [False, True])
def test_logs_of_connections_stay_out_of_the_terminal(
    monkeypatch: pytest.MonkeyPatch, debug: bool
) -> None:
    if debug:
        monkeypatch.setenv("OLSCALE_DEBUG", "1")
    else:
        monkeypatch.delenv("OLSCALE_DEBUG", raising=False)
    out = io.StringIO()
    logger = logging.getLogger("distributed.client")
    handler = logging.StreamHandler(out)
    logger.addHandler(handler)
    try:
        with cluster._quiet():
            try:
                raise OSError("no https://me:S3CRET@host/rows.csv")
            except OSError:
                logger.exception(
                    "Compute Failed, args: %s", "https://host/rows.csv?sig=S3CRET"
                )
        assert bool(out.getvalue()) == debug
        assert "S3CRET" not in out.getvalue()
        logger.error("somebody else's")
        assert "somebody else's" in out.getvalue()
    finally:
        logger.removeHandler(handler)


class Client:
    """Runs functions on one worker, which has other modules."""

    def __init__(self, modules: dict[str, tuple[str, str]]) -> None:
        self.modules = modules

    async def run(
        self, function: Any, *arguments: Any, **options: Any
    ) -> dict[str, Any]:
        return {
            "tcp://w:1": self.modules if function is learner_modules else software()
        }


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "mine_here.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    return "mine_here:Mine"


LACKS = (
    "learner 'mine_here:Mine' cannot be imported (No module named 'mine_here'); expected "
    "module:Class that Python finds"
)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            ("", LACKS),
            r"worker tcp://w:1 cannot import learner 'mine_here:Mine' \(No module named 'mine_here'\); put its ",
        ),
        (
            ("0" * 64, ""),
            "worker tcp://w:1 has another source of learner 'mine_here:Mine' ",
        ),
    ],
)
def test_a_worker_that_lacks_a_learner_is_named_and_no_store_is_left(
    shelf: Path,
    tmp_path: Path,
    mine: str,
    monkeypatch: pytest.MonkeyPatch,
    answer: tuple[str, str],
    said: str,
) -> None:
    import asyncio

    @asynccontextmanager
    async def connect(where: Any, settings: object) -> AsyncIterator[Any]:
        yield Client({mine: answer})

    monkeypatch.setattr(cluster, "connect", connect)
    with pytest.raises(ExecutionError, match=said):
        evaluate(experiment(shelf, mine), tmp_path / "store", workers=1)
    assert not (tmp_path / "store").exists()
    open_store(tmp_path / "old", create=True)
    with pytest.raises(ExecutionError, match=said):
        evaluate(experiment(shelf, mine), tmp_path / "old", workers=1)
    assert (tmp_path / "old" / "store.json").exists()  # it was there before
    # one that joins later gets no work
    line = asyncio.run(misfit(Client({mine: answer}), "tcp://w:1", [mine]))
    assert line.startswith("worker tcp://w:1 ")


def test_a_worker_with_the_same_module_fits(mine: str) -> None:
    import asyncio

    client = Client(learner_modules([mine]))
    asyncio.run(agree_on_learners(client, [mine]))
    assert asyncio.run(misfit(client, "tcp://w:1", [mine])) == ""
    assert modules_of(["pa", mine, "lol", mine]) == (mine,)


class Slow:
    """A cluster or client that does not end in time, by a clock that runs fast."""

    workers: ClassVar[dict[str, Any]] = {}
    closed = 0

    def __init__(self, *arguments: Any, **options: Any) -> None:
        pass

    def __await__(self) -> Generator[Any, None, Any]:
        yield from asyncio.sleep(0).__await__()
        return self

    async def close(self) -> None:
        Slow.closed += 1
        raise TimeoutError


def test_a_cluster_that_does_not_end_in_time_is_no_fault_of_what_was_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def started(*arguments: Any) -> Slow:
        return Slow()

    async def done() -> str:
        async with cluster.connect(ClusterOptions(workers=1)):
            return "done"

    monkeypatch.setattr(cluster, "_started", started)
    monkeypatch.setattr(cluster, "_template", AsyncExitStack)
    monkeypatch.setattr(cluster, "Client", Slow)
    assert asyncio.run(done()) == "done"
    assert Slow.closed == 2
