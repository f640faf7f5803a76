"""Learners of a store compared: which figures of it go in, and what is left out."""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.analysis.compare import Comparison, Test, compare
from olscale.analysis.rank_tests import rank
from olscale.analysis.replicates import Within, compare_within, replicate_values, setting_of
from olscale.analysis.summary import Summary, natural
from olscale.errors import ReportError, UnknownNameError
from olscale.measures import HEADLINES, measure_of, metric_words
from olscale.report.cautions import caution_notes
from olscale.report.labels import Column, Row, column_labels, column_of, row_labels, rows_of
from olscale.report.notes import count_notes, partial_notes
from olscale.results import Store, canonical_json
from olscale.results.store import OnDamage

ROPE = 0.01
"""Half the width of the region of practical equivalence of fractions, such as errors: a percentage point."""

_DEFAULT = tuple(name for name in HEADLINES if measure_of(name).better)

_CHOSEN = (
    "one setting a learner, chosen by the figures that are compared here, which flatters those with many settings."
)


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """The learners of one protocol, compared by one metric.

    Parameters
    ----------
    metric : str
    protocol : dict
    rope : float
    outcome : Comparison
    cells : dict of (str, str) to list of Summary
        What is behind each figure, by learner and data set; several under several transforms.
    notes : tuple of str
        What was left out, and what is averaged.
    """

    metric: str
    protocol: Mapping[str, Any]
    rope: float
    outcome: Comparison
    cells: Mapping[tuple[str, str], list[Summary]]
    notes: tuple[str, ...]

    def behind(self, learner: str) -> list[Summary]:
        """Return what is behind the figures of a learner."""
        return [s for column in self.outcome.datasets for s in self.cells[learner, column]]

    @property
    def cautions(self) -> list[str]:
        """What must be said of figures wherever they are compared, a sentence each."""
        return caution_notes({name: self.behind(name) for name in self.outcome.learners}, self.metric)


def compared(
    summaries: Iterable[Summary],
    metric: str | None = None,
    test: Test = "wilcoxon",
    rope: float | None = None,
    baseline: str | None = None,
    most: int | None = None,
) -> list[Compared]:
    """Compare the learners of each protocol; that with most data sets comes first.

    Parameters
    ----------
    summaries : iterable of Summary
    metric : str, optional
        The first headline that a protocol has, when left out.
    test : {"wilcoxon", "nemenyi"}
    rope : float, optional
        Half the region of practical equivalence: a percentage point of errors and other fractions, else none, when left out.
    baseline : str, optional
        Learner that the others are compared with.
    most : int, optional
        Of more learners and settings keep the best setting of each learner, and the best so many of those.

    Raises
    ------
    ReportError
        If neither higher nor lower values of the metric are better.
    UnknownNameError
        If no comparison has the baseline.
    """
    by_protocol: dict[str, list[Summary]] = defaultdict(list)
    for s in summaries:
        by_protocol[canonical_json(dict(s.protocol))].append(s)
    found: list[Compared] = []
    known: set[str] = set()
    for protocol in sorted(by_protocol, key=lambda text: (natural(text), text)):
        of = by_protocol[protocol]
        name = metric or next((one for one in _DEFAULT if any(s.metric == one for s in of)), None)
        shown = [s for s in of if s.metric == name and math.isfinite(s.mean)]
        if name is None or not shown:
            continue
        higher = measure_of(name).better == "higher"
        if not measure_of(name).better:
            raise ReportError(f"learners cannot be compared by {name}: neither more nor less of it is better")
        cells, learners, datasets = _grid(shown)
        known.update(learners)
        kept, notes = _complete(cells, learners, datasets)
        notes += _without(name, of, shown)
        names = [one for one in learners if one in kept[0]]
        sets = [one for one in datasets if one in kept[1]]
        if len(names) < 2 or not sets or (baseline is not None and baseline not in names):
            continue
        if most is not None and len(names) > most:
            notes.append(f"At most {most} of {len(names)} learners and settings: {_CHOSEN}")
            names = _best(names, cells, _values(cells, names, sets), higher, most)
        values = _values(cells, names, sets)
        width = rope if rope is not None else ROPE if measure_of(name).unit == "percent" else 0.0
        outcome = compare(values, names, sets, higher, test, width, baseline)
        found.append(
            Compared(name, json.loads(protocol), width, outcome, cells, (*notes, *_said(cells, names, sets, name)))
        )
    if baseline is not None and not found and known:
        raise UnknownNameError("learner with figures to compare", baseline, known)
    return sorted(found, key=lambda one: -len(one.outcome.datasets))


def _values(cells: Mapping[tuple[str, str], list[Summary]], names: list[str], sets: list[str]) -> NDArray[np.float64]:
    return np.array([[np.mean([s.mean for s in cells[row, column]]) for row in names] for column in sets])


