"""The arithmetic of `olscale.analysis.summary`: means over replicates, for a hundred thousand runs at once.

Texts are dictionary codes from the file to the result, and the runs of a group lie side by side in
one array, so nothing is done run by run in Python. Every mean is that of the group's values in the
order of run ids, to the last bit what NumPy gives for them alone.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from olscale.results.arrow_arrays import arrow_array, numbers_of, positions_of

_KEYS = ("dataset", "fingerprint", "transforms", "learner", "version", "params", "protocol")
_BETWEEN = "\x1f"


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

    groups: NDArray[np.int64]
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    n: NDArray[np.int64]
    replicates: NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Groups of replicates, each group being one setting.

    Parameters
    ----------
    keys : list of tuple
        Of each group: dataset, fingerprint, transforms (a tuple), learner, version, params,
        protocol (both as canonical JSON).
    moments : dict of str to Moments
        By metric.
    failures : dict of int to Counter of str
        Outcomes other than ``ok`` of those groups that have any.
    """

    keys: list[tuple[Any, ...]] = field(default_factory=list)
    moments: dict[str, Moments] = field(default_factory=dict)
    failures: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


def aggregate(
    runs: pa.Table,
    timings: pa.Table,
    protocol: Callable[[str], str],
    replicate: Callable[[str], str],
) -> Aggregate:
    """Average metrics and timings over replicates.

    Parameters
    ----------
    runs : pyarrow.Table
        Of `Store.read`, sorted by id, with the columns ``id``, ``outcome``, ``metrics`` and those
        of a group's key.
    timings : pyarrow.Table
        Of `Store.timings`, of some or all of the same runs.
    protocol : callable
        Takes a run's protocol, gives that of its group.
    replicate : callable
        Takes a run's protocol, gives what tells it from others of its group.
    """
    if not runs.num_rows:
        return Aggregate()
    group, keys = groups_of(runs, protocol)
    found = Aggregate(keys)
    outcome, outcomes = codes_of(runs["outcome"])
    for i, name in enumerate(outcomes):
        if name != "ok":
            for failed, count in zip(
                *np.unique(group[outcome == i], return_counts=True), strict=True
            ):
                found.failures[int(failed)][name] = int(count)
    ok = np.array([name == "ok" for name in outcomes])[outcome]
    # Of few groups the numbers are short ones, which NumPy sorts by their digits.
    order = np.argsort(group.astype(np.min_scalar_type(len(keys))), kind="stable")
    order = order[ok[order]]
    numbers = _replicate_numbers(runs["protocol"], replicate)
    same = timings["id"].equals(runs["id"])
    place = None if same else positions_of(timings["id"], runs["id"])
    for maps, row in ((runs["metrics"], None), (timings["timings"], place)):
        for names, values, there in columns_of(maps, row, runs.num_rows):
            rows = order if there is None else order[there[order]]
            found.moments.update(
                zip(names, _moments(values, rows, group[rows], numbers[rows]), strict=True)
            )
    return found


def groups_of(
    runs: pa.Table, protocol: Callable[[str], str]
) -> tuple[NDArray[np.int64], list[tuple[Any, ...]]]:
    """Return the group of each row, and the keys of the groups."""
    if not runs.num_rows:
        return np.empty(0, dtype=np.int64), []
    columns: list[tuple[NDArray[np.int64], list[Any]]] = []
    between = arrow_array([_BETWEEN], pa.string())[0]
    for name in _KEYS:
        is_list = name == "transforms"
        codes, values = codes_of(pc.binary_join(runs[name], between) if is_list else runs[name])
        if is_list:
            values = [tuple(text.split(_BETWEEN)) if text else () for text in values]
        if name == "protocol":
            without = [protocol(text) for text in values]
            values = list(dict.fromkeys(without))
            codes = np.array([values.index(text) for text in without])[codes]
        columns.append((codes, values))
    combined = np.zeros(runs.num_rows, dtype=np.int64)
    size = 1
    for codes, values in columns:
        if size * len(values) >= 2**62:
            known, combined = np.unique(combined, return_inverse=True)
            size = len(known)
        combined = combined * len(values) + codes  # a number in a mixed radix
        size *= len(values)
    numbers = pa.Array.from_buffers(pa.int64(), len(combined), [None, pa.py_buffer(combined)])
    encoded = numbers.dictionary_encode()  # by hashing, several times faster than by sorting
    of_row = numbers_of(encoded.indices)
    first = np.empty(len(encoded.dictionary), dtype=np.int64)
    first[of_row[::-1]] = np.arange(runs.num_rows)[::-1]  # what is written last stays
    keys = zip(
        *(map(values.__getitem__, codes[first].tolist()) for codes, values in columns), strict=True
    )
    return of_row, list(keys)


