"""The compressors give the bytes of numcodecs, whichever way they are called."""

from __future__ import annotations

import numpy as np
import pytest
from numcodecs import blosc
from numcodecs.lz4 import LZ4

from olscale.data.layouts import _packing
from olscale.data.layouts._packing import NOT_SHUFFLED, SHUFFLED, blosc_lz4, lz4_block

VALUES = [
    np.round(np.random.default_rng(0).normal(size=(700, 9)), 2),
    np.arange(300_000, dtype=np.int32) % 50,
    np.random.default_rng(1).integers(0, 256, 70_000).astype(np.uint8),
    np.zeros(1),
]


@pytest.fixture(params=["called", "by numcodecs"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "by numcodecs":
        monkeypatch.setattr(_packing, "_function", lambda *_: None)
    monkeypatch.setattr(blosc, "use_threads", None)


@pytest.mark.parametrize("values", VALUES, ids=lambda values: str(values.dtype))
@pytest.mark.usefixtures("way")
def test_bytes_are_those_of_numcodecs(values: np.ndarray) -> None:
    for shuffle in (SHUFFLED, NOT_SHUFFLED):
        packed = blosc_lz4(values, 5, shuffle)
        blosc.use_threads = False
        assert packed == blosc.Blosc("lz4", 5, shuffle).encode(values)
        assert blosc.decompress(packed) == values.tobytes()
    assert lz4_block(values, 17) == LZ4(17).encode(values)[4:]


def test_blocks_are_in_order_without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several threads of blosc write them in the order in which they end."""
    monkeypatch.setattr(blosc, "use_threads", None)
    monkeypatch.setattr(_packing, "_function", lambda *_: None)
    blosc_lz4(VALUES[1], 5, SHUFFLED)
    assert blosc.use_threads is False


def test_a_function_that_is_not_there_is_none() -> None:
    assert _packing._function("blosc", "no_such_function", ()) is None
    assert _packing._function("no_such_module", "blosc_init", ()) is None
