"""Sections of a report: what the store holds, each data set's figures, failed runs."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from olscale.analysis.curves import (
    CONFUSIONS,
    CURVES,
    ROCS,
    AlongStream,
    ConfusionMatrix,
    Curve,
    confusions,
    error_beside,
    has_curve,
    segment_errors,
)
from olscale.analysis.standing import is_comparable, looked_ahead, why_incomparable
from olscale.analysis.status import Status
from olscale.analysis.summary import Summary, by_setting, one_of_each_setting
from olscale.learners.foresight import ahead_text
from olscale.measures import base_name, metric_words
from olscale.report.choice import stream_key, streams_of_settings
from olscale.report.classes import class_table
from olscale.report.facts import class_names, planned_facts
from olscale.report.figures import (
    alarm_figure,
    confusion_figure,
    curve_figure,
    roc_figure,
    segment_figure,
)
from olscale.report.figures.curves import BANDS
from olscale.report.figures.segments import heat_figure
from olscale.report.gallery import Gallery, Part
from olscale.report.html import chips_html, escape, paragraphs, rows_html, table_html
from olscale.report.labels import (
    column_of,
    own_transforms_note,
    protocol_parts,
    transforms_note,
)
from olscale.report.panels import Chosen, legible
from olscale.report.papers.base import FigureSource
from olscale.report.sweep_figures import sweep_figures

T = TypeVar("T", bound=AlongStream)

_MOST_ALARMS = 12
"""Most drift alarms of a line that are marked on its curve."""

_STREAMS = 60
"""Most data sets (and views of them) with figures: readers look at no more."""


def overview(status: Status, unfinished: Sequence[str]) -> list[str]:
    """Return the experiments with their runs, the runs by outcome, and `unfinished` sentences."""
    outcomes = ", ".join(
        f"{count:,} {outcome}" for outcome, count in status.outcomes.items()
    )
    parts = [f"<p>{sum(status.outcomes.values()):,} runs: {escape(outcomes)}.</p>"]
    if status.experiments:
        lines = [
            (p.experiment, f"{p.done:,}", f"{p.total:,}", f"{p.lost:,}")
            for p in status.experiments
        ]
        parts.append(rows_html(("experiment", "runs done", "planned", "lost"), lines))
    return [*parts, paragraphs(unfinished)]


def failures(status: Status) -> str:
    """Return a table of failed runs with their reasons."""
    lines = [
        (f.learner, f.dataset, f.outcome, f"{f.runs:,}", f.reason)
        for f in status.failures
    ]
    return rows_html(
        ("learner", "data set", "outcome", "runs", "reason (of one run)"),
        lines,
        text=(0, 1, 2, 4),
    )


def stream_sections(
    source: FigureSource, gallery: Gallery
) -> list[tuple[str, list[Part]]]:
    """Return one section per data set and view of it: curves, alarms, segments, parameters."""
    # Curves of references that skip the first rows are not comparable with others.
    comparable = [s for s in source.summaries if s.n and is_comparable(s)]
    every = streams_of_settings(comparable)
    groups = dict(list(every.items())[:_STREAMS])
    measured = {s.metric for group in groups.values() for s in group if has_curve(s)}
    chosen = {
        name: _chosen(groups.values(), name)
        for name in (*CURVES, *sorted(measured.difference(CURVES)))
        if name in measured | {"cumulative_error"}
    }
    if "drift_alarms" in chosen:
        chosen["drift_alarms"] |= _alarms_of(
            chosen["cumulative_error"], source.summaries
        )
    series = {
        metric: _by_stream(
            source.curves(
                [s for shown, _ in of.values() for s in shown.values()], metric
            )
        )
        for metric, of in chosen.items()
    }
    ends = [
        s for shown, _ in chosen["cumulative_error"].values() for s in shown.values()
    ]
    segments = _by_stream(segment_errors(source.store, ends, source.on_damage))
    # Measures of the test split exist without a stream's error as well.
    with_errors = chosen | {"test_error": _settings_of(groups.values(), "test_error")}
    found_rocs = {
        name: _by_stream(source.roc_curves(_asked(with_errors, name, "roc"), name))
        for name in ROCS
    }
    by_class = {
        name: _by_stream(
            confusions(
                source.store,
                _asked(with_errors, name, "confusion"),
                name,
                source.on_damage,
            )
        )
        for name in CONFUSIONS
    }
    facts = (
        planned_facts(source.store, source.on_damage) if any(by_class.values()) else {}
    )
    measured_on: dict[Hashable, list[Summary]] = defaultdict(list)
    for of_setting in by_setting(s for s in source.summaries if s.n):
        measured_on[stream_key(of_setting[0])] += of_setting
    sections = []
    for title, group in groups.items():
        parts: list[Part] = []
        stream = stream_key(group[0])
        for metric, curves in series.items():
            if not curves[stream]:
                continue
            shown, note = _labelled(chosen[metric][stream], curves[stream])
            if metric == "drift_alarms":
                # The raster has all alarms; on curves they stand where they are few enough to read.
                parts.append(
                    _alarms(
                        title,
                        shown,
                        note,
                        series["cumulative_error"][stream],
                        gallery,
                        source,
                    )
                )
            else:
                raised = series.get("drift_alarms", {}).get(stream, [])
                parts.append(
                    _curves(title, metric, shown, note, raised, gallery, source)
                )
        # A single segment is the whole stream: its error stands in every table.
        if segments[stream] and len(segments[stream][0].names) > 1:
            by_label, note = _labelled(
                chosen["cumulative_error"][stream], segments[stream]
            )
            note = _means(by_label, band=False) + note
            caption = f"{title}: error on each segment{note}."
            parts.append(
                gallery.add(
                    f"{title}-segments",
                    caption,
                    segment_figure,
                    by_label,
                    topic="segments",
                    of_learner=source.looks,
                )
            )
            # A map of a single line adds nothing to the segments above.
            if len(by_label) > 1:
                caption = f"{title}: error of learners on each segment, as a map{note}."
                parts.append(
                    gallery.add(
                        f"{title}-segments-map",
                        caption,
                        heat_figure,
                        by_label,
                        topic="segments",
                    )
                )
        for name, rocs in found_rocs.items():
            if rocs[stream]:
                rocs_by_label, note = _labelled(
                    with_errors[error_beside(name)][stream], rocs[stream]
                )
                caption = f"{title}: {metric_words(name)}{_means(rocs_by_label, band=False)}{note}."
                file = f"{title}-{name.replace('_', '-')}"
                parts.append(
                    gallery.add(
                        file,
                        caption,
                        roc_figure,
                        rocs_by_label,
                        topic=metric_words(name),
                        of_learner=source.looks,
                    )
                )
        for name, matrices in by_class.items():
            if matrices[stream]:
                of_label, _ = _labelled(
                    with_errors[error_beside(name)][stream], matrices[stream]
                )
                names = class_names(facts.get(group[0].fingerprint, {}))
                parts += _classes(title, name, of_label, names, gallery)
        parts += sweep_figures(title, group, gallery, source)
        if parts:
            s = group[0]
            notes = [
                *transforms_note([column_of(s)], [title]),
                *own_transforms_note(
                    (summary.label, summary) for summary in one_of_each_setting(group)
                ),
                *_standing_notes(measured_on[stream]),
            ]
            head = f"<p>{chips_html(protocol_parts(s.protocol))}</p>"
            if notes:
                head += paragraphs([" ".join(notes)], "note")
            sections.append((title, [head, *parts]))
    if hidden := list(every)[_STREAMS:]:
        sentence = (
            f"Figures are of the first {_STREAMS} of {len(every):,} data sets (and ways of "
            "meeting them), not of:"
        )
        sections.append(
            (
                "Without figures",
                [paragraphs([f"{sentence} {'; '.join(hidden)}."], "note")],
            )
        )
    return sections


def _standing_notes(group: Sequence[Summary]) -> list[str]:
    """Say which figures of a stream looked ahead, and which learners have none along it."""
    notes = []
    if items := {what: None for s in group for what in looked_ahead(s)}:
        notes.append(f"Figures along the stream look ahead: {ahead_text(items)}.")
    if reason := why_incomparable(group):
        late = dict.fromkeys(s.label for s in group if not is_comparable(s))
        notes.append(f"Not shown along the stream: {', '.join(late)}, which {reason}.")
    return notes


def _chosen(
    groups: Iterable[Sequence[Summary]], metric: str
) -> dict[Hashable, Chosen[Summary]]:
    """Return, by stream, the settings whose curves are shown; no other curves are read."""
    return _settings_of(
        ([s for s in group if has_curve(s)] for group in groups), metric
    )


def _settings_of(
    groups: Iterable[Sequence[Summary]], metric: str
) -> dict[Hashable, Chosen[Summary]]:
    summaries = ([s for s in group if s.metric == metric] for group in groups)
    return {stream_key(of[0]): legible(of) for of in summaries if of}


def _asked(
    chosen: Mapping[str, Mapping[Hashable, Chosen[Summary]]], name: str, measure: str
) -> list[Summary]:
    """Return the settings that show the series `name`: their protocol includes `measure`."""
    every = (
        s for shown, _ in chosen[error_beside(name)].values() for s in shown.values()
    )
    return [s for s in every if measure in s.protocol.get("measures", ())]


def _alarms_of(
    shown: Mapping[Hashable, Chosen[Summary]], summaries: Iterable[Summary]
) -> dict[Hashable, Chosen[Summary]]:
    """Return the alarms of the settings whose errors are shown, to mark them on the curves."""
    alarms = {s.key: s for s in summaries if s.metric == "drift_alarms"}
    return {
        stream: ({label: alarms[s.key] for label, s in of.items()}, note)
        for stream, (of, note) in shown.items()
        if of and all(s.key in alarms for s in of.values())
    }


def _labelled(chosen: Chosen[Summary], items: Sequence[T]) -> tuple[dict[str, T], str]:
    """Return the chosen items of `items`, by label; a setting may have no curve."""
    shown, note = chosen
    by_setting = {id(item.summary): item for item in items}
    return {
        label: by_setting[id(s)] for label, s in shown.items() if id(s) in by_setting
    }, note


def _curves(
    title: str,
    metric: str,
    shown: dict[str, Curve],
    note: str,
    raised: list[Curve],
    gallery: Gallery,
    source: FigureSource,
) -> Part:
    protocol = next(iter(shown.values())).summary.protocol
    which = {
        "window_": f" over the last {protocol.get('window', 0):,} rows",
        "fading_": f" with the fading factor {protocol.get('fading')}",
        "holdout_": f" every {protocol.get('holdout_every', 0):,} rows",
    }.get(metric.removesuffix(base_name(metric)), "")
    of_setting = {curve.summary.key: curve for curve in raised}
    if not _marks_alarms(metric, protocol, raised):
        of_setting = {}
    with_alarms = [curve.summary.key in of_setting for curve in shown.values()]
    marks = (
        {label: of_setting[curve.summary.key] for label, curve in shown.items()}
        if all(with_alarms)
        else {}
    )
    triangles = (
        "; triangles: drift alarms"
        if any(len(curve.rows) for curve in marks.values())
        else ""
    )
    caption = f"{title}: {metric_words(metric)}{which}{_means(shown)}{note}{triangles}."
    name = "curves" if metric == "cumulative_error" else metric.replace("_", "-")
    options: dict[str, Any] = {"of_learner": source.looks} | (
        {"alarms": marks} if triangles else {}
    )
    return gallery.add(
        f"{title}-{name}",
        caption,
        curve_figure,
        {"": shown},
        metric_words(metric),
        **options,
    )


def _marks_alarms(
    metric: str, protocol: Mapping[str, Any], raised: Sequence[Curve]
) -> bool:
    """Return whether alarms stand on a curve: that of recent errors, and only if they are few."""
    recent = "window_error" if protocol.get("window") else "cumulative_error"
    return metric == recent and all(len(curve.rows) <= _MOST_ALARMS for curve in raised)


def _alarms(
    title: str,
    shown: dict[str, Curve],
    note: str,
    of_stream: list[Curve],
    gallery: Gallery,
    source: FigureSource,
) -> Part:
    curves = list(shown.values())
    ends = [int(curve.rows[-1]) for curve in of_stream]
    runs = (
        ", those of all runs of a learner on one line"
        if max(len(curve.errors) for curve in curves) > 1
        else ""
    )
    by = (
        f"{curves[0].summary.protocol.get('drift')} "
        f"({curves[0].summary.protocol.get('drift_version')})"
    )
    caption = f"{title}: rows at which {by} raised an alarm{runs}{note}."
    options = {"rows": max(ends, default=None), "of_learner": source.looks}
    return gallery.add(
        f"{title}-drift-alarms", caption, alarm_figure, shown, "drift alarms", **options
    )


def _classes(
    title: str,
    name: str,
    shown: dict[str, ConfusionMatrix],
    class_names: Sequence[str],
    gallery: Gallery,
) -> list[Part]:
    """Return the error by class, and of three classes or more which are taken for which."""
    tested = name.startswith("test_")
    table = class_table(title, shown, class_names, tested=tested)
    parts: list[Part] = [table_html(table)]
    # Of two classes the errors themselves say it.
    if len(table.columns) > 2:
        rows = "rows of the test split" if tested else "rows"
        caption = (
            f"{title}: {rows} of a class that are predicted as another, in percent of the class"
            "; those that are predicted rightly are left out."
        )
        parts.append(
            gallery.add(
                f"{title}-{name.replace('_', '-')}",
                caption,
                confusion_figure,
                shown,
                "confusions",
                class_names=class_names,
            )
        )
    return parts


def _by_stream(items: Iterable[T]) -> dict[Hashable, list[T]]:
    groups: dict[Hashable, list[T]] = defaultdict(list)
    for item in items:
        groups[stream_key(item.summary)].append(item)
    return groups


def _means(shown: Mapping[str, AlongStream], band: bool = True) -> str:
    """Say how many runs each line of a panel averages, and which average fewer than others."""
    runs = {label: len(line.values) for label, line in shown.items()}
    most = max(runs.values())
    if most == 1:
        return ""
    fewer = [f"{label} {count}" for label, count in runs.items() if count < most]
    unequal = f" (of {', '.join(fewer)})" if fewer else ""
    deviation = (
        ", the band one standard deviation" if band and len(shown) <= BANDS else ""
    )
    return f", mean over {most} runs{unequal}{deviation}"
