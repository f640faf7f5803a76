"""The matrix of a random projection, one row per feature, made on demand and cached by use.

For 3.2 M features and 100 dimensions the matrix would be 1.3 GB in float32. Each row depends only
on the key and the feature's number, so a row that is not cached is made again, with the same bits.
A matrix with very few entries is held completely.

Gaussian numbers have the same bits on every machine: they use nothing but + - * / and sqrt. A word
of 32 bits is a probability, and the number is its quantile: exact in the outer 2/4096, elsewhere
interpolated between the nearest two of 4,095 quantiles. This increases the variance by less than
1e-4; no number is beyond 6.4.

References
----------
M. J. Wichura, Algorithm AS 241: the percentage points of the normal distribution, Applied
Statistics 37 (1988): PPND16.
"""

from functools import cache, lru_cache
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.copies import copy_numbers
from olscale.compiled.csr import CSR
from olscale.compiled.decorator import compiled, inlined
from olscale.compiled.intrinsics import borrowed
from olscale.compiled.philox import fill_words, philox
from olscale.compiled.row_layout import borrowed_rows
from olscale.compiled.simd.picked import add_picked

_INTERVALS = 1 << 12
_LAST = np.uint64(_INTERVALS - 1)
_REST = np.uint64((1 << 20) - 1)
_BITS = np.uint64(20)
_ONE = np.uint64(1)
_LN2 = 0.6931471805599453
_SQRT2 = 1.4142135623730951

# Coefficients of PPND16, of the numerator and the denominator: |p - 1/2| <= 0.425, and the tails up
# to exp(-25). fmt: off
_CENTRE = (
    (
        3.3871328727963666080,
        133.14166789178437745,
        1971.5909503065514427,
        13731.693765509461125,
        45921.953931549871457,
        67265.770927008700853,
        33430.575583588128105,
        2509.0809287301226727,
    ),
    (
        1.0,
        42.313330701600911252,
        687.18700749205790830,
        5394.1960214247511077,
        21213.794301586595867,
        39307.895800092710610,
        28729.085735721942674,
        5226.4952788528545610,
    ),
)
_TAIL = (
    (
        1.42343711074968357734,
        4.63033784615654529590,
        5.76949722146069140550,
        3.64784832476320460504,
        1.27045825245236838258,
        0.241780725177450611770,
        0.0227238449892691845833,
        7.74545014278341407640e-4,
    ),
    (
        1.0,
        2.05319162663775882187,
        1.67638483018380384940,
        0.689767334985100004550,
        0.148103976427480074590,
        0.0151986665636164571966,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ),
)
# fmt: on


@compiled
def _polynomial(coefficients: Any, x: float) -> float:
    total = 0.0
    for i in range(8):
        total = total * x + coefficients[7 - i]
    return total


@compiled
def _minus_log(p: float) -> float:
    """Return ``-ln p`` for 0 < p < 1, to a few units in the last place.

    Mathematical libraries differ in the last bits.
    """
    twos = 0
    while p < _SQRT2 / 2.0:
        p = p * 2.0
        twos = twos + 1
    s = (p - 1.0) / (p + 1.0)
    square = s * s
    series = 0.0
    for odd in range(25, 1, -2):
        series = (series + 1.0 / odd) * square
    return twos * _LN2 - 2.0 * (s + s * series)


@compiled
def quantile(p: float) -> float:
    """Return the `p` quantile of a standard Gaussian, for ``exp(-25) <= p <= 1 - exp(-25)``."""
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return q * _polynomial(_CENTRE[0], r) / _polynomial(_CENTRE[1], r)
    r = np.sqrt(_minus_log(min(p, 1.0 - p))) - 1.6
    far = _polynomial(_TAIL[0], r) / _polynomial(_TAIL[1], r)
    return far if q > 0.0 else -far


# By + - * / and sqrt alone, since libraries differ in the last bits of log and cos.
@compiled
def gaussian(word: Any, table: Any) -> float:
    """Return the Gaussian number of a word, a uint64 below 2^32, with the table of `quantiles`."""
    interval = word >> _BITS
    if interval == 0 or interval == _LAST:
        return quantile((float(word) + 0.5) * 2.0**-32)
    low = float(table[interval])
    return low + (float(word & _REST) + 0.5) * 2.0**-20 * (
        float(table[interval + _ONE]) - low
    )


@compiled
def _fill_quantiles(table: Any) -> None:
    for i in range(1, table.shape[0]):
        table[i] = quantile(i / table.shape[0])


@cache
def quantiles() -> NDArray[np.float32]:
    """Return the quantiles of the probabilities i / 4096, without i = 0."""
    table = np.zeros(_INTERVALS, dtype=np.float32)
    _fill_quantiles(table)
    return table


TABLE_BYTES = 64 << 20
"""Largest number of bytes of cached matrix rows, including the features they belong to."""

_ZERO = np.uint64(0)
_DENSEST_LISTED = 3.0
_MOST_VOTES = 255
_NONE: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)


