"""Fused settings give every setting the bits it would get alone."""

from __future__ import annotations

import numpy as np
import pytest

from olscale.compiled.csr import slice_rows, to_csr
from olscale.data.chunk import Chunk
from olscale.learners.contract.fused_settings import fuse, grid_key
from olscale.learners.contract.learner import Learner
from olscale.learners.registry import make_learner

SETTINGS = {
    "perceptron": [{}, {}],
    "pa1": [{"C": 2.0**power} for power in range(-8, 9)],
    "pa2": [{"C": 0.01}, {"C": 1.0}, {"C": 100.0}],
    "ogd": [{"C": 0.1 * s} for s in range(1, 9)],
}


def _stream(classes: int, rows: int = 60, columns: int = 23) -> Chunk:
    rng = np.random.default_rng(11)
    y = rng.integers(0, classes, rows)
    X = rng.normal(size=(classes, columns))[y] + 2.0 * rng.normal(size=(rows, columns))
    X[rng.random(X.shape) < 0.5] = 0.0
    X[7] = 0.0
    return Chunk(X, y, columns)


def _begun(name: str, shared: dict[str, str], chunk: Chunk, classes: int) -> list[Learner]:
    learners = [make_learner(name, {**params, **shared}) for params in SETTINGS[name]]
    for learner in learners:
        learner.begin(chunk.columns, classes)
    return learners


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize(("classes", "multiclass"), [(2, "max-score"), (3, "max-score"), (3, "ova")])
@pytest.mark.parametrize(("name", "dtype"), [*((name, "float64") for name in SETTINGS), ("pa1", "float32")])
def test_fused_settings_have_the_bits_of_settings_alone(
    name: str, classes: int, multiclass: str, dtype: str, sparse: bool
) -> None:
    chunk = _stream(classes)
    X = to_csr(chunk.X) if sparse else chunk.X
    shared = {"multiclass": multiclass, "dtype": dtype}
    alone, together = _begun(name, shared, chunk, classes), _begun(name, shared, chunk, classes)
    assert len({grid_key(learner) for learner in together}) == 1
    fused = fuse(together)
    for start, stop in ((0, 41), (41, 60)):
        part, y = slice_rows(X, start, stop), chunk.y[start:stop]
        for one, scores in zip(alone, fused.learn(part, y), strict=True):
            assert one.learn(part, y).tobytes() == np.ascontiguousarray(scores).tobytes()
    fused.release()
    for one, other in zip(alone, together, strict=True):
        assert one.state_.keys() == other.state_.keys()
        for key, array in one.state_.items():
            assert (array.shape, array.tobytes()) == (other.state_[key].shape, other.state_[key].tobytes()), key