def _replicate_numbers(
    protocols: pa.ChunkedArray, replicate: Callable[[str], str]
) -> NDArray[np.uint64]:
    """Return a number of each run's replicate; the sum of several, in whatever order, stands for all of them."""
    codes, texts = codes_of(protocols)
    digests = [hashlib.sha256(replicate(text).encode()).digest() for text in texts]
    return np.array([int.from_bytes(digest[:8], "big") for digest in digests], dtype=np.uint64)[
        codes
    ]


def codes_of(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], list[Any]]:
    """Return the values of a column of text, and which of them each row has."""
    texts = (
        column.unify_dictionaries()
        if pa.types.is_dictionary(column.type)
        else column.dictionary_encode()
    )
    whole = texts.combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    return numbers_of(whole.indices), whole.dictionary.to_pylist()


def columns_of(
    maps: pa.ChunkedArray, place: NDArray[np.int64] | None, rows: int
) -> Iterator[tuple[list[str], NDArray[np.float64], NDArray[np.bool_] | None]]:
    """Yield the names in a column of maps with their values, shape (rows, names), and which rows have them, None if all do.

    `place` is the row of each map, if they are not all the rows in their order.
    """
    keys, parts, sizes = [], [], []
    for chunk in maps.chunks:
        ends = numbers_of(chunk.offsets)
        inside = slice(int(ends[0]), int(ends[-1]))
        keys.append(chunk.keys[inside])
        parts.append(numbers_of(chunk.items[inside]))
        sizes.append(np.diff(ends))
    if not parts:
        return
    code, names = codes_of(pa.chunked_array(keys))
    value, size = np.concatenate(parts), np.concatenate(sizes)
    width = max(1, len(names))
    if (
        place is None
        and (size == width).all()
        and (code.reshape(-1, width) == np.arange(width)).all()
    ):
        yield names, value.reshape(-1, width), None
        return
    at = np.repeat(np.arange(rows) if place is None else place, size)
    for i, name in enumerate(names):
        mine = np.flatnonzero(code == i)
        values, there = np.zeros((rows, 1)), np.zeros(rows, dtype=bool)
        values[at[mine], 0], there[at[mine]] = value[mine], True
        yield [name], values, there


def _moments(
    values: NDArray[np.float64],
    rows: NDArray[np.int64],
    groups: NDArray[np.int64],
    numbers: NDArray[np.uint64],
) -> Iterator[Moments]:
    """Yield the moments of each column of `values` over those rows.

    `groups` are theirs, ascending, and `numbers` tell their replicates.
    """
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    replicates = np.add.reduceat(numbers, starts) if len(starts) else numbers
    counts = np.diff(starts, append=len(groups))
    places = [(np.flatnonzero(counts == count), int(count)) for count in np.unique(counts)]
    where = [(which, rows[starts[which, None] + np.arange(count)]) for which, count in places]
    for column in values.T:  # one after another: what is computed with fits in the cache
        mean, std = np.empty(len(starts)), np.zeros(len(starts))
        for which, of_group in where:
            cells = column[of_group]  # a group's values in a row: bits depend on it alone
            mean[which] = means = cells.mean(axis=1)
            if (count := of_group.shape[1]) > 1:
                with np.errstate(
                    invalid="ignore"
                ):  # an infinite metric has no deviation: NaN says so
                    cells -= means[:, None]
                    cells *= cells
                    std[which] = np.sqrt(cells.sum(axis=1) / (count - 1))
        yield Moments(groups[starts], mean, std, counts, replicates)
