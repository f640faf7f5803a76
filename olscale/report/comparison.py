"""Compare the learners of a store: the metric, the runs that all of them have, the omissions."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, TypeVar

import numpy as np

from olscale.analysis.compare import Comparison, Test, compare
from olscale.analysis.matched_blocks import RunBlock, Way, match_blocks
from olscale.analysis.rank_tests import rank
from olscale.analysis.replicates import ReplicateFigures
from olscale.analysis.standing import is_comparable
from olscale.analysis.summary import Summary
from olscale.errors import ReportError, UnknownNameError
from olscale.measures import HEADLINES, measure_of, metric_words
from olscale.report.labels import own_transforms_note, protocol_text
from olscale.report.left_out import (
    ArrangedSettings,
    Candidates,
    Omission,
    arrange_settings,
    few,
    find_candidates,
    left_out,
    left_out_notes,
    unmeasured_datasets,
)
from olscale.report.marks import caution_notes
from olscale.report.notes import count_notes, partial_notes
from olscale.results import Store
from olscale.results.settings import (
    SettingKey,
    asked_protocol,
    asked_text,
    natural_order,
)
from olscale.results.store import OnDamage

T = TypeVar("T")

ROPE = 0.01
"""Half the width of the region of practical equivalence of fractions: one percentage point."""

# A headline with no better direction cannot rank learners.
_DEFAULT = tuple(name for name in HEADLINES if measure_of(name).better)

_COUNTERPARTS = {
    "test_error": "cumulative_error",
    "cumulative_error": "test_error",
    "test_rmse": "rmse",
    "rmse": "test_rmse",
}
"""The metric that is shown next to the compared one if the caller requests none."""


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """The learners of one protocol, compared by one metric.

    Parameters
    ----------
    metric : str
    protocol : dict
    rope : float
    outcome : Comparison
    blocks : dict of str to tuple of RunBlock
        The blocks that all these learners have, by data set; all figures are based on them.
    runs : dict of str to dict of RunBlock to Summary
        The setting behind each figure, by learner and block; also of what is not compared.
    left_out : tuple of Omission
        Learners, data sets and runs without a figure.
    notes : tuple of str
        Sentences on what was left out, and what is averaged.
    advice : tuple of str
        How to compare differently.
    shown : tuple of str
        The learners that fit into the tables; ranks and tests include all.
    beside : Compared or None
        The ranks by the other headline, without pairs, where no metric was asked for.
    """

    metric: str
    protocol: Mapping[str, Any]
    rope: float
    outcome: Comparison
    blocks: Mapping[str, tuple[RunBlock, ...]]
    runs: Mapping[str, Mapping[RunBlock, Summary]]
    left_out: tuple[Omission, ...] = ()
    notes: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    beside: "Compared | None" = None

    def ways(self, dataset: str) -> dict[Way, list[RunBlock]]:
        """Return the blocks of a data set by the transforms that all learners used on it."""
        # In the order of the blocks, so that the first setting of a data set is the
        # same for all learners.
        ways: dict[Way, list[RunBlock]] = defaultdict(list)
        for block in self.blocks[dataset]:
            ways[block.way].append(block)
        return ways

    def settings(self, learner: str, dataset: str) -> list[Summary]:
        """Return the settings behind a figure: one for each of the data set's transforms."""
        return [self.runs[learner][blocks[0]] for blocks in self.ways(dataset).values()]

    def behind(self, learner: str) -> list[Summary]:
        """Return the settings that a learner's figures rest on."""
        return [
            s
            for dataset in self.outcome.datasets
            for s in self.settings(learner, dataset)
        ]

    def behind_all(self) -> dict[str, list[Summary]]:
        """Return `behind` of every learner at once."""
        # The blocks are those of all learners, so they are gone through once for all.
        first_blocks = [
            blocks[0]
            for dataset in self.outcome.datasets
            for blocks in self.ways(dataset).values()
        ]
        return {
            learner: [self.runs[learner][block] for block in first_blocks]
            for learner in self.outcome.learners
        }

    def cautions(self, metric: str, learners: Iterable[str]) -> list[str]:
        """Return the notes a metric needs where two of these learners share a figure."""
        return caution_notes({name: self.behind(name) for name in learners}, metric)

    def by_replicate(
        self,
        by_setting: Mapping[SettingKey, Mapping[str, T]],
        learner: str,
        blocks: Iterable[RunBlock],
    ) -> dict[str, T]:
        """Return, by replicate, what `by_setting` has for a learner's runs on the same blocks."""
        values = {}
        for block in blocks:
            of_setting = by_setting.get(self.runs[learner][block].key, {})
            if block.replicate in of_setting:
                values[block.replicate] = of_setting[block.replicate]
        return values


