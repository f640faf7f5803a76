"""What two stores have of the same runs, figure by figure."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from olscale.results.arrow_arrays import arrow_array
from olscale.results.store import OnDamage, Store
from olscale.storage.canonical_json import canonical_json

_ROWS = 1024
"""Runs that are compared at once; only blocks that differ are compared run by run."""


class FirstDifference(NamedTuple):
    """The first figure in which two records of a run differ.

    Parameters
    ----------
    name : str
        A metric, a point of a curve as ``"curve at row 2000"``, or another part of the record.
    a, b : float or str or None
        What either store has; None where it has nothing.
    """

    name: str
    a: float | str | None
    b: float | str | None

    @property
    def difference(self) -> float:
        """The second less the first; NaN where they are no numbers."""
        if isinstance(self.a, float) and isinstance(self.b, float):
            return self.b - self.a
        return math.nan


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as its definition names it.

    Parameters
    ----------
    id : str
    dataset, learner, version : str
    params, protocol : str
        Canonical JSON.
    transforms : tuple of str
    """

    id: str
    dataset: str
    learner: str
    version: str
    params: str
    protocol: str
    transforms: tuple[str, ...]

    @property
    def setting(self) -> tuple[str, ...]:
        """What is equal for runs of two versions of one learner."""
        return (
            self.dataset,
            self.learner,
            self.params,
            self.protocol,
            canonical_json(self.transforms),
        )


@dataclass(frozen=True, slots=True)
class RunDifference:
    """A run with different records in two stores.

    Parameters
    ----------
    a, b : StoredRun
        They have one id, or differ in the version of the learner or the content of the dataset.
    figure : FirstDifference
    figures : int
        Metrics in which they differ.
    """

    a: StoredRun
    b: StoredRun
    figure: FirstDifference
    figures: int


@dataclass(frozen=True, slots=True)
class StoreDifference:
    """What two stores do not have in common.

    Parameters
    ----------
    equal : int
        Runs with the same record in both.
    differing : tuple of RunDifference
        In the order of datasets, learners and protocols.
    only_a, only_b : tuple of StoredRun
        Runs that one store has alone.
    """

    equal: int
    differing: tuple[RunDifference, ...]
    only_a: tuple[StoredRun, ...]
    only_b: tuple[StoredRun, ...]

    @property
    def is_none(self) -> bool:
        """Whether both stores have the same runs with the same records."""
        return not (self.differing or self.only_a or self.only_b)


def store_difference(
    a: Store, b: Store, on_damage: OnDamage = "raise"
) -> StoreDifference:
    """Compare the runs of two stores; times and machines do not count.

    Runs of one setting with other versions of a learner, or of a dataset with other content, are
    set against each other too, though their ids differ.

    Parameters
    ----------
    a, b : Store
    on_damage : {"raise", "skip"}
        What to do about damaged files.

    Raises
    ------
    StoreError
        If a file of a store is damaged.
    """
    rows_a = a.read(on_damage=on_damage)
    rows_b = b.read(on_damage=on_damage)
    shared = set(rows_a["id"].to_pylist()) & set(rows_b["id"].to_pylist())
    differing = []
    for row_a, row_b in differing_rows(rows_a, rows_b):
        differing.append(_difference(row_a, row_b))
    alone_a = _by_setting(_without(rows_a, shared))
    alone_b = _by_setting(_without(rows_b, shared))
    for setting in alone_a.keys() & alone_b.keys():
        # Several versions in one store match none of the other's.
        if len(alone_a[setting]) == len(alone_b[setting]) == 1:
            [row_a] = alone_a.pop(setting)
            [row_b] = alone_b.pop(setting)
            differing.append(_difference(row_a, row_b))
    differing.sort(key=lambda difference: (difference.a.setting, difference.a.id))
    equal = len(shared) - sum(
        difference.a.id == difference.b.id for difference in differing
    )
    return StoreDifference(
        equal, tuple(differing), _runs_of(alone_a), _runs_of(alone_b)
    )


