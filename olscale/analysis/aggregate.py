"""The arithmetic of `olscale.analysis.summary`: means over replicates of a hundred thousand runs.

Texts are dictionary codes from the file to the result, and the runs of a group lie side by side in
one array, so nothing is done run by run in Python. Every mean is that of the group's values in the
order of run ids, to the last bit what NumPy gives for them alone.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from olscale.arrays import BoolArray, FloatArray, IntArray
from olscale.results.arrow_arrays import arrow_array, numbers_of, positions_of
from olscale.results.settings import (
    KEY_COLUMNS,
    SettingKey,
    replicate_text,
    without_replicate,
)

# Between the transforms of a run, where they are one text.
_SEPARATOR = "\x1f"


class Moments(NamedTuple):
    """Mean and sample standard deviation (0.0 for one value) of the values of one metric, by group.

    Parameters
    ----------
    groups : int64 array of shape (n_groups,)
        The groups that have this metric, ascending.
    mean, std : float64 array of shape (n_groups,)
    n : int64 array of shape (n_groups,)
        Values, one of each run that ended ``ok``.
    replicates : uint64 array of shape (n_groups,)
        Equal for groups whose values are of the same replicates.
    """

    groups: IntArray
    mean: FloatArray
    std: FloatArray
    n: IntArray
    replicates: NDArray[np.uint64]


class MetricColumns(NamedTuple):
    """Metrics of runs.

    Parameters
    ----------
    names : list of str
    values : float64 array of shape (n_runs, n_names)
    present : bool array of shape (n_runs,) or None
        Which runs have these metrics; None if all have.
    """

    names: list[str]
    values: FloatArray
    present: BoolArray | None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Groups of replicates, each group being one setting.

    Parameters
    ----------
    keys : list of SettingKey
        Of each group.
    moments : dict of str to Moments
        By metric.
    failures : dict of int to Counter of str
        Outcomes other than ``ok`` of those groups that have any.
    """

    keys: list[SettingKey] = field(default_factory=list)
    moments: dict[str, Moments] = field(default_factory=dict)
    failures: dict[int, Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )


def aggregate(runs: pa.Table, timings: pa.Table) -> Aggregate:
    """Average metrics and timings over replicates.

    Parameters
    ----------
    runs : pyarrow.Table
        Of `Store.read`, sorted by id, with the columns ``id``, ``outcome``, ``metrics`` and those
        of a setting's key.
    timings : pyarrow.Table
        Of `Store.timings`, of some or all of the same runs.
    """
    if not runs.num_rows:
        return Aggregate()
    group, keys = groups_of(runs)
    result = Aggregate(keys)
    # Few runs fail, so failures are counted outcome by outcome.
    outcome, outcomes = codes_of(runs["outcome"])
    for code, name in enumerate(outcomes):
        if name != "ok":
            counts = np.unique(group[outcome == code], return_counts=True)
            for failed, count in zip(*counts, strict=True):
                result.failures[int(failed)][name] = int(count)
    is_ok_of_code = np.array([name == "ok" for name in outcomes])
    is_ok = is_ok_of_code[outcome]
    # Of few groups the numbers are short ones, which NumPy sorts by their digits.
    short = group.astype(np.min_scalar_type(len(keys)))
    order = np.argsort(short, kind="stable")
    order = order[is_ok[order]]
    replicates = _replicate_numbers(runs["protocol"])
    for columns in metrics_and_timings(runs, timings):
        rows = order
        if columns.present is not None:
            rows = order[columns.present[order]]
        moments = _moments(columns.values, rows, group[rows], replicates[rows])
        # A timing of the name of a metric takes its place.
        result.moments.update(zip(columns.names, moments, strict=True))
    return result


def metrics_and_timings(runs: pa.Table, timings: pa.Table) -> Iterator[MetricColumns]:
    """Yield the metrics of runs, then their timings."""
    yield from _columns_of(runs["metrics"], None, runs.num_rows)
    places = None
    if not timings["id"].equals(runs["id"]):
        places = positions_of(timings["id"], runs["id"])
    yield from _columns_of(timings["timings"], places, runs.num_rows)


def groups_of(runs: pa.Table) -> tuple[IntArray, list[SettingKey]]:
    """Return the group of each row, and the keys of the groups."""
    if not runs.num_rows:
        return np.empty(0, dtype=np.int64), []
    columns = [_key_column(runs, name) for name in KEY_COLUMNS]
    # The codes of a row are the digits of one number, in a mixed radix.
    numbers = np.zeros(runs.num_rows, dtype=np.int64)
    size = 1
    for codes, values in columns:
        if size * len(values) >= 2**62:
            distinct, numbers = np.unique(numbers, return_inverse=True)
            size = len(distinct)
        numbers = numbers * len(values) + codes
        size *= len(values)
    array = pa.Array.from_buffers(
        pa.int64(), len(numbers), [None, pa.py_buffer(numbers)]
    )
    # by hashing, several times faster than by sorting
    encoded = array.dictionary_encode()
    group = numbers_of(encoded.indices)
    # The first row of each group: what is written last stays.
    first = np.empty(len(encoded.dictionary), dtype=np.int64)
    rows = np.arange(runs.num_rows)
    first[group[::-1]] = rows[::-1]
    parts = []
    for codes, values in columns:
        codes_of_groups = codes[first].tolist()
        parts.append([values[code] for code in codes_of_groups])
    return group, list(map(SettingKey, *parts))


