"""The ledger: every cell of a published table, what a store has for it, and a verdict.

It is a function of the store, the settings to look for and the published cells: nothing is run,
fetched or read elsewhere.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from olscale.analysis.curves import curves
from olscale.analysis.difference import (
    BETTER,
    NOT_REPRODUCED,
    REPRODUCED,
    WIDE,
    Difference,
    difference,
)
from olscale.analysis.published import AFTER, PublishedCell
from olscale.analysis.standing import is_comparable, why_incomparable
from olscale.analysis.summary import Summary, summarise
from olscale.data.catalogue.entries import find_entry
from olscale.data.catalogue.fetch import HOME
from olscale.errors import StoreError, UnknownNameError
from olscale.results import Store, read_plans
from olscale.results.settings import ExperimentSettings, Setting, SettingKey

DATA_ABSENT = "data absent"
METHOD_ABSENT = "method absent"
NOT_RUN = "not run"
VERDICTS = (
    REPRODUCED,
    WIDE,
    BETTER,
    NOT_REPRODUCED,
    DATA_ABSENT,
    METHOD_ABSENT,
    NOT_RUN,
)
"""In the order of reports."""

DIFFERING = (WIDE, BETTER, NOT_REPRODUCED)
"""Verdicts of cells with a figure that is not the published one."""

Figures = Mapping[SettingKey, Mapping[str, Summary]]
"""The summaries of a store: of each setting, by metric."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A setting of the causes experiment for a cell: our figure, and how far it is off."""

    setting: Setting
    summary: Summary
    difference: Difference

    @property
    def meets(self) -> bool:
        """Whether it would count as reproduced."""
        return self.difference.verdict == REPRODUCED


@dataclass(frozen=True, slots=True)
class Cell:
    """A published cell and ours.

    Parameters
    ----------
    published : PublishedCell
    verdict : str
        One of `VERDICTS`.
    reason : str
        Why there is no figure, or what to know of it; may be empty.
    setting : Setting or None
        How ours was run, or would be.
    summary : Summary or None
        Ours; None if there is no figure.
    difference : Difference or None
        Of ours and the published figure; None if there is no figure.
    trials : tuple of Trial
        Where the figures differ: all that was tried to account for it, the nearest first.
    """

    published: PublishedCell
    verdict: str
    reason: str = ""
    setting: Setting | None = None
    summary: Summary | None = None
    difference: Difference | None = None
    trials: tuple[Trial, ...] = ()


def make_ledger(
    store: Store,
    asked: ExperimentSettings,
    published: Iterable[PublishedCell],
    causes: ExperimentSettings | None = None,
) -> list[Cell]:
    """Give every published cell its verdict.

    Parameters
    ----------
    store : Store
    asked : ExperimentSettings
        Those of the pipeline. Its datasets have the names of the published cells, its learners
        their labels.
    published : iterable of PublishedCell
    causes : ExperimentSettings, optional
        What was run to find out why figures differ.

    Returns
    -------
    list of Cell
        In the order of `published`.

    Raises
    ------
    StoreError
        If a file of the store is damaged, or it has results on different datasets of one name.
    """
    # Other experiments in the store may have streamed further permutations of the same settings.
    names = [asked.name]
    tried: tuple[Setting, ...] = ()
    if causes is not None:
        names.append(causes.name)
        tried = causes.settings
    published = list(published)
    summaries = summarise(store, experiments=names)
    of_settings = figures([*summaries, *_points(store, summaries, published)])
    absent = _absent_datasets(store, asked, {key.dataset for key in of_settings})
    cells = []
    for printed in published:
        cell = _judge(printed, asked, of_settings, absent)
        if cell.verdict in DIFFERING:
            causes_of_cell = [
                setting
                for setting in tried
                if _is_about(setting, printed) and not setting.same_runs(cell.setting)
            ]
            cell = replace(
                cell,
                trials=_trials(printed, causes_of_cell, of_settings),
            )
        cells.append(cell)
    return cells


def _absent_datasets(
    store: Store,
    asked: ExperimentSettings,
    datasets_run: Collection[str],
) -> dict[str, str]:
    """Return why datasets of an experiment could not be had, by name."""
    absent = {}
    for plan in read_plans(store):
        if plan.experiment != asked.name:
            continue
        for part in plan.left_out:
            # Plans stay: what could not be had once may have been run since.
            if part.kind == "dataset" and part.name not in datasets_run:
                absent[part.name] = part.reason
    return absent


def _points(
    store: Store,
    summaries: Sequence[Summary],
    published: Iterable[PublishedCell],
) -> list[Summary]:
    """Return the test errors of models of the first so many rows that cells ask for."""
    asked = {cell.metric for cell in published if cell.metric.startswith(f"test_error{AFTER}")}
    if not asked:
        return []
    held_out = [
        summary
        for summary in summaries
        if summary.metric == "holdout_error" and "holdout_rows" not in summary.protocol
    ]
    points = []
    for curve in curves(store, held_out, metric="holdout_error"):
        for metric in sorted(asked):
            row = int(metric.partition(AFTER)[2])
            errors = curve.errors[:, curve.rows == row]
            if not errors.size:
                continue
            std = 0.0
            if len(errors) > 1:
                std = float(errors.std(ddof=1))
            mean = float(errors.mean())
            points.append(replace(curve.summary, metric=metric, mean=mean, std=std))
    return points


