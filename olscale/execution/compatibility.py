"""Checks, before any work, that driver, scheduler and workers have equal software and settings."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import dask

from olscale.errors import ExecutionError, one_line
from olscale.evaluation.versions import learner_versions
from olscale.learners.registry import is_ours
from olscale.system.source_digest import package_digest

# Packages that communicate or compute numbers. The scheduler needs the first three only.
_TALKS = ("python", "dask", "distributed")
_COUNTS = ("numpy", "scipy", "numba", "scikit-learn", "pyarrow", "olscale")
_MODULES = {"scikit-learn": "sklearn"}


@cache
def settings() -> dict[str, Any]:
    """Return the Dask settings that olscale ships (``olscale/execution/dask.yaml``)."""
    import yaml

    content: dict[str, Any] = yaml.safe_load(
        files("olscale.execution").joinpath("dask.yaml").read_text()
    )
    return content


async def agree(client: Any, learners: Sequence[str] = ()) -> list[str]:
    """Check the cluster behind `client`; return a line per setting that differs from olscale's.

    `learners` are those that workers must be able to import, as `modules_of` returns them.

    A worker that leaves meanwhile is skipped: its replacement is checked before it gets work
    (`misfit`).

    Raises
    ------
    ExecutionError
        If a version differs between driver, scheduler and workers, if a worker has different
        sources of olscale, or if the scheduler disappears.
    """
    try:
        versions = await client.get_versions(check=False, packages=_packages())
        differences = list(different_versions(versions))
        if not differences:
            # The scheduler may be far away: its answers are awaited together.
            digests, scheduler_settings, configs = await asyncio.gather(
                client.run(package_digest, on_error="return"),
                client.run_on_scheduler(dask.config.get, "distributed"),
                client.run(dask.config.get, "distributed", on_error="return"),
            )
            differences = [
                _other_sources(name)
                for name, digest in digests.items()
                if digest != package_digest() and _answered(digest)
            ]
        if differences:
            further = ""
            if len(differences) > 1:
                further = f" (and {len(differences) - 1} more)"
            raise ExecutionError(f"{differences[0]}{further}; {_SAME}")
        await agree_on_learners(client, learners)
    except (OSError, TimeoutError):
        raise ExecutionError(
            "the Dask scheduler went away; start it and run the same command again"
        ) from None
    settings_of = {"scheduler": scheduler_settings}
    settings_of |= {
        f"worker {name}": config
        for name, config in configs.items()
        if _answered(config)
    }
    return list(differing_settings(settings_of))


async def agree_on_learners(client: Any, learners: Sequence[str]) -> None:
    """Check that every current worker can import `learners` and finds the same modules.

    Raises
    ------
    ExecutionError
        If a worker cannot.
    """
    if learners:
        answers = await client.run(learner_modules, learners, on_error="return")
        for worker, answer in answers.items():
            if _answered(answer) and (line := other_learners(worker, answer, learners)):
                raise ExecutionError(line)


async def misfit(client: Any, worker: str, learners: Sequence[str] = ()) -> str:
    """Return a line on why a worker that has joined must not get work; an empty one if it may.

    Raises
    ------
    OSError, TimeoutError
        If the worker does not answer.
    """
    answer = (await client.run(software, workers=[worker], on_error="return")).get(
        worker
    )
    if answer is None or not _answered(answer):
        raise OSError(f"worker {worker} does not answer")
    if isinstance(answer, BaseException):
        return f"worker {worker} cannot load olscale ({' '.join(str(answer).split())[:200]})"
    driver = software()
    packages = {"packages": driver["packages"]}
    theirs = {worker: {"packages": answer["packages"]}}
    versions = {"client": packages, "scheduler": packages, "workers": theirs}
    if differences := list(different_versions(versions)):
        return differences[0]
    if answer["sources"] != driver["sources"]:
        return _other_sources(worker)
    if not learners:
        return ""
    learners_there = (
        await client.run(learner_modules, learners, workers=[worker], on_error="return")
    ).get(worker)
    if learners_there is None or not _answered(learners_there):
        raise OSError(f"worker {worker} does not answer")
    return other_learners(worker, learners_there, learners)


def modules_of(names: Iterable[str]) -> tuple[str, ...]:
    """Return the learners that do not ship with olscale: workers may lack their modules."""
    return tuple(sorted({name for name in names if not is_ours(name)}))


def learner_modules(learners: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return each learner's version, with a digest of user code, and why it cannot be imported."""
    return {
        name: ("", version.removeprefix("!"))
        if version.startswith("!")
        else (version, "")
        for name, version in learner_versions(learners).items()
    }


