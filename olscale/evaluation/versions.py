"""Checks that a process has the learners of the plan: a user's own may be edited, or differ."""

from collections.abc import Collection, Iterable

from olscale.errors import ExecutionError, OlscaleError
from olscale.evaluation.run import Run
from olscale.learners.adapter_version import own_version
from olscale.learners.contract.version import (
    check_unedited,
    learner_version,
    source_note,
)
from olscale.learners.registry import is_ours, learner_class, learner_path


def check_sources(names: Iterable[str]) -> list[str]:
    """Return a line for each learner whose edits cannot be detected.

    Raises
    ------
    ParameterError
        If a learner was edited after this process imported it.
    """
    notes = []
    for name in dict.fromkeys(name for name in names if not is_ours(name)):
        path = learner_path(name)
        target = learner_class(name)
        check_unedited(path, target)
        notes.append(source_note(path, target))
    return [note for note in notes if note]


def learner_versions(names: Collection[str]) -> dict[str, str]:
    """Return the versions of learners here, or an exclamation mark and why they are unavailable."""
    versions = {}
    for name in names:
        try:
            versions[name] = str(
                learner_version(learner_path(name), learner_class(name))
            )
        except OlscaleError as error:
            versions[name] = f"!{error}"
    return versions


def check_learners(runs: Iterable[Run]) -> None:
    """Refuse runs whose learners differ in this process: their results would have a wrong name.

    Raises
    ------
    ExecutionError
    """
    planned = {
        run.learner: own_version(str(run.version))
        for run in runs
        if not is_ours(run.learner)
    }
    for name, version in learner_versions(planned).items():
        if version != planned[name]:
            current = (
                version[1:] if version.startswith("!") else f"version {version} here"
            )
            raise ExecutionError(
                f"learner {name} is not what the experiment was planned with, version "
                f"{planned[name]}, in this process "
                f"({current}): its source was edited meanwhile, or is another one on this machine; "
                "run the command again"
            )
