"""McNemar's test of two learners on the same rows, by the rows that only one of them gets right."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from olscale.analysis.matched_blocks import shared_keys
from olscale.analysis.paired_tests import holm
from olscale.analysis.replicates import by_replicate
from olscale.arrays import FloatArray, IntArray
from olscale.results import Store
from olscale.results.arrow_arrays import numbers_of
from olscale.results.settings import SettingKey
from olscale.results.store import OnDamage

BitArray = NDArray[np.uint32]

ROWS = {"wrong_rows": "the stream", "test_wrong_rows": "the test split"}
"""Which rows predictions are compared on, by the name of the series that has their bits."""

Bits = Mapping[str, BitArray]
"""Which rows a setting predicts wrongly, by what tells its replicates apart."""


@dataclass(frozen=True, slots=True, eq=False)
class PairCounts:
    """Two learners against each other; each array has a number for each replicate.

    Parameters
    ----------
    a, b : str
    a_alone, b_alone : int64 array
        Rows that only `a` predicts rightly, and that only `b` does.
    p : float64 array
        Exact, two-sided, that both counts come from even odds.
    p_corrected : float64 array
        By Holm's method for the number of pairs of the replicate.
    chi_square, chi_square_p : float64 array
        McNemar's statistic with Edwards' correction for continuity, and its p.
    """

    a: str
    b: str
    a_alone: IntArray
    b_alone: IntArray
    p: FloatArray
    p_corrected: FloatArray
    chi_square: FloatArray
    chi_square_p: FloatArray


def wrong_rows(
    store: Store,
    name: str,
    on_damage: OnDamage = "raise",
) -> dict[SettingKey, dict[str, Any]]:
    """Return the bits of the series `name` of the runs that have it, by setting and replicate."""
    return by_replicate(store, "series", partial(_bits, name), on_damage)


def _bits(name: str, cells: pa.ChunkedArray) -> Iterable[BitArray | None]:
    for cell in cells:
        names = cell.values.field("name").to_pylist()
        if name in names:
            place = names.index(name)
            values = cell.values.field("values")[place].values
            yield numbers_of(values).astype(np.uint32)
        else:
            yield None


def compare_rows(
    learners: Sequence[str],
    bits: Sequence[Bits],
    baseline: str | None = None,
) -> tuple[PairCounts, ...]:
    """Compare learners in pairs, or a baseline with all others, on the replicates that all have.

    References
    ----------
    Q. McNemar, Note on the sampling error of the difference between correlated proportions or
    percentages, Psychometrika 12, 1947.

    A. L. Edwards, Note on the "correction for continuity" in testing the significance of the
    difference between correlated proportions, Psychometrika 13, 1948.

    Examples
    --------
    >>> wrong = [{"{}": np.array([bits], np.uint32)} for bits in (0b0001_1111, 0b0000_0001)]
    >>> [pair] = compare_rows(["perceptron", "pa1"], wrong)
    >>> pair.a_alone, pair.b_alone, pair.p, pair.chi_square
    (array([0]), array([4]), array([0.125]), array([2.25]))
    """
    replicates = shared_keys(bits)
    if not replicates:
        return ()
    pairs = list(combinations(range(len(learners)), 2))
    if baseline is not None:
        first = list(learners).index(baseline)
        pairs = [(first, second) for second in range(len(learners)) if second != first]
    counts_of_pairs = []
    for i, j in pairs:
        counts_of_pairs.append(
            [_alone(bits[i][name], bits[j][name]) for name in replicates]
        )
    counts = np.array(counts_of_pairs)
    a_alone = counts[..., 0]  # shape (n_pairs, n_replicates)
    b_alone = counts[..., 1]
    p, chi_square, chi_square_p = mcnemar(a_alone, b_alone)
    of_replicates = [holm(p_of_replicate) for p_of_replicate in p.T]
    corrected = np.stack(of_replicates, axis=1)
    figures = (a_alone, b_alone, p, corrected, chi_square, chi_square_p)
    return tuple(
        PairCounts(
            learners[i],
            learners[j],
            *(array[pair] for array in figures),
        )
        for pair, (i, j) in enumerate(pairs)
    )


def _alone(a: BitArray, b: BitArray) -> tuple[int, int]:
    """Return how many rows only the first, and only the second, has no bit set for."""
    only_b = np.bitwise_count(b & ~a).sum()
    only_a = np.bitwise_count(a & ~b).sum()
    return int(only_b), int(only_a)


def mcnemar(
    a_alone: IntArray, b_alone: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the exact p of counts, the statistic corrected for continuity, and the p of that.

    Examples
    --------
    >>> [float(figure.round(4)) for figure in mcnemar(np.int64(15), np.int64(5))]
    [0.0414, 4.05, 0.0442]
    """
    from scipy.special import bdtr, chdtrc

    # Rows that both predict rightly, or both wrongly, say nothing about the two.
    rows = a_alone + b_alone
    fewer = np.minimum(a_alone, b_alone).astype(float)
    exact = np.minimum(1.0, 2 * bdtr(fewer, rows, 0.5))
    distance = np.abs(a_alone - b_alone) - 1.0
    statistic = np.maximum(0.0, distance) ** 2
    statistic = statistic / np.maximum(1, rows)
    return exact, statistic, chdtrc(1.0, statistic)
