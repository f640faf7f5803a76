"""Measures along the stream, and on its segments, as tables, JSON and CSV."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from olscale.analysis.curves import (
    CONFUSIONS,
    CURVES,
    ROCS,
    AlongStream,
    confusions,
    curves,
    is_curve,
    roc_curves,
    segment_errors,
)
from olscale.analysis.standing import is_comparable, looked_ahead, why_incomparable
from olscale.analysis.summary import Summary
from olscale.errors import UnknownNameError
from olscale.measures import figure_of
from olscale.printable import csv_cells
from olscale.report.choice import labelled, streams
from olscale.report.labels import (
    column_of,
    heading,
    own_transforms_note,
    protocol_text,
    transforms_note,
)
from olscale.report.marks import (
    caution_marks,
    look_ahead_mark,
    reference_mark,
    runs_mark,
)
from olscale.report.notes import count_notes
from olscale.report.tables import Entry, Table
from olscale.results import Store, canonical_json
from olscale.results.store import OnDamage

SEGMENTS = "segment_error"
ALONG = (*CURVES, SEGMENTS, *CONFUSIONS, *ROCS)
"""What can be requested along the stream; the counts of a confusion matrix share one line."""

_SETTING = ("dataset", "transforms", "learner", "params", "protocol")
FIELDS = (
    *_SETTING,
    *("curve", "rows", "segment", "mean", "std", "n", "fingerprint", "version"),
    *("label", "dataset_label", "cautions", "looks_ahead", "comparable"),
)

_POSITIONS = 10
"""Positions of a curve in a table."""

_POINTS = 1000
"""Positions of a curve in JSON and CSV, at most."""

_CELLS = 60
"""Cells of a confusion matrix that a table shows: those with the most rows."""
_SEGMENTS = 30
"""Most segments that a table shows: evenly spaced, including the first and the last."""


def along(
    store: Store, summaries: list[Summary], name: str, on_damage: OnDamage = "raise"
) -> list[AlongStream]:
    """Return the series `name` of the runs behind `summaries`: one of `ALONG`, or of one class.

    Raises
    ------
    UnknownNameError
        If there is no such curve.
    StoreError
        If a file of the store is damaged.
    """
    if name not in ALONG and not is_curve(name):
        raise UnknownNameError("curve", name, ALONG)
    if name == SEGMENTS:
        return [*segment_errors(store, summaries, on_damage)]
    if name in CONFUSIONS:
        return [*confusions(store, summaries, name, on_damage)]
    if name in ROCS:
        return [*roc_curves(store, summaries, name, _POINTS, on_damage)]
    return [*curves(store, summaries, _POINTS, on_damage, name)]


def along_json(lines: Sequence[AlongStream], name: str) -> str:
    """Return a JSON list with one object per line.

    An object is a position of a curve, or a segment, of one setting of a learner.

    Fields: those that identify the setting, as in `olscale.report.as_json`, ``curve`` (its name),
    ``rows`` (streamed by then; null for a segment), ``segment`` (its name; null for a position),
    ``mean``, ``std``, ``n`` (over the replicates), ``cautions``, ``looks_ahead`` and
    ``comparable``.
    """
    texts = [json.dumps(row) for line in lines for row in _rows(line, name)]
    if texts:
        return "[\n" + ",\n".join(texts) + "\n]\n"
    return "[]\n"


def along_csv(lines: Sequence[AlongStream], name: str) -> str:
    """Return CSV with a header and the fields of `along_json`.

    Objects become JSON texts, nulls become empty cells.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    for row in (row for line in lines for row in _rows(line, name)):
        shown = row | {"transforms": ",".join(row["transforms"])}
        shown |= {key: canonical_json(row[key]) for key in ("params", "protocol")}
        shown |= {key: ",".join(row[key]) for key in ("cautions", "looks_ahead")}
        writer.writerow(csv_cells(shown.values()))
    return text.getvalue()


def _rows(line: AlongStream, name: str) -> list[dict[str, Any]]:
    s = line.summary
    mean, std = _moments(line)
    setting = {field: getattr(s, field) for field in _SETTING}
    # Cautions are of a metric, and the summary at hand is of the headline.
    figure = replace(s, metric=name)
    ends = {
        "fingerprint": s.fingerprint,
        "version": s.version,
        "label": s.label,
        "dataset_label": s.dataset_label,
        "cautions": figure.cautions,
        "looks_ahead": looked_ahead(figure),
        "comparable": is_comparable(figure),
    }
    rows = []
    for i, place in enumerate(line.places):
        point: dict[str, Any] = {"curve": name, "rows": None, "segment": None}
        if isinstance(place, str):
            point["segment"] = place
        else:
            point["rows"] = place
        point |= {
            "mean": float(mean[i]),
            "std": float(std[i]),
            "n": len(line.values),
        }
        rows.append(setting | point | ends)
    return rows


def _moments(line: AlongStream) -> tuple[Any, Any]:
    """Return mean and standard deviation over the replicates, at each place."""
    mean = line.values.mean(axis=0)
    if len(line.values) == 1:
        return mean, np.zeros(len(mean))
    return mean, line.values.std(axis=0, ddof=1)


