"""The ledger: every cell of a published table, what a store has for it, and a verdict.

It is a function of the store, the settings to look for and the published cells: nothing is run,
fetched or read elsewhere. Ranks of the methods may agree where figures do not.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations

import numpy as np

from olscale.analysis.curves import curves
from olscale.analysis.published import (
    AFTER,
    BETTER,
    NOT_REPRODUCED,
    REPRODUCED,
    WIDE,
    Difference,
    PublishedCell,
    difference,
)
from olscale.analysis.rank_tests import critical_difference, friedman, rank
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
    requested = {
        cell.metric
        for cell in published
        if cell.metric.startswith(f"test_error{AFTER}")
    }
    if not requested:
        return []
    held_out = [
        summary
        for summary in summaries
        if summary.metric == "holdout_error" and "holdout_rows" not in summary.protocol
    ]
    points = []
    for curve in curves(store, held_out, metric="holdout_error"):
        for metric in sorted(requested):
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
    summary = metrics.get(cell.metric)
    # All runs failed, or none has measured what the paper prints.
    if summary is None or math.isnan(summary.mean):
        failures = next(iter(metrics.values())).failures
        reason = ", ".join(
            f"{count} runs {outcome}" for outcome, count in failures.items()
        )
        reason = reason or f"its runs have no {cell.metric}"
        return Cell(cell, NOT_REPRODUCED, reason, setting)
    if not is_comparable(summary):
        return Cell(
            cell,
            NOT_RUN,
            f"{summary.learner} {why_incomparable([summary])}",
            setting,
        )
    off = difference(summary.mean, summary.std, summary.n, cell)
    reason = ", ".join(
        f"{count} further runs {outcome}" for outcome, count in summary.failures.items()
    )
    return Cell(cell, off.verdict, reason, setting, summary, off)


def _trials(
    cell: PublishedCell,
    settings: Sequence[Setting],
    of_settings: Figures,
) -> tuple[Trial, ...]:
    trials = []
    for setting in settings:
        summary = of_settings.get(setting.key, {}).get(cell.metric)
        if summary is not None and not math.isnan(summary.mean):
            off = difference(summary.mean, summary.std, summary.n, cell)
            trials.append(Trial(setting, summary, off))
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
        earlier = metrics.setdefault(summary.metric, summary)
        if _transforms_version(earlier) != _transforms_version(summary):
            metrics[summary.metric] = max(summary, earlier, key=_transforms_version)
        elif earlier.protocol != summary.protocol:
            delay = summary.protocol["delay"]
            numbers = [
                part.protocol.get("delay_position") for part in (earlier, summary)
            ]
            raise StoreError(
                f"the store has results on {summary.dataset} with two columns called {delay} "
                f"(numbers {numbers[0]} and {numbers[1]}): take a store of its own"
            )
    return dict(of_settings)


def _transforms_version(summary: Summary) -> int:
    return int(summary.protocol.get("transforms_version", 1))


@dataclass(frozen=True, slots=True)
class Ranks:
    """Ranks by the mean error, 1 for the least, equals share a mean rank.

    Parameters
    ----------
    methods, datasets : tuple of str
        Only methods with a figure on each of the datasets, so that ranks compare.
    left_out : dict of str to tuple of str
        By method that has some figures: the datasets on which it has none.
    published, ours : tuple of tuple of float, of shape (methods, datasets)
    agreement : float
        Share of the pairs of methods, over the datasets, that are in the published order.
    p : float
        Friedman test on our ranks, that the methods do not differ; NaN for fewer than three methods
        or two datasets.
    critical : float
        Nemenyi's critical difference of mean ranks at the 5 % level; NaN likewise.
    """

    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    left_out: Mapping[str, tuple[str, ...]]
    published: tuple[tuple[float, ...], ...]
    ours: tuple[tuple[float, ...], ...]
    agreement: float
    p: float
    critical: float


def rank_methods(cells: Iterable[Cell]) -> Ranks | None:
    """Rank the methods of one metric; None if fewer than two have figures on a common dataset.

    Datasets for which the most methods have figures decide: a method without a figure on one of the
    datasets that have any is left out, and named.

    References
    ----------
    J. Demsar, Statistical comparisons of classifiers over multiple data sets, JMLR 7, 2006.
    """
    figures: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
    for cell in cells:
        if cell.summary is not None:
            # A paper may print a method's figure in several tables; the first counts.
            figures[cell.published.learner].setdefault(
                cell.published.dataset,
                (cell.published.mean, cell.summary.mean),
            )
    datasets = list(dict.fromkeys(chain.from_iterable(figures.values())))
    methods = [name for name in figures if len(figures[name]) == len(datasets)]
    if len(methods) < 2:
        return None
    left_out = {
        method: tuple(dataset for dataset in datasets if dataset not in of_method)
        for method, of_method in figures.items()
        if method not in methods
    }
    # Shape (methods, datasets, 2): published errors and ours.
    errors = np.array(
        [[figures[method][name] for name in datasets] for method in methods]
    )
    published = rank(errors[..., 0].T)
    measured = rank(errors[..., 1].T)
    # Two methods agree on a data set where both errors differ in one direction.
    agree = []
    for one_method, other_method in combinations(errors, 2):
        difference = one_method - other_method
        agree.append(difference[:, 0] * difference[:, 1] > 0)
    p = friedman(measured).p
    critical = math.nan
    if not math.isnan(p):
        critical = critical_difference(len(methods), len(datasets))
    return Ranks(
        methods=tuple(methods),
        datasets=tuple(datasets),
        left_out=left_out,
        published=tuple(map(tuple, published.T.tolist())),
        ours=tuple(map(tuple, measured.T.tolist())),
        agreement=float(np.mean(agree)),
        p=p,
        critical=critical,
    )
