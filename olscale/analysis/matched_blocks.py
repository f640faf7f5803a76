"""The one rule by which figures are compared: on blocks that all compared learners have, and on no others.

A block is what two runs must have in common before their figures are set against each other: the
data set, by its content, its transforms, and the replicate (permutation, fold, projection) of one
protocol. Ranks, means, counts of wins, Friedman's, Wilcoxon's, McNemar's and the Bayesian tests all
take the blocks that `match_blocks` returns.

References
----------
M. Friedman, The use of ranks to avoid the assumption of normality implicit in the analysis of variance, JASA 32, 1937.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_ONE_LEARNER = 2.0
"""More than any share: a data set on which no two learners meet goes before all others."""


class Way(NamedTuple):
    """A data set and how its rows are met.

    Parameters
    ----------
    dataset : str
        Fingerprint of its content: one data set under several names is one.
    transforms : tuple of str
    """

    dataset: str
    transforms: tuple[str, ...]


class RunBlock(NamedTuple):
    """What is equal for runs that may be compared with each other.

    Parameters
    ----------
    way : Way
    replicate : str
        Permutation, fold and projection, as canonical JSON.
    """

    way: Way
    replicate: str


@dataclass(frozen=True, slots=True)
class Unmatched:
    """Runs of a compared learner that not all others have, and that no figure is made of.

    Parameters
    ----------
    learner : str
    way : Way
    runs : int
    lacking : tuple of str
        Compared learners that lack some of these runs.
    """

    learner: str
    way: Way
    runs: int
    lacking: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MatchedBlocks:
    """The learners that are compared, and on what.

    Parameters
    ----------
    learners : tuple of str
        Fewer than two where nothing can be compared.
    blocks : dict of str to tuple of RunBlock
        By data set: the blocks that all these learners have.
    learners_left_out : dict of str to tuple of str
        Compared data sets of which a learner that is left out has no figure; none where its runs
        are other ones.
    datasets_left_out : dict of str to tuple of str
        Compared learners that share no run on a data set; empty where the data set has runs of one
        learner only.
    unmatched : tuple of Unmatched
    """

    learners: tuple[str, ...]
    blocks: Mapping[str, tuple[RunBlock, ...]]
    learners_left_out: Mapping[str, tuple[str, ...]]
    datasets_left_out: Mapping[str, tuple[str, ...]]
    unmatched: tuple[Unmatched, ...]


def match_blocks(
    blocks_of: Mapping[str, Collection[RunBlock]], ways: Sequence[Way], baseline: str | None = None
) -> MatchedBlocks:
    """Decide which learners are compared, and on which blocks.

    While there is a data set on which the learners share no block, the learner or the data set goes
    that lacks the largest share: of several ways of meeting a data set, that of most learners
    counts, the first of equals. Of equal shares data sets go before learners. Runs that not all
    learners have decide nothing else.

    Parameters
    ----------
    blocks_of : mapping of str to collection of RunBlock
        What each learner has a figure of.
    ways : sequence of Way
        All there are, those asked for first in front.
    baseline : str, optional
        A learner that stays.

    Examples
    --------
    >>> raw, scaled = Way("wine", ()), Way("wine", ("standardize",))
    >>> first, second = '{"permutation":0}', '{"permutation":1}'
    >>> arow = [RunBlock(raw, first), RunBlock(scaled, first), RunBlock(scaled, second)]
    >>> matched = match_blocks({"arow": arow, "pa1": [RunBlock(scaled, first)]}, [scaled, raw])
    >>> [block.replicate for block in matched.blocks["wine"]]
    ['{"permutation":0}']
    >>> [(one.learner, one.way.transforms, one.runs, one.lacking) for one in matched.unmatched]
    [('arow', ('standardize',), 1, ('pa1',)), ('arow', (), 1, ('pa1',))]
    """
    learners = list(blocks_of)
    columns = _columns(blocks_of.values(), ways)
    presence = {
        dataset: np.array(
            [[block in blocks for block in of] for blocks in blocks_of.values()], dtype=bool
        )
        for dataset, of in columns.items()
    }
    compared = _compared_learners(
        presence, np.array([name == baseline for name in learners], dtype=bool)
    )
    lacking = {dataset: _lacking(has, compared) for dataset, has in presence.items()}
    # A data set that only lacked what learners now left out had is compared after all.
    shared = [dataset for dataset in columns if compared.sum() > 1 and not lacking[dataset].any()]
    blocks = {dataset: _common(columns[dataset], presence[dataset][compared]) for dataset in shared}
    stays = dict(zip(learners, compared.tolist(), strict=True))
    return MatchedBlocks(
        learners=tuple(name for name in learners if stays[name]),
        blocks=blocks,
        learners_left_out={
            name: tuple(dataset for dataset in shared if not presence[dataset][i].any())
            for i, name in enumerate(learners)
            if not stays[name]
        },
        datasets_left_out={
            dataset: tuple(learners[i] for i in np.flatnonzero(lacking[dataset]).tolist())
            for dataset in columns
            if dataset not in blocks
        },
        unmatched=tuple(
            one
            for dataset in shared
            for one in _unmatched(learners, compared, columns[dataset], presence[dataset])
        ),
    )


def shared_keys(of: Iterable[Collection[str]]) -> list[str]:
    """Return what all collections have, sorted.

    Examples
    --------
    >>> shared_keys([{"a": 1, "b": 2}, {"b": 3}])
    ['b']
    """
    sets = [set(keys) for keys in of]
    return sorted(set.intersection(*sets)) if sets else []


def _columns(
    every: Iterable[Collection[RunBlock]], ways: Sequence[Way]
) -> dict[str, list[RunBlock]]:
    """Return the blocks of each data set, data sets and transforms in the order of `ways`."""
    places = {way: place for place, way in enumerate(ways)}
    known = set().union(*every)
    columns: dict[str, list[RunBlock]] = {}
    for block in sorted(known, key=lambda block: (places[block.way], block.replicate)):
        columns.setdefault(block.way.dataset, []).append(block)
    return columns


def _compared_learners(
    presence: Mapping[str, NDArray[np.bool_]], keeps: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which learners are left when those that lack the largest share have gone."""
    compared = np.ones(len(keeps), dtype=bool)
    datasets = list(presence)
    while datasets and compared.sum() > 1:
        lacking = np.array([_lacking(presence[dataset], compared) for dataset in datasets])
        of_datasets = lacking.sum(axis=1) / compared.sum()
        of_datasets[lacking.sum(axis=1) >= compared.sum() - 1] = _ONE_LEARNER
        of_learners = np.where(keeps, 0.0, lacking.mean(axis=0))
        if not lacking.any():
            break
        if of_datasets.max() >= of_learners.max():
            del datasets[_last_largest(of_datasets)]
        else:
            compared[_last_largest(of_learners)] = False
    return compared


