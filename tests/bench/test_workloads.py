"""Rows in the shape of well-known sets: the same seed gives the same rows, and they are as hard as the real ones."""

from __future__ import annotations

import errno
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from olscale.bench.workloads import (
    generate,
    generate_archive,
    multipie_like,
    url_like,
    webspam_like,
)
from olscale.bench.workloads.archive import svmlight_text, write_archive
from olscale.compiled.csr import CSR
from olscale.data.formats.base import Batch
from olscale.data.generators import GENERATORS
from olscale.data.ingest.ingest import ingest
from olscale.errors import DatasetError, ParameterError
from olscale.learners.contract.learner import codes_of
from olscale.learners.linear.passive_aggressive import PA1
from olscale.learners.local.lol import LOL


def test_same_seed_same_dataset(tmp_path: Path):
    """Those of the papers and those of benchmarks are generated alike."""
    names = list(GENERATORS)
    papers = {
        "gaussian-novelties",
        "gaussian-xor",
        "noisy-sines",
        "rotating-xor",
        "two-gaussians",
        "two-gaussians-narrow",
    }
    drifting = {
        "agrawal",
        "hyperplane",
        "led",
        "mixed",
        "random-tree",
        "rbf",
        "sea",
        "sine",
        "stagger",
        "waveform",
    }
    assert papers | drifting | {"multipie-like", "url-like", "webspam-like"} == set(
        names
    )
    for name in names:
        made = [
            generate(name, tmp_path / f"{name}{i}", seed=i // 2, rows=120)
            for i in range(3)
        ]
        assert made[0].fingerprint == made[1].fingerprint != made[2].fingerprint


def test_url_like_rows_are_canonical_and_do_not_depend_on_the_cut():
    """Indices ascend within a row, and chunks of any size hold the same rows."""
    (whole,) = url_like.chunks(600, chunk_rows=600, seed=3, columns=5_000)
    parts = list(url_like.chunks(600, chunk_rows=250, seed=3, columns=5_000))
    X = whole.X
    assert isinstance(X, CSR)
    steps = np.diff(X.indices)
    assert (np.delete(steps, X.indptr[1:-1] - 1) > 0).all()
    assert X.indices.min() >= 0
    assert X.indices.max() < 5_000
    np.testing.assert_array_equal(np.concatenate([part.y for part in parts]), whole.y)
    np.testing.assert_array_equal(
        np.concatenate([part.X.indices for part in parts]), X.indices
    )
    np.testing.assert_array_equal(
        np.concatenate([part.X.data for part in parts]), X.data
    )


def test_url_like_features_are_born_over_time():
    """Later days have newer features; the head is real-valued and all others are 0 or 1."""
    first, last = list(url_like.chunks(2_000, chunk_rows=1_000))
    assert (
        first.X.indices.max()
        < 0.6 * url_like.COLUMNS
        < last.X.indices.max()
        < url_like.COLUMNS
    )
    head = last.X.indices < url_like.REAL
    assert head.sum() == 12_000
    assert ((last.X.data[head] > 0.0) & (last.X.data[head] <= 1.0)).all()
    assert (last.X.data[~head] == 1.0).all()


def test_url_like_rows_are_as_real_ones():
    """Of 5,700 real rows: 118 nonzeros each, 71 and 89 % of them in the first 100 and 1,000 features, gzip to 1/9.1."""
    rows = 5_700
    (chunk,) = url_like.chunks(rows, chunk_rows=rows, day_rows=url_like.DAY_ROWS)
    frequent = np.sort(np.bincount(chunk.X.indices))[::-1] / len(chunk.X.indices)
    assert 113 < len(chunk.X.indices) / rows < 118
    assert 11 < (chunk.X.data != 1.0).sum() / rows < 12
    assert 0.70 < frequent[:100].sum() < 0.74
    assert 0.89 < frequent[:1000].sum() < 0.93
    text = svmlight_text(
        Batch(chunk.X, np.where(chunk.y == 1, 1.0, -1.0), chunk.columns)
    )
    assert 890 < len(text) / rows < 930
    assert 7.0 < len(text) / len(zlib.compress(text, 6)) < 9.0


def test_url_like_is_learned_in_one_pass():
    """PA-I's error over the second day is between one and five per cent, as on the real set."""
    learner = PA1(C=0.01)
    learner.begin(url_like.COLUMNS, 2)
    for batch in url_like.batches(2 * 19_803, seed=0):
        y = (batch.target > 0.0).astype(np.int64)
        scores = learner.learn(batch.X, y)
    assert 0.01 < np.mean(codes_of(scores) != y) < 0.05


def test_url_like_columns_can_be_told(tmp_path: Path):
    dataset = generate("url-like", tmp_path / "url", rows=50, columns=2_000)
    assert dataset.columns == 2_000
    with pytest.raises(ParameterError, match="at least 1,000"):
        generate("url-like", tmp_path / "few", rows=50, columns=10)
    with pytest.raises(ParameterError, match="rotating-xor"):
        generate("rotating-xor", tmp_path / "xor", columns=3)


def test_webspam_like_is_local(tmp_path: Path):
    """Unit rows, a third of the entries not zero; local hyperplanes do far better than one."""
    batches = list(webspam_like.batches(24_576, seed=0))
    X, target = (
        np.concatenate(parts)
        for parts in zip(*((b.X, b.target) for b in batches), strict=True)
    )
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0)
    assert 0.28 < np.mean(X != 0.0) < 0.38
    errors = []
    for learner in (PA1(C=0.1), LOL(k=60)):
        learner.begin(254, 2)
        wrong = codes_of(learner.learn(X, (target > 0.0).astype(np.int64))) != (
            target > 0.0
        )
        errors.append(wrong[12_288:].mean())
    assert errors[1] < 0.8 * errors[0]


