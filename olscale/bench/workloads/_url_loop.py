"""The loop that makes rows of `olscale.bench.workloads.url_like`."""

from typing import Any

import numpy as np

from olscale.bench.workloads._text_loop import DECIMALS
from olscale.compiled.decorator import compiled

_REAL = 64
_VALUES = 12
_USUAL = 0.8
_LEVELS = 7
_LEVEL_SPREAD = np.uint64(9)
_HEAD = 102
_EARLY = 36
_RUN = 36
_BLOCK = 0.048
_ALWAYS = 0.985
_MOST = 0.9
_FALL = 0.7
_AGAINST = 0.7
_FEWEST_STRATA = 20
_STRATA_SPREAD = 8
_FREQUENT = 13
_RECENT = 3
_SITES = 100
_DRAWS = 6
_OWN_VALUE = 0.25
_OWN_HEAD = 0.05
_OWN_TAIL = 0.3
_PERIOD = 64
MOST_NONZEROS = _VALUES + _HEAD + _FEWEST_STRATA + _STRATA_SPREAD + _RECENT

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S27 = np.uint64(27)
_S30 = np.uint64(30)
_S31 = np.uint64(31)
_S11 = np.uint64(11)
_UNIT = 2.0**-53
_INFORMATIVE = np.uint64(1)
_SIGN = np.uint64(2)
_REFUSED = 0.8
_MALICIOUS = 1.0 / 3.0
_NOISE = 0.01


@compiled
def _mix(z: Any) -> Any:
    """Return the output function of splitmix64."""
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    return z ^ (z >> _S31)


@compiled
def _uniform(counter: Any) -> float:
    return float(_mix(counter) >> _S11) * _UNIT


@compiled
def _lean(key: Any, feature: int, day: int) -> int:
    """Return the class in which `feature` is more frequent on `day`: -1, +1, or 0 for none."""
    own = _mix(key ^ (np.uint64(feature) * _GOLDEN))
    # Drifts set in on another day for every feature: no day changes all of them.
    epoch = (day + np.int64(own & np.uint64(_PERIOD - 1))) // _PERIOD
    drawn = _mix(own + np.uint64(epoch) * _GOLDEN)
    if drawn & _INFORMATIVE:
        return 0
    return 1 if drawn & _SIGN else -1


@compiled
def _real(key: Any, feature: int, u: float) -> float:
    """Return a value of a real-valued feature: a multiple of a fraction, in six decimals."""
    levels = _LEVELS << int(_mix(key + np.uint64(feature)) % _LEVEL_SPREAD)
    nearest = (2 * DECIMALS * min(levels, 1 + int(levels * u)) + levels) // (2 * levels)
    return nearest / DECIMALS


@compiled
def _insert(feature: int, first: int, at: int, indices: Any, data: Any) -> int:
    """Insert a binary feature into the row since `first` if absent; return the row's end."""
    # From the end, where most features belong: they are drawn nearly in order.
    p = at
    while p > first and indices[p - 1] > feature:
        p -= 1
    if p > first and indices[p - 1] == feature:
        return at
    for q in range(at, p, -1):
        indices[q] = indices[q - 1]
    indices[p] = feature
    data[at] = 1.0
    return at + 1


@compiled
def _site(u: float) -> int:
    """Return the number of a site; the first sites have many more rows than the last."""
    return int(_SITES * (u * u * u))


@compiled
def _draw(draws: Any, place: int, own: float) -> Any:
    """Return the counter of a draw: the row's with probability `own`, else its site's."""
    row, site = draws
    at = np.uint64(_DRAWS * place)
    return row + at if _uniform(~(row + at)) < own else site + at


@compiled
def _head(
    key: Any,
    draws: Any,
    places: Any,
    before: int,
    day: int,
    y: int,
    first: int,
    at: int,
    indices: Any,
    data: Any,
) -> int:
    """Add the head features at `places` that a row of class `y` has; return the row's end."""
    for place in places:
        feature = before + place
        chance = _ALWAYS
        if place % _RUN >= _RUN // 2:
            chance = _MOST - _FALL * place / _HEAD
            if _lean(key, feature, day) == -y:
                chance *= _AGAINST
        if _uniform(_draw(draws, _VALUES + place, _OWN_HEAD)) < chance:
            at = _insert(feature, first, at, indices, data)
    return at


