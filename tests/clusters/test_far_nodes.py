"""Nodes on hosts of their own that share nothing but a network: datasets and store are in s3://."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from olscale.data.generators import generate
from tests.cli.command import run
from tests.clusters.conftest import ROOT, Work, records
from tests.clusters.test_nodes import nodes, of_kubernetes
from tests.hosts import ADDRESSES, HERE, HOSTS, laid_out
from tests.record_bytes import record_bytes

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

_EXPERIMENT = """
[protocol]
permutations = 4
[[datasets]]
path = "{path}"
[[learners]]
name = "perceptron"
[[learners]]
name = "lol"
"""


def placed(text: str) -> str:
    """Put what the manifest finds on its volume into a bucket, and its names at our hosts."""
    return text.replace("/data", "s3://far").replace(
        "olscale-1-0.olscale", ADDRESSES[0]
    )


def test_nodes_on_two_hosts_leave_each_record_once_in_a_bucket(
    work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under the manifest's node, variables and certificate; the bytes are those of one process and a local folder."""
    server: Any = pytest.importorskip(
        "moto.server", reason="pip install 'olscale[dev]'"
    )
    s3fs = pytest.importorskip("s3fs", reason="pip install 'olscale[s3]'")
    # each request is slow to answer
    generate("rotating-xor", tmp_path / "xor", rows=640, chunk_rows=64)
    with laid_out():
        there = server.ThreadedMotoServer(ip_address=HERE, port=0, verbose=False)
        there.start()
        try:
            keys = {
                "AWS_ACCESS_KEY_ID": "a",
                "AWS_SECRET_ACCESS_KEY": "b",
                "AWS_DEFAULT_REGION": "us-east-1",
            }
            keys |= {
                "AWS_ENDPOINT_URL": f"http://{HERE}:{there.get_host_and_port()[1]}"
            }
            for name, value in keys.items():
                monkeypatch.setenv(name, value)
            files = s3fs.S3FileSystem(skip_instance_cache=True)
            files.mkdir("far")
            files.put(str(tmp_path / "xor"), "far/xor", recursive=True)
            evaluate(work, tmp_path, keys)
            got = record_bytes("s3://far/store")
        finally:
            there.stop()
            # Other tests of this process have a server elsewhere.
            s3fs.S3FileSystem.clear_instance_cache()
    (tmp_path / "near.toml").write_text(_EXPERIMENT.format(path=tmp_path / "xor"))
    near = run(
        "evaluate", tmp_path / "near.toml", "--store", tmp_path / "near", "--in-process"
    )
    assert near.returncode == 0, near.stderr
    assert got == records(tmp_path / "near")
    assert len(got) == 8


def evaluate(work: Work, folder: Path, keys: dict[str, str]) -> None:
    """Run an evaluation by the manifest's node, variables and certificate on both hosts."""
    words, given = of_kubernetes()
    (folder / "far.toml").write_text(_EXPERIMENT.format(path="s3://far/xor"))
    # A night's home is a folder of files; an experiment in its place has its store in the bucket.
    place = words.index("/experiment/job.toml")
    evaluation = ["evaluate", str(folder / "far.toml"), "--store", "s3://far/store"]
    command = [words[0], words[1], *evaluation, *words[place + 1 :]]
    own = {
        "OLSCALE_TLS": str(folder / "tls"),
        "OLSCALE_SCRATCH": str(folder),
        "OLSCALE_WORKERS": "1",
    }
    environment = (
        work.environment
        | {name: placed(value) for name, value in given.items()}
        | own
        | keys
    )
    environment |= {"TMPDIR": str(folder)}
    python = [work.venv / "bin/python", "-m", "olscale.execution.tls", folder / "tls"]
    subprocess.run(python, env=environment, check=True)
    on_host = folder / "on-host"  # each with an address of its own
    hosts = " ".join(HOSTS)
    addresses = " ".join(ADDRESSES)
    on_host.write_text(
        f"#!/bin/bash\nhosts=({hosts}) addresses=({addresses})\nexport "
        f"OLSCALE_HOST=${{addresses[$OLSCALE_NODE]}}\n"
        f'exec ip netns exec "${{hosts[$OLSCALE_NODE]}}" "$@"\n'
    )
    on_host.chmod(0o755)
    started = [str(on_host), str(ROOT / "cluster/node.sh"), *command[1:]]
    with nodes(
        started,
        environment | {"PATH": f"{environment['PATH']}{os.pathsep}/usr/sbin"},
        folder,
        2,
    ) as going:
        assert going[0].wait(400) == 0, (folder / "node-0.log").read_text()
    said = (folder / "node-0.log").read_text()
    assert "8 of 8 runs computed" in said
    assert "Traceback" not in said + (folder / "node-1.log").read_text()
