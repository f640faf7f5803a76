"""Learners compared over data sets, or over the runs on one: ranks, tests of pairs, groups alike.

References
----------
J. Demsar, Statistical comparisons of classifiers over multiple data sets, JMLR 7, 2006.

A. Benavoli, G. Corani, F. Mangili, Should we really use post-hoc tests based on mean-ranks?, JMLR
17, 2016.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from olscale.analysis.paired_tests import (
    Posterior,
    differences_of,
    holm,
    sign_test,
    signed_rank,
    wilcoxon,
)
from olscale.analysis.rank_tests import (
    ALPHA,
    Friedman,
    critical_difference,
    friedman,
    nemenyi,
    rank,
)
from olscale.arrays import FloatArray, IntArray

LEAST = 5
"""Data sets, or runs on one, below which nothing is tested."""

# Pairs of learners by pairs of data sets that are tested together: what fits in the memory.
_CELLS_AT_ONCE = 1 << 20

PairTest = Callable[[FloatArray], FloatArray]
"""Takes differences, shape (n_pairs, n_datasets), and returns the p of each pair."""

Test = Literal["wilcoxon", "nemenyi"]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two learners against each other.

    Parameters
    ----------
    a, b : str
    wins, ties, losses : int
        Data sets (or runs) on which `a` is better than `b`, equal, worse.
    difference : float
        Mean of `a` minus mean of `b`, in the metric's unit.
    p, p_corrected : float
        That they do not differ; corrected for the number of pairs. NaN where nothing is tested.
    p_sign : float
        Of the sign test, not corrected; NaN likewise.
    posterior : Posterior or None
        Where `a` minus `b` lies; of data sets only, from `Comparison.with_posteriors`.
    """

    a: str
    b: str
    wins: int
    ties: int
    losses: int
    difference: float
    p: float
    p_corrected: float
    p_sign: float
    posterior: Posterior | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """What `compare` found; learners stand in the order of their mean ranks, the best first.

    Parameters
    ----------
    learners, datasets : tuple of str
    values, ranks : float64 array of shape (n_datasets, n_learners)
    mean_ranks : float64 array of shape (n_learners,)
    friedman : Friedman
    test : {"wilcoxon", "nemenyi"}
    critical : float
        Nemenyi's critical difference of mean ranks; NaN with another test.
    pairs : tuple of Pair
        Each two learners, the better one first; with a baseline, the baseline and each other one.
    cliques : tuple of tuple of str
        Largest groups of learners, neighbours by mean rank; no two in a group differ significantly;
        groups may overlap.
    """

    learners: tuple[str, ...]
    datasets: tuple[str, ...]
    values: FloatArray
    ranks: FloatArray
    mean_ranks: FloatArray
    friedman: Friedman
    test: Test
    critical: float
    pairs: tuple[Pair, ...]
    cliques: tuple[tuple[str, ...], ...]
    baseline: str | None = None

    @property
    def tested(self) -> bool:
        """Whether there are enough data sets."""
        return len(self.datasets) >= LEAST

    def with_posteriors(self, pairs: Sequence[Pair], rope: float) -> tuple[Pair, ...]:
        """Return some of the pairs with their probabilities, unless nothing is tested.

        They take the most time, so `compare` leaves them out.

        Parameters
        ----------
        pairs : sequence of Pair
        rope : float
            Half the width of the region of practical equivalence.
        """
        if not self.tested:
            return tuple(pairs)
        place = {name: i for i, name in enumerate(self.learners)}
        of_learner = self.values.T
        first = of_learner[[place[pair.a] for pair in pairs]]
        second = of_learner[[place[pair.b] for pair in pairs]]
        posteriors = signed_rank(differences_of(first, second), rope)
        return tuple(
            replace(pair, posterior=posterior)
            for pair, posterior in zip(pairs, posteriors, strict=True)
        )

    def part(self, names: Collection[str]) -> "Comparison":
        """Return the comparison of some learners; ranks and p values stay those among all."""
        places = [i for i, name in enumerate(self.learners) if name in names]
        # Shortened groups may lie in one another.
        shortened = [
            tuple(name for name in clique if name in names) for clique in self.cliques
        ]
        groups = list(dict.fromkeys(clique for clique in shortened if len(clique) > 1))
        largest = [
            clique
            for clique in groups
            if not any(set(clique) < set(group) for group in groups)
        ]
        return replace(
            self,
            learners=tuple(self.learners[i] for i in places),
            values=self.values[:, places],
            ranks=self.ranks[:, places],
            mean_ranks=self.mean_ranks[places],
            pairs=tuple(
                pair for pair in self.pairs if pair.a in names and pair.b in names
            ),
            cliques=tuple(largest),
        )

    def alike(self) -> tuple[str, ...]:
        """Return the learners that do not differ significantly from the baseline, or from the best.

        It is one of them.
        """
        reference = self.baseline or self.learners[0]
        names = {reference}
        for pair in self.pairs:
            if pair.a == reference and pair.p_corrected > ALPHA:
                names.add(pair.b)
        return tuple(name for name in self.learners if name in names)