def _key_column(runs: pa.Table, name: str) -> tuple[IntArray, list[Any]]:
    """Return the code of each row in a column of the key, and what the codes stand for."""
    if name == "transforms":
        # Arrow has no dictionaries of lists: the names are joined, and split again.
        separator = arrow_array([_SEPARATOR], pa.string())[0]
        codes, texts = codes_of(pc.binary_join(runs[name], separator))
        return codes, [tuple(text.split(_SEPARATOR)) if text else () for text in texts]
    codes, values = codes_of(runs[name])
    if name == "protocol":
        protocols = [without_replicate(text) for text in values]
        values = list(dict.fromkeys(protocols))
        places = np.array([values.index(protocol) for protocol in protocols])
        codes = places[codes]
    return codes, values


def _replicate_numbers(
    protocols: pa.ChunkedArray,
) -> NDArray[np.uint64]:
    """Return a number of each run's replicate; a sum of them, in any order, stands for them all."""
    codes, texts = codes_of(protocols)
    numbers = []
    for text in texts:
        replicate = replicate_text(text).encode()
        digest = hashlib.sha256(replicate).digest()
        numbers.append(int.from_bytes(digest[:8], "big"))
    return np.array(numbers, dtype=np.uint64)[codes]


def codes_of(column: pa.ChunkedArray) -> tuple[IntArray, list[Any]]:
    """Return the code of each row of a column of text, and the text that each code stands for."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    array = column.unify_dictionaries().combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0)
    return numbers_of(array.indices), array.dictionary.to_pylist()


def _columns_of(
    maps: pa.ChunkedArray,
    places: IntArray | None,
    rows: int,
) -> Iterator[MetricColumns]:
    """Yield the columns of a column of maps; `places` are their rows, if not all rows in order."""
    keys = []
    parts = []
    sizes = []
    for chunk in maps.chunks:
        # A chunk may be a slice, whose entries are a part of its buffers.
        ends = numbers_of(chunk.offsets)
        entries = slice(int(ends[0]), int(ends[-1]))
        keys.append(chunk.keys[entries])
        parts.append(numbers_of(chunk.items[entries]))
        sizes.append(np.diff(ends))
    if not parts:
        return
    code, names = codes_of(pa.chunked_array(keys))
    value = np.concatenate(parts)
    size = np.concatenate(sizes)
    # Mostly all runs have the same metrics, and the entries are a matrix as they stand.
    if places is None and _all_have(code, size, len(names)):
        yield MetricColumns(names, value.reshape(len(size), -1), None)
        return
    if places is None:
        places = np.arange(rows)
    row = np.repeat(places, size)
    for i, name in enumerate(names):
        entries_of_name = np.flatnonzero(code == i)
        rows_of_name = row[entries_of_name]
        values = np.zeros((rows, 1))
        values[rows_of_name, 0] = value[entries_of_name]
        present = np.zeros(rows, dtype=bool)
        present[rows_of_name] = True
        yield MetricColumns([name], values, present)


def _all_have(code: IntArray, size: IntArray, names: int) -> bool:
    """Return whether all maps have all names, in one order."""
    if not names or not (size == names).all():
        return False
    is_in_order = code.reshape(-1, names) == np.arange(names)
    return bool(is_in_order.all())


def _moments(
    values: FloatArray,
    rows: IntArray,
    groups: IntArray,
    replicates: NDArray[np.uint64],
) -> Iterator[Moments]:
    """Yield the moments of each column of `values` over those rows.

    `groups` and `replicates` are those of the rows; groups ascend.
    """
    # Where the rows of a group begin: each group is a stretch.
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    sums = replicates
    if len(starts):
        sums = np.add.reduceat(replicates, starts)
    counts = np.diff(starts, append=len(groups))
    # Groups of one size together: their places among the groups, and their rows, a group a line.
    by_size = []
    for count in np.unique(counts):
        places = np.flatnonzero(counts == count)
        entries = starts[places, None] + np.arange(count)
        by_size.append((places, rows[entries]))
    # one after another: what is computed with fits in the cache
    for column in values.T:
        mean = np.empty(len(starts))
        std = np.zeros(len(starts))
        for places, rows_of_groups in by_size:
            # a group's values in a row: bits depend on it alone
            cells = column[rows_of_groups]
            means = cells.mean(axis=1)
            mean[places] = means
            count = rows_of_groups.shape[1]
            if count == 1:
                continue
            # An infinite metric has no deviation: NaN says so.
            with np.errstate(invalid="ignore"):
                cells -= means[:, None]
                cells *= cells
                variance = cells.sum(axis=1) / (count - 1)
                std[places] = np.sqrt(variance)
        yield Moments(groups[starts], mean, std, counts, sums)
