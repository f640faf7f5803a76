"""Bundles: run groups so short that one task runs many of them and writes one file of records.

A task, a file to wait for and a report cost more than such a group. Where groups are cut into
bundles changes no result and no byte of a compacted store.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from olscale.evaluation.run_group import RunGroup

BUNDLE_SECONDS = 1.0
"""Longest time of a bundle, about; it then reports its results and leaves the rest to others."""

LEAST_SECONDS = 0.1
"""Shortest time of a bundle, about: a shorter one would consist mostly of messages."""

SHARES = 3
"""Share of a worker's remaining work that a bundle takes at most: all workers end together."""


def cut_bundles(
    groups: Sequence[RunGroup], seconds: Callable[[RunGroup], float], parts: int
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
    remaining = sum(estimate for estimate, short in zip(estimates, bundled, strict=True) if short)
    numbered: list[RunGroup] = []
    number = 0
    room = 0.0
    for group, estimate, short in zip(groups, estimates, bundled, strict=True):
        if not short:
            numbered.append(group)
            continue
        if estimate > room:
            # Bundles shrink with the remaining work, as in `cut_groups`; one worker needs no
            # sharing.
            share = BUNDLE_SECONDS if parts == 1 else remaining / (SHARES * parts)
            number = number + 1
            room = min(BUNDLE_SECONDS, max(share, LEAST_SECONDS))
        numbered.append(replace(group, bundle=number))
        room = room - estimate
        remaining = remaining - estimate
    return numbered


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
