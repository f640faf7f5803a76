"""The scripts in cluster/: nobody else can reach what they start, or write where they read."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

STUB = """#!/usr/bin/env bash
echo "$(basename "$0") $* | numba ${NUMBA_CACHE_DIR:-} | ca ${DASK_DISTRIBUTED__COMM__TLS__CA_FILE:-}" >>"$NOTES"
case "$(basename "$0")" in
srun) shift; exec "$@" ;;
dask) [ "$1" != worker ] || stat -c %a "${@: -1}" "$NUMBA_CACHE_DIR" | xargs echo modes >>"$NOTES" ;;
olscale) sleep 0.5 ;;
esac
"""


def test_workers_on_other_hosts_need_a_word_on_encryption() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OLSCALE_TLS"}
    done = subprocess.run(
        [str(ROOT / "cluster/ssh.sh"), "node1,node2", "1", "true"], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "set OLSCALE_TLS to a folder that all hosts have" in done.stderr


def slurm(folder: Path, **settings: str) -> list[str]:
    """Run the job script with stand-ins for all it starts; return what they were started with."""
    (folder / "bin").mkdir(parents=True)
    for name in ("python", "dask", "srun", "olscale"):
        (folder / "bin" / name).write_text(STUB)
        (folder / "bin" / name).chmod(0o755)
    (folder / "bin" / "activate").touch()
    (folder / "tmp").mkdir()
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("DASK_", "NUMBA_", "OLSCALE_"))
    }
    environment |= {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "OLSCALE_VENV": str(folder), "HOME": str(folder)}
    environment |= {"SLURM_JOB_ID": "7", "SLURM_CPUS_PER_TASK": "2", "SLURM_SUBMIT_DIR": str(folder)}
    environment |= {"TMPDIR": str(folder / "tmp"), "NOTES": str(folder / "notes"), **settings}
    done = subprocess.run(
        ["bash", str(ROOT / "cluster/slurm.sh"), "e.toml", "store"], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return (folder / "notes").read_text().splitlines()


def test_a_job_encrypts_and_listens_at_one_address(tmp_path: Path) -> None:
    notes = slurm(tmp_path / "on")
    folder = tmp_path / "on" / ".config/olscale/tls"
    assert any(note.startswith(f"python -m olscale.execution.tls {folder}") for note in notes)
    started = [note for note in notes if note.startswith(("dask scheduler", "dask worker", "olscale evaluate"))]
    assert len(started) == 3
    assert all(f"ca {folder}/cert.pem" in note for note in started)
    assert all(("tls" in note) and ("tcp://" not in note) for note in started)
    assert all("--dashboard-address 127.0.0.1:0" in note for note in started[:2] if note.startswith("dask"))
    assert any(re.match(r"dask scheduler --protocol tls --host \S+ --port \d+ ", note) for note in started)
    off = slurm(tmp_path / "off", OLSCALE_TLS="none")
    assert any("--scheduler tcp://" in note for note in off)


@pytest.mark.parametrize("taken", ["nothing", "a link", "open to all"])
def test_caches_and_scratch_of_a_job_are_its_owners_alone(tmp_path: Path, taken: str) -> None:
    """Where somebody else has put a folder at the place that anybody can guess, another is taken."""
    job = tmp_path / "job"
    guessed = job / "tmp" / f"olscale-numba-{os.getuid()}"
    trap = (
        f'mkdir -p "{tmp_path}/theirs"; '
        + {
            "nothing": ":",
            "a link": f'ln -s "{tmp_path}/theirs" "{guessed}"',
            "open to all": f'mkdir -m 777 "{guessed}"; chmod 777 "{guessed}"',
        }[taken]
    )
    (tmp_path / "trap.sh").write_text(trap)
    notes = slurm(job, BASH_ENV=str(tmp_path / "trap.sh"))
    [cache] = {note.split(" | numba ")[1].split(" | ")[0] for note in notes if note.startswith("olscale evaluate")}
    assert (cache == str(guessed)) == (taken == "nothing")
    assert cache.startswith(str(job / "tmp"))
    assert [note for note in notes if note.startswith("modes")] == ["modes 700 700"]
