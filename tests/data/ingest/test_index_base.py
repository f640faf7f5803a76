"""SVMlight text counts its features from 0 or from 1: all sources of a dataset alike, and the dataset says from which."""

from __future__ import annotations

import io
import itertools
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olscale.compiled.csr import to_dense
from olscale.data.dataset import Dataset
from olscale.data.export import export
from olscale.data.ingest.ingest import ingest
from olscale.data.manifest import Manifest
from olscale.errors import DatasetError, FormatError, ParameterError
from tests.cli.command import run
from tests.data.ingest.test_ingest import tree

LATE = "".join(f"{i % 2} 1:0.{i + 1} 3:{i % 2}\n" for i in range(9)) + "1 0:5 2:1\n"
"""Ten rows, of which the last alone has the index 0."""


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let batches have four rows, so that a few rows are many batches."""
    monkeypatch.setattr("olscale.data.ingest.reader.DEFAULT_CHUNK_ROWS", 4)
    monkeypatch.setattr("olscale.data.ingest.spill.DEFAULT_CHUNK_ROWS", 4)


def rows(dataset: Dataset, split: str = "train") -> list[list[float]]:
    parts = [to_dense(chunk.X, dataset.columns) for chunk in dataset.chunks(split)]
    return np.concatenate(parts).tolist()


def write(folder: Path, texts: dict[str, str]) -> list[str]:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text)
    return [str(folder / name) for name in texts]


def packed(folder: Path, texts: dict[str, str]) -> list[str]:
    file = folder / "days.tar"
    with tarfile.open(file, "w") as tar:
        for name, text in texts.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return [str(file)]


@pytest.mark.parametrize("layout", ["parquet", "zarr"])
@pytest.mark.usefixtures("few_rows")
def test_a_first_0_that_comes_late_is_read_as_with_the_option(
    tmp_path: Path, layout: str
) -> None:
    [file] = write(tmp_path / "in", {"late.svm": LATE})
    notes: list[str] = []
    found = ingest(
        file, tmp_path / "a" / "d", layout=layout, chunk_rows=3, note=notes.append
    )
    said = ingest(file, tmp_path / "b" / "d", layout=layout, chunk_rows=3, index_base=0)
    assert tree(tmp_path / "a" / "d") == tree(tmp_path / "b" / "d")
    assert found.manifest.index_base == said.manifest.index_base == 0
    assert rows(found)[0] == [0, 0.1, 0, 0]
    assert rows(found)[-1] == [5, 0, 1, 0]
    assert not notes
    with pytest.raises(
        FormatError, match=r"line 10: index 0 in '0:5', .*--index-base 0"
    ):
        ingest(file, tmp_path / "c", index_base=1)


@pytest.mark.parametrize("place", [write, packed])
@pytest.mark.usefixtures("few_rows")
def test_a_first_0_in_a_later_source_holds_for_all(
    tmp_path: Path, place: Callable[[Path, dict[str, str]], list[str]]
) -> None:
    sources = place(tmp_path / "", {"Day1.svm": "1 1:1 9:1\n0 2:1\n", "Day2.svm": LATE})
    notes: list[str] = []
    found = ingest(sources, tmp_path / "a" / "d", note=notes.append)
    ingest(sources, tmp_path / "b" / "d", index_base=0)
    assert tree(tmp_path / "a" / "d") == tree(tmp_path / "b" / "d")
    assert rows(found)[0] == [0, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    [note] = notes
    assert "count from 0, as line 10 of " in note
    assert note.endswith("Day2.svm shows, the first with an index 0")


@pytest.mark.usefixtures("few_rows")
def test_an_interrupted_ingest_of_late_zeros_goes_on_to_the_same_bytes(
    tmp_path: Path,
) -> None:
    days = {f"Day{i}.svm": "1 1:1 9:1\n0 2:1\n" * 3 for i in range(4)} | {
        "Day4.svm": LATE
    }
    sources = write(tmp_path / "in", days)
    whole = ingest(sources, tmp_path / "whole", chunk_rows=2, note=lambda _: None)
    for stop in (2, 5, 7, 11):
        calls = itertools.count(1)

        def progress(
            name: str,
            count: int,
            size: int,
            stop: int = stop,
            calls: itertools.count[int] = calls,
        ) -> None:
            if next(calls) == stop:
                raise SystemExit  # which nothing clears up after

        with pytest.raises(SystemExit):
            ingest(
                sources,
                tmp_path / "d",
                chunk_rows=2,
                progress=progress,
                note=lambda _: None,
            )
    again = ingest(sources, tmp_path / "d", chunk_rows=2, note=lambda _: None)
    assert tree(tmp_path / "d") == tree(tmp_path / "whole")
    assert again.fingerprint == whole.fingerprint


def test_later_sources_and_the_test_split_count_as_the_first(tmp_path: Path) -> None:
    train, test = write(
        tmp_path / "in",
        {"train.svm": "0 0:1 4:1\n1 1:1\n", "test.svm": "0 1:2\n1 2:3\n"},
    )
    dataset = ingest(train, tmp_path / "d", test=test)
    assert rows(dataset, "test") == [[0, 2, 0, 0, 0], [0, 0, 3, 0, 0]]


@pytest.mark.parametrize("names", [("zero.svm", "one.svm"), ("one.svm", "zero.svm")])
def test_a_source_that_seems_to_count_from_1_among_others_is_refused(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    texts = {"zero.svm": "0 0:1 2:1\n1 1:1\n", "one.svm": "0 1:1 3:1\n1 2:1\n"}
    sources = write(tmp_path / "in", {name: texts[name] for name in names})
    with pytest.raises(
        DatasetError,
        match=r"one.svm has no index 0, and its largest index 3 .*--index-base 0 if all",
    ):
        ingest(sources[0], tmp_path / "d", test=sources[1])
    assert not (tmp_path / "d").exists()
    assert ingest(sources, tmp_path / "d", index_base=0).columns == 4


def test_the_base_is_kept_and_shown_and_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zero, one, table = write(
        tmp_path / "in",
        {
            "zero.svm": "0 0:1 2:1\n1 1:1\n",
            "one.svm": "0 1:1\n",
            "t.csv": "a,y\n1,0\n2,1\n",
        },
    )
    for file, base in ((zero, 0), (one, 1), (table, None)):
        dataset = ingest(file, tmp_path / f"d{base}")
        assert dataset.manifest.index_base == base
        content = dataset.manifest.to_json()
        assert Manifest.from_json(content, "d") == replace(
            dataset.manifest, checksum=Manifest.from_json(content, "d").checksum
        )
        assert (b"index_base" in content) == (base is not None)
        shown = run("datasets", "show", str(tmp_path / f"d{base}")).stdout
        assert (f"count from {base}" in shown) == (base is not None)
    export(ingest(zero, tmp_path / "again"), tmp_path / "out.svm")
    assert (tmp_path / "out.svm").read_text() == (
        tmp_path / "in" / "zero.svm"
    ).read_text()


def test_a_base_is_0_or_1_and_of_svmlight_text(tmp_path: Path) -> None:
    file, table = write(
        tmp_path / "in", {"rows.svm": "0 1:1\n1 2:1\n", "t.csv": "a,y\n1,0\n2,1\n"}
    )
    with pytest.raises(ParameterError, match="index_base was 2, expected 0 or 1"):
        ingest(file, tmp_path / "d", index_base=2)
    with pytest.raises(
        FormatError, match="is csv and has no indices to count; leave --index-base out"
    ):
        ingest(table, tmp_path / "d", index_base=1)
    assert run(
        "ingest", file, str(tmp_path / "d"), "--index-base", "0"
    ).stdout.startswith("d: 2 train rows x 3 columns")


@given(
    entries=st.lists(
        st.dictionaries(st.integers(0, 6), st.integers(1, 9), max_size=4),
        min_size=1,
        max_size=12,
    ),
    cut=st.integers(0, 12),
)
@settings(max_examples=40, deadline=None)
def test_rows_are_those_of_the_text_wherever_its_first_0_stands(
    tmp_path_factory: pytest.TempPathFactory, entries: list[dict[int, int]], cut: int
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    lines = [
        f"{i % 2}" + "".join(f" {k}:{row[k]}" for k in sorted(row))
        for i, row in enumerate(entries)
    ]
    parts = [part for part in (lines[:cut], lines[cut:]) if part]
    sources = write(
        folder / "in",
        {f"{i}.svm": "\n".join(part) + "\n" for i, part in enumerate(parts)},
    )
    base = 0 if any(0 in row for row in entries) else 1
    width = max((max(row, default=-1) for row in entries), default=-1) + 1 - base
    if width < 1:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("olscale.data.ingest.reader.DEFAULT_CHUNK_ROWS", 3)
        indices = [set().union(*part) for part in (entries[:cut], entries[cut:])]
        top = max((max(part) for part in indices if 0 in part), default=-9)
        given_base = None
        if any(part and 0 not in part and max(part) == top + 1 for part in indices):
            with pytest.raises(DatasetError, match="seems to count from 1"):
                ingest(sources, folder / "d", note=lambda _: None)
            given_base = 0
        dataset = ingest(
            sources, folder / "d", note=lambda _: None, index_base=given_base
        )
    assert dataset.manifest.index_base == base
    expected = [[float(row.get(k + base, 0)) for k in range(width)] for row in entries]
    assert rows(dataset) == expected