@dataclass(frozen=True, slots=True)
class _Terms:
    """How learners are compared, independent of the protocol."""

    figures: ReplicateFigures
    test: Test
    rope: float | None
    baseline: str | None
    most: int | None
    in_pairs: bool = True
    # Pairs of thousands of learners take minutes: a leaderboard asks for the best alone.
    against_best: bool = False


def compared(
    store: Store,
    summaries: Iterable[Summary],
    metric: str | None = None,
    test: Test = "wilcoxon",
    rope: float | None = None,
    baseline: str | None = None,
    most: int | None = None,
    on_damage: OnDamage = "raise",
    figures: ReplicateFigures | None = None,
) -> list[Compared]:
    """Compare the learners of each protocol; the one with most data sets comes first.

    Parameters
    ----------
    store : Store
    summaries : iterable of Summary
        Summaries of all or some of its runs: they select learners and data sets.
    metric : str, optional
        By default the headline that most data sets of a protocol have, the first of ties.
    test : {"wilcoxon", "nemenyi"}
    rope : float, optional
        Half the region of practical equivalence: a percentage point of errors and other fractions,
        else none, when left out.
    baseline : str, optional
        Learner to compare the others with.
    most : int, optional
        How many learners there is room for: the best setting of each, and of those the best. All
        are ranked and tested.
    on_damage : {"raise", "skip"}
    figures : ReplicateFigures, optional
        Those of the store, where they are read already.

    Raises
    ------
    ReportError
        If neither higher nor lower values of the metric are better.
    UnknownNameError
        If the summaries have no such metric, or no comparison has the baseline.
    """
    by_protocol: dict[str, list[Summary]] = defaultdict(list)
    for s in summaries:
        # By what was asked for: what only a dataset knows, as the position of a column,
        # makes no other protocol.
        by_protocol[asked_text(s.protocol)].append(s)
    # "outcome" stands for settings whose runs all failed, and is no metric.
    known_metrics = {s.metric for of in by_protocol.values() for s in of} - {"outcome"}
    if metric is not None and metric not in known_metrics:
        raise UnknownNameError("metric in this store", metric, known_metrics)
    if metric is not None and not measure_of(metric).better:
        raise ReportError(
            f"learners cannot be compared by {metric}: neither more nor less of it is better"
        )
    figures = figures or ReplicateFigures(store, on_damage)
    terms = _Terms(figures, test, rope, baseline, most)
    comparisons: list[Compared] = []
    separate: list[Summary] = []
    for protocol in sorted(by_protocol, key=lambda text: (natural_order(text), text)):
        of = by_protocol[protocol]
        if metric is None:
            comparison = _by_default(of, terms)
        else:
            shared_protocol = asked_protocol(of[0].protocol)
            comparison = _by_metric(
                arrange_settings(of), shared_protocol, metric, terms
            )
        if comparison is None:
            # A single learner in a protocol is no failure, but a reader must hear of
            # it.
            separate += of
        else:
            comparisons.append(comparison)
    if baseline is not None and not comparisons and by_protocol:
        available = {
            name
            for of in by_protocol.values()
            for name in arrange_settings(of).learners
        }
        raise UnknownNameError(
            "learner with figures to compare", baseline, available - {baseline}
        )
    # A stable sort: equal ones stay in the order of their protocols.
    comparisons.sort(key=lambda comparison: -len(comparison.outcome.datasets))
    if comparisons and separate:
        note = f"Not compared, for want of a second learner: {learners_by_protocol(separate)}."
        comparisons[0] = replace(comparisons[0], notes=(*comparisons[0].notes, note))
    return comparisons


