"""Pivots of summaries to learners x datasets, free of any output format.

One table a metric and protocol. Each entry has its figures as text; renderers only lay them out.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from olscale.analysis.summary import Summary, natural
from olscale.errors import UnknownNameError
from olscale.results import canonical_json

__all__ = [
    "Column",
    "Entry",
    "Row",
    "Table",
    "column_labels",
    "column_of",
    "entry_form",
    "heading",
    "protocol_text",
    "row_labels",
    "rows_of",
    "select",
    "tables",
    "transforms_note",
    "value_text",
]

HEADLINES = (
    "test_error",
    "cumulative_error",
    "window_error",
    "fading_error",
    "holdout_error",
    "drift_alarms",
    "rmse",
)
"""Metrics shown when none is asked for, those of them that a store has."""

HIGHER_IS_BETTER = frozenset({"auc", "rows_per_second"})
LOWER_IS_BETTER = frozenset({"mistakes", "rmse", "fit_seconds", "read_seconds", "model_bytes"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One cell of a table.

    Parameters
    ----------
    mean, std : str
        Formatted figures; `std` is empty for a single run, both are empty if there is nothing to show.
    note : str
        Why there is no figure: ``-`` (not run or not measured) or the outcome.
    best : bool
        Whether no other entry of the column is better, at the digits shown.
    partial : bool
        Whether some of the runs failed and the figures are of the rest.
    """

    mean: str = ""
    std: str = ""
    note: str = ""
    best: bool = False
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A pivot, ready to be laid out.

    Parameters
    ----------
    title : str
        Metric, unit and protocol.
    columns : tuple of str
        Names of the datasets.
    rows : tuple of str
        Names of the learners, with what tells rows of one learner apart.
    entries : tuple of tuple of Entry, of shape (rows, columns)
    notes : tuple of str
        What a reader must know, a sentence each.
    advice : tuple of str
        What a user of the command line may want to type; not for a paper.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    entries: tuple[tuple[Entry, ...], ...]
    notes: tuple[str, ...]
    advice: tuple[str, ...] = ()


class Column(NamedTuple):
    """A dataset under its transforms; columns sort in the order of the store's experiments."""

    place: int
    label: str
    dataset: str
    fingerprint: str
    transforms: tuple[str, ...]


class Row(NamedTuple):
    """A setting of a learner under one of its names; `order` is that of the store's experiments."""

    place: int
    label: str
    learner: str
    version: str
    params: str

    def order(self) -> tuple[Any, ...]:
        """Return what rows are sorted by."""
        return self.place, self.learner, self.version, natural(self.params), self.params, self.label


_Cells = Mapping[tuple[Row, Column], Mapping[str, Summary]]  # by metric


def column_of(s: Summary) -> Column:
    """Return the column of a summary."""
    return Column(s.dataset_name.place, s.dataset_label, s.dataset, s.fingerprint, s.transforms)


def rows_of(s: Summary) -> list[Row]:
    """Return the rows of a summary: several where an experiment has the same setting under several labels."""
    params = canonical_json(dict(s.params))
    return [Row(name.place, name.text or s.learner, s.learner, s.version, params) for name in s.learner_names]


def select(
    summaries: Iterable[Summary],
    metric: str | None = None,
    datasets: Sequence[str] = (),
    learners: Sequence[str] = (),
    failed: bool = True,
) -> list[Summary]:
    """Keep the summaries of one metric, some datasets and some learners; nothing given keeps everything.

    Parameters
    ----------
    summaries : iterable of Summary
    metric : str, optional
    datasets, learners : sequence of str
        Names, or labels of the experiment.
    failed : bool, default True
        Keep groups of which every run failed whatever the metric, so that a table can say so.

    Raises
    ------
    UnknownNameError
        If a name does not occur.
    """
    kept = list(summaries)
    spared = ("outcome",) if failed else ()
    called: dict[str, Callable[[Summary], set[str]]] = {
        "dataset": lambda s: {s.dataset, s.dataset_label},
        "learner": lambda s: {s.learner, *(name.text for name in s.learner_names if name.text)},
        "metric": lambda s: {s.metric},
    }
    for field, wanted in (("dataset", datasets), ("learner", learners), ("metric", [metric] if metric else [])):
        known = {name for summary in kept for name in called[field](summary)} - {"outcome"}
        for name in wanted:
            if name not in known:
                raise UnknownNameError(f"{field} in this store", name, known)
        if wanted:
            kept = [summary for summary in kept if called[field](summary).intersection((*wanted, *spared))]
    return kept


