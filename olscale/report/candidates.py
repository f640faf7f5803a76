"""What a metric could compare in a store, before learners, data sets and runs are left out."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from olscale.analysis.matched_blocks import RunBlock, Way
from olscale.analysis.replicates import SettingFigures
from olscale.analysis.standing import is_comparable
from olscale.analysis.summary import Summary, by_setting, one_of_each_setting
from olscale.report.labels import Column, Row, column_labels, column_of, row_labels, rows_of
from olscale.results.settings import SettingKey


@dataclass(frozen=True, slots=True)
class Candidates:
    """The learners of one protocol with what they have of a metric.

    Parameters
    ----------
    learners : tuple of str
        In the order of the store's experiments, including those without a figure.
    figures : dict of str to dict of RunBlock to float
        By learner, in the order of run ids.
    runs : dict of (str, RunBlock) to Summary
        The setting of each figure.
    settings : dict of (str, Way) to Summary
        What each learner has run, with or without success.
    ways : tuple of Way
        In the order of the store's experiments.
    names : dict of str to str
        Of data sets, by fingerprint.
    copies : tuple of tuple of str
        Names of data sets that have several contents.
    """

    learners: tuple[str, ...]
    figures: dict[str, dict[RunBlock, float]] = field(default_factory=lambda: defaultdict(dict))
    runs: dict[tuple[str, RunBlock], Summary] = field(default_factory=dict)
    settings: dict[tuple[str, Way], Summary] = field(default_factory=dict)
    ways: tuple[Way, ...] = ()
    names: dict[str, str] = field(default_factory=dict)
    copies: tuple[tuple[str, ...], ...] = ()


def find_candidates(
    summaries: Sequence[Summary], metric: str, figures_of: SettingFigures
) -> Candidates:
    """Arrange the summaries of one protocol by learner and block.

    Parameters
    ----------
    summaries : sequence of Summary
        Summaries of all metrics, so that learners and data sets without this one can be named.
    metric : str
    figures_of : SettingFigures
        The figures of this metric.
    """
    settings: dict[SettingKey, Summary] = {}
    for group in by_setting(_of_newest_transforms(summaries)):
        key = group[0].key
        settings.setdefault(key, group[0])
        for s in group:
            if s.metric == metric:
                settings[key] = s
    cells: dict[tuple[Row, Column], Summary] = {}
    for s in settings.values():
        column = column_of(s)
        cells |= dict.fromkeys([(row, column) for row in rows_of(s)], s)
    labels, _ = row_labels(cells)
    columns = sorted({column for _, column in cells})
    candidates = Candidates(
        learners=tuple(dict.fromkeys(labels[row] for row in sorted(labels, key=Row.order))),
        ways=tuple(dict.fromkeys(_way(column) for column in columns)),
        names=_dataset_names(columns),
        copies=_copies(columns),
    )
    for (row, column), s in sorted(cells.items(), key=lambda cell: cell[0][1]):
        label = labels[row]
        way = _way(column)
        candidates.settings.setdefault((label, way), s)
        if not is_comparable(s):
            continue
        figures = candidates.figures[label]
        for replicate, value in figures_of.get(s.key, {}).items():
            block = RunBlock(way, replicate)
            if math.isfinite(value) and block not in figures:
                figures[block] = value
                candidates.runs[label, block] = s
    return candidates


def _of_newest_transforms(summaries: Sequence[Summary]) -> list[Summary]:
    """Leave out runs with an older version of a transform than others on the same rows."""
    newest: dict[Way, int] = defaultdict(int)
    for s in one_of_each_setting(summaries):
        way = Way(s.fingerprint, s.transforms)
        newest[way] = max(newest[way], _transforms_version(s))
    if max(newest.values(), default=1) == 1:
        return list(summaries)
    return [
        s for s in summaries if _transforms_version(s) == newest[Way(s.fingerprint, s.transforms)]
    ]


def _transforms_version(s: Summary) -> int:
    return int(s.protocol.get("transforms_version", 1))


def _way(column: Column) -> Way:
    return Way(column.fingerprint, column.transforms)


def _dataset_names(columns: Sequence[Column]) -> dict[str, str]:
    """Return the first name of each content."""
    first: dict[str, Column] = {}
    for column in columns:
        first.setdefault(column.fingerprint, column._replace(transforms=()))
    return dict(zip(first, column_labels(list(first.values())), strict=True))


def _copies(columns: Sequence[Column]) -> tuple[tuple[str, ...], ...]:
    names: dict[str, dict[str, None]] = defaultdict(dict)
    for column in columns:
        names[column.fingerprint][column.label] = None
    return tuple(tuple(of) for of in names.values() if len(of) > 1)
