"""The cut of runs into groups that read a stream seldom and keep all workers busy to the end.

Groups so short that a task, a file to wait for and a report would cost more than they do are cut
into bundles: one task runs many of them and writes one file of records. Where groups are cut into
bundles changes no result and no byte of a compacted store.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import accumulate, groupby
from math import inf
from types import MappingProxyType

from olscale.evaluation.run import Run, StreamKey
from olscale.evaluation.run_group import RunGroup, StreamSource
from olscale.system.memory import default_limit

GROUP_NUMBERS = 1e9
"""Most numbers (values of rows times runs) in a group of several runs on a permutation or fold."""

READ_NUMBERS = 2.0
"""Numbers that a learner goes through in the time in which a value is read."""

ROW_READ_NUMBERS = 10.0
"""The same for a row in the order of its file, in addition to its values."""

SHUFFLED_ROW_NUMBERS = 50.0
"""The same for a row that is taken out of turn."""

READING = 20.0
"""A group that learns so many times as long as it reads spends a twentieth of its time on that."""

SLICE_READING = 16.0
"""Least number of times as long as it reads that a slice of a permutation or fold should learn,
where there is one for each worker: they need slices only to end together, and settings that learn
together take a fraction of their cost.
"""

LEAST_COST = 1e9
"""Numbers that a group should process, in a quarter of a second: less would be mostly messages."""

GROUPS_A_THREAD = 3
"""Least number of groups per thread of a cluster, where there are enough runs: workers that join
take a share, and the last group is short.
"""

PROJECTED_RUNS = 8
"""Runs in a group that share a projection: projecting a row costs more than most learners take."""


def cut_groups(
    runs: Sequence[Run],
    sources: Mapping[str, StreamSource],
    parts: int,
    memory_limit: int | None = None,
    costs: Mapping[str, float] = MappingProxyType({}),
    groups_a_part: int = 1,
    restarting: Collection[str] = (),
) -> list[RunGroup]:
    """Return groups, longest first; with fewer streams than `parts`, several groups per stream.

    No worker should have a long group when the others have nothing left to do. So a group on rows
    held in memory takes at most half of a worker's share of the remaining work, and the last groups
    are small: guided self-scheduling (C. D. Polychronopoulos and D. J. Kuck, IEEE Transactions on
    Computers C-36(12), 1987), the longest first. A stream that is read from disk, or projected, is
    cut into a slice for each worker that would otherwise be idle.

    Parameters
    ----------
    runs : sequence of Run
        Runs to do.
    sources : dict of str to StreamSource
        The datasets, by fingerprint.
    parts : int
        How many groups can run at the same time.
    memory_limit : int, optional
        Memory limit of the groups.
    costs : mapping of str to float
        Numbers that each run processes, by its id; defaults to the values of its rows.
    groups_a_part : int
        Least number of groups per part, where there are enough runs. A stream that is read from
        disk has more than one group per part only as long as they spend at most a twentieth of
        their time on reading.
    restarting : collection of str
        Learners whose runs cannot be continued from a checkpoint.
    """
    held = default_limit() // parts if memory_limit is None else memory_limit
    streams: dict[tuple[StreamKey, bool], list[Run]] = defaultdict(list)
    for run in runs:
        # Runs that cannot be saved in mid-stream get groups of their own: others would restart with
        # them.
        streams[run.stream, run.learner not in restarting].append(run)
    # With fewer streams than workers, cut each into slices of its learners; each slice reads the
    # stream once.
    slices = max(1, -(-parts // max(1, len(streams))))
    pieces = parts * groups_a_part
    finer_slices = max(1, -(-pieces // max(1, len(streams))))

    def length(key: StreamKey) -> int:
        return sources[key.fingerprint].length(key)

    def values(key: StreamKey) -> float:
        source = sources[key.fingerprint]
        return source.numbers * length(key) / max(1, source.rows)

    def reading(key: StreamKey) -> float:
        in_turn = key.shuffle is None and key.part is None
        a_row = ROW_READ_NUMBERS if in_turn else SHUFFLED_ROW_NUMBERS
        return max(1.0, a_row * length(key) + READ_NUMBERS * values(key))

    def cost(run: Run) -> float:
        estimate = costs.get(run.id)
        return values(run.stream) if estimate is None else estimate

    remaining = sum(map(cost, runs))
    # On a cluster each worker gets something, however little work there is.
    fair = inf if groups_a_part == 1 else remaining / (2 * pieces)
    has_stream_for_each = len(streams) >= parts
    cut: list[tuple[float, RunGroup]] = []
    for (key, restorable), stream_runs in sorted(
        streams.items(),
        key=lambda entry: max(map(cost, entry[1])),
        reverse=True,
    ):
        source = sources[key.fingerprint]
        if (key.shuffle is not None or key.part is not None) and source.bytes <= held:
            # Rows in memory are cheap to read again, and a group that is stopped loses all of its
            # work.
            most = int(GROUP_NUMBERS / max(1.0, values(key)))
            equal = -(-len(stream_runs) // min(finer_slices, len(stream_runs)))
            size = min(
                equal, max(most, 1 if key.projection is None else PROJECTED_RUNS)
            )
            least = fair
            if has_stream_for_each:
                least = max(fair, SLICE_READING * reading(key))
            # Runs with a projection share its cost, so only the size limits their groups.
            if key.projection is None:
                least = min(least, max(READING * reading(key), LEAST_COST))
            shares = _guided(stream_runs, cost, size, remaining, pieces, least)
        else:
            # Each group reads these rows from disk anew.
            # So many groups spend at most a twentieth of their time on reading.
            cheap = int(sum(map(cost, stream_runs)) / (READING * reading(key)))
            shares = _dealt(
                stream_runs,
                cost,
                min(len(stream_runs), finer_slices, max(slices, cheap)),
            )
        for share in shares:
            group = RunGroup(
                source.path,
                length(key),
                share,
                memory_limit=memory_limit,
                chunk_rows=source.chunk_rows,
                restorable=restorable,
            )
            cut.append((sum(map(cost, share)), group))
            remaining -= cut[-1][0]
    # Schedulers take groups in this order: long ones that start last would end last.
    return [group for _, group in sorted(cut, key=lambda entry: entry[0], reverse=True)]


def _guided(
    runs: Sequence[Run],
    cost: Callable[[Run], float],
    size: int,
    remaining: float,
    parts: int,
    least: float,
) -> Iterator[tuple[Run, ...]]:
    """Yield `runs` in order, in groups of half of a part's share of the remaining cost.

    A group costs `least` if that is more; it has at least one run and at most `size` runs.
    """
    while runs:
        most = max(remaining / (2 * parts), least)
        totals = accumulate(map(cost, runs[:size]))
        count = max(1, sum(total <= most for total in totals))
        remaining -= sum(map(cost, runs[:count]))
        yield tuple(runs[:count])
        runs = runs[count:]


def _dealt(
    runs: Sequence[Run],
    cost: Callable[[Run], float],
    count: int,
) -> Iterator[tuple[Run, ...]]:
    """Yield `runs` in `count` shares of similar cost: the longest first, to the smallest share."""
    shares: list[list[int]] = [[] for _ in range(count)]
    loads = [(0.0, 0, number) for number in range(count)]
    # The number of runs breaks ties of load, so that runs without a cost spread evenly.
    longest_first = sorted(range(len(runs)), key=lambda i: cost(runs[i]), reverse=True)
    for i in longest_first:
        load, held, number = heappop(loads)
        shares[number].append(i)
        heappush(loads, (load + cost(runs[i]), held + 1, number))
    yield from (tuple(runs[i] for i in sorted(share)) for share in shares)


BUNDLE_SECONDS = 1.0
"""Longest time of a bundle, about; it then reports its results and leaves the rest to others."""

LEAST_SECONDS = 0.1
"""Shortest time of a bundle, about: a shorter one would consist mostly of messages."""

SHARES = 2
"""Share of the remaining work that a batch of bundles, one for each worker, takes."""


def cut_bundles(
    groups: Sequence[RunGroup],
    seconds: Callable[[RunGroup], float],
    parts: int,
) -> list[RunGroup]:
    """Return groups in their order; each short group carries the number of its bundle.

    Parameters
    ----------
    groups : sequence of RunGroup
        Groups whose records are written together, the longest first.
    seconds : callable
        Returns approximately how long a group takes.
    parts : int
        How many tasks can run at the same time.
    """
    estimates = [seconds(group) for group in groups]
    bundled = [
        # A bundle of fewer than two groups saves nothing.
        _can_be_bundled(group) and 2 * estimate <= BUNDLE_SECONDS
        for group, estimate in zip(groups, estimates, strict=True)
    ]
    remaining = sum(
        estimate for estimate, short in zip(estimates, bundled, strict=True) if short
    )
    batches = _Batches(parts)
    numbered: list[RunGroup] = []
    number = 0
    room = 0.0
    for group, estimate, short in zip(groups, estimates, bundled, strict=True):
        if not short:
            numbered.append(group)
            continue
        if estimate > room:
            number = number + 1
            room = batches.next_room(remaining)
        numbered.append(replace(group, bundle=number))
        room = room - estimate
        remaining = remaining - estimate
    return numbered


class _Batches:
    """The sizes of bundles, in batches of one for each worker, so that all workers end together.

    A batch takes half of the remaining work, and the last one all of it: factoring (S. Flynn
    Hummel, E. Schonberg and L. E. Flynn, Communications of the ACM 35(8), 1992).
    """

    def __init__(self, parts: int) -> None:
        self._parts = parts
        self._to_begin = 0
        self._size = 0.0
        self._is_last = False

    def next_room(self, remaining: float) -> float:
        """Return how many seconds the next bundle may take, with so many remaining."""
        if self._parts == 1:
            return BUNDLE_SECONDS
        if not self._to_begin:
            share = remaining / (SHARES * self._parts)
            # Without a batch before it, the last would leave nothing to even out.
            self._is_last = share < LEAST_SECONDS and self._size > 0.0
            self._size = min(BUNDLE_SECONDS, max(share, LEAST_SECONDS))
            self._to_begin = self._parts
        room = self._size
        if self._is_last:
            # The sum of its groups may differ from what remains in the last bit.
            room = max(LEAST_SECONDS, (1.0 + 1e-9) * remaining / self._to_begin)
        self._to_begin -= 1
        return room


def bundles_of(groups: Sequence[RunGroup]) -> Iterator[tuple[RunGroup, ...]]:
    """Yield the bundles of groups in their order; a group in no bundle forms one by itself."""
    for bundle, members in groupby(groups, lambda group: group.bundle):
        if bundle is None:
            yield from ((group,) for group in members)
        else:
            yield tuple(members)


def halves_of(bundle: Sequence[RunGroup]) -> list[tuple[RunGroup, ...]]:
    """Return the two halves of a bundle; a single group is returned as it is."""
    middle = len(bundle) // 2
    return [tuple(half) for half in (bundle[:middle], bundle[middle:]) if half]


def _can_be_bundled(group: RunGroup) -> bool:
    """Return whether a group runs as one task and can share a file of records with other groups."""
    return group.together and group.shuffled and not group.shards
