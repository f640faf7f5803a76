"""Running evaluations as HTML for any notebook and browser, by ``templates/live.html``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from math import ceil, floor, isfinite, isnan, log10
from pathlib import Path
from time import time
from typing import Any

from jinja2 import Environment, FileSystemLoader, Template

from olscale.analysis.live import LiveLearner, learners_of
from olscale.printable import printable
from olscale.report.live_text import (
    error_heading,
    error_text,
    failure_lines,
    live_marks,
    pace_text,
    stand_text,
    state_text,
)
from olscale.report.marks import footnotes
from olscale.report.palette import (
    BASELINES,
    DASH_LENGTHS,
    Look,
    baseline_look,
    series_look,
)
from olscale.results.live import LiveEvaluation
from olscale.system.sizes import duration_text, size_text

_FAR = 3.0
"""Errors above this multiple of the best one are named, not fitted into the picture."""

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


def live_html(evaluations: Sequence[LiveEvaluation], now: float | None = None) -> str:
    """Return evaluations as HTML: progress, time, errors along the stream, workers, notes."""
    shown = [_evaluation(evaluation, now or time()) for evaluation in evaluations]
    return _template().render(evaluations=shown)


def _evaluation(evaluation: LiveEvaluation, now: float) -> dict[str, Any]:
    """Return what the template shows of an evaluation.

    If there are very many data sets, only running ones are shown with their curves.
    """
    by_dataset = learners_of(evaluation)
    # A stable sort: running data sets first, otherwise in the order of the experiment.
    first = sorted(by_dataset, key=lambda name: not _goes_on(by_dataset[name]))[
        :_MOST_SETS
    ]
    running = [group for group in evaluation.groups.values() if group.going]
    return {
        "name": evaluation.name,
        "state": state_text(evaluation, now),
        "kind": evaluation.state(now),
        "percent": f"{100 * evaluation.share_done:.1f}",
        "done": f"{evaluation.done:,}",
        "total": f"{evaluation.total:,}",
        "failed": evaluation.failed,
        "pace": pace_text(evaluation, now),
        "datasets": [
            # In the order of the experiment again: data sets must not change places
            # while one watches.
            _dataset(name, by_dataset[name])
            for name in by_dataset
            if name in first
        ],
        "others": [
            _in_brief(name, by_dataset[name])
            for name in by_dataset
            if name not in first
        ],
        "workers": [
            {
                "worker": group.worker or "this process",
                "name": group.name,
                "stand": stand_text(group),
                "memory": size_text(group.memory),
                # Clocks of workers differ, and one may be ahead of ours.
                "silence": duration_text(max(0.0, now - group.heard)),
            }
            for group in running[:_MOST_LINES]
            if not evaluation.end
        ],
        "failures": failure_lines(evaluation),
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
    best = {
        learner.label for learner in ranked[:_MOST_LINES] if not isnan(learner.error)
    }
    # Lines keep their colours while ranks change.
    drawn = [learner for learner in learners if learner.label in best]
    chart_looks = _looks(learners)
    chart = _chart(name, drawn, chart_looks)
    # A swatch means a line: there is none before the chart.
    looks = {learner.label: chart_looks[learner.label] for learner in drawn if chart}
    listed = ranked
    if len(ranked) > _MOST_LINES:
        # Very many settings stay hidden until they report something.
        listed = [learner for learner in ranked if _has_reported(learner)][
            : 2 * _MOST_LINES
        ]
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


def curves_html(
    sets: Mapping[str, Sequence[LiveLearner]],
    of_label: Mapping[str, Look] | None = None,
) -> str:
    """Return a picture of the curves on each data set; lines look as `of_label` says."""
    charts = {}
    for name, learners in sets.items():
        looks = _looks(learners)
        if of_label:
            looks |= {label: _stroke(look) for label, look in of_label.items()}
        if chart := _chart(name, learners, looks):
            charts[name] = chart
    return str(_template().module.pictures(charts))  # type: ignore[attr-defined]


def _looks(learners: Sequence[LiveLearner]) -> dict[str, dict[str, str]]:
    """Return the looks of learners by label: those of a report of the same experiment."""
    number_of: dict[str, int] = {}
    settings = Counter[str]()
    looks = {}
    for learner in learners:
        is_baseline = learner.name in BASELINES
        same_kind = [name for name in number_of if (name in BASELINES) == is_baseline]
        # Baselines are numbered by themselves, since they have grey looks of their own.
        number = number_of.setdefault(learner.name, len(same_kind))
        if is_baseline:
            look = baseline_look(number)
        else:
            look = series_look(number, settings[learner.name])
        settings[learner.name] += 1
        looks[learner.label] = _stroke(look)
    return looks


def _stroke(look: Look) -> dict[str, str]:
    """Return a look as SVG has it."""
    dash = DASH_LENGTHS[look["linestyle"]]
    return {
        "colour": look["color"],
        "dash": " ".join(map(str, dash)) if dash[1] else "",
    }


def _chart(
    name: str, learners: Sequence[LiveLearner], looks: Mapping[str, dict[str, str]]
) -> dict[str, Any] | None:
    """Return the errors along the stream, in percent of the picture; None without any line.

    What ended before it reported twice has one position, which says no more than the table.
    """
    lines = [learner for learner in learners if len(learner.rows)]
    if max((len(learner.rows) for learner in lines), default=0) < 2:
        return None
    most = max(learner.rows[-1] for learner in lines)
    heading = error_heading(lines[0].metric)
    scale = 100 if heading.endswith("%)") else 1
    far = _far(lines)
    # Errors on the first rows are mostly chance, so the later ones set the scale.
    later = [
        error
        for learner in lines
        if learner.label not in far
        for error in learner.errors[len(learner.errors) // 4 :]
    ]
    later = [error for error in later if isfinite(error)] or [0.0]
    ticks = _nice_ticks(scale * min(later), scale * max(later))
    low = ticks[0] / scale
    high = ticks[-1] / scale

    def height(error: float) -> float:
        # Errors beyond the scale are clipped to the edge of the picture.
        return 100 * (high - min(max(error, low), high)) / (high - low)

    def points(learner: LiveLearner) -> str:
        return " ".join(
            f"{100 * row / most:.2f},{height(error):.1f}"
            for row, error in zip(learner.rows, learner.errors, strict=True)
            if isfinite(error)
        )

    stream = lines[0].stream
    along = f" along {stream}" if stream else ""
    return {
        "heading": heading,
        "words": f"{heading} of {len(lines)} learners{along} of {name}, up to row {most:,}",
        "ticks": [
            {"y": f"{height(tick / scale):.1f}", "text": f"{tick:.4g}"}
            for tick in ticks
        ],
        "lines": [
            {
                "label": learner.label,
                "look": looks[learner.label],
                "points": points(learner),
                "end": points(learner).rpartition(" ")[2].replace(",", " "),
            }
            for learner in lines
        ],
        "above": ", ".join(
            f"{learner.label} {error_text(learner.error, learner.metric)}"
            for learner in lines
            if learner.label in far
        ),
        "axis": ", ".join(filter(None, (f"row {most:,}", stream))),
    }


def _far(lines: Sequence[LiveLearner]) -> set[str]:
    """Return the learners that would squeeze all others: above three times the best error."""
    errors = {
        line.label: line.errors[-1] for line in lines if isfinite(line.errors[-1])
    }
    least = min(errors.values(), default=0.0)
    far = {label for label, error in errors.items() if error > _FAR * least}
    return far if least > 0.0 and len(lines) - len(far) > 1 else set()


def _nice_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers that span a range, at most `most` and one.

    Examples
    --------
    >>> _nice_ticks(39.3, 44.8)
    [38.0, 40.0, 42.0, 44.0, 46.0]
    """
    span = (high - low) or abs(high) or 1.0
    raw = span / (most - 1)
    power = 10.0 ** floor(log10(raw))
    step = next(
        factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-9)
    )
    first = floor(low / step + 1e-9)
    last = ceil(high / step - 1e-9)
    return [round(step * i, 12) for i in range(first, max(last, first + 1) + 1)]
