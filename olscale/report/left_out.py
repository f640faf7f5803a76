"""What a comparison leaves out, and why: learners, data sets, and runs that some learners lack."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from olscale.analysis.matched_blocks import MatchedBlocks, RunBlock, Unmatched, Way
from olscale.analysis.replicates import SettingFigures
from olscale.analysis.standing import is_comparable, why_incomparable
from olscale.analysis.summary import Summary, by_setting, one_of_each_setting
from olscale.measures import metric_words
from olscale.report.labels import (
    Column,
    Row,
    column_labels,
    column_of,
    row_labels,
    rows_of,
)
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
    runs : dict of str to dict of RunBlock to Summary
        The setting of each figure, by learner.
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
    figures: dict[str, dict[RunBlock, float]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    runs: dict[str, dict[RunBlock, Summary]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    settings: dict[tuple[str, Way], Summary] = field(default_factory=dict)
    ways: tuple[Way, ...] = ()
    names: dict[str, str] = field(default_factory=dict)
    copies: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class ArrangedSettings:
    """The settings of one protocol by learner and way, whatever the metric.

    Parameters
    ----------
    learners, ways, names, copies
        As `Candidates` has them.
    cells : tuple of (str, Way, SettingKey, dict of str to Summary)
        A learner on a way, its setting, and what that has, by metric; in the order of the columns.
    """

    learners: tuple[str, ...]
    ways: tuple[Way, ...]
    names: dict[str, str]
    copies: tuple[tuple[str, ...], ...]
    cells: tuple[tuple[str, Way, SettingKey, dict[str, Summary]], ...]


def arrange_settings(summaries: Sequence[Summary]) -> ArrangedSettings:
    """Arrange the summaries of one protocol by learner and way, once for all metrics.

    Parameters
    ----------
    summaries : sequence of Summary
        Summaries of all metrics, so that learners and data sets without one can be named.
    """
    settings: dict[SettingKey, dict[str, Summary]] = {}
    for group in by_setting(_of_newest_transforms(summaries)):
        # One setting of several experiments comes as several groups; their figures are
        # the same.
        by_metric = settings.setdefault(group[0].key, {})
        for s in group:
            by_metric.setdefault(s.metric, s)
    cells: dict[tuple[Row, Column], tuple[SettingKey, dict[str, Summary]]] = {}
    for setting in settings.items():
        first = next(iter(setting[1].values()))
        column = column_of(first)
        cells |= dict.fromkeys([(row, column) for row in rows_of(first)], setting)
    # Labels of rows are made from all settings at once: what distinguishes a row
    # depends on its namesakes.
    labels, _ = row_labels(cells)
    columns = sorted({column for _, column in cells})
    way_of_column = {column: _way(column) for column in columns}
    return ArrangedSettings(
        learners=tuple(
            dict.fromkeys(labels[row] for row in sorted(labels, key=Row.order))
        ),
        ways=tuple(dict.fromkeys(way_of_column.values())),
        names=_dataset_names(columns),
        copies=_copies(columns),
        cells=tuple(
            (labels[row], way_of_column[column], key, by_metric)
            for (row, column), (key, by_metric) in sorted(
                cells.items(), key=lambda cell: cell[0][1]
            )
        ),
    )


def find_candidates(
    arranged: ArrangedSettings, metric: str, figures_of: SettingFigures
) -> Candidates:
    """Return the learners of one protocol with their figures of a metric.

    Parameters
    ----------
    arranged : ArrangedSettings
    metric : str
    figures_of : SettingFigures
        The figures of this metric.
    """
    candidates = Candidates(
        learners=arranged.learners,
        ways=arranged.ways,
        names=arranged.names,
        copies=arranged.copies,
    )
    blocks_of: dict[Way, dict[str, RunBlock]] = defaultdict(dict)
    for label, way, key, by_metric in arranged.cells:
        s = by_metric.get(metric) or next(iter(by_metric.values()))
        blocks = blocks_of[way]
        is_first = candidates.settings.setdefault((label, way), s) is s
        # What is not comparable stays a candidate, so that a note can name it.
        if not is_comparable(s):
            continue
        of_setting = figures_of.get(key, {})
        # Learners share blocks: a hundred thousand runs have a thousandth of these.
        for replicate in of_setting:
            if replicate not in blocks:
                blocks[replicate] = RunBlock(way, replicate)
        own_blocks = map(blocks.__getitem__, of_setting)
        own = dict(zip(own_blocks, of_setting.values(), strict=True))
        figures = candidates.figures[label]
        # Mostly a learner has one setting on a way, all of whose figures count.
        if not (is_first and all(map(math.isfinite, own.values()))):
            own = {
                block: value
                for block, value in own.items()
                if math.isfinite(value) and block not in figures
            }
        figures |= own
        candidates.runs[label] |= dict.fromkeys(own, s)
    return candidates


def _of_newest_transforms(summaries: Sequence[Summary]) -> list[Summary]:
    """Leave out runs with an older version of a transform than others on the same rows."""
    # A transform gets a new version when its output changes: such runs saw other rows.
    newest: dict[Way, int] = defaultdict(int)
    for s in one_of_each_setting(summaries):
        way = Way(s.fingerprint, s.transforms)
        newest[way] = max(newest[way], _transforms_version(s))
    if max(newest.values(), default=1) == 1:
        return list(summaries)
    return [
        s
        for s in summaries
        if _transforms_version(s) == newest[Way(s.fingerprint, s.transforms)]
    ]


def _transforms_version(s: Summary) -> int:
    return int(s.protocol.get("transforms_version", 1))


def _way(column: Column) -> Way:
    return Way(column.fingerprint, column.transforms)


def _dataset_names(columns: Sequence[Column]) -> dict[str, str]:
    """Return the first name of each content."""
    first: dict[str, Column] = {}
    for column in columns:
        # Rows that are stored under two names are one data set, called by its first.
        first.setdefault(column.fingerprint, column._replace(transforms=()))
    return dict(zip(first, column_labels(list(first.values())), strict=True))


def _copies(columns: Sequence[Column]) -> tuple[tuple[str, ...], ...]:
    names: dict[str, dict[str, None]] = defaultdict(dict)
    for column in columns:
        names[column.fingerprint][column.label] = None
    return tuple(tuple(of) for of in names.values() if len(of) > 1)


_MOST_NAMES = 3
"""Most names that a sentence lists."""


@dataclass(frozen=True, slots=True)
class Omission:
    """A learner, a data set, or a learner's runs on a data set, that a comparison leaves out.

    Parameters
    ----------
    learner : str
        Empty if the data set is left out for all learners.
    dataset : str
        Empty if the learner is left out of all data sets.
    transforms : tuple of str or None
        Transforms of the runs; None if all are left out.
    runs : int
        The number of left-out runs with a figure.
    reason : str
    """

    learner: str
    dataset: str
    transforms: tuple[str, ...] | None
    runs: int
    reason: str


def left_out(
    candidates: Candidates, matched: MatchedBlocks, metric: str
) -> list[Omission]:
    """Return the candidates that are not compared by a metric."""
    entries = [
        Omission(learner, "", None, 0, _no_figure(candidates, learner, metric))
        for learner in candidates.learners
        if not candidates.figures.get(learner)
    ]
    for learner, datasets in matched.learners_left_out.items():
        runs = len(candidates.figures[learner])
        entries.append(
            Omission(
                learner, "", None, runs, _lacks_datasets(candidates, learner, datasets)
            )
        )
    for dataset, learners in matched.datasets_left_out.items():
        runs = sum(
            block.way.dataset == dataset
            for own in candidates.figures.values()
            for block in own
        )
        entries.append(
            Omission(
                "",
                candidates.names[dataset],
                None,
                runs,
                _lacks_learners(candidates, dataset, learners),
            )
        )
    # Data sets without any figure appear in no match, so they are added here.
    measured = {
        block.way.dataset for own in candidates.figures.values() for block in own
    }
    for dataset, name in candidates.names.items():
        if dataset not in measured:
            entries.append(Omission("", name, None, 0, _no_metric(metric)))
    entries += [
        _unmatched_runs(candidates, unmatched) for unmatched in matched.unmatched
    ]
    return entries


def _no_figure(candidates: Candidates, learner: str, metric: str) -> str:
    settings = (
        setting for (name, _), setting in candidates.settings.items() if name == learner
    )
    # The most specific reason first.
    return (
        why_incomparable(settings)
        or _failures(candidates, learner)
        or _no_metric(metric)
    )


def _no_metric(metric: str) -> str:
    return f"no {metric_words(metric)}"


def _failures(
    candidates: Candidates, learner: str, datasets: Collection[str] | None = None
) -> str:
    """Describe how many runs of a learner failed and how; empty if none failed."""
    counts: Counter[str] = Counter()
    for (name, way), setting in candidates.settings.items():
        if name == learner and (datasets is None or way.dataset in datasets):
            # By outcome: ten runs out of time are one clause of a sentence.
            counts.update(setting.failures)
    return ", ".join(
        f"{_runs_text(count)} {outcome}" for outcome, count in sorted(counts.items())
    )


def _lacks_datasets(
    candidates: Candidates, learner: str, datasets: Sequence[str]
) -> str:
    if not datasets:
        return "no run in common with the others"
    failures = _failures(candidates, learner, datasets)
    reason = f"none of {few([candidates.names[dataset] for dataset in datasets])}"
    if failures:
        return f"{reason}: {failures}"
    return reason


def _lacks_learners(
    candidates: Candidates, dataset: str, learners: Sequence[str]
) -> str:
    absent = [
        learner
        for learner in learners
        if all(
            block.way.dataset != dataset
            for block in candidates.figures.get(learner, {})
        )
    ]
    if not absent:
        return "no run in common"
    return f"none of {few(_with_failures(candidates, absent, dataset))}"


def _with_failures(
    candidates: Candidates, learners: Sequence[str], dataset: str
) -> list[str]:
    """Return names of learners, with the number of failures on a data set."""
    names = []
    for learner in learners:
        failures = _failures(candidates, learner, [dataset])
        names.append(f"{learner} ({failures})" if failures else learner)
    return names


def _unmatched_runs(candidates: Candidates, unmatched: Unmatched) -> Omission:
    """Say which compared learners lack runs of another one."""
    dataset, transforms = unmatched.way
    verb = "lack"
    if len(unmatched.lacking) == 1:
        verb = "lacks"
    reason = (
        f"{few(_with_failures(candidates, unmatched.lacking, dataset))} {verb} them"
    )
    return Omission(
        unmatched.learner, candidates.names[dataset], transforms, unmatched.runs, reason
    )


def left_out_notes(entries: Sequence[Omission], metric: str) -> list[str]:
    """Return the omissions as sentences below a table."""
    notes = []
    unmeasured = unmeasured_datasets(entries, metric)
    lacking = [
        entry
        for entry in entries
        if entry.transforms is None and entry.dataset not in unmeasured
    ]
    if lacking:
        names = "; ".join(
            f"{entry.learner or entry.dataset} ({entry.reason})" for entry in lacking
        )
        notes.append(f"Left out for want of figures: {names}.")
    if unmeasured:
        notes.append(f"Left out, having {_no_metric(metric)}: {', '.join(unmeasured)}.")
    partly = [entry for entry in entries if entry.transforms is not None]
    if partly:
        notes.append(
            "Only runs that all learners have are compared; left out: "
            f"{'; '.join(_partly(partly))}."
        )
    return notes


def unmeasured_datasets(entries: Sequence[Omission], metric: str) -> list[str]:
    """Return the data sets without a figure to compare, such as a test error without test rows."""
    return [
        entry.dataset
        for entry in entries
        if entry.dataset and entry.reason == _no_metric(metric)
    ]


def _partly(entries: Sequence[Omission]) -> list[str]:
    """Return the runs left out, one text per kind and reason."""
    kinds: dict[tuple[tuple[str, ...] | None, str], list[Omission]] = defaultdict(list)
    for entry in entries:
        # Of a hundred learners that lack the same runs a reader wants one clause, not a
        # hundred.
        kinds[entry.transforms, entry.reason].append(entry)
    texts = []
    for (transforms, reason), of_kind in kinds.items():
        runs = sum(entry.runs for entry in of_kind)
        learners = few(list(dict.fromkeys(entry.learner for entry in of_kind)))
        datasets = few(list(dict.fromkeys(entry.dataset for entry in of_kind)))
        under = "no transforms"
        if transforms:
            under = f"transforms {', '.join(transforms)}"
        texts.append(
            f"{_runs_text(runs)} of {learners} on {datasets} with {under} ({reason})"
        )
    return texts


def few(names: Sequence[str]) -> str:
    """Return the first names of a list, and the number of further ones.

    Examples
    --------
    >>> few(["wine", "iris"]), few(list("abcde"))
    ('wine, iris', 'a, b, c and 2 more')
    """
    more = len(names) - _MOST_NAMES
    first = ", ".join(names[:_MOST_NAMES])
    if more > 0:
        return f"{first} and {more} more"
    return first


def _runs_text(count: int) -> str:
    if count == 1:
        return f"{count} run"
    return f"{count} runs"
