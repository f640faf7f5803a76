"""Learners compared over data sets, or over the runs on one: ranks, tests of every two, groups that do not differ.

References
----------
J. Demsar, Statistical comparisons of classifiers over multiple data sets, JMLR 7, 2006. A. Benavoli, G. Corani, F. Mangili,
Should we really use post-hoc tests based on mean-ranks?, JMLR 17, 2016.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from olscale.analysis.bayesian import Posterior, signed_rank
from olscale.analysis.paired_tests import differences_of, holm, sign_test, wilcoxon
from olscale.analysis.rank_tests import ALPHA, Friedman, critical_difference, friedman, nemenyi, rank

LEAST = 5
"""Data sets, or runs on one, below which nothing is tested."""

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
        Where `a` minus `b` lies; of data sets only.
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
        Largest groups of learners, neighbours by mean rank, of which no two differ significantly; groups may overlap.
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

    def part(self, names: Collection[str], rope: float | None = None) -> "Comparison":
        """Return what was found of some of the learners, among all: ranks and p values stay those of all of them.

        Parameters
        ----------
        names : collection of str
        rope : float or None
            As in `compare`; None leaves probabilities as they are.
        """
        places = [i for i, name in enumerate(self.learners) if name in names]
        pairs = [pair for pair in self.pairs if pair.a in names and pair.b in names]
        if rope is not None and self.tested:
            column = {name: self.values[:, i] for i, name in enumerate(self.learners)}
            steps = [differences_of(column[pair.a], column[pair.b]) for pair in pairs]
            pairs = [replace(pair, posterior=signed_rank(step, rope)) for pair, step in zip(pairs, steps, strict=True)]
        shortened = [tuple(name for name in clique if name in names) for clique in self.cliques]
        groups = list(dict.fromkeys(clique for clique in shortened if len(clique) > 1))
        largest = [clique for clique in groups if not any(set(clique) < set(other) for other in groups)]
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
    rope: float | None = 0.0,
    baseline: str | None = None,
) -> Comparison:
    """Compare learners over data sets.

    Parameters
    ----------
    values : array of shape (n_datasets, n_learners)
        One figure each: the mean over permutations, which are no data sets of their own. None is NaN.
    learners, datasets : sequence of str
    higher : bool
        Whether the higher figure is the better one.
    test : {"wilcoxon", "nemenyi"}
        Wilcoxon's signed-rank test of each two, with Holm's correction; or Nemenyi's of mean ranks, whose verdict on two
        learners depends on which others take part.
    rope : float or None
        Half the width of the region of practical equivalence; None computes no probabilities, which take the most time.
    baseline : str, optional
        Compare this learner with each other one only: there are fewer tests to correct for. Not with Nemenyi's.

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
    pairs = compare_pairs(values, names, higher, p_of, rope if tested else None, baseline)
    critical = math.nan
    if test == "nemenyi" and tested and baseline is None:
        critical = critical_difference(k, n)
        p = [nemenyi(float(mean_ranks[j] - mean_ranks[i]), k, n) for i, j in combinations(range(k), 2)]
        pairs = tuple(replace(pair, p=one, p_corrected=one) for pair, one in zip(pairs, p, strict=True))
    cliques = _cliques(names, pairs) if tested and baseline is None else ()
    found = friedman(ranks) if tested else Friedman()
    return Comparison(
        names, tuple(datasets), values, ranks, mean_ranks, found, test, critical, pairs, cliques, baseline
    )


def compare_pairs(
    values: NDArray[np.float64],
    names: Sequence[str],
    higher: bool,
    p_of: Callable[[NDArray[np.float64]], float] | None,
    rope: float | None = None,
    baseline: str | None = None,
) -> tuple[Pair, ...]:
    """Compare each two columns of `values`; `p_of` tests their differences; None leaves tests, or probabilities, out."""
    twos = list(combinations(range(len(names)), 2))
    if baseline is not None:
        first = list(names).index(baseline)
        twos = [(first, j) for j in range(len(names)) if j != first]
    steps = [differences_of(values[:, i], values[:, j]) for i, j in twos]
    p = np.array([p_of(step) if p_of else math.nan for step in steps])
    corrected = holm(p) if p_of else p
    pairs = []
    for (i, j), step, own, with_others in zip(twos, steps, p.tolist(), corrected.tolist(), strict=True):
        less, more = int((step < 0).sum()), int((step > 0).sum())
        wins, losses = (more, less) if higher else (less, more)
        posterior = None if rope is None else signed_rank(step, rope)
        sign = sign_test(step) if p_of else math.nan
        counts = (wins, len(step) - wins - losses, losses, float(step.mean()))
        pairs.append(Pair(names[i], names[j], *counts, own, with_others, sign, posterior))
    return tuple(pairs)


def _cliques(names: Sequence[str], pairs: Sequence[Pair]) -> tuple[tuple[str, ...], ...]:
    """Return the longest stretches of `names` within which no pair differs."""
    apart = {(pair.a, pair.b) for pair in pairs if pair.p_corrected <= ALPHA}
    found: list[tuple[int, int]] = []
    for first in range(len(names)):
        stop = first + 1
        while stop < len(names) and not any((name, names[stop]) in apart for name in names[first:stop]):
            stop += 1
        if stop - first > 1 and (not found or stop > found[-1][1]):
            found.append((first, stop))
    return tuple(tuple(names[first:stop]) for first, stop in found)