def tables(summaries: Iterable[Summary], metric: str | None = None) -> list[Table]:
    """Pivot summaries to one table a metric and protocol.

    Parameters
    ----------
    summaries : iterable of Summary
    metric : str, optional
        The metric to show. By default `HEADLINES`: the test error where there is a test split, the cumulative error and
        what else the protocol asked for, each in a table of its own.

    Returns
    -------
    list of Table
        Errors are in percent.
    """
    by_protocol: dict[str, dict[tuple[Row, Column], dict[str, Summary]]] = defaultdict(lambda: defaultdict(dict))
    for s in summaries:
        for row in rows_of(s):
            by_protocol[canonical_json(s.protocol)][row, column_of(s)][s.metric] = s
    made = []
    for protocol in sorted(by_protocol, key=lambda text: (natural(text), text)):
        cells = by_protocol[protocol]
        shown: set[Column] = set()
        chosen = [metric] if metric else _headlines(cells)
        for i, name in enumerate(chosen):
            columns = {column for (_, column), metrics in cells.items() if name in metrics}
            if i == len(chosen) - 1:
                # A dataset with no figure at all still has a column, in the last table, to say why.
                columns |= {column for _, column in cells} - shown - columns
            shown |= columns
            made.append(_table(name, json.loads(protocol), cells, sorted(columns)))
    return made


def _headlines(cells: _Cells) -> list[str]:
    known = {metric for metrics in cells.values() for metric in metrics}
    return [name for name in HEADLINES if name in known] or [min(known - {"outcome"}, default="outcome")]


def _table(metric: str, protocol: Mapping[str, Any], cells: _Cells, columns: list[Column]) -> Table:
    at_column = {column: j for j, column in enumerate(columns)}
    present = {place: metrics for place, metrics in cells.items() if place[1] in at_column}
    labels, own = row_labels(present)
    names = list(dict.fromkeys(labels[row] for row in sorted(labels, key=Row.order)))

    at_row = {name: i for i, name in enumerate(names)}
    form = entry_form(metric)
    grid: list[list[Summary | None]] = [[None] * len(columns) for _ in names]
    entries = [[Entry(note="-") for _ in columns] for _ in names]
    for (row, column), metrics in present.items():
        i, j = at_row[labels[row]], at_column[column]
        grid[i][j] = metrics.get(metric)
        entries[i][j] = _entry(metrics.get(metric), next(iter(metrics.values())), form)
    for j in range(len(columns)):
        _mark_best(metric, [line[j] for line in grid], entries, j)

    labels_of = column_labels(columns)
    counts = {summary.n for line in grid for summary in line if summary is not None and summary.n}
    return Table(
        title=f"{heading(metric)}, {protocol_text(protocol)}",
        columns=tuple(labels_of),
        rows=tuple(names),
        entries=tuple(tuple(line) for line in entries),
        notes=(
            *_count_note(counts),
            *transforms_note(columns, labels_of),
            *_partial_notes(names, labels_of, grid),
            *_own_notes(own, grid),
            *_version_notes(next(iter(metrics.values())) for metrics in present.values()),
            *_tuned_notes(grid),
        ),
        advice=("`--format json` shows all parameters.",) if own else (),
    )


