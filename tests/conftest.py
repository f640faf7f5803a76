"""Fixtures that every floor's tests share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

SHARED_DATA = Path(os.environ.get("OLSCALE_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """Return the path of a real data file, or skip the test and say which file it missed."""

    def find(name: str) -> Path:
        path = SHARED_DATA / name
        if not path.exists():
            pytest.skip(f"real data file {name} is absent (looked in {SHARED_DATA})")
        return path

    return find
