"""cluster/ssh.sh over real ssh: two daemons at loopback addresses are the hosts, in a file, with keys of their own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.clusters.conftest import ROOT, Work, free_port, records

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
missing = [
    name
    for name, there in {"sshd": SSHD, "ssh": shutil.which("ssh")}.items()
    if there is None
]

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        bool(missing),
        reason=f"this machine has no {', '.join(missing)} (Debian: openssh-server)",
    ),
]

_DAEMON = """
ListenAddress {address}:{port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
SetEnv TMPDIR={folder}
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
"""

_CLIENT = """
Host *
    Port {port}
    IdentityFile {folder}/user
    IdentitiesOnly yes
    StrictHostKeyChecking no
    UserKnownHostsFile {folder}/known
    LogLevel ERROR
Host node1
    HostName 127.0.0.2
Host node2
    HostName 127.0.0.3
"""


@dataclass(frozen=True)
class Hosts:
    """Two hosts as ssh knows them: `command` takes their names, `daemons` are the processes that answer."""

    folder: Path
    command: str
    daemons: list[subprocess.Popen[bytes]]

    def environment(self, work: Work) -> dict[str, str]:
        """Return what `ssh.sh` is to be told; hosts have nothing of it but what their own python reads."""
        python = self.folder / "python"
        python.write_text(f'#!/bin/sh\n. {work.venv}/bin/activate\nexec python "$@"\n')
        python.chmod(0o755)
        told = {
            "OLSCALE_REMOTE": self.command,
            "OLSCALE_HOST": "127.0.0.1",
            "OLSCALE_TLS": str(self.folder / "tls"),
        }
        return (
            work.environment
            | told
            | {"PYTHON": str(python), "TMPDIR": str(self.folder)}
        )


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Start two daemons that let the holder of one key in."""
    folder = tmp_path_factory.mktemp("ssh")
    port = free_port()
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name],
            check=True,
        )
    (folder / "client").write_text(_CLIENT.format(folder=folder, port=port))
    (folder / "hosts").write_text("# a remark\nnode1\nnode2 1\n")
    if os.geteuid() == 0:  # a folder that sshd of root wants, as the service makes it
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    daemons = []
    ssh = f"ssh -F {folder}/client -o BatchMode=yes"
    try:
        for number, host in enumerate(("node1", "node2")):
            (folder / host).write_text(
                _DAEMON.format(
                    folder=folder, address=f"127.0.0.{2 + number}", port=port
                )
            )
            daemons.append(
                subprocess.Popen(
                    [str(SSHD), "-D", "-E", f"{folder}/{host}.log", "-f", folder / host]
                )
            )
            deadline = time.monotonic() + 30
            while subprocess.run(
                [*ssh.split(), host, "true"], capture_output=True
            ).returncode:
                assert daemons[-1].poll() is None, (folder / f"{host}.log").read_text()
                assert time.monotonic() < deadline, (folder / f"{host}.log").read_text()
                time.sleep(0.1)
        yield Hosts(folder, ssh, daemons)
    finally:
        for daemon in daemons:
            daemon.terminate()
            daemon.wait(30)


def ancestors(pid: int) -> set[int]:
    """Return the processes that a process comes from."""
    found = set()
    while pid > 1:
        found.add(pid)
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return found


def of_folder(folder: Path) -> list[str]:
    """Return processes that scheduler and workers of `hosts` consist of."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            environment = (entry / "environ").read_bytes()
            words = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if b"python" in words and (
            str(folder).encode() in words or str(folder).encode() in environment
        ):
            found.append(words.replace(b"\0", b" ").decode())
    return found


def wait_until_gone(folder: Path) -> None:
    """On a busy machine workers take their time to end, and a host removes their folder after that."""
    deadline = time.monotonic() + 60
    while (
        left := [*of_folder(folder), *folder.glob("tmp*")]
    ) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert left == []


def start(hosts: Hosts, work: Work, store: str) -> subprocess.Popen[str]:
    words = [
        ROOT / "cluster/ssh.sh",
        hosts.folder / "hosts",
        "2",
        work.venv / "bin/olscale",
        "evaluate",
    ]
    words += [work.experiment, "--store", work.store(store), "--scheduler", "{}"]
    return subprocess.Popen(
        words,
        env=hosts.environment(work),
        cwd=work.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def begun(going: subprocess.Popen[str], work: Work) -> int:
    """Wait for a worker that has met a chunk, and return its process."""
    deadline = time.monotonic() + 200
    while not (found := list(work.folder.glob("begun-*"))):
        assert going.poll() is None, going.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return int(found[0].name.removeprefix("begun-"))


def test_workers_on_hosts_of_a_file_give_the_bytes_of_one_process(
    hosts: Hosts, work: Work
) -> None:
    """They come from the daemons, under the certificate, with Dask's settings; and nothing is left of them."""
    work.pause(0.05)
    going = start(hosts, work, "ssh")
    worker = begun(going, work)
    assert ancestors(worker) & {daemon.pid for daemon in hosts.daemons}
    settings = f"DASK_CONFIG={ROOT / 'olscale/execution'}\0"
    assert settings in Path(f"/proc/{worker}/environ").read_text()
    work.pause(0)
    said, _ = going.communicate(timeout=200)
    assert going.returncode == 0, said
    assert "1 of 1 runs computed" in said
    assert records(work.store("ssh")) == work.wanted
    wait_until_gone(hosts.folder)


def test_a_command_that_is_stopped_leaves_no_process_on_any_host_and_goes_on(
    hosts: Hosts, work: Work
) -> None:
    """By Ctrl-C, which a terminal sends to all processes, and by SIGTERM to the script alone."""
    store = work.store("ssh-again")
    for code in (130, 143):
        work.pause(0.3)
        going = start(hosts, work, "ssh-again")
        begun(going, work)
        deadline = time.monotonic() + 60
        while not list(store.glob("checkpoints/*/*.npz")):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        if code == 130:
            os.killpg(going.pid, signal.SIGINT)
        else:
            going.terminate()
        said, _ = going.communicate(timeout=100)
        assert going.returncode == code, said
        assert "saved" in said
        wait_until_gone(hosts.folder)
    work.pause(0)
    going = start(hosts, work, "ssh-again")
    said, _ = going.communicate(timeout=200)
    assert going.returncode == 0, said
    assert records(store) == work.wanted
    wait_until_gone(hosts.folder)
