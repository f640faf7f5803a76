"""The manifest is believed only as it was written; what identifies a dataset covers all that its results depend on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from olscale.data.dataset import Dataset, open_dataset
from olscale.data.ingest.ingest import ingest
from olscale.errors import DatasetError
from olscale.evaluation.run import Run, StreamKey

OLD = sorted((Path(__file__).parent / "fixtures").glob("version*/*"))
TRAIN = "day,y,class\n1,2,yes\n1,4.5,no\n2,1,yes\n2,0,no\n3,1,no\n"
TEST = "day,y,class\n4,2,no\n4,4.5,may\n"


@pytest.fixture
def made(tmp_path: Path) -> Dataset:
    (tmp_path / "a.csv").write_text(TRAIN)
    (tmp_path / "b.csv").write_text(TEST)
    return ingest(
        tmp_path / "a.csv",
        tmp_path / "d",
        test=tmp_path / "b.csv",
        segments="day",
        chunk_rows=4,
    )


def flips(
    value: Any, where: tuple[Any, ...] = ()
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield every place in a JSON value that is no container, and another value for it of the same type."""
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from flips(part, (*where, key))
    elif isinstance(value, bool) or value is None:
        yield where, "x" if value is None else not value
    elif isinstance(value, str):
        yield where, ("0" if value[:1] != "0" else "1") + value[1:]
    else:
        yield where, value + 1


def test_every_flip_of_a_field_is_refused_by_name(made: Dataset) -> None:
    path = Path(made.path, "manifest.json")
    written = path.read_text()
    found = list(flips(json.loads(written)))
    assert {
        ("splits", "train", "segments", 0, "rows"),
        ("classes", 0),
        ("feature_names", 1),
        ("fingerprint",),
    } <= {where for where, _ in found}
    for where, other in found:
        content = json.loads(written)
        part = content
        for key in where[:-1]:
            part = part[key]
        part[where[-1]] = other
        path.write_text(json.dumps(content))
        with pytest.raises(
            DatasetError,
            match=r"d: manifest\.json (was changed after it was written|is broken)",
        ):
            open_dataset(made.path)


def test_a_segment_that_was_moved_is_refused(made: Dataset) -> None:
    path = Path(made.path, "manifest.json")
    content = json.loads(path.read_text())
    segments = content["splits"]["train"]["segments"]
    segments[0]["rows"] += 1
    segments[1]["start"] += 1
    segments[1]["rows"] -= 1
    path.write_text(json.dumps(content))
    with pytest.raises(DatasetError, match="was changed after it was written"):
        open_dataset(made.path)


@pytest.mark.parametrize("change", [{"format_version": 2}, {"checksum": None}])
def test_a_manifest_cannot_pass_for_an_older_one(
    made: Dataset, change: dict[str, Any]
) -> None:
    path = Path(made.path, "manifest.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(DatasetError, match=r"manifest\.json"):
        open_dataset(made.path)


def test_another_form_of_the_same_manifest_is_read(made: Dataset) -> None:
    path = Path(made.path, "manifest.json")
    path.write_text(json.dumps(json.loads(path.read_text()), sort_keys=True))
    assert open_dataset(made.path).manifest == made.manifest


@pytest.mark.parametrize(
    "fixture", OLD, ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_older_datasets_open_and_verify_as_they_are(
    fixture: Path, tmp_path: Path
) -> None:
    open_dataset(fixture).verify()
    copy = tmp_path / "d"
    shutil.copytree(fixture, copy)
    path = copy / "manifest.json"
    content = json.loads(path.read_text())
    assert content["fingerprint"] == open_dataset(fixture).fingerprint
    content["fingerprint"] = "0" * 64
    path.write_text(json.dumps(content))
    with pytest.raises(
        DatasetError, match=r"the fingerprint is .* the manifest was changed"
    ):
        open_dataset(copy).verify()


def test_fingerprints_without_segments_are_those_of_before(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TRAIN)
    (tmp_path / "b.csv").write_text(TEST)
    made = ingest(tmp_path / "a.csv", tmp_path / "d", test=tmp_path / "b.csv")
    old = next(path for path in OLD if path.name == "plain-parquet")
    assert made.manifest.format_version == 3
    assert made.fingerprint == open_dataset(old).fingerprint


def test_the_same_rows_in_other_segments_give_other_runs(tmp_path: Path) -> None:
    """Results keep the mistakes in each segment: under one id they must be the same."""
    (tmp_path / "a.csv").write_text("day,week,class\n1,1,0\n2,1,1\n2,2,0\n3,2,1\n")
    made = [
        ingest(tmp_path / "a.csv", tmp_path / str(by), segments=by)
        for by in (None, "day", "week")
    ]
    again = ingest(
        tmp_path / "a.csv",
        tmp_path / "again",
        segments="week",
        layout="parquet",
        chunk_rows=2,
    )
    ids = [
        Run(StreamKey("a", each.fingerprint, (), None), "pa", 1, {}).id
        for each in [*made, again]
    ]
    assert len(set(ids[:3])) == 3
    assert ids[3] == ids[2]
    for each in [*made, again]:
        each.verify()
