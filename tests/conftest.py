"""Fixtures that every floor's tests share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


@pytest.fixture(scope="session")
def make_record() -> Callable[..., Any]:
    """Return a maker of records: a definition from a few words, everything else as given."""
    from olscale.results import Record, run_id

    def make(
        dataset: str = "digits",
        learner: str = "pa1",
        params: dict[str, Any] | None = None,
        permutation: int | None = 0,
        transforms: tuple[str, ...] = (),
        version: int = 1,
        fingerprint: str = "f" * 64,
        **rest: Any,
    ) -> Record:
        protocol = (
            {"order": "time"} if permutation is None else {"order": "permuted", "seed": 0, "permutation": permutation}
        )
        run = {
            "dataset": {"name": dataset, "fingerprint": fingerprint},
            "transforms": list(transforms),
            "learner": {"name": learner, "version": version, "params": params or {}},
            "protocol": protocol,
        }
        return Record(run=run, id=run_id(run), **rest)

    return make