def differing_rows(
    a: pa.Table, b: pa.Table
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the rows of runs that two tables both have, where these are not equal."""
    shared = sorted(set(a["id"].to_pylist()) & set(b["id"].to_pylist()))
    ids = arrow_array(shared, pa.string())
    a = _rows_of(a, ids)
    b = _rows_of(b, ids)
    for start in range(0, len(shared), _ROWS):
        block_a = a.slice(start, _ROWS)
        block_b = b.slice(start, _ROWS)
        if block_a.equals(block_b):
            continue
        # Arrow holds NaN for different from NaN.
        for row_a, row_b in zip(block_a.to_pylist(), block_b.to_pylist(), strict=True):
            if not _is_equal(row_a, row_b):
                yield row_a, row_b


def run_of(row: Mapping[str, Any]) -> StoredRun:
    """Return what names a run, of its row."""
    return StoredRun(
        id=row["id"],
        dataset=row["dataset"],
        learner=row["learner"],
        version=row["version"],
        params=row["params"],
        protocol=row["protocol"],
        transforms=tuple(row["transforms"]),
    )


def _rows_of(table: pa.Table, ids: pa.Array) -> pa.Table:
    table = table.filter(pc.is_in(table["id"], value_set=ids))
    return table.sort_by("id").combine_chunks()


def _without(table: pa.Table, ids: set[str]) -> pa.Table:
    id_array = arrow_array(sorted(ids), pa.string())
    return table.filter(pc.invert(pc.is_in(table["id"], value_set=id_array)))


def _by_setting(table: pa.Table) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    by_setting: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        by_setting.setdefault(run_of(row).setting, []).append(row)
    return by_setting


def _runs_of(
    by_setting: Mapping[tuple[str, ...], Sequence[Mapping[str, Any]]],
) -> tuple[StoredRun, ...]:
    runs = [run_of(row) for rows in by_setting.values() for row in rows]
    return tuple(sorted(runs, key=lambda run: (run.setting, run.version, run.id)))


def _difference(a: Mapping[str, Any], b: Mapping[str, Any]) -> RunDifference:
    metrics_a = dict(a["metrics"] or ())
    metrics_b = dict(b["metrics"] or ())
    names = sorted({*metrics_a, *metrics_b})
    unequal = [
        name
        for name in names
        if not _is_equal(metrics_a.get(name), metrics_b.get(name))
    ]
    return RunDifference(run_of(a), run_of(b), _first(a, b, unequal), len(unequal))


def _first(
    a: Mapping[str, Any], b: Mapping[str, Any], metrics: Sequence[str]
) -> FirstDifference:
    """Return the first figure that differs: outcome, metric, point of a curve, or another part."""
    if a["outcome"] != b["outcome"]:
        return FirstDifference("outcome", a["outcome"], b["outcome"])
    if metrics:
        name = metrics[0]
        return FirstDifference(
            name, dict(a["metrics"]).get(name), dict(b["metrics"]).get(name)
        )
    curve_a = dict(zip(a["curve_rows"] or (), a["curve_mistakes"] or (), strict=True))
    curve_b = dict(zip(b["curve_rows"] or (), b["curve_mistakes"] or (), strict=True))
    for row in sorted({*curve_a, *curve_b}):
        if curve_a.get(row) != curve_b.get(row):
            return FirstDifference(
                f"mistakes by row {row:,}", _float(curve_a, row), _float(curve_b, row)
            )
    for column in ("segments", "series", "reason"):
        if not _is_equal(a[column], b[column]):
            return FirstDifference(column, None, None)
    # Records are equal, of another version or another content of the dataset.
    if a["version"] != b["version"]:
        return FirstDifference("version", a["version"], b["version"])
    return FirstDifference("fingerprint", a["fingerprint"][:12], b["fingerprint"][:12])


def _float(curve: Mapping[int, int], row: int) -> float | None:
    return float(curve[row]) if row in curve else None


def _is_equal(a: Any, b: Any) -> bool:
    """Return whether two values are equal, NaN and NaN too."""
    if a == b:
        return True
    # JSON writes all NaN alike.
    return json.dumps(a, default=str) == json.dumps(b, default=str)
