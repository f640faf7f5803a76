"""Sections of a report: what the store holds, each data set's figures, failed runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from olscale.analysis.curves import CURVES, Curve, SegmentErrors, segment_errors
from olscale.analysis.status import Status
from olscale.analysis.summary import Summary
from olscale.analysis.sweeps import Sweep, find_sweeps
from olscale.report.figures import alarm_figure, curve_figure, parameter_figure, segment_figure, surface_figure
from olscale.report.choice import best_of_each, labelled, stream_key, streams
from olscale.report.figures.curves import BANDS
from olscale.report.figures.words import metric_text, params_text
from olscale.report.gallery import Gallery
from olscale.report.html import escape, paragraphs, rows_html
from olscale.report.labels import column_of, transforms_note
from olscale.report.papers.base import FigureSource
from olscale.report.tables import HEADLINES
from olscale.report.wording import heading, protocol_text

__all__ = ["failures", "overview", "stream_sections"]

T = TypeVar("T", Curve, SegmentErrors)

_MOST = 12
"""Lines of one panel that can be told apart."""


def overview(status: Status) -> list[str]:
    """Return the experiments with their runs, and the runs by outcome."""
    outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in status.outcomes.items())
    parts = [f"<p>{sum(status.outcomes.values()):,} runs: {escape(outcomes)}.</p>"]
    if status.experiments:
        lines = [(p.experiment, f"{p.done:,}", f"{p.total:,}", f"{p.lost:,}") for p in status.experiments]
        parts.append(rows_html(("experiment", "runs done", "planned", "lost"), lines))
    return parts


def failures(status: Status) -> str:
    """Return a table of failed runs with their reasons."""
    lines = [(f.learner, f.dataset, f.outcome, f"{f.runs:,}", f.reason) for f in status.failures]
    return rows_html(("learner", "data set", "outcome", "runs", "reason (of one run)"), lines, text=(0, 1, 2, 4))


def stream_sections(source: FigureSource, gallery: Gallery) -> list[tuple[str, list[str]]]:
    """Return a section for each data set (and way of meeting it): curves, alarms, segments, parameters."""
    ends = [s for s in source.summaries if s.metric == "cumulative_error" and s.n]
    all_curves = {metric: _by_stream(source.curves([s for s in source.summaries if s.n], metric)) for metric in CURVES}
    all_segments = _by_stream(segment_errors(source.store, ends, source.on_damage))
    sections = []
    for title, group in streams([s for s in source.summaries if s.n]).items():
        parts, stream = [], stream_key(group[0])
        for metric, found in all_curves.items():
            if found[stream] and metric == "drift_alarms":
                parts.append(_alarms(title, found[stream], all_curves["cumulative_error"][stream], gallery, source))
            elif found[stream]:
                parts.append(_curves(title, metric, found[stream], gallery, source))
        segments = all_segments[stream]
        if segments:
            by_label, note = _legible(segments)
            caption = f"{title}: error on each segment{note}."
            parts.append(gallery.add(f"{title}-segments", segment_figure(by_label, of_learner=source.looks), caption))
        parts += [_swept(title, sweep, gallery, source) for sweep in _sweeps(group)]
        if parts:
            s = group[0]
            notes = [f"Protocol: {protocol_text(s.protocol)}.", *transforms_note([column_of(s)], [title])]
            sections.append((title, [paragraphs([" ".join(notes)], "note"), *parts]))
    return sections


def _curves(title: str, metric: str, curves: list[Curve], gallery: Gallery, source: FigureSource) -> str:
    shown, note = _legible(curves)
    protocol = curves[0].summary.protocol
    which = {
        "window_error": f" over the last {protocol.get('window', 0):,} rows",
        "fading_error": f" with the fading factor {protocol.get('fading')}",
        "holdout_error": f" every {protocol.get('holdout_every', 0):,} rows",
    }.get(metric, "")
    caption = f"{title}: {metric.replace('_', ' ')}{which}{_means(list(shown.values()))}{note}."
    name = "curves" if metric == "cumulative_error" else metric.replace("_", "-")
    return gallery.add(f"{title}-{name}", curve_figure({"": shown}, of_learner=source.looks), caption)


def _alarms(title: str, curves: list[Curve], whole: list[Curve], gallery: Gallery, source: FigureSource) -> str:
    shown, note = _legible(curves)
    ends = [int(curve.rows[-1]) for curve in whole]
    runs = ", those of all runs of a learner on one line" if max(len(curve.errors) for curve in curves) > 1 else ""
    by = f"{curves[0].summary.protocol.get('drift')} ({curves[0].summary.protocol.get('drift_version')})"
    caption = f"{title}: rows at which {by} raised an alarm{runs}{note}."
    return gallery.add(
        f"{title}-drift-alarms", alarm_figure(shown, max(ends, default=None), of_learner=source.looks), caption
    )


def _by_stream(found: Iterable[T]) -> dict[Hashable, list[T]]:
    groups: dict[Hashable, list[T]] = defaultdict(list)
    for one in found:
        groups[stream_key(one.summary)].append(one)
    return groups


def _legible(found: list[T]) -> tuple[dict[str, T], str]:
    """Return what one panel can show, by label, and what its caption must then say."""
    labels = labelled(found)
    if len(found) <= _MOST:
        return labels, ""
    kept = best_of_each(found)
    note = f"; of each learner the setting of least {heading(found[0].summary.metric).lower().removesuffix(' (%)')}"
    if len(kept) > _MOST:
        note += f", the best {_MOST} of {len(kept)} learners"
        kept = sorted(kept, key=lambda one: one.summary.mean)[:_MOST]
    return {label: one for label, one in labels.items() if one in kept}, note


def _means(shown: list[Curve]) -> str:
    replicates = max(len(curve.errors) for curve in shown)
    if replicates == 1:
        return ""
    band = ", the band one standard deviation" if len(shown) <= BANDS else ""
    return f", mean over {replicates} runs{band}"


def _sweeps(group: Sequence[Summary]) -> list[Sweep]:
    metric = next((name for name in HEADLINES if any(s.metric == name for s in group)), None)
    return find_sweeps(s for s in group if s.metric == metric)


def _swept(title: str, sweep: Sweep, gallery: Gallery, source: FigureSource) -> str:
    learner, metric = sweep.summary.label, sweep.summary.metric
    rest = {name: value for name, value in sweep.summary.params.items() if name not in sweep.names}
    fixed = f", with {params_text(rest)}" if rest else ""
    over = " and ".join(sweep.names)
    best = params_text({name: sweep.summary.params[name] for name in sweep.names})
    caption = f"{title}: {metric_text(metric)} of {learner} against {over}{fixed}; least at {best}."
    two = len(sweep.names) == 2
    if two:
        figure = surface_figure({learner: sweep})
    else:
        figure = parameter_figure({learner: {learner: sweep}}, of_learner=source.looks)
    return gallery.add(f"{title}-{learner}-{'-'.join(sweep.names)}", figure, caption)
