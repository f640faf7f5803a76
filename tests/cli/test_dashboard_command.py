"""The dashboard's command: which pages and stores it shows for a folder of nights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import olscale.report.dashboard_server
from olscale.report.dashboard import Dashboard
from olscale.results.opening import open_store
from olscale.results.store import Store
from tests.cli.command import run


def test_a_folder_of_nights_stands_for_its_last_night_also_when_another_has_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[list[Path]] = []
    pages: list[Path] = []

    def store_at(name: str) -> Path:
        open_store(tmp_path / name, create=True)
        return tmp_path / name

    async def serve(stores: list[Store], *where: Any, **given: Any) -> None:
        """Look at the stores before and behind the end of a night."""
        page = Dashboard(stores, given["pages"], given["latest"])
        for night in ("2", "3"):
            shown.append(
                [Path(page._store(number).path) for number in range(len(stores))]
            )
            store_at(f"home/nights/{night}/store")
        page.close()
        pages.extend(given["pages"])

    plain = store_at("plain")
    first = store_at("home/nights/1/store")
    (tmp_path / "new" / "nights" / "1").mkdir(parents=True)
    monkeypatch.setattr(olscale.report.dashboard_server, "serve", serve)

    done = run("dashboard", "new", plain, "home", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert shown == [
        [plain, first],
        [plain, tmp_path / "home" / "nights" / "2" / "store"],
    ]
    assert pages == [
        tmp_path / name / "page" / "index.html" for name in ("new", "home")
    ]
