"""The results of a night: a history row per setting, and a digest of each record."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.jobs.home import SPEEDS
from olscale.results.arrow_arrays import numbers_of
from olscale.results.plans import Plan, read_plans
from olscale.results.rows import RUN_SCHEMA
from olscale.results.settings import without_replicate
from olscale.results.store import Store

_ERRORS = ("test_error", "cumulative_error", "test_rmse", "rmse")
_ARRAYS = ("curve_rows", "curve_mistakes")


def record_parts(store: Store) -> dict[str, dict[str, bytes]]:
    """Return the bytes of each column of each record, by run id.

    Not those of the Parquet file, which change with the version of pyarrow.
    """
    table = store.read()
    arrays = {name: table[name] for name in _ARRAYS}
    rows = table.drop_columns(list(_ARRAYS)).to_pylist()
    records = {}
    for i, row in enumerate(rows):
        parts = {
            name: json.dumps(row[name]).encode()
            for name in RUN_SCHEMA.names
            if name in row and name != "metrics"
        }
        parts |= {
            f"metric {name}": float(value).hex().encode()
            for name, value in row["metrics"]
        }
        parts |= {
            name: numbers_of(arrays[name][i].values).tobytes() for name in _ARRAYS
        }
        records[row["id"]] = parts
    return records


# Of columns, since the bytes of Parquet change with pyarrow. Nights are held against the first
# one that had the run: against the night before, a wrong bit would raise an alarm twice and then
# be the norm.
def digest_of(parts: Mapping[str, bytes]) -> str:
    """Return the digest of a record."""
    digest = hashlib.sha256()
    for name in sorted(parts):
        digest.update(b"%s\0%d\0" % (name.encode(), len(parts[name])))
        digest.update(parts[name])
    return digest.hexdigest()[:16]


def result_rows(
    store: Store, repeats: Sequence[Store] = ()
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the history rows of a night's store, and ids of runs that differ between its passes.

    Parameters
    ----------
    store : Store
        Of the first pass.
    repeats : sequence of Store
        Of further passes, for the speeds: the best of all passes counts.
    """
    digests = {id: digest_of(parts) for id, parts in record_parts(store).items()}
    timings: dict[str, dict[str, float]] = {}
    unlike = []
    for pass_store in (store, *repeats):
        if pass_store is not store:
            repeated = {
                id: digest_of(parts) for id, parts in record_parts(pass_store).items()
            }
            unlike += sorted(
                id
                for id, digest in repeated.items()
                if digests.get(id, digest) != digest
            )
        # One bad minute of the machine would make a slow night: the best of all passes counts.
        for row in pass_store.timings(columns=["id", "timings"]).to_pylist():
            timing = dict(row["timings"])
            before = timings.get(row["id"], {})
            quickest = before
            if timing.get("rows_per_second", 0.0) >= before.get("rows_per_second", 0.0):
                quickest = timing
            speeds = {
                name: max(timing.get(name, 0.0), before.get(name, 0.0))
                for name in SPEEDS
                if name in timing | before
            }
            timings[row["id"]] = quickest | speeds
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    columns = (
        "id",
        "dataset",
        "fingerprint",
        "transforms",
        "learner",
        "version",
        "params",
        "protocol",
        "outcome",
        "metrics",
    )
    fingerprints = _newest_fingerprints(store)
    for run in store.read(columns).to_pylist():
        if run["fingerprint"] not in fingerprints.get(
            run["dataset"], (run["fingerprint"],)
        ):
            continue
        run["transforms"] = ", ".join(run["transforms"])
        run["protocol"] = without_replicate(run["protocol"])
        groups[tuple(run[name] for name in columns[1:8])].append(run)
    rows = []
    for key in sorted(groups):
        setting = dict(zip(columns[1:8], key, strict=True))
        rows.append(_row(setting, groups[key], digests, timings))
    return rows, unlike


def _newest_fingerprints(store: Store) -> dict[str, set[str]]:
    """Return the fingerprints of each data set in the newest plan of each experiment.

    A night that failed to ingest has evaluated the rows of the night before. Called again, it has
    runs on the new rows too, which are those of the night.
    """
    newest: dict[str, Plan] = {}
    for plan in read_plans(store, "skip"):
        last = newest.setdefault(plan.experiment, plan)
        if plan.number > last.number:
            newest[plan.experiment] = plan
    fingerprints: dict[str, set[str]] = defaultdict(set)
    for plan in newest.values():
        for dataset in plan.datasets:
            fingerprints[dataset.name].add(dataset.fingerprint)
    return fingerprints


def _row(
    setting: dict[str, Any],
    runs: list[dict[str, Any]],
    digests: Mapping[str, str],
    timings: Mapping[str, Mapping[str, float]],
) -> dict[str, Any]:
    ids = [run["id"] for run in runs]
    of_runs = [digests[id] for id in ids]
    ok = [dict(run["metrics"]) for run in runs if run["outcome"] == "ok"]
    common = [name for name in _ERRORS if ok and all(name in metrics for metrics in ok)]
    metric = next(iter(common), None)
    errors = np.array([metrics[metric] for metrics in ok if metric])

    def mean(name: str) -> float | None:
        values = [
            timings[run["id"]].get(name)
            for run in runs
            if run["outcome"] == "ok" and run["id"] in timings
        ]
        measured = [value for value in values if value is not None]
        return _mean(measured)

    digest = hashlib.sha256("".join(ids + of_runs).encode())
    sizes = [metrics["model_bytes"] for metrics in ok if "model_bytes" in metrics]
    return setting | {
        "kind": "results",
        "ids": ids,
        "digests": of_runs,
        "digest": digest.hexdigest()[:16],
        "n": len(ids),
        "outcomes": sorted(Counter(run["outcome"] for run in runs).items()),
        "error_metric": metric,
        "error": _mean(errors),
        "error_std": _deviation(errors),
        "model_bytes": _mean(sizes),
        **{name: mean(name) for name in (*SPEEDS, "fit_seconds", "read_seconds")},
    }


def _mean(values: Sequence[float] | NDArray[np.float64]) -> float | None:
    if not len(values):
        return None
    return float(np.mean(values))


def _deviation(errors: NDArray[np.float64]) -> float | None:
    """Return the standard deviation of errors, 0 of a single one; None of none."""
    if not len(errors):
        return None
    if len(errors) > 1:
        return float(errors.std(ddof=1))
    return 0.0
