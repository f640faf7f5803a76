"""How well the time left was told: ``python -m docs.time_left STORE...`` reads the journals of evaluations again.

Of each experiment and its tuning: how long it took, and how far the time left was off from 20 % on,
in the median over the lines of the journal but those of the last 2 %. Then what was told at each
tenth.
"""

import json
import sys
from collections.abc import Iterator
from itertools import pairwise
from math import isnan
from statistics import median
from typing import Any

from olscale.results.live import FOLDER, LiveEvaluation, journal_of
from olscale.results.store import open_store

Told = tuple[float, float, float]
"""Share of the time that has gone, seconds left as told, and as they were."""


def parts(store: str) -> Iterator[tuple[str, float, list[Told]]]:
    """Yield the name and seconds of each part of the ended evaluations of a store, and what was told."""
    files = open_store(store, writes=False).files
    journals: dict[str, list[dict[str, Any]]] = {}
    for name in sorted(files.names(FOLDER)):
        journals.setdefault(journal_of(name), []).extend(
            map(json.loads, files.read(name).splitlines())
        )
    for lines in journals.values():
        starts = [number for number, line in enumerate(lines) if "start" in line]
        for first, end in pairwise([*starts, len(lines)]) if lines[-1].get("end") == "done" else ():
            evaluation, told = LiveEvaluation(store), []
            begin, over = lines[first]["t"], lines[min(end, len(lines) - 1)]["t"]
            for line in lines[first:end]:
                evaluation.add(line)
                told.append(
                    (
                        (line["t"] - begin) / (over - begin),
                        evaluation.seconds_left,
                        over - line["t"],
                    )
                )
            yield evaluation.name, over - begin, told


def off(told: list[Told]) -> float:
    """Return how far the time left was off, as a share of what was left."""
    found = [
        abs(left / was - 1.0)
        for share, left, was in told
        if 0.2 <= share <= 0.98 and not isnan(left)
    ]
    return median(found) if found else float("nan")


def main(*stores: str) -> None:
    """Print how well the time left was told."""
    for store in stores:
        for name, seconds, told in parts(store):
            print(f"{name}: {seconds:.0f} s, off by {off(told):.0%} in the median")
            for tenth in range(2, 10):
                share, left, was = next(one for one in told if one[0] >= tenth / 10)
                print(f"    after {share:4.0%}: {left:6.0f} s left told, {was:6.0f} s were")


if __name__ == "__main__":
    main(*sys.argv[1:])
