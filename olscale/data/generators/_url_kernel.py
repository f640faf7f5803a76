"""The loop that makes rows of `olscale.data.generators.url_like`."""

from __future__ import annotations

from typing import Any

import numpy as np

from olscale.data.generators._text_kernel import DECIMALS
from olscale.jit import kernel

__all__ = ["MOST_NONZEROS", "fill"]

_REAL = 64
_VALUES, _USUAL = 12, 0.8
_LEVELS, _LEVEL_SPREAD = 7, np.uint64(9)
_FEWEST_STRATA, _STRATA_SPREAD = 154, 25
_HEAD_SHARE, _HEAD, _EARLY = 0.495, 77, 17
_EARLY_SHARE = _HEAD_SHARE * _EARLY / _HEAD
_BLOCK = 0.048
_RECENT = 8
_PERIOD = 64
MOST_NONZEROS = _VALUES + _FEWEST_STRATA + _STRATA_SPREAD + _RECENT

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)
_UNIT = 2.0**-53
_INFORMATIVE = np.uint64(1)
_SIGN = np.uint64(2)
_REFUSED = 0.9
_MALICIOUS = 1.0 / 3.0
_NOISE = 0.01


@kernel
def _mix(z: Any) -> Any:
    """Return the output function of splitmix64."""
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    return z ^ (z >> _S31)


@kernel
def _uniform(counter: Any) -> float:
    return float(_mix(counter) >> _S11) * _UNIT


@kernel
def _lean(key: Any, feature: int, day: int) -> int:
    """Return the class in which `feature` is more frequent on `day`: -1, +1, or 0 for none."""
    own = _mix(key ^ (np.uint64(feature) * _GOLDEN))
    epoch = (day + np.int64(own & np.uint64(_PERIOD - 1))) // _PERIOD
    drawn = _mix(own + np.uint64(epoch) * _GOLDEN)
    if drawn & _INFORMATIVE:
        return 0
    return 1 if drawn & _SIGN else -1


@kernel
def _real(key: Any, feature: int, u: float) -> float:
    """Return a value of a real-valued feature: one of so many multiples of a fraction, in six decimals."""
    levels = _LEVELS << int(_mix(key + np.uint64(feature)) % _LEVEL_SPREAD)
    nearest = (2 * DECIMALS * min(levels, 1 + int(levels * u)) + levels) // (2 * levels)
    return nearest / DECIMALS


@kernel
def _frequent(u: float, born: float, block: int) -> int:
    """Return the place of a feature: in the head, of which nearly every row has each, or a power law over all born."""
    if u < _HEAD_SHARE:
        rank = int(_HEAD * (u / _HEAD_SHARE))
        return rank if rank < _EARLY else block + rank
    t = (u - _HEAD_SHARE) / (1.0 - _HEAD_SHARE)
    for _ in range(5):
        t *= t
    return _EARLY + int((born - _EARLY) * t)


@kernel
def _stratum(step: int, strata: int) -> int:
    """Return the stratum to draw from: those of the block follow the tail, most of whose features are before it."""
    low, high = int(_EARLY_SHARE * strata), int(_HEAD_SHARE * strata)
    if step < low or step >= strata:
        return step
    return step - low + high if step < low + strata - high else step - strata + high


@kernel
def fill(
    start: int, seed: int, columns: int, day_rows: int, days: int, indptr: Any, indices: Any, data: Any, malicious: Any
) -> int:
    """Write the rows from number `start` on to the arrays of a CSR and return the number of nonzeros."""
    key = _mix(np.uint64(seed) + _GOLDEN)
    at = 0
    for i in range(malicious.shape[0]):
        row = start + i
        day = min(row // day_rows, days - 1)
        block = int(_BLOCK * columns)
        born = (columns - _REAL) * (0.1 + 0.9 * (day + 1) / days)
        counter = _mix(key + np.uint64(row) * _GOLDEN)
        y = 1 if _uniform(counter) < _MALICIOUS else -1
        shown = -y if _uniform(counter + np.uint64(1)) < _NOISE else y
        malicious[i] = (shown + 1) // 2
        strata = _FEWEST_STRATA + int(_STRATA_SPREAD * _uniform(counter + np.uint64(2)))
        counter += np.uint64(3)
        first = at
        for group in range(_VALUES):
            feature, end = _REAL * group // _VALUES, _REAL * (group + 1) // _VALUES
            feature += int((end - feature) * max(0.0, (_uniform(counter) - _USUAL) / (1.0 - _USUAL)))
            value = _uniform(counter + np.uint64(1))
            if _lean(key, feature, day) == y:
                value = 0.5 * (1.0 + value)
            counter += np.uint64(2)
            indices[at] = feature
            data[at] = _real(key, feature, value)
            at += 1
        for step in range(strata + _RECENT):
            stratum = _stratum(step, strata)
            for _ in range(3):  # a second draw stays in its stratum
                if stratum < strata:
                    feature = _REAL + _frequent((stratum + _uniform(counter)) / strata, born, block)
                else:
                    u = (stratum - strata + _uniform(counter)) / _RECENT
                    u *= u
                    feature = _REAL + int(born - 1.0 - 0.1 * born * (u * u))
                refused = _uniform(counter + np.uint64(1)) < _REFUSED
                counter += np.uint64(2)
                if not (refused and _lean(key, feature, day) == -y):
                    break
            # Few are out of order; equal features are one.
            p = at
            while p > first and indices[p - 1] > feature:
                p -= 1
            if p > first and indices[p - 1] == feature:
                continue
            for q in range(at, p, -1):
                indices[q] = indices[q - 1]
            indices[p] = feature
            data[at] = 1.0
            at += 1
        indptr[i + 1] = at
    return at