@compiled
def _begin(born: float) -> float:
    """Return where t begins, see `_tail`: the most frequent features are in the head."""
    t = _FREQUENT / born
    for _ in range(5):
        t = np.sqrt(t)
    return t


@compiled
def _tail(u: float, begin: float) -> float:
    """Return the share of known features before the one drawn; frequencies near a power law."""
    t = begin + (1.0 - begin) * u * (0.65 + 0.35 * u)
    for _ in range(5):
        t *= t
    return t


@compiled
def fill(
    start: int,
    seed: int,
    columns: int,
    day_rows: int,
    days: int,
    indptr: Any,
    indices: Any,
    data: Any,
    malicious: Any,
) -> int:
    """Write the rows from number `start` on to CSR arrays and return the number of nonzeros."""
    key = _mix(np.uint64(seed) + _GOLDEN)
    at = 0
    for i in range(malicious.shape[0]):
        row = start + i
        day = min(row // day_rows, days - 1)
        block = int(_BLOCK * columns)
        born = (columns - _REAL) * (0.1 + 0.9 * (day + 1) / days)
        drawn = _mix(key + np.uint64(row) * _GOLDEN)
        # All draws of a row follow from its number, so that any rows can be made alone.
        y = 1 if _uniform(drawn) < _MALICIOUS else -1
        shown = -y if _uniform(drawn + np.uint64(1)) < _NOISE else y
        malicious[i] = (shown + 1) // 2
        site = _mix(~key + np.uint64(_site(_uniform(drawn + np.uint64(2)))) * _GOLDEN)
        draws = drawn + np.uint64(_DRAWS), site
        # Rows of a site have equally many features: real rows repeat one another.
        strata = _FEWEST_STRATA + int(_STRATA_SPREAD * _uniform(~site))
        first = at
        for group in range(_VALUES):
            feature = _REAL * group // _VALUES
            end = _REAL * (group + 1) // _VALUES
            drawn = _draw(draws, group, _OWN_VALUE)
            feature += int(
                (end - feature) * max(0.0, (_uniform(drawn) - _USUAL) / (1.0 - _USUAL))
            )
            value = _uniform(drawn + np.uint64(1))
            # Values say something of the class, but not all: this only makes large ones likelier.
            if _lean(key, feature, day) == y:
                value = 0.5 * (1.0 + value)
            indices[at] = feature
            data[at] = _real(key, feature, value)
            at += 1
        at = _head(key, draws, range(_EARLY), _REAL, day, y, first, at, indices, data)
        begin = _begin(born)
        behind = False
        for step in range(strata + _RECENT):
            if not behind and (
                step >= strata or _tail(step / strata, begin) * born > block
            ):
                # Where it comes in the order of columns, so that little is put in its place later.
                at = _head(
                    key,
                    draws,
                    range(_EARLY, _HEAD),
                    _REAL + block,
                    day,
                    y,
                    first,
                    at,
                    indices,
                    data,
                )
                behind = True
            drawn = _draw(draws, _VALUES + _HEAD + step, _OWN_TAIL)
            for _ in range(3):  # a second draw stays in its stratum
                if step < strata:
                    t = _tail((step + _uniform(drawn)) / strata, begin)
                    feature = _REAL + _EARLY - _FREQUENT + int((born - _EARLY) * t)
                else:
                    u = (step - strata + _uniform(drawn)) / _RECENT
                    u *= u
                    feature = _REAL + int(born - 1.0 - 0.1 * born * (u * u))
                # Features that speak against the class of the row are rarer in it, not absent.
                refused = _uniform(drawn + np.uint64(1)) < _REFUSED
                drawn += np.uint64(2)
                if not (refused and _lean(key, feature, day) == -y):
                    break
            at = _insert(feature, first, at, indices, data)
        indptr[i + 1] = at
    return at
