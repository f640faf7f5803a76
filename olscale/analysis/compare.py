"""Learners compared over data sets, or over the runs on one: ranks, tests of every two, groups that do not differ.

References
----------
J. Demsar, Statistical comparisons of classifiers over multiple data sets, JMLR 7, 2006. A. Benavoli, G. Corani, F. Mangili,
Should we really use post-hoc tests based on mean-ranks?, JMLR 17, 2016.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from olscale.analysis.bayesian import Posterior, signed_rank
from olscale.analysis.paired_tests import differences_of, holm, sign_test, wilcoxon
from olscale.analysis.rank_tests import (
    ALPHA,
    Friedman,
    critical_difference,
    friedman,
    nemenyi,
    rank,
)

LEAST = 5
"""Data sets, or runs on one, below which nothing is tested."""

_PAIRS_AT_ONCE = 1 << 20
"""Of each two data sets of each pair, what is looked at together."""

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
        Largest groups of learners, neighbours by mean rank, of which no two differ significantly;
        groups may overlap.
    """

    learners: tuple[str, ...]
    datasets: tuple[str, ...]
    values: NDArray[np.float64]
    ranks: NDArray[np.float64]
    mean_ranks: NDArray[np.float64]
    friedman: Friedman
    test: Test
    critical: float
    pairs: tuple[Pair, ...]
    cliques: tuple[tuple[str, ...], ...]
    baseline: str | None = None

    @property
    def tested(self) -> bool:
        """Whether there are data sets enough."""
        return len(self.datasets) >= LEAST

    def with_posteriors(self, pairs: Sequence[Pair], rope: float) -> tuple[Pair, ...]:
        """Return some of the pairs with their probabilities, which take the most time; as they are if nothing is tested.

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
        one = of_learner[[place[pair.a] for pair in pairs]]
        other = of_learner[[place[pair.b] for pair in pairs]]
        posteriors = signed_rank(differences_of(one, other), rope)
        return tuple(
            replace(pair, posterior=posterior)
            for pair, posterior in zip(pairs, posteriors, strict=True)
        )

    def part(self, names: Collection[str]) -> "Comparison":
        """Return what was found of some of the learners, among all: ranks and p values stay those of all of them."""
        places = [i for i, name in enumerate(self.learners) if name in names]
        pairs = [pair for pair in self.pairs if pair.a in names and pair.b in names]
        shortened = [tuple(name for name in clique if name in names) for clique in self.cliques]
        groups = list(dict.fromkeys(clique for clique in shortened if len(clique) > 1))
        largest = [
            clique for clique in groups if not any(set(clique) < set(other) for other in groups)
        ]
        return replace(
            self,
            learners=tuple(self.learners[i] for i in places),
            values=self.values[:, places],
            ranks=self.ranks[:, places],
            mean_ranks=self.mean_ranks[places],
            pairs=tuple(pairs),
            cliques=tuple(largest),
        )

    def alike(self) -> tuple[str, ...]:
        """Return the learners that do not differ significantly from the baseline, else from the best; it is one of them."""
        of = self.baseline or self.learners[0]
        found = {of, *(pair.b for pair in self.pairs if pair.a == of and pair.p_corrected > ALPHA)}
        return tuple(name for name in self.learners if name in found)


def compare(
    values: NDArray[np.float64],
    learners: Sequence[str],
    datasets: Sequence[str],
    higher: bool = False,
    test: Test = "wilcoxon",
    baseline: str | None = None,
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

    Examples
    --------
    >>> errors = np.array([[0.10, 0.20], [0.11, 0.19], [0.30, 0.33], [0.25, 0.31], [0.05, 0.09], [0.12, 0.17]])
    >>> found = compare(errors, ["pa1", "perceptron"], list("abcdef"))
    >>> found.mean_ranks, found.pairs[0].wins, found.pairs[0].p_corrected, found.cliques
    (array([1., 2.]), 6, 0.03125, ())
    """
    ranks = rank(-values if higher else values)
    order = np.argsort(ranks.mean(axis=0), kind="stable")
    values, ranks = values[:, order], ranks[:, order]
    names, mean_ranks = tuple(learners[i] for i in order), ranks.mean(axis=0)
    (n, k), tested = values.shape, len(values) >= LEAST
    p_of = wilcoxon if tested else None
    pairs = compare_pairs(values, names, higher, p_of, baseline)
    critical = math.nan
    if test == "nemenyi" and tested and baseline is None:
        critical = critical_difference(k, n)
        better, worse = np.triu_indices(k, 1)
        p = nemenyi(mean_ranks[worse] - mean_ranks[better], k, n).tolist()
        pairs = tuple(
            replace(pair, p=one, p_corrected=one) for pair, one in zip(pairs, p, strict=True)
        )
    cliques = _cliques(names, pairs) if tested and baseline is None else ()
    found = friedman(ranks) if tested else Friedman()
    return Comparison(
        names,
        tuple(datasets),
        values,
        ranks,
        mean_ranks,
        found,
        test,
        critical,
        pairs,
        cliques,
        baseline,
    )


