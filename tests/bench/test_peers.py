"""The same learners in other programs: rows and mistakes are the same, and what is not there is a line."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.bench import peers
from olscale.bench.base import Contestant, Elsewhere, Figure, compare
from olscale.bench.moa.command_line import write_arff
from olscale.data.chunk import Chunk
from olscale.data.dataset import Dataset
from olscale.data.generators import generate
from olscale.errors import DatasetError

ROWS = 2_000


@pytest.fixture
def agrawal(monkeypatch: pytest.MonkeyPatch) -> None:
    """One short stream in place of all."""

    def datasets(folder: Path, *_: Any) -> Iterator[Dataset]:
        yield generate("agrawal", folder / "agrawal", rows=ROWS)

    monkeypatch.setattr("olscale.bench.base.ENOUGH_SECONDS", 0.0)
    monkeypatch.setattr(peers, "_datasets", datasets)
    monkeypatch.setattr(peers, "_FEW", ROWS // 2)


def mistakes(figure: Figure) -> str:
    return figure.note.partition(" mistakes")[0]


def test_seconds_of_another_process_are_those_that_it_says() -> None:
    contestant = Contestant("elsewhere", lambda _: Elsewhere(2.0), 10.0)
    assert [figure.value for figure in compare([contestant], "rows/s", 3)] == [5.0]


def test_moa_reads_the_bits_of_our_rows(tmp_path: Path) -> None:
    X = np.array([[1.0 / 3.0, -0.0], [1e-300, 2.5]])
    write_arff(Chunk(X, np.array([0, 2]), 2), 3, tmp_path / "rows.arff")
    head, _, data = (tmp_path / "rows.arff").read_text().partition("@data\n")
    assert head.splitlines()[-1] == "@attribute class {0,1,2}"
    assert len(head.splitlines()) == 4
    table = np.array([line.split(",") for line in data.split()], dtype=np.float64)
    assert np.array_equal(table, [[*X[0], 0.0], [*X[1], 2.0]])
    assert np.signbit(table[0, 1])


def test_without_capymoa_a_line_says_what_to_do_and_river_stays(
    agrawal: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("river", reason="pip install 'olscale[dev]'")
    monkeypatch.setattr(peers, "METHODS", peers.METHODS[1:2])
    monkeypatch.setattr(shutil, "which", lambda name: name)
    *lines, last = peers.figures(rounds=1, python="/nowhere/python")
    assert last.name == "MOA, CapyMOA"
    assert "/nowhere/python does not start" in last.note
    assert [line.name.partition(",")[0] for line in lines] == [
        "River GaussianNB",
        "River GaussianNB in olscale",
        "naive-bayes",
    ]
    counts = [int(mistakes(line)) for line in lines]
    # The first row of all has no prediction in River's own loop.
    assert counts[0] - counts[1] in (0, 1)
    assert abs(counts[0] - counts[2]) <= 3
    assert all(line.value for line in lines)


def test_a_python_without_capymoa_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("capymoa") is not None:
        pytest.skip("this Python has capymoa")
    monkeypatch.setattr(shutil, "which", lambda name: name)
    with pytest.raises(peers.OlscaleError, match="pip install capymoa") as caught:
        peers.CapyMOA(sys.executable).__enter__()
    assert "\n" not in str(caught.value)


def test_a_stream_that_cannot_be_had_is_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(*_: Any) -> Dataset:
        raise DatasetError("no network")

    monkeypatch.setattr(peers, "fetch", fetch)
    lines: list[Figure] = []
    streams = [Path(one.path).name for one in peers._datasets(tmp_path, 1_000, lines)]
    assert streams == ["agrawal", "rbf"]
    assert [(line.name, line.note) for line in lines] == [("electricity", "no network")]


@pytest.mark.skipif(
    find_spec("capymoa") is None or shutil.which("java") is None,
    reason="needs Java and capymoa",
)
def test_trees_make_the_same_mistakes_in_moa_capymoa_and_olscale(
    agrawal: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "METHODS", peers.METHODS[:1])
    monkeypatch.setattr(peers, "_START_ROWS", 100)
    monkeypatch.setattr(peers.other_learners, "missing", lambda *_: [Figure("River")])
    *lines, last = peers.figures(rounds=1)
    assert last.name == "River"
    by_rows: dict[str, set[str]] = {"2,000": set(), "1,000": set()}
    for line in lines:
        by_rows[line.name.split(" rows")[0].split(", ")[-1]].add(mistakes(line))
    assert [len(counts) for counts in by_rows.values()] == [1, 1]