def _is_about(setting: Setting, cell: PublishedCell) -> bool:
    return (setting.dataset, setting.label) == (
        cell.dataset,
        cell.learner,
    )


def _judge(
    cell: PublishedCell,
    experiment: ExperimentSettings,
    of_settings: Figures,
    absent: Mapping[str, str],
) -> Cell:
    # Several settings may stand for a cell; the first that was run counts.
    settings = [setting for setting in experiment.settings if _is_about(setting, cell)]
    for setting in settings:
        if setting.key in of_settings:
            return _compare(cell, setting, of_settings[setting.key])
    if cell.dataset in absent:
        return Cell(
            cell,
            DATA_ABSENT,
            _how_to_get(cell.dataset, absent[cell.dataset]),
        )
    has_no_learner = settings and not any(setting.version for setting in settings)
    if cell.learner not in experiment.labels or has_no_learner:
        return Cell(cell, METHOD_ABSENT, "this version has no such learner")
    if not settings:
        return Cell(cell, NOT_RUN, f"experiment {experiment.name} leaves it out")
    reason = f"the store has no runs of it that experiment {experiment.name} asks for"
    return Cell(cell, NOT_RUN, reason, settings[0])


def _how_to_get(name: str, reason: str) -> str:
    """Return how a data set of the catalogue can be had, else why it was left out."""
    try:
        entry = find_entry(name)
    except UnknownNameError:
        return reason
    home = f"HOME being the data home ({HOME})"
    if entry.absent is None:
        return f"`olscale datasets fetch {name} HOME/{name}` gets it, {home}"
    return f"{entry.absent}; with a copy of your own: `olscale ingest FILES HOME/{name}`, {home}"


def _compare(
    cell: PublishedCell,
    setting: Setting,
    metrics: Mapping[str, Summary],
) -> Cell:
    ours = metrics.get(cell.metric)
    # All runs failed, or none has measured what the paper prints.
    if ours is None or math.isnan(ours.mean):
        failures = next(iter(metrics.values())).failures
        reason = ", ".join(f"{count} runs {outcome}" for outcome, count in failures.items())
        reason = reason or f"its runs have no {cell.metric}"
        return Cell(cell, NOT_REPRODUCED, reason, setting)
    if not is_comparable(ours):
        return Cell(
            cell,
            NOT_RUN,
            f"{ours.learner} {why_incomparable([ours])}",
            setting,
        )
    off = difference(ours.mean, ours.std, ours.n, cell)
    reason = ", ".join(
        f"{count} further runs {outcome}" for outcome, count in ours.failures.items()
    )
    return Cell(cell, off.verdict, reason, setting, ours, off)


def _trials(
    cell: PublishedCell,
    settings: Sequence[Setting],
    of_settings: Figures,
) -> tuple[Trial, ...]:
    trials = []
    for setting in settings:
        ours = of_settings.get(setting.key, {}).get(cell.metric)
        if ours is not None and not math.isnan(ours.mean):
            off = difference(ours.mean, ours.std, ours.n, cell)
            trials.append(Trial(setting, ours, off))
    trials.sort(key=lambda trial: abs(trial.summary.mean - cell.mean))
    return tuple(trials)


def figures(summaries: Iterable[Summary]) -> Figures:
    """Arrange the summaries of a store by setting and metric.

    Raises
    ------
    StoreError
        If the store has results on two datasets of one name: figures of both would be taken for
        one.
    """
    fingerprints: dict[str, str] = {}
    of_settings: dict[SettingKey, dict[str, Summary]] = defaultdict(dict)
    for summary in summaries:
        fingerprint = fingerprints.setdefault(summary.dataset, summary.fingerprint)
        if fingerprint != summary.fingerprint:
            raise StoreError(
                f"the store has results on two different datasets called {summary.dataset} "
                f"(fingerprints {fingerprint[:12]} and {summary.fingerprint[:12]}): take a store "
                "of its own"
            )
        # An experiment asks for runs without the fingerprint and the version of transforms.
        metrics = of_settings[summary.key.as_asked()]
        other = metrics.setdefault(summary.metric, summary)
        if _transforms_version(other) != _transforms_version(summary):
            metrics[summary.metric] = max(summary, other, key=_transforms_version)
        elif other.protocol != summary.protocol:
            delay = summary.protocol["delay"]
            numbers = [one.protocol.get("delay_position") for one in (other, summary)]
            raise StoreError(
                f"the store has results on {summary.dataset} with two columns called {delay} "
                f"(numbers {numbers[0]} and {numbers[1]}): take a store of its own"
            )
    return dict(of_settings)


def _transforms_version(summary: Summary) -> int:
    return int(summary.protocol.get("transforms_version", 1))
