"""Two hosts on a network with this machine: network namespaces behind a bridge, at addresses of our own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

BRIDGE = "olscale-br"
HERE = "10.77.0.1"
HOSTS = ("olscale-a", "olscale-b")
ADDRESSES = ("10.77.0.10", "10.77.0.11")


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def _take_down() -> None:
    hosts = [[kind, "del", host] for host in HOSTS for kind in ("link", "netns")]
    for words in [*hosts, ["link", "del", BRIDGE]]:
        subprocess.run(["ip", *words], capture_output=True)


@contextmanager
def laid_out() -> Iterator[None]:
    """Have the hosts until the block ends, or skip the test."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and the program ip")
    if subprocess.run(["ip", "netns", "add", HOSTS[0]], capture_output=True).returncode:
        pytest.skip("this machine allows no network namespaces")
    _take_down()
    try:
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("addr", "add", f"{HERE}/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        for host, address in zip(HOSTS, ADDRESSES, strict=True):
            ip("netns", "add", host)
            ip(
                "link",
                "add",
                host,
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                host,
            )
            ip("link", "set", host, "master", BRIDGE, "up")
            ip("-n", host, "addr", "add", f"{address}/24", "dev", "eth0")
            ip("-n", host, "link", "set", "eth0", "up")
            ip("-n", host, "link", "set", "lo", "up")
        yield
    finally:
        _take_down()
