"""What the manifests and the compose file start, as processes of this machine: the quick start's table, and its bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from tests.cli.command import run
from tests.clusters.conftest import ROOT, Work, free_port, records

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


def of_kubernetes() -> tuple[list[str], dict[str, str]]:
    """Return arguments and environment of a node, as the manifest has them."""
    text = (ROOT / "cluster/kubernetes/nightly.yaml").read_text()
    spec = yaml.safe_load(text)["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    [container] = spec["containers"]
    known = {
        "requests.cpu": container["resources"]["requests"]["cpu"],
        "JOB": "olscale-1",
    }
    environment = {}
    for entry in container["env"]:
        source = entry.get("valueFrom", {})
        key = source.get("resourceFieldRef", {}).get("resource", entry["name"])
        environment[entry["name"]] = entry["value"] if "value" in entry else known[key]
    return container["args"], {
        name: value.replace("$(JOB)", environment["JOB"])
        for name, value in environment.items()
    }


def of_compose() -> tuple[list[str], dict[str, str]]:
    """Return the same of a service of the compose file."""
    first = yaml.safe_load((ROOT / "cluster/compose.yaml").read_text())["services"][
        "first"
    ]
    return first["command"], first["environment"]


def placed(text: str, folder: Path, port: int) -> str:
    """Put what a container finds at fixed places into a folder, and its names at this machine."""
    for there, here in {
        "/data": folder / "data",
        "/experiment/": f"{folder}/",
        "/tls": folder / "tls",
    }.items():
        text = text.replace(there, str(here))
    for name in ("olscale-1-0.olscale", "first"):
        text = text.replace(f"{name}:8786", f"127.0.0.1:{port}")
    return text.replace("/scratch", str(folder))


@contextmanager
def nodes(
    words: list[str], environment: dict[str, str], folder: Path, count: int
) -> Iterator[list[Any]]:
    """Start nodes, and tell those that still go on to end, as a launcher does."""
    going = []
    try:
        for number in range(count):
            own = environment | {
                "OLSCALE_NODE": str(number),
                "OLSCALE_HOST": "127.0.0.1",
            }
            out = (folder / f"node-{number}.log").open("w")
            going.append(
                subprocess.Popen(
                    words, env=own, stdout=out, stderr=out, start_new_session=True
                )
            )
            out.close()
        yield going
        for node in going[1:]:
            node.terminate()
        for node in going:
            node.wait(60)
    finally:
        for node in going:
            # Dask's processes have groups of their own, in its session
            if node.poll() is None:
                for process in psutil.process_iter():
                    with suppress(psutil.Error, ProcessLookupError):
                        if os.getsid(process.pid) == node.pid:
                            process.kill()


def quiet(folder: Path, count: int) -> bool:
    return all(
        "Traceback" not in (folder / f"node-{number}.log").read_text()
        for number in range(count)
    )


@pytest.mark.parametrize(
    "kind", ["kubernetes", pytest.param("compose", marks=pytest.mark.slow)]
)
def test_the_nodes_of_a_manifest_print_the_quick_start_s_table(
    work: Work, tmp_path: Path, kind: str
) -> None:
    words, given = of_kubernetes() if kind == "kubernetes" else of_compose()
    port = free_port()
    tools = work.environment | {"TMPDIR": str(tmp_path)}
    for name in ("digits", "breast_cancer"):
        assert (
            run("ingest", f"sklearn:{name}", tmp_path / "data" / name).returncode == 0
        )
    experiment = (ROOT / "cluster/kubernetes/experiment.toml").read_text()
    (tmp_path / "experiment.toml").write_text(placed(experiment, tmp_path, port))
    job = (ROOT / "cluster/kubernetes/job.toml").read_text()
    (tmp_path / "job.toml").write_text(placed(job, tmp_path, port))
    subprocess.run(
        [work.venv / "bin" / "python", "-m", "olscale.execution.tls", tmp_path / "tls"],
        env=tools,
        check=True,
    )
    environment = tools | {
        name: placed(value, tmp_path, port) for name, value in given.items()
    }
    environment["OLSCALE_WORKERS"] = "1"  # of the four cores that the manifest asks for
    command = [placed(word, tmp_path, port) for word in words]
    assert command[0] == "node.sh"
    with nodes(
        [str(ROOT / "cluster/node.sh"), *command[1:]], environment, tmp_path, 2
    ) as going:
        assert going[0].wait(600) == 0, (tmp_path / "node-0.log").read_text()
    assert quiet(tmp_path, 2)
    [store] = [
        *(tmp_path / "data").glob("nights/nights/*/store"),
        *(tmp_path / "data").glob("store"),
    ]
    table = run("results", store).stdout
    promised = (
        (ROOT / "README.md")
        .read_text()
        .partition("```text\n")[2]
        .partition("\n\nCumulative error (%), time")[0]
    )
    assert table.strip() == promised.strip()
    here = run(
        "evaluate",
        tmp_path / "experiment.toml",
        "--store",
        tmp_path / "here",
        "--in-process",
    )
    assert here.returncode == 0, here.stderr
    assert records(store) == records(tmp_path / "here")


@pytest.mark.slow
def test_sixteen_workers_on_few_cores_leave_each_record_once(
    work: Work, tmp_path: Path
) -> None:
    """They take minutes to start where there are fewer cores than workers."""
    experiment = tmp_path / "experiment.toml"
    experiment.write_text(
        f'[protocol]\npermutations = 32\n[[datasets]]\npath = "{work.folder / "xor"}"\n'
        '[[learners]]\nname = "pa1"\n[[learners]]\nname = "lol"\n'
    )
    environment = work.environment | {
        "OLSCALE_WORKERS": "16",
        "OLSCALE_TLS": "none",
        "TMPDIR": str(tmp_path),
    }
    environment["OLSCALE_MEET"] = f"127.0.0.1:{free_port()}"
    words = [str(work.venv / "bin/olscale"), "evaluate", str(experiment), "--store"]
    subprocess.run(
        [*words, tmp_path / "here", "--in-process"],
        env=environment,
        check=True,
        capture_output=True,
    )
    command = [
        str(ROOT / "cluster/node.sh"),
        *words,
        str(tmp_path / "there"),
        "--scheduler",
        "{}",
    ]
    with nodes(command, environment, tmp_path, 1) as going:
        assert going[0].wait(800) == 0, (tmp_path / "node-0.log").read_text()
    assert quiet(tmp_path, 1)
    assert len(records(tmp_path / "there")) == 64
    assert records(tmp_path / "there") == records(tmp_path / "here")


@pytest.mark.parametrize("leaves", ["worker", "first"])
def test_a_node_that_is_taken_away_loses_a_checkpoint_interval_at_most(
    work: Work, tmp_path: Path, leaves: str
) -> None:
    """As spot machines are: SIGTERM to a node. Workers' work goes on elsewhere; the first saves and is started again."""
    work.pause(0.15)
    store = tmp_path / "store"
    environment = work.environment | {
        "OLSCALE_WORKERS": "1",
        "OLSCALE_TLS": "none",
        "TMPDIR": str(tmp_path),
    }
    environment["OLSCALE_MEET"] = f"127.0.0.1:{free_port()}"
    words = [
        str(ROOT / "cluster/node.sh"),
        "olscale",
        "evaluate",
        str(work.experiment),
        "--store",
        str(store),
    ]
    words += ["--scheduler", "{}"]
    with nodes(words, environment, tmp_path, 2) as going:
        deadline = time.monotonic() + 120
        while not (work.begun() and list(store.glob("checkpoints/*/*.npz"))):
            assert time.monotonic() < deadline, (tmp_path / "node-0.log").read_text()
            time.sleep(0.1)
        begun = [
            int(file.name.removeprefix("begun-"))
            for file in work.folder.glob("begun-*")
        ]
        session = os.getsid(begun[0])
        if leaves == "first":
            going[0].terminate()
            assert going[0].wait(90) == 143
            assert "saved" in (tmp_path / "node-0.log").read_text()
            own = environment | {"OLSCALE_NODE": "0", "OLSCALE_HOST": "127.0.0.1"}
            with (tmp_path / "node-0.log").open("w") as out:
                going[0] = subprocess.Popen(
                    words, env=own, stdout=out, stderr=out, start_new_session=True
                )
        elif session == going[1].pid:
            going[1].terminate()
            assert going[1].wait(60) == 143
        else:  # the worker of the first node has the stream: it alone
            os.kill(begun[0], signal.SIGTERM)
        work.pause(0)
        assert going[0].wait(200) == 0, (tmp_path / "node-0.log").read_text()
    assert "0 in the store" in (tmp_path / "node-0.log").read_text()
    assert records(store) == work.wanted
