"""Dask's settings are olscale's in every test here, whichever was the one before."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

import dask
import pytest

from olscale.execution.cluster import configure_dask


@pytest.fixture(autouse=True)
def settings_of_dask() -> Iterator[None]:
    """Put Dask's settings back: `gen_cluster` leaves those from before olscale's, which come once a process."""
    configure_dask()
    before = deepcopy(dask.config.config)
    yield
    dask.config.config.clear()
    dask.config.config.update(before)
