"""Scratch arrays: what is written is read, what is not there is one line, and nothing is left."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from olscale.errors import StoreError
from olscale.results.opening import open_store
from olscale.results.scratch import Scratch

RUN = "0123456789abcdef" * 2


@pytest.mark.parametrize("remote", [False, True])
def test_arrays_come_back_and_nothing_is_left(tmp_path: Path, remote: bool) -> None:
    store = open_store(
        "memory://scratch-test" if remote else tmp_path / "store", create=True
    )
    scratch = Scratch(store, RUN)
    size = store.files.size()
    arrays = {
        "best": np.array([0.5, np.nan]),
        "said": np.array(["diverged", "at row 7"]),
    }
    scratch.write("0-2.train", arrays)
    for name, array in scratch.read("0-2.train").items():
        np.testing.assert_array_equal(array, arrays[name])
    assert store.done() == store.lost() == set()
    scratch.clear()
    scratch.clear()
    assert store.files.size() == size
    with pytest.raises(StoreError, match="run the same command again"):
        scratch.read("0-2.train")


def test_a_damaged_file_is_one_line(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store", create=True)
    scratch = Scratch(store, RUN)
    scratch.write("end", {"rows": np.arange(3)})
    (file,) = (tmp_path / "store" / "tmp").rglob("*.npz")
    for content in (file.read_bytes()[:100], b"broken", b""):
        file.write_bytes(content)
        with pytest.raises(StoreError, match="cannot read"):
            scratch.read("end")
