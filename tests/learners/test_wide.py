"""Wide models: what no row has had a feature for takes no memory, whoever copies, restores or cuts the state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.compiled.csr import to_csr
from olscale.data.chunk import Chunk
from olscale.learners.contract.class_shards import ClassShard
from olscale.learners.registry import make_learner
from olscale.results.opening import open_store
from olscale.results.scratch import Scratch
from olscale.system.memory import resident_bytes

COLUMNS = 1_000_000
FEW = 20_000_000  # bytes; the models have hundreds of millions


def _rows() -> Chunk:
    """Return six rows of the first ten features, as rows of a million."""
    chunk = Chunk(to_csr(np.eye(6, 10) + 1.0), np.arange(6) % 3, 10)
    return Chunk(chunk.X, chunk.y, COLUMNS)


@pytest.mark.parametrize("name", ["lol", "soft-lol"])
def test_copy_and_restored_state_take_what_was_written_to(name: str) -> None:
    chunk = _rows()
    params = {"k": 16, "dtype": "float32"}
    learner = make_learner(name, params)
    again = make_learner(name, params)
    for made in (learner, again):
        made.begin(COLUMNS, 3)
    learner.learn(chunk.X, chunk.y)
    assert learner.measures()["model_bytes"] > 5 * FEW
    before = resident_bytes()
    state = learner.state()
    again.restore(state)
    assert resident_bytes() - before < 2 * FEW
    np.testing.assert_array_equal(again.scores(chunk.X), learner.scores(chunk.X))


def test_a_class_shard_begins_with_nothing_and_leaves_little(tmp_path: Path) -> None:
    """Neither the whole model nor the part of the shard is gone through for a start; what the merge reads is small."""
    chunk = _rows()
    params = {"k": 16, "dtype": "float32"}
    shard = ClassShard(make_learner("lol", params), range(1, 3))
    before = resident_bytes()
    shard.begin(COLUMNS, 3)
    assert resident_bytes() - before < 2 * FEW
    shard.learn(chunk.X, chunk.y)
    scratch = Scratch(open_store(str(tmp_path / "store"), create=True), "0" * 32)
    state: dict[str, Any] = shard.state()
    scratch.write("end", state)
    assert sum(file.stat().st_size for file in tmp_path.rglob("*.npz")) < FEW
    for name, array in scratch.read("end").items():
        np.testing.assert_array_equal(array, state[name])
