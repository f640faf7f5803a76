"""What earlier releases wrote is read: datasets, stores, models and checkpoints."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from olscale import evaluate
from olscale.analysis import summarise
from olscale.data.dataset import open_dataset
from olscale.data.ingest.ingest import ingest
from olscale.execution.resumable_pass import ResumablePass
from olscale.results.opening import open_store
from tests.releases.make import (
    CHUNKS,
    HERE,
    LAYOUTS,
    experiment,
    group_of,
    predictions,
    rows,
    shown,
)

RELEASES = sorted(
    path for path in HERE.iterdir() if path.is_dir() and path.name[0].isdigit()
)


@pytest.fixture(params=RELEASES, ids=lambda path: path.name)
def release(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A copy of the files of a release, in the working directory."""
    copy = tmp_path / "release"
    shutil.copytree(request.param, copy)
    monkeypatch.chdir(copy)
    return copy


@pytest.mark.parametrize("layout", LAYOUTS)
def test_datasets_are_read_and_made_again(release: Path, layout: str) -> None:
    old = open_dataset(str(release / layout))
    old.verify()
    (release / "rows.csv").write_text(rows(), encoding="utf-8")
    new = ingest(release / "rows.csv", release / "new", layout=layout, chunk_rows=10)
    assert (old.fingerprint, old.classes) == (new.fingerprint, new.classes)
    for before, after in zip(old.chunks("train"), new.chunks("train"), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(before.X, after.X, strict=True))
        assert np.array_equal(before.y, after.y)


def test_a_store_is_read_and_has_nothing_left_to_compute(release: Path) -> None:
    store = open_store(release / "store")
    assert shown(store) == json.loads((release / "results.json").read_text())
    assert {summary.n for summary in summarise(store)} == {2}
    evaluation = evaluate(
        experiment(2), release / "store", in_process=True, progress=False
    )
    assert (evaluation.computed, evaluation.runs) == (0, 8)


def test_a_model_predicts_what_it_did(release: Path) -> None:
    expected = json.loads((release / "predictions.json").read_text())
    assert predictions(release / "model.olm", release / "parquet") == expected


def test_a_checkpoint_is_continued_to_the_same_bytes(release: Path) -> None:
    [part] = group_of(Path("parquet")).parts()
    positions = []
    for name in ("interrupted", "undisturbed"):
        open_store(str(release / name), create=True)
        passage = ResumablePass(part, str(release / name))
        positions.append(passage.position)
        while not passage.ended:
            passage.group_pass.advance()
        passage.finish()
    assert positions == [CHUNKS, 0]
    [continued], [whole] = (
        [file.read_bytes() for file in (release / name / "runs").glob("*/*")]
        for name in ("interrupted", "undisturbed")
    )
    assert continued == whole