def word_gaps(sparsity: float, width: int) -> NDArray[np.uint64]:
    """Return thresholds, shape (width,), that turn 31 upper bits of a word into a count of zeros.

    The count is the number of zeros between entries. An entry differs from 0 with probability ``1 /
    sparsity``, so at most `k` zeros come first with probability ``1 - (1 - 1 / sparsity)^(k + 1)``:
    that is threshold k, as a part of 2^31.
    """
    share = 1.0
    thresholds = []
    for _ in range(width):
        share *= 1.0 - 1.0 / sparsity
        thresholds.append(round((1.0 - share) * 2**31))
    return np.array(thresholds, dtype=np.uint64)


@compiled
def _entries(feature: int, key: Any, gaps: Any, entries: Any) -> int:
    """Write the entries of a feature, place counted from 1 times sign, and return their number.

    Each entry takes a word, whose lowest bit is the sign.
    """
    width = gaps.shape[0]
    at = 0
    count = 0
    words = (_ZERO, _ZERO, _ZERO, _ZERO)
    while at < width:
        if count % 4 == 0:
            words = philox(
                np.uint64(count // 4), np.uint64(feature), _ZERO, _ZERO, key[0], key[1]
            )
        word = words[count % 4]
        drawn = word >> _ONE
        if drawn >= gaps[width - 1 - at]:
            break
        gap = 0
        while gaps[gap] <= drawn:
            gap += 1
        at += gap + 1
        entries[count] = at if word & _ONE else -at
        count += 1
    return count


@compiled
def matrix_row(
    feature: int,
    key: Any,
    table: Any,
    gaps: Any,
    scratch: Any,
    row: Any,
) -> None:
    """Fill `row` with the matrix row of a feature: Gaussian, or -1, 0 and 1 if there are `gaps`."""
    if gaps.shape[0] > 0:
        row[:] = 0.0
        for entry in range(_entries(feature, key, gaps, scratch)):
            row[abs(scratch[entry]) - 1] = np.sign(scratch[entry])
        return
    fill_words(feature, key, scratch)
    for j in range(row.shape[0]):
        row[j] = gaussian(np.uint64(scratch[j]), table)


# A matrix for URL and 100 dimensions has 1.3 GB, once for each projection. A stored one would be
# two to four times as fast as computing the rows that this table does not hold.
class KeptRows(NamedTuple):
    """A matrix as compiled loops use it.

    Parameters
    ----------
    key : uint64 array of shape (2,)
    quantiles, gaps : array
        Quantiles of Gaussian numbers, or the thresholds of `word_gaps`.
    rows : float32 array of shape (places + 1, width)
        Rows of the matrix; the last is spare.
    owner : int32 array of shape (places,)
        The feature of each row, -1 for none.
    votes : uint8 array of shape (places,)
    scratch : int64 array
    """

    key: NDArray[np.uint64]
    quantiles: NDArray[np.float32]
    gaps: NDArray[np.uint64]
    rows: NDArray[np.float32]
    owner: NDArray[np.int32]
    votes: NDArray[np.uint8]
    scratch: NDArray[np.int64]


@inlined
def borrowed_kept(of: Any) -> Any:
    """Return the matrix with borrowed arrays, as `borrowed_rows` does."""
    table = borrowed(of.key), borrowed(of.quantiles), borrowed(of.gaps)
    return KeptRows(
        *table,
        borrowed(of.rows),
        borrowed(of.owner),
        borrowed(of.votes),
        borrowed(of.scratch),
    )


@inlined
def _is_kept(kept: Any, feature: int) -> Any:
    return kept.owner[feature & (kept.owner.shape[0] - 1)] == feature


@inlined
def _vote(kept: Any, feature: int) -> None:
    """Record a use of a cached feature."""
    place = feature & (kept.owner.shape[0] - 1)
    kept.votes[place] = min(kept.votes[place] + 1, _MOST_VOTES)


@compiled
def _make_row(kept: Any, feature: int) -> int:
    """Make the row of a feature that is not cached, and return its place."""
    last = kept.owner.shape[0]
    place = feature & (last - 1)
    # Boyer and Moore's majority vote: a place goes to the feature that most requests ask for.
    if kept.votes[place] == 0:
        kept.owner[place] = feature
        kept.votes[place] = 1
    else:
        kept.votes[place] -= 1
        place = last
    matrix_row(
        feature, kept.key, kept.quantiles, kept.gaps, kept.scratch, kept.rows[place]
    )
    return int(place)


@compiled
def add_product(X: Any, i: int, kept: Any, total: Any) -> None:
    """Add row `i` of `X` times the matrix to `total`, in ascending order of the features."""
    indices = X.indices
    data = X.data
    mask = kept.owner.shape[0] - 1
    p = X.indptr[i]
    stop = X.indptr[i + 1]
    while p < stop:
        end = p
        while end < stop and _is_kept(kept, indices[end]):
            _vote(kept, indices[end])
            end += 1
        add_picked(indices, data, p, end, mask, kept.rows, total)
        if end < stop:
            w = data[end]
            a = kept.rows[_make_row(kept, indices[end])]
            for j in range(total.shape[0]):
                total[j] += w * a[j]
        p = end + 1


@compiled
def _gather(X: Any, kept: Any, out: Any) -> None:
    X = borrowed_rows(X)
    kept = borrowed_kept(kept)
    out = borrowed(out)
    for i in range(out.shape[0]):
        add_product(X, i, kept, out[i])


@compiled
def _list_entries(
    key: Any,
    gaps: Any,
    scratch: Any,
    ends: Any,
    listed: Any,
) -> int:
    """Record where the entries of each feature end, and the entries if there is room.

    Returns their number.
    """
    total = 0
    for feature in range(ends.shape[0]):
        count = _entries(feature, key, gaps, scratch)
        if total + count <= listed.shape[0]:
            copy_numbers(scratch, listed[total:], count)
        total += count
        ends[feature] = total
    return total


@compiled
def _scatter(X: Any, ends: Any, listed: Any, out: Any) -> None:
    """Add up the entries for each row of `X`, in ascending order of the features."""
    for i in range(out.shape[0]):
        total = out[i]
        for p in range(X.indptr[i], X.indptr[i + 1]):
            feature = X.indices[p]
            value = X.data[p]
            for entry in range(ends[feature - 1] if feature > 0 else 0, ends[feature]):
                place = listed[entry]
                if place > 0:
                    total[place - 1] += value
                else:
                    total[-place - 1] -= value


class Listed:
    """A matrix with few entries, all in memory: 4 bytes per feature and per entry.

    Parameters as for `MatrixRows`.
    """

    def __init__(
        self,
        key: tuple[int, int],
        columns: int,
        width: int,
        sparsity: float,
    ) -> None:
        words = np.array(key, dtype=np.uint64)
        gaps = word_gaps(sparsity, width)
        scratch = np.empty(width, np.int64)
        self._width = width
        self._ends = np.empty(columns, dtype=np.int32)
        count = _list_entries(
            words, gaps, scratch, self._ends, np.empty(0, dtype=np.int32)
        )
        self._listed = np.empty(count, dtype=np.int32)
        _list_entries(words, gaps, scratch, self._ends, self._listed)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self._ends.nbytes + self._listed.nbytes

    def times(self, X: CSR) -> NDArray[np.float64]:
        """Return the rows of `X` times the matrix."""
        out = np.zeros((len(X.indptr) - 1, self._width))
        _scatter(X, self._ends, self._listed, out)
        return out


class MatrixRows:
    """A table of at most `TABLE_BYTES` of rows of a matrix, and the product with the matrix.

    The matrix maps `columns` features to `width` dimensions, with random words from `key`. One
    entry in `sparsity` is -1 or 1, the others are 0; with a sparsity of 0 all are Gaussian. The
    rows in the table do not affect products: threads may share a table, one at a time.
    """

    def __init__(
        self,
        key: tuple[int, int],
        columns: int,
        width: int,
        sparsity: float,
    ) -> None:
        self._recipe = key, columns, width, sparsity
        most = max(1, TABLE_BYTES // (4 * width + 5))
        # A power of two: a mask finds the place of a feature.
        places = 1 << min((columns - 1).bit_length(), most.bit_length() - 1)
        self.lock = Lock()
        self.kept = KeptRows(
            key=np.array(key, dtype=np.uint64),
            quantiles=quantiles(),
            gaps=word_gaps(sparsity, width) if sparsity else _NONE,
            # Memory pages of unused rows are never touched.
            rows=np.empty((places + 1, width), dtype=np.float32),
            owner=np.full(places, -1, dtype=np.int32),
            votes=np.zeros(places, dtype=np.uint8),
            # Philox makes four words at a time.
            scratch=np.empty(-(-width // 4) * 4, dtype=np.int64),
        )

    def __reduce__(self) -> Any:
        # a copy has the same matrix, and makes its own rows
        return type(self), self._recipe

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.kept.rows.nbytes + self.kept.owner.nbytes + self.kept.votes.nbytes

    def times(self, X: CSR) -> NDArray[np.float64]:
        """Return the rows of `X` times the matrix."""
        out = np.zeros((len(X.indptr) - 1, self.kept.rows.shape[1]))
        with self.lock:
            _gather(X, self.kept, out)
        return out


@lru_cache(maxsize=2)
def matrix_of(
    key: tuple[int, int],
    columns: int,
    width: int,
    sparsity: float,
) -> MatrixRows | Listed:
    """Return a matrix, held completely if it has few entries; two of them are cached."""
    if sparsity > _DENSEST_LISTED:
        return Listed(key, columns, width, sparsity)
    return MatrixRows(key, columns, width, sparsity)
