"""Learners compared on generated streams, over their seeds: the first learner against each other.

A seed is a new draw of a stream, so tests over seeds speak of new rows, unlike those over
permutations of the same rows.

References
----------
J. Demsar, Statistical comparisons of classifiers over multiple data sets, JMLR 7, 2006.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from olscale.analysis.compare import LEAST, Pair, compare_pairs
from olscale.analysis.matched_blocks import shared_keys
from olscale.analysis.paired_tests import holm, wilcoxon
from olscale.analysis.rank_tests import ALPHA
from olscale.analysis.replicates import SettingFigures, Values
from olscale.results.settings import ExperimentSettings

MARGIN = 0.001
"""Mean difference, as a share of rows, above which a learner is called worse without a test."""

Errors = Mapping[str, float]
_Place: TypeAlias = tuple[str, int | str]
"""Figures of a learner by the name of the dataset, which has the seed."""


@dataclass(frozen=True, slots=True)
class StreamComparison:
    """The figures on one stream, and the first learner against each other.

    Parameters
    ----------
    stream : str
        What the datasets are seeds of.
    delay : int or str
        Rows by which labels are late, or the column that says so.
    errors : dict of str to dict of str to float
        By learner and by the name of the dataset; learners without any are not there.
    pairs : tuple of Pair
        The first learner and each other one, on the seeds that both have; p is that of Wilcoxon's
        signed-rank test, corrected by Holm's method for the pairs of this stream, NaN for fewer
        than five seeds.
    """

    stream: str
    delay: int | str
    errors: Mapping[str, Errors]
    pairs: tuple[Pair, ...]

    @property
    def defeats(self) -> tuple[Pair, ...]:
        """The pairs whose first learner is worse, by more than `MARGIN` or by the test."""
        return tuple(pair for pair in self.pairs if is_defeat(pair))


def is_defeat(pair: Pair) -> bool:
    """Return whether the first learner of a pair has the larger error, by more than chance.

    Examples
    --------
    >>> is_defeat(Pair("arow", "pa1", 0, 0, 10, 0.0004, 0.002, 0.02, 0.002))
    True
    >>> is_defeat(Pair("arow", "pa1", 4, 0, 6, 0.0004, 0.6, 0.6, 0.7))
    False
    """
    return pair.difference > MARGIN or (
        pair.difference > 0.0 and pair.p_corrected <= ALPHA
    )


def compare_over_seeds(
    asked: ExperimentSettings, figures: SettingFigures
) -> list[StreamComparison]:
    """Compare the first learner of an experiment with each other one, on each stream.

    Parameters
    ----------
    asked : ExperimentSettings
        Its `streams` map a dataset that is a seed to its stream; other datasets are their own.
    figures : mapping of SettingKey to mapping of str to float
        Errors, from `olscale.analysis.replicates.ReplicateFigures`; averaged over the replicates
        that all learners have on a dataset.

    Returns
    -------
    list of StreamComparison
        In the order of the streams in the experiment, the delays of each ascending; without those
        where the first learner meets no other.
    """
    by_asked = {key.as_asked(): values for key, values in figures.items()}
    values_at: dict[_Place, dict[str, dict[str, Values]]]
    values_at = defaultdict(lambda: defaultdict(dict))
    for setting in asked.settings:
        values = by_asked.get(setting.key)
        if values:
            stream = asked.streams.get(setting.dataset, setting.dataset)
            delay = setting.protocol.get("delay", 0)
            values_at[stream, delay][setting.dataset][setting.label] = values
    errors = {place: _mean_errors(values_at[place]) for place in values_at}
    labels = list(dict.fromkeys(setting.label for setting in asked.settings))
    streams = list(dict.fromkeys(stream for stream, _ in errors))

    # The settings of an experiment come by dataset, so delays of a stream lie apart.
    def order(place: _Place) -> tuple[int, tuple[bool, int, str]]:
        stream, delay = place
        return streams.index(stream), _order(delay)

    comparisons = []
    for place in sorted(errors, key=order):
        of_learners = {name: errors[place].get(name, {}) for name in labels}
        comparisons.append(_compare_on(*place, of_learners))
    return [comparison for comparison in comparisons if comparison.pairs]


def _mean_errors(values: Mapping[str, Mapping[str, Values]]) -> dict[str, Errors]:
    """Return the mean of each learner on each seed, over the replicates that all learners have."""
    errors: dict[str, dict[str, float]] = defaultdict(dict)
    for dataset, of_learners in values.items():
        shared = shared_keys(of_learners.values())
        if not shared:
            continue
        for label, of_learner in of_learners.items():
            values_of_shared = [of_learner[replicate] for replicate in shared]
            mean = np.mean(values_of_shared)
            errors[label][dataset] = float(mean)
    return dict(errors)


def _order(delay: int | str) -> tuple[bool, int, str]:
    if isinstance(delay, str):
        return True, 0, delay
    return False, delay, ""


def _compare_on(
    stream: str, delay: int | str, errors: Mapping[str, Errors]
) -> StreamComparison:
    first, *later = errors
    pairs = [
        pair
        for second in later
        for pair in _pair(first, second, errors[first], errors[second])
    ]
    return StreamComparison(
        stream,
        delay,
        {name: of_learner for name, of_learner in errors.items() if of_learner},
        _corrected(pairs),
    )


def _pair(
    first: str, other: str, errors_of_first: Errors, errors_of_other: Errors
) -> tuple[Pair, ...]:
    """Return the two learners on the seeds that both have; nothing where they share none."""
    shared = shared_seeds(errors_of_first, errors_of_other)
    if not shared:
        return ()
    values = np.array(
        [[errors_of_first[seed], errors_of_other[seed]] for seed in shared]
    )
    test = wilcoxon if len(shared) >= LEAST else None
    return compare_pairs(values, (first, other), False, test, baseline=first)


def shared_seeds(errors_of_first: Errors, errors_of_other: Errors) -> list[str]:
    """Return the datasets on which both learners have a figure."""
    return [dataset for dataset in errors_of_first if dataset in errors_of_other]


def _corrected(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Return pairs with p values corrected for the number of those that are tested."""
    p_of_pairs = np.array([pair.p for pair in pairs], dtype=float)
    is_tested = ~np.isnan(p_of_pairs)
    p = np.full(len(pairs), np.nan)
    p[is_tested] = holm(p_of_pairs[is_tested])
    return tuple(
        replace(pair, p_corrected=value)
        for pair, value in zip(pairs, p.tolist(), strict=True)
    )