def along_tables(lines: Sequence[AlongStream], name: str) -> list[Table]:
    """Return one table per stream: learners by segments, or by at most ten curve positions."""
    form = partial(figure_of, name)
    # Alarms before a line's first, and cells of a confusion matrix that it has no rows in, are
    # none.
    absent = Entry(form(0.0) if name in ("drift_alarms", *CONFUSIONS) else "", note="-")
    # Alarms and true positives keep their number until the next one.
    keeps_value = name in ("drift_alarms", SEGMENTS, *CONFUSIONS, *ROCS)
    points_at = _at if keeps_value else _near
    results = []
    for title, group in streams(lines).items():
        labels = labelled(group)
        places, texts = _places(list(labels.values()))
        cells = len(places)
        if name in CONFUSIONS and cells > _CELLS:
            places = texts = _fullest(list(labels.values()), places)
        elif name == SEGMENTS and cells > _SEGMENTS:
            places = texts = [
                places[i]
                for i in np.linspace(0, cells - 1, _SEGMENTS).round().astype(int)
            ]
        entries = []
        runs = [len(line.values) for line in labels.values()]
        settings = [replace(line.summary, metric=name) for line in labels.values()]
        look_ahead = look_ahead_mark(
            item for setting in settings for item in looked_ahead(setting)
        )
        reference = Entry(note="-", marks=(reference_mark(why_incomparable(settings)),))
        for line, setting in zip(labels.values(), settings, strict=True):
            # A batch reference predicts nothing while it collects rows: its figures would mislead.
            if not is_comparable(setting):
                entries.append((reference,) * len(places))
                continue
            mean, std = _moments(line)
            has_replicates = len(line.values) > 1
            marks = caution_marks([line.summary], name)
            if looked_ahead(setting):
                marks = (*marks, look_ahead)
            # some of its runs failed: its mean is over others
            if len(line.values) < max(runs):
                marks = (*marks, runs_mark(len(line.values)))
            figures = []
            for i in points_at(line, places):
                if i < 0:
                    figures.append(absent)
                    continue
                deviation = ""
                if has_replicates:
                    deviation = form(std[i])
                figures.append(Entry(form(mean[i]), deviation, marks=marks))
            entries.append(tuple(figures))
        s = group[0].summary
        notes = [
            f"Protocol: {protocol_text(s.protocol)}.",
            *transforms_note([column_of(s)], [s.dataset_label]),
            *own_transforms_note(
                (label, line.summary) for label, line in labels.items()
            ),
        ]
        notes += count_notes(set(runs))
        if name not in (SEGMENTS, *CONFUSIONS):
            what = "rows streamed"
            if name in ROCS:
                what = "false positives"
            notes.append(f"Columns: {what}." if places else "No alarm was raised.")
        if len(places) < cells:
            shown = f"The {_CELLS} cells with the most rows"
            if name == SEGMENTS:
                shown = f"{_SEGMENTS} segments"
            notes.append(f"{shown}, of {cells:,}; JSON and CSV have all of them.")
        results.append(
            Table(
                f"{heading(name)}, {title}",
                tuple(texts),
                tuple(labels),
                tuple(entries),
                tuple(notes),
            )
        )
    return results


def _fullest(group: list[AlongStream], names: list[str]) -> list[str]:
    """Return the cells that have the most rows, in their order."""
    most = np.zeros(len(names))
    for line in group:
        mean, _ = _moments(line)
        at = np.array(_at(line, names))
        # A cell that this line lacks has index -1, and there the zero that is appended.
        most = np.maximum(most, np.where(at >= 0, np.append(mean, 0.0)[at], 0.0))
    return [
        names[i] for i in sorted(np.argsort(-most, kind="stable")[:_CELLS].tolist())
    ]


def _places(group: list[AlongStream]) -> tuple[list[Any], list[str]]:
    places = [place for line in group for place in line.places]
    if any(isinstance(place, str) for place in places):
        names = [str(place) for place in dict.fromkeys(places)]
        return list(names), names
    every = np.unique(np.array(places, dtype=np.int64))
    if len(every) == 0:
        return [], []
    # Learners have points at other rows, so a table takes the last point at or before each tenth.
    tenths = every[-1] * np.arange(1, _POSITIONS + 1) // _POSITIONS
    picked = np.unique(
        every[np.maximum(0, np.searchsorted(every, tenths, side="right") - 1)]
    )
    return list(picked), [f"{row:,}" for row in picked]


def _at(line: AlongStream, places: list[Any]) -> list[int]:
    """Return the last point of the line at or before each place; -1 if there is none."""
    if any(isinstance(place, str) for place in places):
        index = {place: i for i, place in enumerate(line.places)}
        return [index.get(place, -1) for place in places]
    return [int(i) for i in np.searchsorted(line.places, places, side="right") - 1]


def _near(line: AlongStream, places: list[Any]) -> list[int]:
    """Return what `_at` does, and -1 where the measure is undefined since an earlier column."""
    tenth = places[-1] / _POSITIONS
    return [
        i if i >= 0 and place - int(line.places[i]) <= tenth / 2 else -1
        for i, place in zip(_at(line, places), places, strict=True)
    ]
