"""The cut of runs into groups: few readings of a stream, and no worker that is busy when the others have nothing left."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import accumulate
from math import inf
from types import MappingProxyType

from olscale.evaluation.run import Run, StreamKey
from olscale.evaluation.run_group import RunGroup, StreamSource
from olscale.learners.registry import is_restorable
from olscale.system.memory import default_limit

GROUP_NUMBERS = 2e8
"""Numbers (values of rows, times runs) that a group of several runs on a permutation or fold goes through at most."""

READING = 600
"""A group that goes through so many numbers for each value it reads spends a twentieth of its time on reading, or less."""

LEAST_COST = 1e9
"""Numbers that a group should go through, a quarter of a second's: with fewer it would be little but messages."""

GROUPS_A_THREAD = 3
"""Groups for each thread of a cluster, at least, where there are runs enough: workers that join
take a share, and the last group is short."""

PROJECTED_RUNS = 8
"""Runs of a group that share a projection all the same: to project a row costs more than most learners take for it."""


def cut_groups(
    runs: Sequence[Run],
    sources: Mapping[str, StreamSource],
    parts: int,
    memory_limit: int | None = None,
    costs: Mapping[str, float] = MappingProxyType({}),
    groups_a_part: int = 1,
) -> list[RunGroup]:
    """Return groups, those that take longest first; where there are fewer streams than `parts`, several of each.

    No worker should be at a long group when the others have nothing left to do. So a group on rows
    that are held in memory takes at most half of a worker's share of all that is not yet cut, and
    those that are cut last are small: guided self-scheduling (C. D. Polychronopoulos and D. J.
    Kuck, IEEE Transactions on Computers C-36(12), 1987), the longest first. Of a stream that is
    read from disk, or projected, there is a slice for each worker that would otherwise be idle.

    Parameters
    ----------
    runs : sequence of Run
        Runs to do.
    sources : dict of str to StreamSource
        The datasets, by fingerprint.
    parts : int
        How many groups can run at the same time.
    memory_limit : int, optional
        That of the groups.
    costs : mapping of str to float
        How many numbers each run goes through, by its id; the values of its rows where it is left
        out.
    groups_a_part : int
        How many groups to make for each of the `parts`, at least, where there are runs enough. Of a
        stream that is read from disk there are more than one for each part only as far as they
        spend a twentieth of their time on reading, or less.
    """
    held = default_limit() // parts if memory_limit is None else memory_limit
    streams: dict[tuple[StreamKey, bool], list[Run]] = defaultdict(list)
    for run in runs:
        # Those that cannot be saved in mid-stream go apart, or the others would start again with
        # them.
        streams[run.stream, is_restorable(run.learner)].append(run)
    # Fewer streams than workers: cut each into slices of its learners, at the price of reading the
    # stream once a slice.
    slices = max(1, -(-parts // max(1, len(streams))))
    pieces = parts * groups_a_part
    finer_slices = max(1, -(-pieces // max(1, len(streams))))

    def length(key: StreamKey) -> int:
        return sources[key.fingerprint].length(key)

    def values(key: StreamKey) -> float:
        source = sources[key.fingerprint]
        return source.numbers * length(key) / max(1, source.rows)

    def cost(run: Run) -> float:
        return costs.get(run.id, values(run.stream))

    left = sum(map(cost, runs))
    # On a cluster each worker is to have something, however little there is.
    fair = inf if groups_a_part == 1 else left / (2 * pieces)
    cut: list[tuple[float, RunGroup]] = []
    for (key, _), mine in sorted(
        streams.items(), key=lambda each: max(map(cost, each[1])), reverse=True
    ):
        source = sources[key.fingerprint]
        if (key.shuffle is not None or key.part is not None) and source.bytes <= held:
            # Held in memory, so reading it again costs little, and a group that is stopped is lost
            # as a whole.
            most = int(GROUP_NUMBERS / max(1.0, values(key)))
            equal = -(-len(mine) // min(finer_slices, len(mine)))
            size = min(equal, max(most, 1 if key.projection is None else PROJECTED_RUNS))
            least = max(READING * values(key), LEAST_COST) if key.projection is None else inf
            shares = _guided(mine, cost, size, left, pieces, min(least, fair))
        else:
            # Read from disk anew by each group.
            cheap = int(sum(map(cost, mine)) / (READING * max(1.0, values(key))))
            shares = _dealt(mine, cost, min(len(mine), finer_slices, max(slices, cheap)))
        for share in shares:
            group = RunGroup(
                source.path,
                length(key),
                share,
                memory_limit=memory_limit,
                chunk_rows=source.chunk_rows,
            )
            cut.append((sum(map(cost, share)), group))
            left -= cut[-1][0]
    return [group for _, group in sorted(cut, key=lambda each: each[0], reverse=True)]


def _guided(
    runs: Sequence[Run],
    cost: Callable[[Run], float],
    size: int,
    left: float,
    parts: int,
    least: float,
) -> Iterator[tuple[Run, ...]]:
    """Yield `runs` in their order, so many at once as take half of a part's share of what is left, or `least` if it is more.

    One at least, and `size` at most.
    """
    while runs:
        most = max(left / (2 * parts), least)
        count = max(1, sum(total <= most for total in accumulate(map(cost, runs[:size]))))
        left -= sum(map(cost, runs[:count]))
        yield tuple(runs[:count])
        runs = runs[count:]


def _dealt(
    runs: Sequence[Run], cost: Callable[[Run], float], count: int
) -> Iterator[tuple[Run, ...]]:
    """Yield `runs` in `count` shares that take about as long each: the longest run first, to the share with least so far."""
    shares: list[list[int]] = [[] for _ in range(count)]
    loads = [(0.0, 0, number) for number in range(count)]
    for i in sorted(range(len(runs)), key=lambda i: cost(runs[i]), reverse=True):
        load, held, number = heappop(loads)
        shares[number].append(i)
        heappush(loads, (load + cost(runs[i]), held + 1, number))
    yield from (tuple(runs[i] for i in sorted(share)) for share in shares)
