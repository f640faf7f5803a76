"""The public face: names that are promised are there, and asking for help is quick and quiet."""

from __future__ import annotations

import importlib
import pkgutil
from importlib.metadata import version

import pytest
import yaml

import olscale
import olscale.learners
from olscale.cli import COMMANDS
from olscale.learners.registry import learner_class, learner_names
from tests.cli.command import run
from tests.house import ROOT

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(olscale.__path__, "olscale.")
)


@pytest.mark.parametrize(
    "module", ["olscale", *(name for name in MODULES if name != "olscale.__main__")]
)
def test_all_agrees_with_the_module(module: str) -> None:
    """`__all__` names what the module has, each once, and nothing that begins with an underscore but the version."""
    imported = importlib.import_module(module)
    names = list(getattr(imported, "__all__", []))
    assert len(names) == len(set(names))
    for name in names:
        assert hasattr(imported, name), (
            f"{module}.__all__ names {name}, which is not there"
        )
        assert not name.startswith("_") or name == "__version__"


def test_names_of_the_package_are_all_public() -> None:
    assert set(olscale._HOMES) | {"__version__"} == set(olscale.__all__)
    for name, home in olscale._HOMES.items():
        assert hasattr(importlib.import_module(home), name)


def test_learners_are_imported_by_their_class_names() -> None:
    for name in learner_names():
        learner = learner_class(name)
        assert getattr(olscale.learners, learner.__name__) is learner
    assert dir(olscale.learners) == sorted(olscale.learners.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        olscale.learners.Nothing  # noqa: B018


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == olscale.__version__


def test_versions_agree() -> None:
    assert version("olscale") == olscale.__version__


@pytest.mark.parametrize(
    "command",
    [[], *([name] for name in COMMANDS)],
    ids=lambda words: " ".join(words) or "olscale",
)
def test_help_is_there(command: list[str]) -> None:
    done = run(*command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: olscale")
