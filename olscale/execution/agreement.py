"""Whether driver, scheduler and workers run the same software, under olscale's Dask settings; asked before any work."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import dask

import olscale
from olscale.errors import ExecutionError

__all__ = ["agree", "different_versions", "differing_settings", "settings", "sources"]

# What talks to each other, and what makes numbers. The scheduler needs the first three only.
_TALKS = ("python", "dask", "distributed")
_COUNTS = ("numpy", "scipy", "numba", "scikit-learn", "pyarrow", "olscale")
_MODULES = {"scikit-learn": "sklearn"}


@cache
def settings() -> dict[str, Any]:
    """Return the Dask settings that olscale ships (``olscale/execution/dask.yaml``)."""
    import yaml

    content: dict[str, Any] = yaml.safe_load(files("olscale.execution").joinpath("dask.yaml").read_text())
    return content


@cache
def sources() -> str:
    """Return a digest of this process's olscale: two checkouts of one version are told apart."""
    here = Path(olscale.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(here.rglob("*.py")):
        digest.update(path.relative_to(here).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


async def agree(client: Any) -> list[str]:
    """Check the cluster behind `client`; return a line for each setting that is not olscale's.

    Raises
    ------
    ExecutionError
        If a version differs between driver, scheduler and workers, or if a worker has other sources of olscale.
    """
    versions = await client.get_versions(check=False, packages=[_MODULES.get(name, name) for name in _COUNTS])
    differences = list(different_versions(versions))
    if not differences:
        here = sources()
        there = await client.run(sources)
        differences = [
            f"worker {worker} has other sources of olscale" for worker, digest in there.items() if digest != here
        ]
    if differences:
        more = f" (and {len(differences) - 1} more)" if len(differences) > 1 else ""
        raise ExecutionError(f"{differences[0]}{more}; give driver, scheduler and workers the same environment")
    found = {"scheduler": await client.run_on_scheduler(dask.config.get, "distributed")}
    found |= {f"worker {name}": config for name, config in (await client.run(dask.config.get, "distributed")).items()}
    return list(differing_settings(found))


def different_versions(versions: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each package whose version is not the driver's, from what `distributed.Client.get_versions` gives.

    Examples
    --------
    >>> ours = {"packages": {"python": "3.11.7.final.0", "dask": "2026.8.0", "distributed": "2026.8.0"}}
    >>> theirs = {"packages": {**ours["packages"], "dask": "2026.9.0"}}
    >>> list(different_versions({"client": ours, "scheduler": theirs, "workers": {}}))
    ['the scheduler has dask 2026.9.0, the driver 2026.8.0']
    """
    ours = versions["client"]["packages"]
    sides: list[tuple[str, Any, tuple[str, ...]]] = [("the scheduler", versions["scheduler"], _TALKS)]
    sides += [(f"worker {name}", worker, _TALKS + _COUNTS) for name, worker in versions["workers"].items()]
    for side, theirs, names in sides:
        for name in names:
            key = _MODULES.get(name, name)
            here, there = (_comparable(name, packages.get(key)) for packages in (ours, theirs["packages"]))
            if here != there:
                yield f"{side} has {name} {there}, the driver {here}" if there else f"{side} has no {name}"


def _comparable(name: str, version: str | None) -> str | None:
    """Return what of a version must agree: of Python, 3.11 and not 3.11.7."""
    return ".".join(version.split(".")[:2]) if version and name == "python" else version


def differing_settings(found: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each of olscale's settings that a process has otherwise; `found` has their ``distributed`` part."""
    for process, config in found.items():
        part = "scheduler" if process == "scheduler" else "worker"
        for name, wanted in _leaves({part: settings()["distributed"][part]}):
            value = dask.config.get(name, None, config=dict(config))
            if value != wanted:
                yield (
                    f"{process} runs with distributed.{name} = {value}, olscale's dask.yaml has {wanted}; start it with "
                    "DASK_CONFIG naming olscale's execution folder"
                )


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
