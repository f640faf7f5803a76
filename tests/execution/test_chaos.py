"""Real processes die at random while an evaluation of actors and one of tasks run; see `olscale.bench.chaos`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from olscale.bench.chaos import run_chaos

SECONDS = float(os.environ.get("OLSCALE_CHAOS_SECONDS", "40"))


@pytest.mark.chaos
@pytest.mark.timeout(SECONDS + 1200)
def test_whatever_dies_the_bytes_are_those_of_the_undisturbed_evaluation(tmp_path: Path) -> None:
    """Workers, nannies, drivers and the scheduler killed, workers frozen; `OLSCALE_CHAOS_SECONDS` makes it longer."""
    report = run_chaos(SECONDS, tmp_path, every=1.5)
    assert sum(report.hits.values()) >= 2
    assert report.rows_learned > report.rows  # something was lost, and learned again
    assert report.differing == []
    assert report.failures == []
    assert report.orphans == 0
