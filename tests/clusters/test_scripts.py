"""The scripts in cluster/: nobody else can reach what they start, or write where they read."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_hosts_of_a_file_have_the_workers_that_it_says(tmp_path: Path) -> None:
    """And the same as a list otherwise; here ssh is a stand-in that notes what it is to run, and where.

    Those of the file do not end with their scheduler, and are ended after ten seconds.
    """
    (tmp_path / "hosts").write_text("# a remark\nnode1\n\nnode2 8\n")
    remote = tmp_path / "remote"
    remote.write_text(
        f'#!/bin/sh\necho "$1 $$ $2" >>"{tmp_path}/notes"\nexec sleep "$STAY"\n'
    )
    remote.chmod(0o755)
    environment = os.environ | {
        "OLSCALE_REMOTE": str(remote),
        "OLSCALE_TLS": "none",
        "OLSCALE_HOST": "127.0.0.1",
    }
    for given, stay in ((str(tmp_path / "hosts"), "600"), ("node1,node2", "1")):
        words = [str(ROOT / "cluster/ssh.sh"), given, "3", "sleep", "1"]
        told = environment | {"PYTHON": sys.executable, "STAY": stay}
        subprocess.run(words, env=told, check=True, timeout=120)
    lines = (tmp_path / "notes").read_text().splitlines()
    found = sorted(
        (line.split()[0], int(line.split("--nworkers ")[1].split()[0]))
        for line in lines
    )
    assert found == [("node1", 3), ("node1", 3), ("node2", 3), ("node2", 8)]
    assert not [line for line in lines if Path("/proc", line.split()[1]).exists()]


STUB = """#!/usr/bin/env bash
echo "$(basename "$0") $* | numba ${NUMBA_CACHE_DIR:-} | ca ${DASK_DISTRIBUTED__COMM__TLS__CA_FILE:-}" >>"$NOTES"
case "$*" in
-c*) printf '/settings\\n2\\n1000000\\n' ;;
*dask_scheduler*) echo '{"address": "tls://127.0.0.1:99"}' >"${@: -1}"; sleep 60 & trap 'kill $!; exit' TERM; wait ;;
*dask_worker*) stat -c %a "${@: -1}" | xargs echo modes >>"$NOTES"; sleep 1 ;;
esac
"""


def test_workers_on_other_hosts_need_a_word_on_encryption() -> None:
    environment = {
        name: value for name, value in os.environ.items() if name != "OLSCALE_TLS"
    }
    done = subprocess.run(
        [str(ROOT / "cluster/ssh.sh"), "node1,node2", "1", "true"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "set OLSCALE_TLS to a folder that all hosts have" in done.stderr


def node(folder: Path, **settings: str) -> list[str]:
    """Be the first node, with stand-ins for all it starts; return what they were started with."""
    (folder / "bin").mkdir(parents=True)
    for name in ("python", "olscale"):
        (folder / "bin" / name).write_text(STUB)
        (folder / "bin" / name).chmod(0o755)
    (folder / "tmp").mkdir()
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("DASK_", "NUMBA_", "OLSCALE_", "PYTHON"))
    }
    environment |= {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "OLSCALE_NODE": "0",
    }
    environment |= {
        "OLSCALE_MEET": str(folder / "meet.json"),
        "OLSCALE_TLS": str(folder / "tls"),
    }
    environment |= {
        "TMPDIR": str(folder / "tmp"),
        "NOTES": str(folder / "notes"),
        **settings,
    }
    words = [str(ROOT / "cluster/node.sh"), "olscale", "evaluate", "--scheduler", "{}"]
    done = subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not (folder / "meet.json").exists()
    return (folder / "notes").read_text().splitlines()


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("OLSCALE_NODE", "set OLSCALE_NODE to the number of this node"),
        ("OLSCALE_MEET", "set OLSCALE_MEET to the NAME:PORT of the first node"),
        ("OLSCALE_TLS", "set OLSCALE_TLS to a folder that all nodes have"),
    ],
)
def test_a_node_says_in_one_line_what_it_must_be_told(missing: str, said: str) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "OLSCALE_NODE": "0",
        "OLSCALE_MEET": "a:1",
        "OLSCALE_TLS": "none",
    }
    environment.pop(missing)
    done = subprocess.run(
        [str(ROOT / "cluster/node.sh"), "true"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr


def test_the_first_node_encrypts_and_listens_at_one_address(tmp_path: Path) -> None:
    notes = node(tmp_path / "on")
    assert any(
        note.startswith(f"python -m olscale.execution.tls {tmp_path / 'on' / 'tls'}")
        for note in notes
    )
    started = [
        note
        for note in notes
        if "dask_scheduler" in note or "dask_worker" in note or "evaluate" in note
    ]
    assert len(started) == 3
    assert all(f"ca {tmp_path / 'on' / 'tls'}/cert.pem" in note for note in started)
    assert all(
        "--dashboard-address 127.0.0.1:0" in note
        for note in started
        if "distributed.cli" in note
    )
    assert any(
        re.search(r"dask_scheduler --protocol tls --host \S+ --port 0 ", note)
        for note in started
    )
    assert any("evaluate --scheduler tls://127.0.0.1:99 " in note for note in started)
    off = node(tmp_path / "off", OLSCALE_TLS="none")
    assert any("--protocol tcp " in note for note in off)
    assert not any(
        "tls " in note.partition("|")[0] for note in off if "evaluate" not in note
    )


@pytest.mark.parametrize("taken", ["nothing", "a link", "open to all"])
def test_caches_and_scratch_of_a_node_are_its_owners_alone(
    tmp_path: Path, taken: str
) -> None:
    """Where somebody else has put a folder at the place that anybody can guess, another is taken."""
    job = tmp_path / "job"
    guessed = job / "tmp" / f"olscale-numba-{os.getuid()}"
    trap = (
        f'mkdir -p "{tmp_path}/theirs"; '
        + {
            "nothing": ":",
            "a link": f'ln -sn "{tmp_path}/theirs" "{guessed}" 2>/dev/null || true',
            "open to all": f'mkdir -m 777 "{guessed}" 2>/dev/null; chmod 777 "{guessed}"',
        }[taken]
    )
    (tmp_path / "trap.sh").write_text(trap)
    notes = node(job, BASH_ENV=str(tmp_path / "trap.sh"))
    [cache] = {
        note.split(" | numba ")[1].split(" | ")[0]
        for note in notes
        if note.startswith("olscale evaluate")
    }
    assert (cache == str(guessed)) == (taken == "nothing")
    assert cache.startswith(str(job / "tmp"))
    assert [note for note in notes if note.startswith("modes")] == ["modes 700"]