def _last_largest(shares: NDArray[np.float64]) -> int:
    return len(shares) - 1 - int(shares[::-1].argmax())


def _lacking(has: NDArray[np.bool_], compared: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which compared learners lack the block that most of them have; none where there is one that all have."""
    most_common = int(has[compared].sum(axis=0).argmax())
    return np.asarray(compared & ~has[:, most_common])


def _common(blocks: Sequence[RunBlock], has: NDArray[np.bool_]) -> tuple[RunBlock, ...]:
    """Return the blocks that all learners have."""
    return tuple(blocks[j] for j in np.flatnonzero(has.all(axis=0)).tolist())


def _unmatched(
    learners: Sequence[str],
    compared: NDArray[np.bool_],
    blocks: Sequence[RunBlock],
    has: NDArray[np.bool_],
) -> Iterable[Unmatched]:
    """Yield the runs on one data set that go into no figure, by learner and way."""
    partial = ~has[compared].all(axis=0)
    for way in dict.fromkeys(block.way for block in blocks):
        of_way = partial & np.array([block.way == way for block in blocks])
        for i in np.flatnonzero(compared).tolist():
            own = of_way & has[i]
            if own.any():
                without = np.flatnonzero(compared & ~has[:, own].all(axis=1)).tolist()
                lacking = tuple(learners[j] for j in without)
                yield Unmatched(learners[i], way, int(own.sum()), lacking)