def test_multipie_like_has_249_faces_that_local_hyperplanes_tell_apart() -> None:
    """Every class is there from the beginning; LOL errs less than half as often as one hyperplane a class."""
    batches = list(multipie_like.batches(24_576, seed=0))
    X, target = (
        np.concatenate(parts)
        for parts in zip(*((b.X, b.target) for b in batches), strict=True)
    )
    assert X.shape == (24_576, 100)
    np.testing.assert_array_equal(np.sort(target[:249]), np.arange(249))
    errors = []
    for learner in (PA1(multiclass="ova"), LOL(k=15)):
        learner.begin(100, 249)
        wrong = codes_of(learner.learn(X, target.astype(np.int64))) != target
        errors.append(wrong[20_000:].mean())
    assert errors[1] < 0.5 * errors[0]


def test_url_like_archive_is_as_the_published_one_and_holds_the_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A member a day, Day10 before Day2; ingested, the days are in order and the rows those of the generator."""
    monkeypatch.setattr(url_like, "DAY_ROWS", 500)
    file = tmp_path / "url_svmlight.tar.gz"
    rows = 11 * url_like.DAY_ROWS + 7
    columns = 5_000
    assert generate_archive("url-like", file, rows=rows, columns=columns)[0] == rows
    with tarfile.open(file) as tar:
        names = tar.getnames()
    assert names[0] == "url_svmlight/FeatureTypes"
    assert names[1:5] == [f"url_svmlight/Day{day}.svm" for day in (0, 1, 10, 11)]
    notes: list[str] = []
    dataset = ingest(file, tmp_path / "url", segments="files", note=notes.append)
    assert len(notes) == 1
    assert notes[0].endswith("passed over as no data: url_svmlight/FeatureTypes")
    assert [name for name, _ in dataset.segments()] == [
        f"Day{day}" for day in range(12)
    ]
    pairs = zip(
        dataset.chunks(),
        url_like.chunks(rows, columns=columns, day_rows=url_like.DAY_ROWS),
        strict=True,
    )
    for got, expected in pairs:
        np.testing.assert_array_equal(got.y, expected.y)
        for mine, theirs in zip(got.X, expected.X, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_archive_is_the_same_bytes_and_only_of_generators_that_have_one(tmp_path: Path):
    files = [tmp_path / name for name in ("a.tar.gz", "b.tar.gz")]
    for file in files:
        generate_archive("url-like", file, rows=50, seed=1)
    assert files[0].read_bytes() == files[1].read_bytes()
    with pytest.raises(ParameterError, match="no published archive"):
        generate_archive("webspam-like", tmp_path / "c.tar.gz")
    assert not (tmp_path / "c.tar.gz").exists()


def test_an_archive_that_fails_leaves_nothing(tmp_path: Path):
    def members(rows: int) -> Iterator[tuple[str, Batch | bytes]]:
        yield from url_like.members(rows, seed=0)
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        write_archive(str(tmp_path / "a.tar.gz"), members(100))
    full = OSError(errno.ENOSPC, "No space left on device")
    with (
        mock.patch("tarfile.TarFile.addfile", side_effect=full),
        pytest.raises(
            DatasetError,
            match=r"b.tar.gz cannot be written \(No space left on device\); choose another",
        ),
    ):
        write_archive(str(tmp_path / "b.tar.gz"), url_like.members(100, seed=0))
    assert list(tmp_path.iterdir()) == []