def compare(
    values: FloatArray,
    learners: Sequence[str],
    datasets: Sequence[str],
    higher: bool = False,
    test: Test = "wilcoxon",
    baseline: str | None = None,
    in_pairs: bool = True,
) -> Comparison:
    """Compare learners over data sets.

    Parameters
    ----------
    values : array of shape (n_datasets, n_learners)
        One figure each: the mean over permutations, which are no data sets of their own. None is
        NaN.
    learners, datasets : sequence of str
    higher : bool
        Whether the higher figure is the better one.
    test : {"wilcoxon", "nemenyi"}
        Wilcoxon's signed-rank test of each two, with Holm's correction; or Nemenyi's of mean ranks,
        whose verdict on two learners depends on which others take part.
    baseline : str, optional
        Compare this learner with each other one only: there are fewer tests to correct for. Not
        with Nemenyi's.
    in_pairs : bool
        Whether to compare and test pairs, and so to group learners; ranks alone take no time.

    Examples
    --------
    >>> first = [0.10, 0.11, 0.30, 0.25, 0.05, 0.12]
    >>> errors = np.column_stack([first, [0.20, 0.19, 0.33, 0.31, 0.09, 0.17]])
    >>> comparison = compare(errors, ["pa1", "perceptron"], list("abcdef"))
    >>> comparison.mean_ranks, comparison.pairs[0].wins, comparison.pairs[0].p_corrected
    (array([1., 2.]), 6, 0.03125)
    """
    losses = -values if higher else values
    ranks = rank(losses)
    order = np.argsort(ranks.mean(axis=0), kind="stable")
    values = values[:, order]
    ranks = ranks[:, order]
    names = tuple(learners[i] for i in order)
    is_tested = len(values) >= LEAST
    pairs: tuple[Pair, ...] = ()
    if in_pairs:
        pairs = compare_pairs(
            values, names, higher, wilcoxon if is_tested else None, baseline
        )
    comparison = Comparison(
        learners=names,
        datasets=tuple(datasets),
        values=values,
        ranks=ranks,
        mean_ranks=ranks.mean(axis=0),
        friedman=Friedman(),
        test=test,
        critical=math.nan,
        pairs=pairs,
        cliques=(),
        baseline=baseline,
    )
    if not is_tested:
        return comparison
    comparison = replace(comparison, friedman=friedman(ranks))
    # Pairs with a baseline say nothing about groups of other learners.
    if baseline is not None or not in_pairs:
        return comparison
    if test == "nemenyi":
        comparison = _with_nemenyi(comparison)
    return replace(comparison, cliques=_cliques(names, comparison.pairs))


