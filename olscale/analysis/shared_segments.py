"""Segments of a stream that several runs have rows in.

A record has only segments with counted rows. Of a short one a fold may have none, so that the lists
of the folds differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

Names = Sequence[str]


def apart(names: Names) -> list[str]:
    """Return the names of segments, each once: a column comes back to a value, as a weekday does.

    Examples
    --------
    >>> apart(["Mon", "Tue", "Mon"])
    ['Mon', 'Tue', 'Mon (2)']
    """
    times: Counter[str] = Counter()
    numbered = []
    for name in names:
        times[name] += 1
        numbered.append(name if times[name] == 1 else f"{name} ({times[name]})")
    return numbered


def shared_segments(runs: Sequence[Names]) -> tuple[list[str], list[list[int] | None]]:
    """Return the segments that all runs have, and their places in the list of each run.

    Where names come back, the longest list is taken for that of all segments. A run whose segments
    cannot be found in it, or in several ways, has no places, and is left out.

    Parameters
    ----------
    runs : sequence of sequence of str
        Names of the segments of each run, in stream order.

    Examples
    --------
    >>> shared_segments([["Mon", "Tue", "Wed"], ["Mon", "Wed", "Thu"]])
    (['Mon', 'Wed'], [[0, 2], [0, 1]])
    >>> shared_segments([["Mon", "Tue", "Mon"], ["Mon", "Tue"], ["Sun"]])
    (['Mon', 'Tue'], [[0, 1], [0, 1], None])
    """
    if all(len(set(names)) == len(names) for names in runs):
        in_every = set(runs[0]).intersection(*runs)
        ordered = [name for name in runs[0] if name in in_every]
        return ordered, [[names.index(name) for name in ordered] for names in runs]
    longest = max(runs, key=lambda names: (len(names), tuple(names)))
    places_of_runs = [_places_in(longest, names) for names in runs]
    in_all = set(range(len(longest)))
    for places in places_of_runs:
        if places is not None:
            in_all &= set(places)
    shared = sorted(in_all)
    own_places: list[list[int] | None] = []
    for places in places_of_runs:
        if places is None:
            own_places.append(None)
            continue
        own_places.append([places.index(segment) for segment in shared])
    numbered = apart(longest)
    return [numbered[segment] for segment in shared], own_places


def _places_in(every: Names, names: Names) -> list[int] | None:
    """Return where names stand in the list of all; None if nowhere, or in more than one way."""
    first = _first_places(every, names)
    from_the_end = _first_places(every[::-1], names[::-1])
    if first is None or from_the_end is None:
        return None
    last = [len(every) - 1 - place for place in reversed(from_the_end)]
    return first if first == last else None


def _first_places(every: Names, names: Names) -> list[int] | None:
    """Return the first places in the list of all where names stand one after another, if any."""
    places: list[int] = []
    start = 0
    for name in names:
        if name not in every[start:]:
            return None
        place = every.index(name, start)
        places.append(place)
        start = place + 1
    return places