def compared_with_best(
    arranged: ArrangedSettings,
    protocol: Mapping[str, Any],
    metric: str,
    figures: ReplicateFigures,
) -> Compared | None:
    """Compare learners of one protocol with that of the best mean rank; None if none share a run.

    Parameters
    ----------
    arranged : ArrangedSettings
        Shared by the metrics of a table.
    protocol : mapping
        What these learners have in common.
    metric : str
    figures : ReplicateFigures
    """
    terms = _Terms(figures, "wilcoxon", None, None, None, against_best=True)
    return _by_metric(arranged, protocol, metric, terms)


def learners_by_protocol(summaries: Iterable[Summary]) -> str:
    """Return the learners of each protocol, on one line."""
    learners: dict[str, dict[str, None]] = defaultdict(dict)
    for s in summaries:
        learners[protocol_text(s.protocol)][s.label] = None
    return "; ".join(
        f"{few(list(of))} in {protocol}" for protocol, of in learners.items()
    )


def _by_default(summaries: Sequence[Summary], terms: _Terms) -> Compared | None:
    """Compare by the headline that most data sets have, and show the other one next to it."""
    protocol = asked_protocol(summaries[0].protocol)
    arranged = arrange_settings(summaries)
    having = {name: len(_datasets_with(summaries, name)) for name in _DEFAULT}
    comparisons = (
        _by_metric(arranged, protocol, name, terms)
        # Lazily, and in a stable order: the next metric is only looked at where the one
        # before compares nothing.
        for name in sorted(_DEFAULT, key=lambda name: -having[name])
        if having[name]
    )
    comparison = next(
        (candidate for candidate in comparisons if candidate is not None), None
    )
    if comparison is None:
        return None
    metric = comparison.metric
    counterpart = _COUNTERPARTS.get(metric, "")
    if not having.get(counterpart):
        return comparison
    # Without the baseline, which may have no figures by the other headline; its ranks are shown.
    terms = replace(terms, baseline=None, in_pairs=False)
    second = _by_metric(arranged, protocol, counterpart, terms)
    datasets = f"{having[metric]} data sets"
    if having[metric] == 1:
        datasets = "one data set"
    chosen = f"Compared by {metric_words(metric)} (of {datasets})"
    if second is None:
        notes = [
            f"{chosen}; by {metric_words(counterpart)} there is nothing to compare."
        ]
    else:
        notes = [
            f"{chosen}; mean ranks by {metric_words(counterpart)} "
            f"(of {having[counterpart]}) stand beside."
        ]
        if unmeasured := unmeasured_datasets(second.left_out, counterpart):
            notes.append(
                f"Left out, having no {metric_words(counterpart)}: {few(unmeasured)}."
            )
    advice = f"--metric {counterpart} compares by {metric_words(counterpart)}."
    return replace(
        comparison,
        beside=second,
        notes=(*notes, *comparison.notes),
        advice=(*comparison.advice, advice),
    )


def _datasets_with(summaries: Iterable[Summary], metric: str) -> set[str]:
    return {
        s.fingerprint
        for s in summaries
        if s.metric == metric and math.isfinite(s.mean) and is_comparable(s)
    }


