"""Error as the stream goes on: curves and segments of a store, the replicates of a run side by side."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.analysis.summary import Summary, without_replicate
from olscale.results import Store, canonical_json
from olscale.results.store import OnDamage

__all__ = ["Curve", "SegmentErrors", "curves", "segment_errors"]

_KEY = ("dataset", "fingerprint", "transforms", "learner", "version", "params")


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Cumulative error of one setting of a learner, for each of its replicates.

    Parameters
    ----------
    summary : Summary
        Cumulative error at the end of the stream; tells dataset, learner, parameters and protocol.
    rows : int64 array of shape (n_points,)
        Rows streamed.
    errors : float64 array of shape (n_replicates, n_points)
        Fraction of those rows that was predicted wrongly before the update.
    """

    summary: Summary
    rows: NDArray[np.int64]
    errors: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SegmentErrors:
    """Error of one setting of a learner on each segment of the stream (a day of URL).

    Parameters
    ----------
    summary : Summary
        Cumulative error at the end of the stream.
    names : tuple of str
        Segments, in stream order.
    errors : float64 array of shape (n_replicates, n_segments)
        Fraction of the segment's rows that was predicted wrongly.
    """

    summary: Summary
    names: tuple[str, ...]
    errors: NDArray[np.float64]


def curves(store: Store, summaries: list[Summary], points: int = 200, on_damage: OnDamage = "raise") -> list[Curve]:
    """Return the curves of the runs behind `summaries` that ended ``ok``.

    Parameters
    ----------
    store : Store
    summaries : list of Summary
        From `summarise`; those of the metric ``cumulative_error`` say which curves are wanted.
    points : int
        At most so many positions a curve, evenly spaced; the last row is always one.
    on_damage : {"raise", "skip"}
        What to do about damaged files.

    Returns
    -------
    list of Curve
        In the order of `summaries`.

    Raises
    ------
    StoreError
        If a file of the store is damaged.
    """
    found = []
    for summary, runs in _replicates(store, summaries, ("curve_rows", "curve_mistakes"), on_damage):
        runs = [run for run in runs if len(run["curve_rows"])]
        if not runs:
            continue
        rows = min((run["curve_rows"] for run in runs), key=lambda rows: int(rows[-1]))
        rows = rows[np.unique(np.linspace(0, len(rows) - 1, points).round().astype(int))]
        # Folds may differ by a row in length, and then in the positions of their curves.
        mistakes = np.array([np.interp(rows, run["curve_rows"], run["curve_mistakes"]) for run in runs])
        found.append(Curve(summary, rows, mistakes / rows))
    return found


def segment_errors(store: Store, summaries: list[Summary], on_damage: OnDamage = "raise") -> list[SegmentErrors]:
    """Return the errors by segment of the runs behind `summaries`; parameters and errors as in `curves`."""
    found = []
    for summary, runs in _replicates(store, summaries, ("segments",), on_damage):
        names = tuple(segment["name"] for segment in runs[0]["segments"])
        alike = [run["segments"] for run in runs if tuple(s["name"] for s in run["segments"]) == names]
        if names:
            errors = [[s["mistakes"] / s["rows"] if s["rows"] else np.nan for s in segments] for segments in alike]
            found.append(SegmentErrors(summary, names, np.array(errors)))
    return found


def _replicates(
    store: Store, summaries: list[Summary], columns: tuple[str, ...], on_damage: OnDamage
) -> list[tuple[Summary, list[dict[str, Any]]]]:
    table = store.read(("id", *_KEY, "protocol", "outcome", *columns), on_damage)
    table = table.filter(np.array([outcome == "ok" for outcome in table["outcome"].to_pylist()], dtype=bool))
    cells = {name: table[name].to_pylist() for name in (*_KEY, "protocol")}
    # A list column of numbers stays an array: a Python object a number would take minutes in a large store.
    data = {
        name: table[name].to_pylist() if name == "segments" else [cell.values.to_numpy() for cell in table[name]]
        for name in columns
    }
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for i in range(table.num_rows):
        setting = [tuple(cells[name][i]) if name == "transforms" else cells[name][i] for name in _KEY]
        groups[*setting, without_replicate(cells["protocol"][i])].append({name: data[name][i] for name in columns})
    wanted = [(s, groups.get(_group(s), [])) for s in summaries if s.metric == "cumulative_error"]
    return [(summary, runs) for summary, runs in wanted if runs]


def _group(s: Summary) -> tuple[Any, ...]:
    params, protocol = canonical_json(s.params), canonical_json(s.protocol)
    return s.dataset, s.fingerprint, s.transforms, s.learner, s.version, params, protocol
