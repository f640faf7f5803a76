"""Running evaluations as HTML for any notebook and browser, by ``templates/live.html``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from math import isfinite, isnan
from pathlib import Path
from time import time
from typing import Any

from jinja2 import Environment, FileSystemLoader, Template

from olscale.analysis.live import LiveLearner, learners_of
from olscale.printable import printable
from olscale.report.live_text import (
    error_heading,
    error_text,
    live_marks,
    pace_text,
    stand_text,
    state_text,
)
from olscale.report.marks import footnotes
from olscale.report.palette import BASELINES, DASH_LENGTHS, baseline_look, series_look
from olscale.results.live import LiveEvaluation
from olscale.system.sizes import duration_text, size_text

_WIDE = 460
_HIGH = 150
_LEFT = 44
_RIGHT = _WIDE - 6
_BELOW = 18
_MOST_LINES = 12
_MOST_NOTES = 5
_MOST_SETS = 8


@cache
def _template() -> Template:
    loader = FileSystemLoader(Path(__file__).parent / "templates")
    # Names come from users and journals: they stay text, without control characters.
    environment = Environment(loader=loader, autoescape=True, finalize=_as_printable)
    return environment.get_template("live.html")


def _as_printable(value: Any) -> Any:
    return printable(value) if type(value) is str else value


def live_html(
    evaluations: Sequence[LiveEvaluation], now: float | None = None, results_below: bool = False
) -> str:
    """Return evaluations as HTML: progress, time, errors along the stream, workers, notes.

    If results follow below, ended evaluations show no errors here.
    """
    shown = [
        _evaluation(evaluation, now or time(), is_brief=results_below and bool(evaluation.end))
        for evaluation in evaluations
    ]
    return _template().render(evaluations=shown)


def _evaluation(evaluation: LiveEvaluation, now: float, is_brief: bool) -> dict[str, Any]:
    """Return what the template shows of an evaluation.

    If there are very many data sets, only running ones are shown with their curves.
    """
    by_dataset = {} if is_brief else learners_of(evaluation)
    # A stable sort: running data sets first, otherwise in the order of the experiment.
    first = sorted(by_dataset, key=lambda name: not _goes_on(by_dataset[name]))[:_MOST_SETS]
    running = [group for group in evaluation.groups.values() if group.going]
    return {
        "name": evaluation.name,
        "state": state_text(evaluation, now),
        "percent": f"{100 * evaluation.share_done:.1f}",
        "done": f"{evaluation.done:,}",
        "total": f"{evaluation.total:,}",
        "failed": evaluation.failed,
        "pace": pace_text(evaluation, now),
        "datasets": [_dataset(name, by_dataset[name]) for name in by_dataset if name in first],
        "others": [_in_brief(name, by_dataset[name]) for name in by_dataset if name not in first],
        "workers": [
            {
                "worker": group.worker or "this process",
                "name": group.name,
                "stand": stand_text(group),
                "memory": size_text(group.memory),
                "silence": duration_text(max(0.0, now - group.heard)),
            }
            for group in running[:_MOST_LINES]
            if not evaluation.end
        ],
        "notes": evaluation.notes[-_MOST_NOTES:],
    }


def _goes_on(learners: Sequence[LiveLearner]) -> bool:
    return any(map(_has_reported, learners)) and any(
        learner.done < learner.runs for learner in learners
    )


def _has_reported(learner: LiveLearner) -> bool:
    return bool(learner.done) or not isnan(learner.error)


def _by_error(learner: LiveLearner) -> tuple[bool, float]:
    return isnan(learner.error), learner.error


def _in_brief(name: str, learners: Sequence[LiveLearner]) -> dict[str, Any]:
    best = min(learners, key=_by_error)
    return {
        "name": name,
        "best": "-" if isnan(best.error) else best.label,
        "error": error_text(best.error, best.metric),
        "done": sum(learner.done for learner in learners),
        "runs": sum(learner.runs for learner in learners),
    }


def _dataset(name: str, learners: Sequence[LiveLearner]) -> dict[str, Any]:
    ranked = sorted(learners, key=_by_error)
    best = {learner.label for learner in ranked[:_MOST_LINES] if not isnan(learner.error)}
    # Lines keep their colours while ranks change.
    drawn = [learner for learner in learners if learner.label in best]
    chart_looks = _looks(learners)
    chart = _chart(name, drawn, chart_looks)
    # A swatch means a line: there is none before the chart.
    looks = {learner.label: chart_looks[learner.label] for learner in drawn if chart}
    listed = ranked
    if len(ranked) > _MOST_LINES:
        # Very many settings stay hidden until they report something.
        listed = [learner for learner in ranked if _has_reported(learner)][: 2 * _MOST_LINES]
    marks = live_marks(listed)
    return {
        "name": name,
        "heading": error_heading(learners[0].metric),
        "learners": [
            {
                "label": learner.label,
                "look": looks.get(learner.label),
                "error": error_text(learner.error, learner.metric),
                "signs": [mark.sign for mark in marks_of_learner],
                "done": learner.done,
                "runs": learner.runs,
                "failed": learner.failed,
            }
            for learner, marks_of_learner in zip(listed, marks, strict=True)
        ],
        "hidden": len(learners) - len(listed),
        "footnotes": footnotes(marks),
        "chart": chart,
    }


def _looks(learners: Sequence[LiveLearner]) -> dict[str, dict[str, str]]:
    """Return the looks of learners by label: those of a report of the same experiment."""
    number_of: dict[str, int] = {}
    settings = Counter[str]()
    looks = {}
    for learner in learners:
        is_baseline = learner.name in BASELINES
        same_kind = [name for name in number_of if (name in BASELINES) == is_baseline]
        number = number_of.setdefault(learner.name, len(same_kind))
        if is_baseline:
            look = baseline_look(number)
        else:
            look = series_look(number, settings[learner.name])
        settings[learner.name] += 1
        dash = DASH_LENGTHS[look["linestyle"]]
        looks[learner.label] = {
            "colour": look["color"],
            "dash": "" if dash[1] == 0 else " ".join(map(str, dash)),
        }
    return looks


def _chart(
    name: str, learners: Sequence[LiveLearner], looks: Mapping[str, dict[str, str]]
) -> dict[str, Any] | None:
    """Return the errors along the stream; None if no learner has a position yet."""
    lines = [learner for learner in learners if len(learner.rows)]
    if not lines:
        return None
    most = max(learner.rows[-1] for learner in lines)
    heading = error_heading(lines[0].metric)
    scale = 100 if heading.endswith("%)") else 1
    # Errors on the first rows are mostly chance, so the later ones set the scale.
    later = [error for learner in lines for error in learner.errors[len(learner.errors) // 4 :]]
    later = [error for error in later if isfinite(error)] or [0.0]
    margin = 0.1 * (max(later) - min(later))
    low = max(0.0, min(later) - margin)
    # The fallback keeps errors of zero from dividing by zero.
    high = max(later) + margin or 1e-3
    across = (_RIGHT - _LEFT) / most
    up = (_HIGH - _BELOW - 6) / ((high - low) or 1.0)

    def height(error: float) -> float:
        # Early errors beyond the scale are clipped to the edge of the picture.
        return _HIGH - _BELOW - (min(max(error, low), high) - low) * up

    def points(learner: LiveLearner) -> str:
        return " ".join(
            f"{_LEFT + row * across:.1f},{height(error):.1f}"
            for row, error in zip(learner.rows, learner.errors, strict=True)
            if isfinite(error)
        )

    ticks = [
        {
            "y": f"{height(error):.1f}",
            "text_y": f"{height(error) + 4:.1f}",
            "text": f"{scale * error:.3g}",
        }
        for error in (low, (low + high) / 2, high)
    ]
    stream = lines[0].stream
    return {
        "width": _WIDE,
        "height": _HIGH,
        "left": _LEFT,
        "right": _RIGHT,
        "words": f"{heading} of {len(lines)} learners along {stream} of {name}, up to row {most:,}",
        "ticks": ticks,
        "lines": [
            {
                "label": learner.label,
                "look": looks[learner.label],
                "points": points(learner),
                "end": points(learner).rpartition(" ")[2].split(","),
            }
            for learner in lines
        ],
        "axis": f"row {most:,}, {stream}",
    }
