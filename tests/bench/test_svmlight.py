"""The parsing benchmark measures what it says; its figures are not judged here."""

from __future__ import annotations

from pathlib import Path

from olscale.bench.svmlight import bench_svmlight, text_like_adult
from olscale.data.formats import ReadOptions
from olscale.data.formats.svmlight import read_svmlight


def test_a_small_benchmark_gives_figures() -> None:
    figures = bench_svmlight(megabytes=1, repeats=1)
    assert 0.5 < figures["megabytes"] < 2
    assert all(value > 0 for value in figures.values())


def test_made_up_text_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_bytes(text_like_adult(0.1))
    (batch,) = read_svmlight(str(path), ReadOptions())
    assert len(batch) == 2000
    assert len(batch.X.data) == 28_000
