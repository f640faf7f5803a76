"""Bundles: run groups so short that one task runs many of them, and one file gets their records.

A task, a file that is waited for and a report cost more than such a group. Where groups are cut
into bundles changes no result, and no byte of a compacted store.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from olscale.evaluation.run_group import RunGroup

BUNDLE_SECONDS = 1.0
"""A bundle takes about so long at most; then its results are told, and what is left goes into others."""

LEAST_SECONDS = 0.1
"""A bundle takes about so long at least: with less it would be little but messages."""

SHARES = 3
"""A bundle takes at most a third of a worker's share of what is left: all workers end together."""


def cut_bundles(
    groups: Sequence[RunGroup], seconds: Callable[[RunGroup], float], parts: int
) -> list[RunGroup]:
    """Return groups in their order, the short ones among them numbered by the bundle they are in.

    Parameters
    ----------
    groups : sequence of RunGroup
        Groups whose records are written together, the longest first.
    seconds : callable
        Returns about how long a group takes.
    parts : int
        How many tasks can run at the same time.
    """
    estimates = [seconds(group) for group in groups]
    bundled = [
        _can_be_bundled(group) and 2 * own <= BUNDLE_SECONDS
        for group, own in zip(groups, estimates, strict=True)
    ]
    left = sum(own for own, short in zip(estimates, bundled, strict=True) if short)
    numbered: list[RunGroup] = []
    number = 0
    room = 0.0
    for group, own, short in zip(groups, estimates, bundled, strict=True):
        if not short:
            numbered.append(group)
            continue
        if own > room:
            share = BUNDLE_SECONDS if parts == 1 else left / (SHARES * parts)
            number = number + 1
            room = min(BUNDLE_SECONDS, max(share, LEAST_SECONDS))
        numbered.append(replace(group, bundle=number))
        room = room - own
        left = left - own
    return numbered


def bundles_of(groups: Sequence[RunGroup]) -> Iterator[tuple[RunGroup, ...]]:
    """Yield the bundles of groups in their order; a group that is in none is one by itself."""
    for bundle, members in groupby(groups, lambda group: group.bundle):
        if bundle is None:
            yield from ((group,) for group in members)
        else:
            yield tuple(members)


def halves_of(bundle: Sequence[RunGroup]) -> list[tuple[RunGroup, ...]]:
    """Return a bundle in two, or a single group as it is."""
    middle = len(bundle) // 2
    return [tuple(half) for half in (bundle[:middle], bundle[middle:]) if half]


def _can_be_bundled(group: RunGroup) -> bool:
    """Return whether a group runs as one task that writes its records together with those of others."""
    return group.together and group.shuffled and not group.shards
