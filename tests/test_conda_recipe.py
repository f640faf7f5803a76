"""The recipe for conda says what pyproject.toml says."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from olscale import __version__
from tests.house import ROOT

RECIPE = ROOT / "recipe" / "recipe.yaml"
CONDA = {"dask": "dask-core", "duckdb": "python-duckdb", "isal": "python-isal"}
"""Names that conda-forge has for packages of the Python index, where they differ."""

NOT_OF_PIP = {"python", "pip", "__linux"}
KEYS = [
    "schema_version",
    "context",
    "package",
    "source",
    "build",
    "requirements",
    "tests",
]


@pytest.fixture(scope="module")
def recipe() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(RECIPE.read_text(encoding="utf-8"))
    return loaded


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = tomllib.loads(text)
    return loaded


def _conda(requirement: str) -> str:
    match = re.fullmatch(r"([A-Za-z0-9_-]+)(.*)", requirement)
    assert match
    return f"{CONDA.get(match[1], match[1])} {match[2]}"


def test_dependencies_are_those_of_the_project(
    recipe: dict[str, Any], project: dict[str, Any]
) -> None:
    def named(part: str) -> list[str]:
        lines = recipe["requirements"][part]
        return sorted(line for line in lines if line.split()[0] not in NOT_OF_PIP)

    assert named("run") == sorted(map(_conda, project["project"]["dependencies"]))
    assert named("host") == sorted(map(_conda, project["build-system"]["requires"]))
    oldest, newest = re.findall(r"[\d.]+", project["project"]["requires-python"])
    assert recipe["context"]["python_min"] == oldest
    assert f"python >=${{{{ python_min }}}},<{newest}" in recipe["requirements"]["run"]
    assert "python ${{ python_min }}.*" in recipe["requirements"]["host"]


def test_names_and_versions_are_those_of_the_project(
    recipe: dict[str, Any], project: dict[str, Any]
) -> None:
    table = project["project"]
    assert recipe["context"]["version"] == __version__
    assert recipe["package"] == {"name": table["name"], "version": "${{ version }}"}
    assert f"{table['name']}-${{{{ version }}}}.tar.gz" in recipe["source"]["url"]
    scripts = [f"{name} = {place}" for name, place in table["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == scripts
    assert recipe["about"]["summary"] == table["description"]
    assert recipe["about"]["license"] == table["license"]
    assert [recipe["about"]["license_file"]] == table["license-files"]


def test_parts_are_those_that_conda_forge_asks_for(recipe: dict[str, Any]) -> None:
    assert list(recipe) == [*KEYS, "about", "extra"]
    assert recipe["schema_version"] == 1
    assert recipe["build"]["noarch"] == "python"
    assert recipe["build"]["number"] == 0
    assert recipe["tests"][0]["python"]["pip_check"] is True
    run = [line.split()[0] for line in recipe["requirements"]["run"][2:]]
    assert run == sorted(run)
    assert {"homepage", "summary", "license", "license_file"} == set(recipe["about"])
    assert RECIPE.read_bytes().endswith(b"\n")
    assert not RECIPE.read_bytes().endswith(b"\n\n")


def _complete() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "complete", RECIPE.with_name("complete.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_release_completes_it(tmp_path: Path) -> None:
    complete = _complete().complete
    sdist = tmp_path / f"olscale-{__version__}.tar.gz"
    sdist.write_bytes(b"rows")
    text = complete(sdist, "https://example.org", "someone")
    made = yaml.safe_load(text)
    assert made["source"]["sha256"] == hashlib.sha256(b"rows").hexdigest()
    assert made["about"]["homepage"] == "https://example.org"
    assert made["extra"] == {"recipe-maintainers": ["someone"]}
    assert not re.search(r"\b(?:SHA256|HOMEPAGE|MAINTAINER)\b", text)
    other = tmp_path / "olscale-9.9.tar.gz"
    other.write_bytes(b"")
    with pytest.raises(SystemExit, match="another version"):
        complete(other, "", "")


def test_a_builder_of_packages_reads_the_recipe(tmp_path: Path) -> None:
    """Unknown keys, wrong requirements and templates without a value are errors there."""
    rattler_build = pytest.importorskip(
        "rattler_build", reason="pip install py-rattler-build"
    )
    sdist = tmp_path / f"olscale-{__version__}.tar.gz"
    sdist.write_bytes(b"rows")
    text = _complete().complete(sdist, "https://example.org/olscale", "someone")

    [variant] = rattler_build.Stage0Recipe.from_yaml(text).render()

    assert variant.recipe.package.name == "olscale"
    assert str(variant.recipe.package.version) == __version__
    misspelt = text.replace("requirements:", "requirement:")
    with pytest.raises(rattler_build.RecipeParseError):
        rattler_build.Stage0Recipe.from_yaml(misspelt)