def _best(
    names: list[str],
    cells: Mapping[tuple[str, str], list[Summary]],
    values: NDArray[np.float64],
    higher: bool,
    most: int,
) -> list[str]:
    """Return at most so many names, in their order: the best setting of each learner by mean rank."""
    ranks = rank(-values if higher else values).mean(axis=0)
    label_of = {name: s[0].label for (name, _), s in cells.items()}
    best: dict[str, str] = {}
    for i in np.argsort(ranks, kind="stable"):
        best.setdefault(label_of[names[i]], names[i])
    kept = set(list(best.values())[:most])
    return [name for name in names if name in kept]


def _grid(shown: Sequence[Summary]) -> tuple[dict[tuple[str, str], list[Summary]], list[str], list[str]]:
    """Return summaries by learner and data set; one under several transforms is still one data set."""
    present = {(row, column_of(s)): s for s in shown for row in rows_of(s)}
    labels, _ = row_labels(present)
    first: dict[tuple[str, str], Column] = {}
    for _, column in sorted(present, key=lambda cell: cell[1]):
        first.setdefault((column.dataset, column.fingerprint), column._replace(transforms=()))
    names = dict(zip(first, column_labels(list(first.values())), strict=True))
    cells: dict[tuple[str, str], list[Summary]] = defaultdict(list)
    for (row, column), s in sorted(present.items(), key=lambda cell: cell[0][1]):
        cells[labels[row], names[column.dataset, column.fingerprint]].append(s)
    return dict(cells), list(dict.fromkeys(labels[row] for row in sorted(labels, key=Row.order))), list(names.values())


def _complete(
    cells: Mapping[tuple[str, str], Any], learners: Sequence[str], datasets: Sequence[str]
) -> tuple[tuple[set[str], set[str]], list[str]]:
    """Leave out learners and data sets, those that lack the largest share of figures first, until none is missing."""
    rows, columns, left = set(learners), set(datasets), []
    while True:
        lacks = [(sum((row, c) not in cells for c in columns) / len(columns), 1, row) for row in rows]
        lacks += [(sum((r, column) not in cells for r in rows) / len(rows), 0, column) for column in columns]
        share, is_row, name = max(lacks, default=(0.0, 0, ""))
        if share == 0.0 or not rows or not columns:
            break
        (rows if is_row else columns).discard(name)
        left.append(name)
        if not rows or not columns:
            break
    which = [f"{name} ({_missing(name, cells, learners, datasets)})" for name in (*learners, *datasets) if name in left]
    return (rows, columns), [f"Left out for want of figures: {'; '.join(which)}."] if which else []


def _without(metric: str, of: Iterable[Summary], shown: Iterable[Summary]) -> list[str]:
    """Tell which data sets have no figure to compare by, as those without a test split have no test error."""
    there = {(s.dataset, s.fingerprint) for s in shown}
    other = dict.fromkeys(column_of(s).dataset for s in of if s.n and (s.dataset, s.fingerprint) not in there)
    return [f"Left out, having no {metric_words(metric)}: {', '.join(other)}."] if other else []


def _missing(name: str, cells: Mapping[tuple[str, str], Any], learners: Sequence[str], datasets: Sequence[str]) -> str:
    lacking = (
        [r for r in learners if (r, name) not in cells]
        if name in datasets
        else [c for c in datasets if (name, c) not in cells]
    )
    return f"none of {', '.join(lacking[:3])}{f' and {len(lacking) - 3} more' if len(lacking) > 3 else ''}"


def _said(
    cells: Mapping[tuple[str, str], list[Summary]], learners: list[str], datasets: list[str], metric: str
) -> list[str]:
    grid = [[cells[row, column][0] for column in datasets] for row in learners]
    several = [column for column in datasets if any(len(cells[row, column]) > 1 for row in learners)]
    notes = [f"Means over several transforms of {', '.join(several)}."] if several else []
    counts = {s.n for line in grid for s in line}
    runs = [
        note.replace("Mean and sample standard deviation", "Each figure is the mean") for note in count_notes(counts)
    ]
    return [
        *notes,
        *runs,
        *partial_notes(learners, datasets, [list(line) for line in grid]),
        *caution_notes({name: [s for column in datasets for s in cells[name, column]] for name in learners}, metric),
    ]


def within_each(one: Compared, store: Store, on_damage: OnDamage = "raise") -> list[Within]:
    """Compare the learners on each data set by its replicates."""
    values = replicate_values(store, one.metric, on_damage)
    higher, found = measure_of(one.metric).better == "higher", []
    for column in one.outcome.datasets:
        of = [values.get(setting_of(one.cells[row, column][0]), {}) for row in one.outcome.learners]
        if all(of):
            made = compare_within(
                column, one.outcome.learners, of, one.protocol, one.metric, higher, one.outcome.baseline
            )
            found += [replace(made, note=made.note + first_of_several(one, column))] if made else []
    return found


def first_of_several(one: Compared, column: str) -> str:
    """Return what to say of a data set of which learners have several transforms: the first of them stands for all."""
    cells = [one.cells[row, column] for row in one.outcome.learners]
    if all(len(cell) == 1 for cell in cells):
        return ""
    first = [", ".join(cell[0].transforms) or "none" for cell in cells if len(cell) > 1]
    return f" Of several transforms the first is compared here: {'; '.join(dict.fromkeys(first))}."
