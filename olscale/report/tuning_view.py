"""The searches of tuning on the dashboard: their candidates as parallel coordinates and a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from olscale.analysis.importance import importance
from olscale.analysis.names import Names
from olscale.measures import distance_from_best, figure_of
from olscale.report.html import macros, paragraphs
from olscale.report.labels import metric_text, value_text
from olscale.report.run_list import name_of
from olscale.report.run_page import names_of
from olscale.results import Store, canonical_json
from olscale.results.selections import Point, Selection, read_selections
from olscale.results.settings import SettingKey

_MOST_SEARCHES = 24
_MOST_POINTS = 200
_BEST = 5
"""Candidates that have a colour; the others are grey."""

_WIDE_RANGE = 20.0
"""A factor between the ends of an axis from which it is logarithmic."""


def tuning_html(store: Store) -> str:
    """Return what tuning compared on each data set, and what it chose, as HTML."""
    with store.adding_damage():
        selections = [
            selection
            for selection in read_selections(store, "skip")
            if selection.points
        ]
    if not selections:
        return paragraphs(
            ["No search has ended here: nothing is tuned, or its candidates run."]
        )
    names = names_of(store)
    searches = [_search(selection, names) for selection in selections]
    searches.sort(key=lambda search: (search["dataset"], search["learner"]))
    return str(macros("tuning.html").searches(searches[:_MOST_SEARCHES], len(searches)))


def _search(selection: Selection, names: Names) -> dict[str, Any]:
    learner = selection.definition["learner"]
    dataset = selection.definition["dataset"]
    key = SettingKey(
        dataset=str(dataset["name"]),
        fingerprint=str(dataset.get("fingerprint", "")),
        transforms=tuple(map(str, selection.definition.get("transforms", ()))),
        learner=str(learner["name"]),
        version=str(learner.get("version", "")),
        params=canonical_json(dict(selection.chosen)),
        protocol="",
    )
    name = name_of(key, names)
    metric = str(selection.summary().get("metric", "test_error"))
    ranked = sorted(selection.points, key=lambda point: _distance(metric, point))
    # An axis of a single value would be a point.
    tried = [name for name in selection.chosen if _varies(name, ranked)]
    axes = [_Axis(name, [point.params.get(name) for point in ranked]) for name in tried]
    errors = [point.error for point in ranked if point.error is not None]
    score = _Axis(metric_text(metric), errors)
    lines = []
    shown = ranked[:_MOST_POINTS]
    for place, point in enumerate(shown):
        heights = [axis.height(point.params.get(axis.name)) for axis in axes]
        if point.error is not None:
            heights.append(score.height(point.error))
        # By JSON, in which a value that was read from a file equals the one that was
        # computed.
        is_chosen = canonical_json(dict(point.params)) == key.params
        lines.append(
            {
                "points": _points(heights, len(axes)),
                "kind": _kind(point, place, is_chosen),
                "early": point.share < 1.0,
                "params": [value_text(point.params.get(name)) for name in tried],
                "error": "-" if point.error is None else figure_of(metric, point.error),
                "failed": point.failed,
                "share": f"{100 * point.share:.3g} %",
                "chosen": is_chosen,
            }
        )
    ends = [axis.ends(str) for axis in axes]
    ends.append(score.ends(lambda text: figure_of(metric, float(text))))
    return {
        "learner": name.learner,
        "dataset": name.dataset,
        "metric": metric_text(metric),
        "axes": [
            {"name": a.name, **end} for a, end in zip([*axes, score], ends, strict=True)
        ],
        "names": tried,
        "importance": _importance(metric, ranked, tried),
        "lines": lines,
        "count": len(ranked),
        "failed": sum(point.error is None for point in ranked),
        "halved": any(point.share < 1.0 for point in ranked),
    }


def _importance(
    metric: str, points: Sequence[Point], names: Sequence[str]
) -> list[dict[str, str]]:
    """Return what each parameter explains of the places of candidates, the most first."""
    measured = [point for point in points if point.error is not None]
    # Candidates that were dropped early stand behind all that saw more of the stream.
    keys = [_distance(metric, point) for point in measured]
    # Places and not errors: a single bad candidate would explain all of the variance.
    place = {key: i for i, key in enumerate(sorted(set(keys)))}
    shares = importance(
        [point.params for point in measured], [place[key] for key in keys], names
    )
    most_first = sorted(shares.items(), key=lambda share: -share[1])
    return [{"name": name, "share": f"{100 * share:.0f}"} for name, share in most_first]


def _distance(metric: str, point: Point) -> tuple[bool, float, float]:
    """Return a sort key: the best that learned the whole stream first, failed ones last."""
    if point.error is None:
        return True, 0.0, 0.0
    return False, -point.share, distance_from_best(metric, point.error)


def _varies(name: str, points: Sequence[Point]) -> bool:
    return len({canonical_json(point.params.get(name)) for point in points}) > 1


def _kind(point: Point, place: int, is_chosen: bool) -> str:
    if is_chosen:
        return "chosen"
    if point.error is None:
        return "failed"
    if place < _BEST:
        return "near"
    return "far"


def _points(heights: Sequence[float], steps: int) -> str:
    """Return the points of a line, in percent of the picture; a failed one lacks the score."""
    return " ".join(
        f"{100 * i / steps:.2f},{height:.2f}" for i, height in enumerate(heights)
    )


@dataclass(slots=True)
class _Axis:
    """One axis: numbers by size, by their logarithm over a wide range; other values in order."""

    name: str
    values: Sequence[Any]

    def height(self, value: Any) -> float:
        """Return where a value stands, in percent from the top."""
        numbers = self._numbers()
        if numbers is None:
            texts = self._texts()
            return 100.0 - 100.0 * texts.index(value_text(value)) / max(
                1, len(texts) - 1
            )
        low = min(numbers)
        high = max(numbers)
        if low == high:
            return 50.0
        # As searches of such ranges are spaced: most candidates would crowd at one end.
        if low > 0.0 and high / low >= _WIDE_RANGE:
            return 100.0 * math.log(high / float(value)) / math.log(high / low)
        return 100.0 * (high - float(value)) / (high - low)

    def ends(self, text_of: Any) -> Mapping[str, str]:
        """Return the texts at the top and at the bottom."""
        numbers = self._numbers()
        if numbers is None:
            texts = self._texts()
            return {"top": texts[-1], "bottom": texts[0]}
        if not numbers:
            return {"top": "", "bottom": ""}
        top, bottom = (text_of(value_text(end(numbers))) for end in (max, min))
        return {"top": top, "bottom": bottom}

    def _numbers(self) -> list[float] | None:
        if all(
            isinstance(value, int | float) and not isinstance(value, bool)
            for value in self.values
        ):
            return [float(value) for value in self.values if math.isfinite(value)]
        return None

    def _texts(self) -> list[str]:
        return sorted({value_text(value) for value in self.values})
