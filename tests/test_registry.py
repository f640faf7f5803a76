"""Names of a package that is not olscale, through the entry points of each group."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale import open_dataset
from olscale.data.formats import FORMATS, find_format
from olscale.data.generators import GENERATORS, generate
from olscale.data.ingest.ingest import ingest
from olscale.data.layouts import LAYOUTS
from olscale.data.transforms.pipeline import (
    TRANSFORMS,
    canonical_transform,
    make_transform,
)
from olscale.errors import OlscaleError, ParameterError, UnknownNameError
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.metrics import METRICS
from olscale.execution.evaluate import evaluate
from olscale.learners.registry import LEARNERS, make_learner
from olscale.registry import Registry, all_installed
from olscale.results import open_store
from olscale.system.entry_point_files import may_have_group

MODULE = '''
import numpy as np
from olscale.data.formats.base import Batch, Format
from olscale.data.layouts.zarr import Reader, Writer
from olscale.data.transforms.base import Transform
from olscale.evaluation.metrics.base import Metric
from olscale.learners.linear.passive_aggressive import PA1

ROWS, SEGMENTS = 8, False


class Careful(PA1):
    name = "careful"


class Halve(Transform):
    name = "halve"

    def apply(self, X, columns):
        return X / 2


class Letters(Format):
    """A row a line: a word's length, and whether it begins with a vowel."""

    name, suffixes = "letters", (".letters",)

    def read(self, source, options):
        words = open(source).read().split()
        X = np.array([[float(len(word))] for word in words])
        yield Batch(X, np.array([float(word[0] in "aeiou") for word in words]), 1)


class Ones(Metric):
    """How many rows had class 1."""

    def __init__(self, shape):
        self.sums = {"ones": np.zeros(1, np.int64)}

    def see(self, y, codes, scores):
        self.sums["ones"] += (y == 1).sum()

    def values(self):
        return {"ones": float(self.sums["ones"][0])}


def batches(rows, seed):
    yield Batch(np.arange(float(rows))[:, None], np.arange(rows) % 2.0, 1)
