"""The one rule by which figures are compared: on blocks that all compared learners have.

A block is what two runs must have in common before their figures are set against each other: the
data set, by its content, its transforms, and the replicate (permutation, fold, projection) of one
protocol. Ranks, means, counts of wins, Friedman's, Wilcoxon's, McNemar's and the Bayesian tests all
take the blocks that `match_blocks` returns.

References
----------
M. Friedman, The use of ranks to avoid the assumption of normality implicit in the analysis of
variance, JASA 32, 1937.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from olscale.arrays import BoolArray, FloatArray

T = TypeVar("T")

# More than any share: a data set on which no two learners meet goes before all others.
_ONE_LEARNER = 2.0


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
    blocks_of: Mapping[str, Collection[RunBlock]],
    ways: Sequence[Way],
    baseline: str | None = None,
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
    >>> [(runs.learner, runs.way.transforms, runs.lacking) for runs in matched.unmatched]
    [('arow', ('standardize',), ('pa1',)), ('arow', (), ('pa1',))]
    """
    learners = list(blocks_of)
    sets = [frozenset(blocks) for blocks in blocks_of.values()]
    columns = _columns(sets, ways)
    presence = {
        dataset: _presence(sets, blocks_of_dataset)
        for dataset, blocks_of_dataset in columns.items()
    }
    # By data set, a row a learner and a column a block: whether it has the block.
    is_baseline = np.array([name == baseline for name in learners], dtype=bool)
    compared = _compared_learners(presence, is_baseline)
    lacking = {
        dataset: _lacking(present, compared) for dataset, present in presence.items()
    }
    # A data set that only lacked what learners now left out had is compared after all.
    shared: list[str] = []
    if compared.sum() > 1:
        shared = [dataset for dataset in columns if not lacking[dataset].any()]
    return MatchedBlocks(
        learners=_picked(learners, compared),
        blocks={
            dataset: _picked(
                columns[dataset],
                np.asarray(presence[dataset][compared].all(axis=0)),
            )
            for dataset in shared
        },
        learners_left_out={
            name: tuple(dataset for dataset in shared if not presence[dataset][i].any())
            for i, name in enumerate(learners)
            if not compared[i]
        },
        datasets_left_out={
            dataset: _picked(learners, lacking[dataset])
            for dataset in columns
            if dataset not in shared
        },
        unmatched=tuple(
            runs
            for dataset in shared
            for runs in _unmatched(
                learners, compared, columns[dataset], presence[dataset]
            )
        ),
    )


def shared_keys(collections: Iterable[Collection[str]]) -> list[str]:
    """Return what all collections have, sorted.

    Examples
    --------
    >>> shared_keys([{"a": 1, "b": 2}, {"b": 3}])
    ['b']
    """
    sets = [set(keys) for keys in collections]
    if not sets:
        return []
    return sorted(set.intersection(*sets))


def _presence(
    sets: Sequence[frozenset[RunBlock]], blocks: Sequence[RunBlock]
) -> BoolArray:
    """Return, a row a learner, which of the blocks it has."""
    is_present = np.ones((len(sets), len(blocks)), dtype=bool)
    for i, own in enumerate(sets):
        # Mostly a learner has all blocks, which takes one look.
        if not own.issuperset(blocks):
            is_present[i] = [block in own for block in blocks]
    return is_present


def _picked(items: Sequence[T], is_picked: BoolArray) -> tuple[T, ...]:
    return tuple(items[i] for i in np.flatnonzero(is_picked).tolist())


def _columns(
    collections: Iterable[Collection[RunBlock]], ways: Sequence[Way]
) -> dict[str, list[RunBlock]]:
    """Return the blocks of each data set, data sets and transforms in the order of `ways`."""
    places = {way: place for place, way in enumerate(ways)}
    blocks = set().union(*collections)
    columns: dict[str, list[RunBlock]] = {}

    def order(block: RunBlock) -> tuple[int, str]:
        return places[block.way], block.replicate

    for block in sorted(blocks, key=order):
        columns.setdefault(block.way.dataset, []).append(block)
    return columns


def _compared_learners(
    presence: Mapping[str, BoolArray], stays: BoolArray
) -> BoolArray:
    """Return which learners are left when those that lack the largest share have gone."""
    compared = np.ones(len(stays), dtype=bool)
    datasets = list(presence)
    while datasets and compared.sum() > 1:
        lacking = np.array(
            [_lacking(presence[dataset], compared) for dataset in datasets]
        )
        if not lacking.any():
            break
        # A data set on which at most one learner has runs compares nothing.
        counts = lacking.sum(axis=1)
        dataset_shares = counts / compared.sum()
        dataset_shares[counts >= compared.sum() - 1] = _ONE_LEARNER
        learner_shares = np.where(stays, 0.0, lacking.mean(axis=0))
        # Of equal shares data sets go before learners, and the last of each first.
        if dataset_shares.max() >= learner_shares.max():
            del datasets[_last_largest(dataset_shares)]
        else:
            compared[_last_largest(learner_shares)] = False
    return compared


def _last_largest(shares: FloatArray) -> int:
    from_last = shares[::-1]
    return len(shares) - 1 - int(from_last.argmax())


def _lacking(present: BoolArray, compared: BoolArray) -> BoolArray:
    """Return which compared learners lack the block that most of them have.

    None do where there is a block that all have.
    """
    counts = present[compared].sum(axis=0)
    has_most_common = present[:, counts.argmax()]
    return np.asarray(compared & ~has_most_common)


def _unmatched(
    learners: Sequence[str],
    compared: BoolArray,
    blocks: Sequence[RunBlock],
    present: BoolArray,
) -> Iterable[Unmatched]:
    """Yield the runs on one data set that no figure is made of, by learner and way."""
    is_partial = ~present[compared].all(axis=0)
    for way in dict.fromkeys(block.way for block in blocks):
        is_of_way = np.array([block.way == way for block in blocks])
        of_way = is_partial & is_of_way
        for i in np.flatnonzero(compared).tolist():
            own = of_way & present[i]
            if not own.any():
                continue
            lacks = compared & ~present[:, own].all(axis=1)
            yield Unmatched(
                learner=learners[i],
                way=way,
                runs=int(own.sum()),
                lacking=_picked(learners, lacks),
            )
