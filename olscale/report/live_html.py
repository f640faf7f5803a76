"""Running evaluations as HTML for any notebook and browser: no script, no URL, SVG pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import isfinite, isnan
from time import time

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
from olscale.report.marks import Mark, footnotes
from olscale.results.live import LiveEvaluation
from olscale.system.sizes import duration_text, size_text

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#e69f00", "#56b4e9", "#cc79a7", "#8a8a8a")
"""Colours of the figures, except black, which is invisible on a dark page."""

_DASHES = ("", "6 3", "2 3")
_WIDE = 460
_HIGH = 150
_LEFT = 44
_BELOW = 18
_MOST_LINES = 12
_MOST_NOTES = 5
_MOST_SETS = 8

STYLE = """<style>
.olscale-live { font: 13px/1.45 system-ui, sans-serif; color: inherit; max-width: 62rem; }
.olscale-live h4 { margin: .5rem 0 .2rem; font-size: 1em; } .olscale-live p { margin: .15rem 0; }
.olscale-live h4, .olscale-live p { overflow-wrap: break-word; }
.olscale-live table { font: inherit; border-collapse: collapse; margin: .2rem 0; }
.olscale-live table { font-variant-numeric: tabular-nums; }
.olscale-live th, .olscale-live td { padding: .08rem .6rem; text-align: right; }
.olscale-live th, .olscale-live td { white-space: nowrap; }
.olscale-live th { font-weight: 600; border-bottom: 1px solid #8886; }
.olscale-live .text { text-align: left; }
.olscale-live .flow { display: flex; flex-wrap: wrap; gap: .4rem 1.6rem; align-items: flex-start; }
.olscale-live .scroll { overflow-x: auto; max-width: 100%; }
.olscale-live .bar { background: #8883; border-radius: 4px; height: 8px; }
.olscale-live .bar { overflow: hidden; max-width: 30rem; }
.olscale-live .bar div { background: #0072b2; height: 100%; }
.olscale-live .small { font-size: .88em; opacity: .8; }
.olscale-live svg { max-width: 100%; height: auto; }
@media (max-width: 40rem) {
.olscale-live td.text { white-space: normal; overflow-wrap: anywhere; min-width: 7rem; }
}
.olscale-live svg text { fill: currentColor; font: 11px system-ui, sans-serif; }
</style>"""


def live_html(
    evaluations: Sequence[LiveEvaluation], now: float | None = None, results_below: bool = False
) -> str:
    """Return evaluations as HTML: progress, time, errors along the stream, workers, notes.

    If results follow below, ended evaluations show no errors here.
    """
    body = "".join(
        _one(evaluation, now or time(), brief=results_below and bool(evaluation.end))
        for evaluation in evaluations
    )
    body = body or "<p>Nothing goes on.</p>"
    return f'<div class="olscale-live">{STYLE}{body}</div>'


def _text(text: object) -> str:
    return escape(printable(str(text)))


def _one(evaluation: LiveEvaluation, now: float, brief: bool) -> str:
    share = 100 * evaluation.share_done
    failed = f", <b>{evaluation.failed} failed</b>" if evaluation.failed else ""
    bar = (
        f'role="progressbar" aria-valuenow="{share:.0f}" aria-valuemin="0" aria-valuemax="100" '
        'aria-label="work done"'
    )
    datasets = "" if brief else _datasets(learners_of(evaluation))
    notes = "".join(
        f'<p class="small">{_text(note)}</p>' for note in evaluation.notes[-_MOST_NOTES:]
    )
    return (
        f"<h4>{_text(evaluation.name)}: {_text(state_text(evaluation, now))}</h4>"
        f'<div class="bar" {bar}><div style="width:{share:.1f}%"></div></div>'
        f"<p>{evaluation.done:,} of {evaluation.total:,} "
        f"runs{failed}{pace_text(evaluation, now)}</p>"
        f"{datasets}{_workers(evaluation, now)}{notes}"
    )


def _datasets(found: Mapping[str, Sequence[LiveLearner]]) -> str:
    """Return data sets with their learners and curves.

    If there are very many, only running ones get them, and each of the others gets a line.
    """
    # A stable sort: running data sets first, otherwise in the order of the experiment.
    shown = sorted(found, key=lambda name: not _goes_on(found[name]))[:_MOST_SETS]
    in_brief = {name: learners for name, learners in found.items() if name not in shown}
    return "".join(_dataset(name, found[name]) for name in found if name in shown) + (
        _others(in_brief) if in_brief else ""
    )


def _goes_on(learners: Sequence[LiveLearner]) -> bool:
    has_reported = any(learner.done or not isnan(learner.error) for learner in learners)
    return has_reported and any(learner.done < learner.runs for learner in learners)


def _other_row(name: str, learners: Sequence[LiveLearner]) -> str:
    best = min(learners, key=_by_error)
    label = "-" if isnan(best.error) else _text(best.label)
    done_runs = sum(learner.done for learner in learners)
    runs = sum(learner.runs for learner in learners)
    return (
        f'<tr><td class="text">{_text(name)}</td><td class="text">{label}</td>'
        f"<td>{error_text(best.error, best.metric)}</td><td>{done_runs}/{runs}</td></tr>"
    )


def _others(found: Mapping[str, Sequence[LiveLearner]]) -> str:
    rows = "".join(_other_row(name, learners) for name, learners in found.items())
    heads = ("data set", "best so far", "error so far", "runs done")
    head = "".join(
        f"<th{' class=text' if i < 2 else ''}>{words}</th>" for i, words in enumerate(heads)
    )
    return (
        f"<h4>{len(found)} more data sets</h4><div "
        f'class="scroll"><table><tr>{head}</tr>{rows}</table></div>'
    )


def _by_error(learner: LiveLearner) -> tuple[bool, float]:
    return isnan(learner.error), learner.error


def _dataset(name: str, learners: Sequence[LiveLearner]) -> str:
    ranked = sorted(learners, key=_by_error)
    best = {learner.label for learner in ranked[:_MOST_LINES] if not isnan(learner.error)}
    # Lines keep their colours while ranks change.
    looks = {
        label: i
        for i, label in enumerate(learner.label for learner in learners if learner.label in best)
    }
    # Very many settings stay hidden until they report something.
    listed = (
        ranked
        if len(ranked) <= _MOST_LINES
        else [candidate for candidate in ranked if candidate.done or not isnan(candidate.error)]
    )
    listed = listed[: 2 * _MOST_LINES]
    marks = live_marks(listed)
    rows = "".join(
        _learner_row(learner, looks.get(learner.label), of_learner)
        for learner, of_learner in zip(listed, marks, strict=True)
    )
    below = "".join(f'<p class="small">{_text(line)}</p>' for line in footnotes(marks))
    more = len(learners) - len(listed)
    what = "more settings" if listed else "settings"
    hidden = f'<p class="small">{more} {what}</p>' if more > 0 else ""
    head = (
        '<tr><th class="text">learner</th><th>'
        + _text(error_heading(learners[0].metric))
        + "</th><th>runs done</th></tr>"
    )
    table = f"<table>{head}{rows}</table>" if listed else ""
    drawn = [learner for learner in learners if learner.label in looks]
    return (
        f'<h4>{_text(name)}</h4><div class="flow"><div class="scroll">{table}{hidden}{below}</div>'
        f"{_picture(name, drawn, looks)}</div>"
    )


def _learner_row(learner: LiveLearner, look: int | None, marks: Sequence[Mark]) -> str:
    signs = "".join(f"<sup>{mark.sign}</sup>" for mark in marks)
    failed = f", <b>{learner.failed} failed</b>" if learner.failed else ""
    return (
        f'<tr><td class="text">{_swatch(look)} {_text(learner.label)}</td>'
        f"<td>{error_text(learner.error, learner.metric)}{signs}</td>"
        f"<td>{learner.done}/{learner.runs}{failed}</td></tr>"
    )


def _swatch(look: int | None) -> str:
    if look is None:
        return ""
    return (
        f'<svg width="22" height="8" aria-hidden="true"><path d="M0 4H22" {_stroke(look)}/></svg>'
    )


def _stroke(look: int) -> str:
    dash = _DASHES[look // len(COLOURS) % len(_DASHES)]
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'fill="none" stroke="{COLOURS[look % len(COLOURS)]}" stroke-width="1.6"{dashes}'


def _picture(name: str, learners: Sequence[LiveLearner], looks: dict[str, int]) -> str:
    """Return the errors along the stream as SVG; empty if no learner has two positions yet."""
    lines = [learner for learner in learners if len(learner.rows) > 1]
    if not lines:
        return ""
    most = max(learner.rows[-1] for learner in lines)
    heading = error_heading(lines[0].metric)
    scale = 100 if heading.endswith("%)") else 1
    # Errors on the first rows are mostly chance, so the later ones set the scale.
    later = [error for learner in lines for error in learner.errors[len(learner.errors) // 4 :]]
    later = [error for error in later if isfinite(error)] or [0.0]
    low = min(later)
    high = max(later)
    # A margin of a tenth; the fallback keeps errors of zero from dividing by zero.
    low, high = max(0.0, low - 0.1 * (high - low)), high + 0.1 * (high - low) or 1e-3
    across = (_WIDE - _LEFT - 6) / most
    up = (_HIGH - _BELOW - 6) / ((high - low) or 1.0)

    def place(row: int, error: float) -> str:
        # Early errors beyond the scale are clipped to the edge of the picture.
        y = _HIGH - _BELOW - (min(max(error, low), high) - low) * up
        return f"{_LEFT + row * across:.1f},{y:.1f}"

    def path(learner: LiveLearner) -> str:
        points = [
            place(*at) for at in zip(learner.rows, learner.errors, strict=True) if isfinite(at[1])
        ]
        title = f"<title>{_text(learner.label)}</title>"
        return (
            f"<polyline {_stroke(looks[learner.label])} "
            f'points="{" ".join(points)}">{title}</polyline>'
        )

    paths = "".join(map(path, lines))
    ticks = "".join(
        f'<path d="M{_LEFT} {y:.1f}H{_WIDE - 6}" stroke="#8884"/>'
        f'<text x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{scale * error:.3g}</text>'
        for error in (low, (low + high) / 2, high)
        for y in (_HIGH - _BELOW - (error - low) * up,)
    )
    words = (
        f"{heading} of {len(lines)} learners along {lines[0].stream} of {name}, up to row {most:,}"
    )
    axis = (
        f'<text x="{_WIDE - 6}" y="{_HIGH - 4}" text-anchor="end">row {most:,}, '
        f"{_text(lines[0].stream)}</text>"
    )
    size = f'width="{_WIDE}" height="{_HIGH}" viewBox="0 0 {_WIDE} {_HIGH}"'
    axis += f'<text x="{_LEFT}" y="{_HIGH - 4}">0</text>'
    return f'<svg {size} role="img" aria-label="{_text(words)}">{ticks}{paths}{axis}</svg>'


def _workers(evaluation: LiveEvaluation, now: float) -> str:
    running = [group for group in evaluation.groups.values() if group.going]
    if evaluation.end or not running:
        return ""
    rows = "".join(
        f'<tr><td class="text">{_text(group.worker or "this process")}</td><td '
        f'class="text">{_text(group.name)}</td>'
        f"<td>{stand_text(group)}</td><td>{size_text(group.memory)}</td>"
        f"<td>{duration_text(max(0.0, now - group.heard))}</td></tr>"
        for group in running[:_MOST_LINES]
    )
    head = (
        '<tr><th class="text">worker</th><th '
        'class="text">runs</th><th>done</th><th>memory</th><th>heard ago</th></tr>'
    )
    return f'<div class="scroll"><table>{head}{rows}</table></div>'