def compare_pairs(
    values: NDArray[np.float64],
    names: Sequence[str],
    higher: bool,
    p_of: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None,
    baseline: str | None = None,
) -> tuple[Pair, ...]:
    """Compare each two columns of `values`; `p_of` tests their differences, a row a pair; None leaves tests out."""
    first, second = np.triu_indices(len(names), 1)
    if baseline is not None:
        place = list(names).index(baseline)
        second = np.delete(np.arange(len(names)), place)
        first = np.full_like(second, place)
    wins, losses, means, own, signs = _tested_pairs(values, first, second, p_of)
    if higher:
        wins, losses = losses, wins
    figures = (
        [names[i] for i in first.tolist()],
        [names[j] for j in second.tolist()],
        wins.tolist(),
        (len(values) - wins - losses).tolist(),
        losses.tolist(),
        means.tolist(),
        own.tolist(),
        (holm(own) if p_of else own).tolist(),
        signs.tolist(),
    )
    return tuple(Pair(*pair) for pair in zip(*figures, strict=True))


def _tested_pairs(
    values: NDArray[np.float64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    p_of: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None,
) -> Sequence[NDArray[np.float64]]:
    """Return of each pair on how many rows it is less, and more; the mean difference; its p; that of the sign test."""
    # A pair's differences lie side by side: the bits of their mean are those that it has alone.
    of_learner = np.ascontiguousarray(values.T)
    step = max(1, _PAIRS_AT_ONCE // len(values) ** 2)
    blocks = []
    for start in range(0, len(first), step):
        block = slice(start, start + step)
        differences = differences_of(of_learner[first[block]], of_learner[second[block]])
        untested = np.full(len(differences), math.nan)
        blocks.append(
            (
                (differences < 0).sum(axis=1),
                (differences > 0).sum(axis=1),
                differences.mean(axis=1),
                p_of(differences) if p_of else untested,
                sign_test(differences) if p_of else untested,
            )
        )
    return [np.concatenate(figures) for figures in zip(*blocks, strict=True)]


def _cliques(names: Sequence[str], pairs: Sequence[Pair]) -> tuple[tuple[str, ...], ...]:
    """Return the longest stretches of `names` within which no pair differs."""
    place = {name: i for i, name in enumerate(names)}
    # Of each learner the next one before it that differs: a stretch with both is none.
    nearest = [-1] * len(names)
    for pair in pairs:
        if pair.p_corrected <= ALPHA:
            nearest[place[pair.b]] = max(nearest[place[pair.b]], place[pair.a])
    stretches: list[tuple[int, int]] = []
    stop = 0
    for first in range(len(names)):
        stop = max(stop, first + 1)
        while stop < len(names) and nearest[stop] < first:
            stop += 1
        if stop - first > 1 and (not stretches or stop > stretches[-1][1]):
            stretches.append((first, stop))
    return tuple(tuple(names[first:stop]) for first, stop in stretches)