def row_labels(cells: Iterable[tuple[Row, Column]]) -> tuple[dict[Row, str], dict[str, list[str]]]:
    """Name each row by its learner's label and by what tells it from other rows of that label.

    Returns
    -------
    dict of Row to str
        Rows that share a text are one row of the table.
    dict of str to list of str
        Of those texts that stand for another setting on each dataset: the parameters that differ.
    """
    settings: dict[str, dict[Row, set[Column]]] = defaultdict(lambda: defaultdict(set))
    for row, column in sorted(cells, key=lambda cell: (cell[0].order(), cell[1])):
        settings[row.label][row].add(column)
    labels: dict[Row, str] = {}
    own: dict[str, list[str]] = {}
    for label, rows in settings.items():
        params = {row: json.loads(row.params) for row in rows}
        names = sorted({name for values in params.values() for name in values})
        differing = [name for name in names if len({canonical_json(p.get(name)) for p in params.values()}) > 1]
        kinds, versions = {row.learner for row in rows}, {row.version for row in rows}
        spread = [column for columns in rows.values() for column in columns]
        if len(rows) > 1 and len(kinds) == len(versions) == 1 and len(set(spread)) == len(spread):
            # Tuned for each dataset: one setting a column, so one row says it all.
            labels |= dict.fromkeys(rows, label)
            own[label] = differing
            continue
        for row in rows:
            kind = [f"({row.learner})"] if len(kinds) > 1 else []
            version = [f"v{row.version}"] if len(versions) > 1 and len(kinds) == 1 else []
            shown = [f"{name}={value_text(params[row][name])}" for name in differing if name in params[row]]
            labels[row] = " ".join([label, *kind, *version, *shown])
    return labels, own


def value_text(value: Any) -> str:
    """Return a parameter's value as it is shown."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not isinstance(value, bool):
        return repr(value).removesuffix(".0")
    return canonical_json(value)


def column_labels(columns: Sequence[Column]) -> list[str]:
    """Name each dataset, with what tells it from others of its name."""
    labels = []
    for column in columns:
        same = [other for other in columns if other.label == column.label]
        label = column.label
        if len({(other.dataset, other.fingerprint) for other in same}) > 1:
            label += f" #{column.fingerprint[:8]}"
        if len({other.transforms for other in same}) > 1:
            label += f" [{','.join(column.transforms) or 'raw'}]"
        labels.append(label)
    return labels


def transforms_note(columns: Sequence[Column], labels: Sequence[str]) -> list[str]:
    """Say what was done to the rows: for all columns at once, or for each kind where they differ."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for column, label in zip(columns, labels, strict=True):
        kinds[", ".join(column.transforms) or "none"].append(label)
    if len(kinds) == 1:
        return [f"Transforms: {kind}." for kind in kinds if kind != "none"]
    parts = [f"{kind} ({', '.join(of)})" for kind, of in kinds.items()]
    return [f"Transforms: {'; '.join(parts)}."] if parts else []


def _entry(summary: Summary | None, group: Summary, form: Callable[[float], str]) -> Entry:
    if summary is None or summary.n == 0:
        return Entry(note=", ".join(group.failures) if group.metric == "outcome" and group.failures else "-")
    if math.isnan(summary.mean):
        return Entry(note="nan")
    return Entry(
        mean=form(summary.mean),
        std=form(summary.std) if summary.n > 1 else "",
        partial=bool(summary.failures),
    )


def _mark_best(metric: str, column: list[Summary | None], entries: list[list[Entry]], j: int) -> None:
    higher = metric in HIGHER_IS_BETTER
    if len(column) < 2 or not (higher or metric in LOWER_IS_BETTER or metric.endswith("_error")):
        return
    means = [summary.mean for summary in column if summary is not None and not math.isnan(summary.mean)]
    if not means:
        return
    best = entry_form(metric)((max if higher else min)(means))
    for line in entries:
        entry = line[j]
        if entry.mean == best:  # as shown: what reads as a tie is marked as one
            line[j] = replace(entry, best=True)