'''
POINTS = {
    "learner": ("careful", "other_package:Careful"),
    "format": ("letters", "other_package:Letters"),
    "layout": ("mine", "other_package"),
    "transform": ("halve", "other_package:Halve"),
    "metric": ("ones", "other_package:Ones"),
    "generator": ("numbers", "other_package"),
}
ALL: tuple[Registry[object], ...] = (
    LEARNERS,
    FORMATS,
    LAYOUTS,
    TRANSFORMS,
    METRICS,
    GENERATORS,
)  # type: ignore[assignment]


@pytest.fixture(autouse=True)
def distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A distribution with a name in each group, one that is olscale's already, and one that cannot be imported."""
    home = tmp_path / "site"
    (home / "other_package-1.0.dist-info").mkdir(parents=True)
    (home / "other_package-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: other-package\nVersion: 1.0\n"
    )
    groups = [
        f"[olscale.{kind}s]\n{name} = {value}\nbroken = no_such_module:X\n"
        for kind, (name, value) in POINTS.items()
    ]
    groups[0] += "pa1 = other_package:Careful\n"
    (home / "other_package-1.0.dist-info" / "entry_points.txt").write_text(
        "\n".join(groups)
    )
    (home / "other_package.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(home))
    all_installed.cache_clear()
    yield home
    all_installed.cache_clear()
    sys.modules.pop("other_package", None)


@pytest.mark.parametrize("registry", ALL, ids=lambda registry: registry.kind)
def test_a_registry_lists_loads_and_refuses_names(registry: Registry[object]) -> None:
    name, value = POINTS[registry.kind]
    assert registry.group == f"olscale.{registry.kind}s"
    assert [*registry.ours, "broken", name] == [
        *registry.ours,
        *sorted({"broken", name}),
    ] == list(registry) or name < "broken"
    assert name in registry
    assert registry.target(name) == value
    assert registry.load(name).__name__ == (value.partition(":")[2] or value)  # type: ignore[attr-defined]
    wrong = name.upper() + "s"
    with pytest.raises(
        UnknownNameError,
        match=rf"unknown {registry.kind} '{wrong}'; did you mean '{name}'\? there are: ",
    ):
        registry.load(wrong)
    with pytest.raises(
        ParameterError,
        match=rf"{registry.kind} 'broken' cannot be imported from no_such_module:X .*; fix or uninstall",
    ):
        registry.load("broken")


@pytest.mark.parametrize("registry", ALL, ids=lambda registry: registry.kind)
def test_each_of_our_names_stands_for_something(registry: Registry[object]) -> None:
    assert all(registry.load(name) is not None for name in registry.ours)


def test_our_names_stay_ours() -> None:
    assert LEARNERS.target("pa1") == "olscale.learners.linear.passive_aggressive:PA1"
    assert list(LEARNERS).count("pa1") == 1


def test_nothing_is_imported_before_it_is_asked_for(distribution: Path) -> None:
    (distribution / "other_package.py").write_text("raise SystemExit('imported')")
    assert all(POINTS[registry.kind][0] in list(registry) for registry in ALL)


def test_names_of_another_package_work_from_source_to_results(
    distribution: Path, tmp_path: Path
) -> None:
    """Without the entry points that cannot be imported: formats are guessed by asking all."""
    points = distribution / "other_package-1.0.dist-info" / "entry_points.txt"
    points.write_text(points.read_text().replace("broken = no_such_module:X\n", ""))
    all_installed.cache_clear()
    (tmp_path / "words.letters").write_text("apple tree oak elm beech ash yew birch")
    assert find_format(str(tmp_path / "words.letters")).name == "letters"
    ingest([str(tmp_path / "words.letters")], str(tmp_path / "words"), layout="mine")
    assert open_dataset(tmp_path / "words").manifest.layout == "mine"
    assert generate("numbers", tmp_path / "numbers").rows() == 8
    assert canonical_transform("halve") == "halve"
    np.testing.assert_array_equal(
        make_transform("halve").apply(np.array([[4.0]]), 1), [[2.0]]
    )
    assert make_learner("careful", {"C": 0.5}).resolved_params()["C"] == 0.5
    experiment: dict[str, Any] = {
        "name": "theirs",
        "datasets": [{"path": str(tmp_path / "words"), "transforms": ["halve"]}],
        "learners": [{"name": "careful"}],
        "protocol": {"order": "time"},
    }
    evaluate(parse_experiment(experiment), tmp_path / "store", in_process=True)
    (row,) = open_store(tmp_path / "store").read().to_pylist()
    assert (row["learner"], row["outcome"], dict(row["metrics"])["ones"]) == (
        "careful",
        "ok",
        4.0,
    )


def test_packages_are_looked_through_once_for_all_registries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = []
    monkeypatch.setattr(
        importlib.metadata,
        "entry_points",
        lambda: looked.append(1) or entry_points(),
    )
    all_installed.cache_clear()
    for registry in ALL:
        list(registry)
    assert looked == [1]


def test_files_of_entry_points_are_only_parsed_where_one_names_a_group_of_ours(
    distribution: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = distribution / "other_package-1.0.dist-info" / "entry_points.txt"
    points.write_text("[console_scripts]\nolscale = olscale.cli:main\n")
    monkeypatch.setattr(sys, "path", [str(distribution), str(distribution / "none")])
    monkeypatch.setattr(importlib.metadata, "entry_points", None)
    # An installed package may have brought a finder of its own.
    finders = [
        finder
        for finder in sys.meta_path
        if finder is PathFinder or not hasattr(finder, "find_distributions")
    ]
    monkeypatch.setattr(sys, "meta_path", finders)
    all_installed.cache_clear()
    assert list(FORMATS) == list(FORMATS.ours)
    archive = distribution / "packages.zip"
    archive.write_bytes(b"")
    monkeypatch.setattr(sys, "path", [str(distribution), str(archive)])
    assert may_have_group("olscale.")


def test_names_that_a_module_imports_are_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "offered.py").write_text(
        "from sklearn.base import BaseEstimator\n\n\nclass Mine(BaseEstimator):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        OlscaleError, match=r"'Mime'\); did you mean 'Mine'\? there are: Mine$"
    ):
        make_learner("offered:Mime")
