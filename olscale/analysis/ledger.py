"""The ledger: every cell of a published table beside what a store has for it, with a verdict.

It is a function of the store, the settings to look for and the published cells: nothing is run,
fetched or read elsewhere.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
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

DATA_ABSENT, METHOD_ABSENT, NOT_RUN = "data absent", "method absent", "not run"
VERDICTS = (REPRODUCED, WIDE, BETTER, NOT_REPRODUCED, DATA_ABSENT, METHOD_ABSENT, NOT_RUN)
"""In the order of reports."""

DIFFERING = (WIDE, BETTER, NOT_REPRODUCED)
"""Verdicts of cells with a figure that is not the published one."""

Figures = Mapping[SettingKey, Mapping[str, Summary]]
"""The summaries of a store: of each setting, by metric."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A setting of the causes experiment, as far as it is about one cell: our figure, and how far it is off."""

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
    names = [asked.name] if causes is None else [asked.name, causes.name]
    published, summaries = list(published), summarise(store, experiments=names)
    found = figures([*summaries, *_points(store, summaries, published)])
    tried = causes.settings if causes is not None else ()
    gone = {
        part.name: part.reason
        for plan in read_plans(store)
        if plan.experiment == asked.name
        for part in plan.left_out
        # Plans stay: what could not be had once may have been run since.
        if part.kind == "dataset" and all(part.name != key.dataset for key in found)
    }
    cells = []
    for cell in published:
        judged = _judge(cell, asked, found, gone)
        if judged.verdict in DIFFERING:
            others = [s for s in tried if _about(s, cell) and not s.same_runs(judged.setting)]
            judged = replace(judged, trials=_trials(cell, others, found))
        cells.append(judged)
    return cells


def _points(
    store: Store, summaries: Sequence[Summary], published: Iterable[PublishedCell]
) -> list[Summary]:
    """Return the test errors of models of the first so many rows, where cells ask for them and runs have measured them."""
    asked = {cell.metric for cell in published if cell.metric.startswith(f"test_error{AFTER}")}
    held_out = [
        s
        for s in summaries
        if asked and s.metric == "holdout_error" and "holdout_rows" not in s.protocol
    ]
    points = []
    for curve in curves(store, held_out, metric="holdout_error"):
        for metric in sorted(asked):
            errors = curve.errors[:, curve.rows == int(metric.partition(AFTER)[2])]
            if errors.size:
                std = float(errors.std(ddof=1)) if len(errors) > 1 else 0.0
                points.append(
                    replace(curve.summary, metric=metric, mean=float(errors.mean()), std=std)
                )
    return points


def _about(setting: Setting, cell: PublishedCell) -> bool:
    return (setting.dataset, setting.label) == (cell.dataset, cell.learner)


def _judge(
    cell: PublishedCell,
    experiment: ExperimentSettings,
    found: Figures,
    gone: Mapping[str, str],
) -> Cell:
    asked = [setting for setting in experiment.settings if _about(setting, cell)]
    run = [setting for setting in asked if setting.key in found]
    if run:
        return _compare(cell, run[0], found[run[0].key])
    if cell.dataset in gone:
        return Cell(cell, DATA_ABSENT, _absence(cell.dataset, gone[cell.dataset]))
    if cell.learner not in experiment.labels or (
        asked and all(not setting.version for setting in asked)
    ):
        return Cell(cell, METHOD_ABSENT, "this version has no such learner")
    if not asked:
        return Cell(cell, NOT_RUN, f"experiment {experiment.name} leaves it out")
    return Cell(
        cell,
        NOT_RUN,
        f"the store has no runs of it that experiment {experiment.name} asks for",
        asked[0],
    )


def _absence(name: str, reason: str) -> str:
    """Say how a data set of the catalogue can be had; `reason` is what was said when it could not, paths and all."""
    try:
        entry = find_entry(name)
    except UnknownNameError:
        return reason
    if entry.absent is None:
        return (
            f"`olscale datasets fetch {name} HOME/{name}` gets it, HOME being the data home "
            f"({HOME})"
        )
    return (
        f"{entry.absent}; with a copy of your own: `olscale ingest FILES HOME/{name}`, HOME "
        f"being the data home ({HOME})"
    )


def _compare(cell: PublishedCell, setting: Setting, metrics: Mapping[str, Summary]) -> Cell:
    ours = metrics.get(cell.metric)
    if ours is None or math.isnan(ours.mean):
        failures = next(iter(metrics.values())).failures
        said = ", ".join(f"{count} runs {outcome}" for outcome, count in failures.items())
        return Cell(cell, NOT_REPRODUCED, said or f"its runs have no {cell.metric}", setting)
    if not is_comparable(ours):
        return Cell(cell, NOT_RUN, f"{ours.learner} {why_incomparable([ours])}", setting)
    failed = ", ".join(
        f"{count} further runs {outcome}" for outcome, count in ours.failures.items()
    )
    found = difference(ours.mean, ours.std, ours.n, cell)
    return Cell(cell, found.verdict, failed, setting, ours, found)


def _trials(cell: PublishedCell, tried: Sequence[Setting], found: Figures) -> tuple[Trial, ...]:
    trials = []
    for setting in tried:
        ours = found.get(setting.key, {}).get(cell.metric)
        if ours is not None and not math.isnan(ours.mean):
            trials.append(Trial(setting, ours, difference(ours.mean, ours.std, ours.n, cell)))
    return tuple(sorted(trials, key=lambda trial: abs(trial.summary.mean - cell.mean)))


def figures(summaries: Iterable[Summary]) -> Figures:
    """Arrange the summaries of a store by setting and metric.

    Raises
    ------
    StoreError
        If the store has results on two datasets of one name: figures of both would be taken for
        one.
    """
    fingerprints: dict[str, str] = {}
    found: dict[SettingKey, dict[str, Summary]] = defaultdict(dict)
    for s in summaries:
        if fingerprints.setdefault(s.dataset, s.fingerprint) != s.fingerprint:
            raise StoreError(
                f"the store has results on two different datasets called {s.dataset} (fingerprints "
                f"{fingerprints[s.dataset][:12]} and {s.fingerprint[:12]}): take a store of its own"
            )
        key = s.key.as_asked()
        other = found[key].setdefault(s.metric, s)
        if _version(other) != _version(s):
            found[key][s.metric] = max(s, other, key=_version)
        elif other.protocol != s.protocol:
            raise StoreError(
                f"the store has results on {s.dataset} with two columns called "
                f"{s.protocol['delay']} (numbers "
                f"{other.protocol.get('delay_position')} and {s.protocol.get('delay_position')}): "
                "take a store of its own"
            )
    return dict(found)


def _version(s: Summary) -> int:
    return int(s.protocol.get("transforms_version", 1))