def entry_form(metric: str) -> Callable[[float], str]:
    """Return what writes a figure of a metric: errors in percent, counts whole."""
    if metric.endswith("_error"):
        return lambda value: f"{100 * value:.2f}"
    if metric in ("mistakes", "updates", "model_bytes", "rows_per_second", "drift_alarms"):
        return lambda value: f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.1f}".removesuffix(".0")
    return lambda value: f"{value:.4g}"


def heading(metric: str) -> str:
    """Return the words for a metric, with its unit."""
    words = {"rmse": "RMSE", "auc": "AUC", "outcome": "Outcome"}
    text = words.get(metric) or metric.replace("_", " ").capitalize()
    return f"{text} (%)" if metric.endswith("_error") else text


def protocol_text(protocol: Mapping[str, Any]) -> str:
    """Return the words for a protocol."""
    order = str(protocol.get("order", "unknown"))
    words = {"time": "time order", "permuted": "permuted order"}
    shown = {name: value_text(value) for name, value in sorted(protocol.items()) if name != "order"}
    if version := shown.pop("drift_version", ""):
        shown["drift"] += f" ({version})"
    if position := shown.pop("delay_position", ""):
        shown["delay"] += f" (column {position})"
    rest = [f"{name.replace('_', ' ')} {text}" for name, text in shown.items()]
    return ", ".join([words.get(order, f"{order} order"), *rest])


def _partial_notes(rows: list[str], columns: list[str], grid: list[list[Summary | None]]) -> list[str]:
    """Tell which figures leave failed runs out, a line a learner."""
    notes = []
    for row, line in zip(rows, grid, strict=True):
        failed = [
            f"{count} of {s.n + sum(s.failures.values())} {outcome} on {column}"
            for column, s in zip(columns, line, strict=True)
            if s is not None and s.n
            for outcome, count in s.failures.items()
        ]
        if failed:
            notes.append(f"! {row}: failed runs left out: {', '.join(failed)}.")
    return notes


def _own_notes(own: Mapping[str, list[str]], grid: list[list[Summary | None]]) -> list[str]:
    """Tell which learners have another setting on each dataset, where no note on tuning does."""
    tuned: dict[str, set[str]] = defaultdict(set)
    for s in (s for line in grid for s in line if s is not None and s.tuned):
        tuned[s.label] |= set((s.tuned or {})["grid"])
    rest = {label: [name for name in names if name not in tuned[label]] for label, names in own.items()}
    which = ", ".join(f"{label} ({', '.join(names)})" for label, names in rest.items() if names)
    return [f"Each dataset has its own setting of {which}."] if which else []


def _version_notes(shown: Iterable[Summary]) -> list[str]:
    """Tell which version was computed last, of learners with several in the table: a user's own has one for each edit."""
    versions: dict[str, set[str]] = defaultdict(set)
    last = {}
    for summary in shown:
        versions[summary.learner].add(summary.version)
        last[summary.learner] = summary.last_version
    several = [learner for learner in sorted(versions) if len(versions[learner]) > 1 and last[learner]]
    return [f"{name}: {len(versions[name])} versions of it; v{last[name]} was computed last." for name in several]


def _tuned_notes(grid: list[list[Summary | None]]) -> list[str]:
    """Tell on what data parameters were chosen, a line a way of choosing."""
    ways: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for summary in (summary for line in grid for summary in line):
        if summary is not None and summary.tuned:
            how = summary.tuned
            parts = {"half": "random halves", "kfold": "folds", "stratified": "stratified folds"}[how["split"]]
            by = how["metric"].replace("_", " ")
            ways[f"on {how['folds']} {parts} of the training split, by {by}"][summary.label] |= set(how["grid"])
    notes = []
    for way, learners in sorted(ways.items()):
        which = ", ".join(f"{learner} ({', '.join(sorted(names))})" for learner, names in learners.items())
        notes.append(f"Tuned {way}: {which}.")
    return notes


def _count_note(counts: set[int]) -> list[str]:
    if not counts or max(counts) == 1:
        return []
    runs = str(max(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    return [f"Mean and sample standard deviation over {runs} runs."]
