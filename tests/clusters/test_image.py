"""The image, built to its end without a daemon, does the compose file's work: not as root, on a root that is read-only.

Where ``python:*-slim`` cannot be pulled, Debian with its python3, by debootstrap, stands in as
``BASE``. Its mirror and the package index must be reachable while it is built; what runs then has a
network of its own with nobody else in it. ``OLSCALE_IMAGES`` names a folder where base and image
are kept from one run of this test to the next.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.clusters.conftest import ROOT

PROGRAMS = ("buildah", "debootstrap", "unshare")
missing = [
    name
    for name in PROGRAMS
    if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") is None
]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(5400),
    pytest.mark.skipif(
        bool(missing),
        reason=f"this machine has no {', '.join(missing)} (Debian has them)",
    ),
    pytest.mark.skipif(
        os.geteuid() != 0,
        reason="to build and run an image without a daemon needs root",
    ),
]

CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")

# Root is a copy-free view that nobody can write to; user, path and variables are the image's.
_RUN = """
set -eu
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"
mount -t tmpfs tmpfs "$1/tmp" -o mode=1777
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount --bind "$2" "$1/data"
ip link set lo up
user=$3 root=$1
shift 3
exec chroot --userspec="$user" "$root" "$@"
"""


@dataclass(frozen=True)
class Image:
    """An image and a container of it, whose files are at `root`; `settings` are what its recipe says of processes."""

    root: Path
    settings: dict[str, object]

    def run(
        self, data: Path, *words: str, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the image, as a container that may write to /data and /tmp alone."""
        variables = [
            *map(str, self.settings["Env"]),
            *(f"{name}={value}" for name, value in more.items()),
        ]  # type: ignore[call-overload]
        inside = ["env", "-i", "-C", str(self.settings["WorkingDir"]), *variables]
        inside += [*map(str, self.settings["Entrypoint"]), *words]  # type: ignore[call-overload]
        outside = [
            "unshare",
            "--mount",
            "--net",
            "--pid",
            "--fork",
            "--kill-child",
            "sh",
            "-c",
            _RUN,
            "sh",
        ]
        outside += [str(self.root), str(data), str(self.settings["User"])]
        return subprocess.run(
            [*outside, *inside], capture_output=True, text=True, timeout=1200
        )


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    folder = Path(os.environ.get("OLSCALE_IMAGES") or tmp_path_factory.mktemp("images"))
    place = [
        "--root",
        str(folder / "containers"),
        "--runroot",
        str(folder / "run"),
        "--storage-driver",
        "vfs",
    ]

    def buildah(*words: str | Path) -> str:
        done = subprocess.run(
            ["buildah", *place, *map(str, words)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout.strip()

    names = buildah("images", "--format", "{{.Name}}").splitlines()
    if "localhost/base" not in names:
        words = [
            "debootstrap",
            "--variant=minbase",
            "--include=python3,python3-venv,ca-certificates",
        ]
        subprocess.run(
            [*words, "bookworm", folder / "debian"], check=True, capture_output=True
        )
        if CERTIFICATES.exists():  # of a proxy between us and the index
            shutil.copy(CERTIFICATES, folder / "debian" / CERTIFICATES.relative_to("/"))
            (folder / "debian/etc/pip.conf").write_text(
                f"[global]\ncert = {CERTIFICATES}\n"
            )
        container = buildah("from", "scratch")
        buildah("add", "-q", container, folder / "debian", "/")
        buildah("commit", "-q", "--rm", container, "localhost/base")
        shutil.rmtree(folder / "debian")
    if "localhost/olscale" not in names:
        recipe = ROOT / "cluster/image/Dockerfile"
        given = [
            "--isolation",
            "chroot",
            "--build-arg",
            "BASE=localhost/base",
            "--ignorefile",
            f"{recipe}.dockerignore",
        ]
        buildah("build", *given, "-t", "localhost/olscale", "-f", recipe, ROOT)
    container = buildah("from", "localhost/olscale")
    try:
        settings = json.loads(buildah("inspect", "--type", "container", container))[
            "OCIv1"
        ]["config"]
        yield Image(Path(buildah("mount", container)), settings)
    finally:
        buildah("rm", container)


def test_the_image_does_the_work_of_the_compose_file(
    image: Image, tmp_path: Path
) -> None:
    (tmp_path / "experiment.toml").write_text(
        (ROOT / "cluster/kubernetes/experiment.toml").read_text()
    )
    os.chown(tmp_path, 10001, 10001)
    facts = (
        "id -u; touch /opt/x /usr/x 2>&1 | grep -c 'Read-only'; command -v cc gcc || echo "
        "none; olscale --version"
    )
    done = image.run(tmp_path, "sh", "-c", facts)
    assert done.stdout.split() == ["10001", "2", "none", "olscale", "0.3.0"], (
        done.stderr
    )
    for name in ("digits", "breast_cancer"):
        done = image.run(
            tmp_path, "olscale", "ingest", f"sklearn:{name}", f"/data/{name}"
        )
        assert done.returncode == 0, done.stderr
    first = yaml.safe_load((ROOT / "cluster/compose.yaml").read_text())["services"][
        "first"
    ]
    words = [word.replace("/experiment/", "/data/") for word in first["command"]]
    told = first["environment"] | {
        "OLSCALE_MEET": "127.0.0.1:8786",
        "OLSCALE_HOST": "127.0.0.1",
    }
    done = image.run(tmp_path, *words, **told)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "120 of 120 runs computed" in done.stdout, done.stdout
    table = image.run(tmp_path, "olscale", "results", "/data/store").stdout
    promised = (
        (ROOT / "README.md")
        .read_text()
        .partition("```text\n")[2]
        .partition("\n\nCumulative error (%), time")[0]
    )
    assert table.strip() == promised.strip()