def _by_metric(
    arranged: ArrangedSettings, protocol: Mapping[str, Any], metric: str, terms: _Terms
) -> Compared | None:
    """Compare the learners of one protocol; None if no two of them share a run."""
    candidates = find_candidates(arranged, metric, terms.figures.of(metric))
    measured = {
        learner: own
        for learner in candidates.learners
        if (own := candidates.figures.get(learner))
    }
    matched = match_blocks(measured, candidates.ways, terms.baseline)
    learners = matched.learners
    if (
        len(learners) < 2
        or not matched.blocks
        or (terms.baseline is not None and terms.baseline not in learners)
    ):
        return None
    # Blocks are by fingerprint: two names of the same rows are one data set.
    datasets = [candidates.names[dataset] for dataset in matched.blocks]
    shared = {block for of_dataset in matched.blocks.values() for block in of_dataset}
    values = np.array(
        [_means(measured[learner], matched.blocks, shared) for learner in learners]
    ).T
    measure = measure_of(metric)
    rope = terms.rope
    if rope is None:
        rope = 0.0
        if measure.unit == "percent":
            rope = ROPE
    higher = measure.better == "higher"
    # Tests see one figure per data set, since transforms and replicates are not independent.
    baseline = terms.baseline
    if terms.against_best:
        # Ranks count from the best, and `rank` gives 1 to the lowest value.
        ranks = rank(-values if higher else values)
        baseline = learners[int(ranks.mean(axis=0).argmin())]
    outcome = compare(
        values, learners, datasets, higher, terms.test, baseline, terms.in_pairs
    )
    entries = left_out(candidates, matched, metric)
    comparison = Compared(
        metric,
        protocol,
        rope,
        outcome,
        dict(zip(datasets, matched.blocks.values(), strict=True)),
        candidates.runs,
        left_out=tuple(entries),
        shown=_shown(outcome, candidates, terms.most),
    )
    copies = [
        f"{', '.join(names)} have the same rows and count as one data set."
        for names in candidates.copies
    ]
    return replace(
        comparison,
        notes=(
            *left_out_notes(entries, metric),
            *copies,
            *_averages(comparison),
            *own_transforms_note(
                (name, s)
                for name, settings in comparison.behind_all().items()
                for s in settings
            ),
        ),
    )


def _means(
    figures: Mapping[RunBlock, float],
    blocks: Mapping[str, Sequence[RunBlock]],
    shared: AbstractSet[RunBlock],
) -> list[float]:
    """Return, by data set, the mean over transforms of the means over replicates.

    Replicates are summed in the order of run ids, so that the bits do not depend on the store.
    """
    by_way: dict[str, dict[Way, list[float]]] = defaultdict(lambda: defaultdict(list))
    pairs: Iterable[tuple[RunBlock, float]] = figures.items()
    # What is shared all learners have.
    if len(figures) > len(shared):
        pairs = [(block, value) for block, value in pairs if block in shared]
    # The figures of a way lie side by side: it is looked up once.
    for way, of_way in groupby(pairs, key=lambda pair: pair[0].way):
        by_way[way.dataset][way] += [value for _, value in of_way]
    return [
        _mean([_mean(values) for values in by_way[dataset].values()])
        for dataset in blocks
    ]


def _mean(values: list[float]) -> float:
    # Most means over transforms are of one figure, which NumPy takes microseconds to return.
    if len(values) == 1:
        return values[0]
    # The bits of np.mean, in a third of its time.
    return float(np.add.reduce(values) / len(values))


def _shown(
    outcome: Comparison, candidates: Candidates, most: int | None
) -> tuple[str, ...]:
    """Return at most `most` learners, the best first, each by its best setting."""
    if most is None or len(outcome.learners) <= most:
        return outcome.learners
    label_of = {
        name: setting.label for (name, _), setting in candidates.settings.items()
    }
    best: dict[str, str] = {}
    for name in outcome.learners:
        # Learners are in the order of their mean ranks, so the first setting of a label
        # is its best.
        best.setdefault(label_of[name], name)
    names = list(best.values())[:most]
    return tuple(name for name in outcome.learners if name in names)


def _averages(one: Compared) -> list[str]:
    """Say what each figure is the mean of."""
    learners = list(one.outcome.learners)
    datasets = list(one.outcome.datasets)
    averaged = [dataset for dataset in datasets if len(one.ways(dataset)) > 1]
    notes = []
    if averaged:
        notes = [f"Means over several transforms of {', '.join(averaged)}."]
    counts = {
        len(blocks) for dataset in datasets for blocks in one.ways(dataset).values()
    }
    notes += [
        note.replace("Mean and sample standard deviation", "Each figure is the mean")
        for note in count_notes(counts)
    ]
    # Whether runs failed is a fact of the setting, which all blocks of a way share.
    first_blocks = [one.blocks[dataset][0] for dataset in datasets]
    grid: list[list[Summary | None]] = [
        [one.runs[row][block] for block in first_blocks] for row in learners
    ]
    return [*notes, *partial_notes(learners, datasets, grid)]
