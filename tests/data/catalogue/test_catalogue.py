"""The catalogue of public data sets: every entry is sound, and those whose files are here become the datasets it says."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from olscale.data.catalogue.entries import CatalogueEntry, catalogue, find_entry
from olscale.data.catalogue.fetch import fetch, locate
from olscale.data.ingest.ingest import ingest
from olscale.errors import DatasetError, UnknownNameError

LARGE = ("kdd99", "mnist", "ijcnn1", "ijcnn1-joined", "webspam", "url")
SETS = [
    pytest.param(name, marks=[pytest.mark.slow] if name in LARGE else [])
    for name in catalogue()
]


def test_options_are_those_of_ingest() -> None:
    known = set(inspect.signature(ingest).parameters) - {
        "sources",
        "dest",
        "test",
        "progress",
    }
    for entry in catalogue().values():
        assert set(entry.options) <= known, entry.name


def test_a_file_is_described_alike_wherever_it_is_named() -> None:
    described = {}
    for entry in catalogue().values():
        for file in entry.files:
            plain = file.model_copy(update={"role": "any"})
            assert described.setdefault(file.path, plain) == plain


@pytest.mark.parametrize("name", catalogue())
def test_an_entry_says_what_its_rows_are_and_where_they_come_from(name: str) -> None:
    entry = find_entry(name)
    assert entry.generated or entry.page.startswith(("http://", "https://"))
    assert (
        "\n"
        not in f"{entry.title}{entry.what}{entry.mirror_only}{entry.absent}{entry.split}"
    )
    roles = [file.role for file in entry.files]
    made = entry.generated or entry.bundled
    assert entry.absent is not None or made or roles[0] == "train"
    both_in_one = any(file.path.endswith(".npz") for file in entry.files)
    holds_test = "test" in roles or "train_rows" in entry.options or both_in_one
    assert made or ("test" in entry.rows) == (holds_test or entry.absent is not None)
    if "train_rows" in entry.options:
        assert entry.options["train_rows"] == entry.rows["train"]


@pytest.mark.long
@pytest.mark.parametrize("name", SETS)
def test_a_set_that_is_here_becomes_the_dataset_described(
    name: str,
    shared_data: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry = find_entry(name)
    if entry.absent is not None:
        pytest.skip(f"{name} has no public address: {entry.absent}")
    for file in entry.files:
        monkeypatch.setenv("OLSCALE_DATA", str(shared_data(file.path).parents[1]))
    made = fetch(name, tmp_path / name)
    made.verify()
    assert {split: made.rows(split) for split in made.splits} == entry.rows
    assert (made.columns, len(made.classes or ())) == (entry.columns, entry.classes)


@pytest.mark.parametrize(
    "change",
    [
        {"absent": "why"},
        {"files": []},
        {"mirror_only": "why"},
        {"generated": {"generator": "gaussian-xor"}},
        {"bundled": "sklearn:digits"},
        {"page": ""},
        {"files": [{"path": "a/b", "role": "train"}]},
        {"files": [{"path": "/etc/passwd", "role": "train", "url": "http://a"}]},
        {"colums": 3},
    ],
)
def test_an_entry_that_contradicts_itself_is_refused(change: dict[str, object]) -> None:
    good = find_entry("letter").model_dump()
    CatalogueEntry.model_validate(good)
    with pytest.raises(ValueError):
        CatalogueEntry.model_validate({**good, **change})


def test_a_path_that_is_called_a_name_is_said_to_be_one() -> None:
    with pytest.raises(DatasetError, match='write path = "quickstart/digits" in place'):
        locate("quickstart/digits")


def test_an_unknown_name_offers_the_nearest() -> None:
    with pytest.raises(
        UnknownNameError, match="unknown data set 'MNST'; did you mean 'mnist'"
    ):
        find_entry("MNST")