def other_learners(worker: str, answer: Any, learners: Sequence[str]) -> str:
    """Return a line on which of the `learners` a worker lacks; an empty one if none."""
    if isinstance(answer, BaseException):
        return (
            f"worker {worker} cannot import the experiment's learners "
            f"({one_line(str(answer))[:200]})"
        )
    driver = learner_modules(learners)
    for name, (version, why) in answer.items():
        if why:
            inner = why.partition("(")[2].rpartition(");")[0]
            module, _, attribute = name.partition(":")
            if module == "__main__":
                return (
                    f"workers cannot have learner {name!r}: it is defined in a notebook or a "
                    "script, which only this "
                    "process has run; write it to a file of its own, such as mine.py "
                    "(%%writefile mine.py), and name it "
                    f"mine:{attribute}, or evaluate in process"
                )
            return (
                f"worker {worker} cannot import learner {name!r} ({inner or why}); put its module "
                "where that worker's "
                "Python finds it, such as a folder in the PYTHONPATH it is started with"
            )
        if version != driver[name][0] and not driver[name][1]:
            return (
                f"worker {worker} has another source of learner {name!r} (version {version}, the "
                f"driver {driver[name][0]}); "
                "give it the same file, and restart it if it imported the learner before an edit"
            )
    return ""


def software() -> dict[str, Any]:
    """Return the versions of numerical packages in this process, and the digest of its olscale."""
    from distributed.versions import get_versions

    return {
        "packages": dict(get_versions(packages=_packages())["packages"]),
        "sources": package_digest(),
    }


_SAME = "give driver, scheduler and workers the same environment"


def _packages() -> list[str]:
    return [_MODULES.get(name, name) for name in _COUNTS]


def _other_sources(worker: str) -> str:
    return f"worker {worker} has other sources of olscale"


def _answered(answer: object) -> bool:
    """Return whether a worker has answered: one that leaves meanwhile has not."""
    return not isinstance(answer, OSError | TimeoutError)


def different_versions(versions: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each package whose version differs from the driver's.

    `versions` is the result of `distributed.Client.get_versions`.

    Examples
    --------
    >>> packages = {"python": "3.11.7.final.0", "dask": "2026.8.0", "distributed": "2026.8.0"}
    >>> ours = {"packages": packages}
    >>> theirs = {"packages": {**ours["packages"], "dask": "2026.9.0"}}
    >>> list(different_versions({"client": ours, "scheduler": theirs, "workers": {}}))
    ['the scheduler has dask 2026.9.0, the driver 2026.8.0']
    """
    driver_packages = versions["client"]["packages"]
    sides: list[tuple[str, Any, tuple[str, ...]]] = [
        ("the scheduler", versions["scheduler"], _TALKS)
    ]
    sides += [
        (f"worker {name}", worker, _TALKS + _COUNTS)
        for name, worker in versions["workers"].items()
    ]
    for side, theirs, names in sides:
        for name in names:
            key = _MODULES.get(name, name)
            driver_version, side_version = (
                _comparable(name, packages.get(key))
                for packages in (driver_packages, theirs["packages"])
            )
            if driver_version != side_version:
                yield (
                    f"{side} has {name} {side_version}, the driver {driver_version}"
                    if side_version
                    else f"{side} has no {name}"
                )


def _comparable(name: str, version: str | None) -> str | None:
    """Return the part of a version that must agree: of Python, 3.11 rather than 3.11.7."""
    if version and name == "python":
        return ".".join(version.split(".")[:2])
    return version


def differing_settings(settings_of: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each of olscale's settings that differs in a process.

    `settings_of` has the ``distributed`` part of the settings of each process.
    """
    for process, config in settings_of.items():
        part = "worker"
        if process == "scheduler":
            part = "scheduler"
        for name, expected in _leaves({part: settings()["distributed"][part]}):
            value = dask.config.get(name, None, config=dict(config))
            if value != expected:
                yield (
                    f"{process} runs with distributed.{name} = {value}, olscale's dask.yaml has "
                    f"{expected}; start it with "
                    "DASK_CONFIG naming olscale's execution folder"
                )


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
