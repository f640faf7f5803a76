"""``olscale cluster``."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from olscale.cli.command import Group
from olscale.cli.say import say, show

TEMPLATES = {
    "local": ("local.sh", "ssh.sh"),
    "ssh": ("ssh.sh", "hosts.example"),
    "node": ("node.sh",),
    "slurm": ("slurm.sh", "node.sh"),
    "systemd": (
        "systemd/olscale-evaluate@.service",
        "systemd/olscale-evaluate@.timer",
        "systemd/olscale-node.service",
        "systemd/node.env",
        "node.sh",
    ),
    "kubernetes": (
        "kubernetes/nightly.yaml",
        "kubernetes/daskjob.yaml",
        "kubernetes/data.yaml",
        "kubernetes/experiment.toml",
        "kubernetes/job.toml",
        "kubernetes/kustomization.yaml",
        "kubernetes/network.yaml",
        "kubernetes/volume.yaml",
    ),
    "compose": (
        "compose.yaml",
        "image/Dockerfile",
        "image/Dockerfile.dockerignore",
        "image/entry.sh",
    ),
}
"""Kind of cluster -> its files; the first is printed."""

_PACKAGE = Path(__file__).parents[1]
FOLDERS = (_PACKAGE / "cluster", _PACKAGE.parent / "cluster")
"""Where the files are: in an installed package, in a checkout."""


@click.group(cls=Group, short_help="Print scripts and manifests for clusters.")
def cluster() -> None:
    """Print scripts and manifests for clusters."""


@cluster.command(short_help="Print the files for one kind of cluster.")
@click.argument("kind", type=click.Choice(list(TEMPLATES)))
@click.option(
    "--out",
    metavar="FOLDER",
    help="Write all files of KIND into FOLDER, which keeps files that it has.",
)
def template(kind: str, out: str | None) -> None:
    """Print the main file for a KIND of cluster, or write all its files with --out.

    Edit them, and keep them with your experiments.
    """
    from olscale.errors import OlscaleError

    folder = next(folder for folder in FOLDERS if (folder / "local.sh").is_file())
    files = TEMPLATES[kind]
    if out is None:
        show((folder / files[0]).read_text(encoding="utf-8"))
        if others := ", ".join(files[1:]):
            say(f"it goes with {others}; --out FOLDER writes all of them", err=True)
        return
    target = Path(out)
    # All are looked at before the first is written: nothing is left half done, and
    # no edits are lost.
    if present := [name for name in files if (target / name).exists()]:
        raise OlscaleError(
            f"{target / present[0]} exists; expected a folder without it: move it, or name another"
        )
    try:
        for name in files:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(folder / name, target / name)
            say(f"{target / name}")
    except OSError as fault:
        raise OlscaleError(
            f"cannot write to {target}: {fault.strerror or fault}; expected a folder that can be "
            "written to: name another"
        ) from None