def _with_nemenyi(comparison: Comparison) -> Comparison:
    """Return a comparison whose pairs are tested by their mean ranks."""
    datasets, learners = comparison.values.shape
    better, worse = np.triu_indices(learners, 1)
    distances = comparison.mean_ranks[worse] - comparison.mean_ranks[better]
    p_values = nemenyi(distances, learners, datasets).tolist()
    pairs = [
        replace(pair, p=p, p_corrected=p)
        for pair, p in zip(comparison.pairs, p_values, strict=True)
    ]
    critical = critical_difference(learners, datasets)
    return replace(comparison, critical=critical, pairs=tuple(pairs))


def compare_pairs(
    values: FloatArray,
    names: Sequence[str],
    higher: bool,
    p_of: PairTest | None,
    baseline: str | None = None,
) -> tuple[Pair, ...]:
    """Compare columns of `values` in pairs; `p_of` tests differences, None leaves tests out."""
    first, second = np.triu_indices(len(names), 1)
    if baseline is not None:
        place = list(names).index(baseline)
        second = np.delete(np.arange(len(names)), place)
        first = np.full_like(second, place)
    # The first of a pair wins where its figure is the better one.
    figures = _compared(values, first, second, p_of)
    wins = figures.more if higher else figures.less
    losses = figures.less if higher else figures.more
    corrected = figures.p
    if p_of is not None:
        corrected = holm(figures.p)
    columns = (
        [names[i] for i in first.tolist()],
        [names[i] for i in second.tolist()],
        wins.tolist(),
        (len(values) - wins - losses).tolist(),
        losses.tolist(),
        figures.mean.tolist(),
        figures.p.tolist(),
        corrected.tolist(),
        figures.p_sign.tolist(),
    )
    return tuple(Pair(*pair) for pair in zip(*columns, strict=True))


class _Figures(NamedTuple):
    """Of each pair: on how many rows the first is less, and more; the mean difference; p values."""

    less: IntArray
    more: IntArray
    mean: FloatArray
    p: FloatArray
    p_sign: FloatArray


def _compared(
    values: FloatArray,
    first: IntArray,
    second: IntArray,
    p_of: PairTest | None,
) -> _Figures:
    # A pair's differences lie side by side: the bits of their mean are those that it has alone.
    of_learner = np.ascontiguousarray(values.T)
    step = max(1, _CELLS_AT_ONCE // len(values) ** 2)
    blocks = []
    for start in range(0, len(first), step):
        block = slice(start, start + step)
        differences = differences_of(
            of_learner[first[block]], of_learner[second[block]]
        )
        p = np.full(len(differences), math.nan)
        p_sign = p
        if p_of is not None:
            p = p_of(differences)
            p_sign = sign_test(differences)
        blocks.append(
            _Figures(
                less=(differences < 0).sum(axis=1),
                more=(differences > 0).sum(axis=1),
                mean=differences.mean(axis=1),
                p=p,
                p_sign=p_sign,
            )
        )
    columns = zip(*blocks, strict=True)
    return _Figures(*(np.concatenate(column) for column in columns))


def _cliques(
    names: Sequence[str], pairs: Sequence[Pair]
) -> tuple[tuple[str, ...], ...]:
    """Return the longest stretches of `names` within which no pair differs."""
    place = {name: i for i, name in enumerate(names)}
    # Of each learner the next one before it that differs: a stretch with both is none.
    nearest = [-1] * len(names)
    for pair in pairs:
        if pair.p_corrected <= ALPHA:
            better = place[pair.a]
            worse = place[pair.b]
            nearest[worse] = max(nearest[worse], better)
    # Learners stand by mean rank, so those that do not differ are neighbours.
    stretches: list[tuple[int, int]] = []
    stop = 0
    for first in range(len(names)):
        stop = max(stop, first + 1)
        while stop < len(names) and nearest[stop] < first:
            stop += 1
        if stop - first > 1 and (not stretches or stop > stretches[-1][1]):
            stretches.append((first, stop))
    return tuple(tuple(names[first:stop]) for first, stop in stretches)
