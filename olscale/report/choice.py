"""Which runs of a store a figure shows, and what it calls them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from olscale.analysis.curves import (
    AlongStream,
    ConfusionMatrix,
    Curve,
    RocCurve,
    SegmentErrors,
)
from olscale.analysis.summary import Summary, by_setting
from olscale.analysis.sweeps import Sweep
from olscale.measures import distance_from_best
from olscale.report.labels import (
    Column,
    column_labels,
    column_of,
    protocol_text,
    row_labels,
    rows_of,
)
from olscale.results import canonical_json

_StreamKey = tuple[Column, str]

T = TypeVar(
    "T", Summary, Curve, SegmentErrors, ConfusionMatrix, RocCurve, Sweep, AlongStream
)


def _summary(one: Summary | AlongStream | Sweep) -> Summary:
    if isinstance(one, Summary):
        return one
    return one.summary


def like(
    summaries: Iterable[Summary], learner: str, metric: str, **params: Any
) -> list[Summary]:
    """Return the summaries of a metric of a learner that has these parameters."""
    return [
        s
        for s in summaries
        if s.learner == learner
        and s.metric == metric
        and s.n
        and params.items() <= dict(s.params).items()
    ]


def same_stream(one: Summary, other: Summary) -> bool:
    """Return whether two settings ran on the same rows in the same way."""
    return stream_key(one) == stream_key(other)


def stream_key(s: Summary) -> _StreamKey:
    """Return a key that is equal for settings on the same rows in the same way."""
    return column_of(s), canonical_json(s.protocol)


def streams(shown: Iterable[T]) -> dict[str, list[T]]:
    """Group by dataset, transforms and protocol, under a title that identifies each group."""
    groups: dict[_StreamKey, list[T]] = {}
    for item in shown:
        groups.setdefault(stream_key(_summary(item)), []).append(item)
    return _titled(groups)


def streams_of_settings(summaries: Iterable[Summary]) -> dict[str, list[Summary]]:
    """Group the summaries of a store as `streams` does, finding the key once per setting."""
    groups: dict[_StreamKey, list[Summary]] = defaultdict(list)
    for of_setting in by_setting(summaries):
        groups[stream_key(of_setting[0])] += of_setting
    return _titled(groups)


def _titled(groups: Mapping[_StreamKey, list[T]]) -> dict[str, list[T]]:
    columns = list(dict.fromkeys(column for column, _ in groups))
    names = dict(zip(columns, column_labels(columns), strict=True))
    titles = {}
    for (column, protocol), group in groups.items():
        has_transforms = sum(dataset == column for dataset, _ in groups) > 1
        title = names[column]
        if has_transforms:
            title = f"{title}, {protocol_text(_summary(group[0]).protocol)}"
        # Two streams must not share a title, or one would replace the other.
        if title in titles:
            title = f"{title} ({protocol})"
        titles[title] = group
    return titles


def labelled(shown: Iterable[T]) -> dict[str, T]:
    """Name the items of one stream by learner, with the parameters that distinguish settings."""
    by_row = {}
    for item in shown:
        s = _summary(item)
        by_row[rows_of(s)[0], column_of(s)] = item
    labels, _ = row_labels(by_row)
    return {labels[row]: item for (row, _), item in by_row.items()}


def best_of_each(shown: Iterable[T]) -> list[T]:
    """Return, for each learner, the item of its setting with the best mean; the first of ties."""
    best: dict[str, T] = {}
    for item in shown:
        s = _summary(item)
        best_item = best.get(_summary(item).label)
        if best_item is None or distance_from_best(
            s.metric, s.mean
        ) < distance_from_best(s.metric, _summary(best_item).mean):
            best[s.label] = item
    return list(best.values())
