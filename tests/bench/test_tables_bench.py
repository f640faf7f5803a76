"""The benchmark of tables: every contestant runs on text that is what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from olscale.bench import base, tables
from olscale.data.ingest.ingest import ingest


def test_every_table_is_ingested_beside_its_peers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tables, "_ROUNDS", 1)
    monkeypatch.setattr(tables, "_CELLS", 20_000)
    monkeypatch.setattr(tables, "_peak", lambda source, dest: 0.0)
    monkeypatch.setattr(tables, "_PROCESS_ROUNDS", 1)
    monkeypatch.setattr(tables, "_SIZES", ((0.1, ">= 0.5"), (36, ">= 1.0")))
    monkeypatch.setattr(base, "ENOUGH_SECONDS", 0.0)
    figures = {figure.name: figure for figure in tables.figures(rows=1000)}
    for what in ("9 columns", "257 columns", "like kdd99"):
        assert figures[f"ingest CSV, {what}"].ratio is not None
        assert figures[f"memory of the ingest, {what}"].unit == "MB"
    for what in ("9 columns", "like kdd99"):
        figure = figures[f"olscale ingest, a process, {what}, 0.1 MB"]
        assert (figure.unit, figure.target, figure.ratio is not None) == (
            "MB/s",
            ">= 0.5",
            True,
        )
    assert not any(name.endswith(" 36 MB") for name in figures)
    assert figures["ingest ARFF, 9 columns"].peer == "ingest CSV, 9 columns"


def test_rows_like_kdd99_have_categories_and_missing_values(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("".join(tables.text_like_kdd99(2000)))
    manifest = ingest(path, tmp_path / "rows").manifest
    assert manifest.table is not None
    assert list(manifest.table.categorical) == ["x0", "x1", "x2"]
    assert sum((manifest.splits["train"].missing or {}).values()) > 100
