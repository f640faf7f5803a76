"""How long the evaluation that made a store would take on W workers: ``python -m docs.plan_cost STORE [COSTS.json]``.

The seconds of each run are those in the store; the costs are those that ``olscale bench workers
--json COSTS.json`` wrote, or those of docs/scaling.md. Runs on one stream are cut as finely as
olscale does: groups of a quarter of a second, or a run. Tuning comes first, and the rest when all
of it is done.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from olscale.bench.forecast import Costs, Load, forecast
from olscale.execution.settings import SETTINGS
from olscale.results.store import open_store

LEAST_SECONDS = 0.25
OF_THE_PAGE = Costs(2.4e-3, 2.3e-3, 0.18e-3, 0.36e-3, 1.5e-3, 6.1e-3, 2.9e-3, 1.6e-3)


def groups(store: str, tuning: bool) -> list[list[float]]:
    """Return the seconds of the runs of each group, the longest group first."""
    found = open_store(store, writes=False)
    streams: dict[str, list[float]] = defaultdict(list)
    timings = found.timings(columns=["id", "timings"]).to_pylist()
    seconds = {row["id"]: dict(row["timings"]).get("fit_seconds", 0.0) for row in timings}
    for row in found.read(["id", "dataset", "transforms", "protocol"]).to_pylist():
        if ("split" in str(row["protocol"])) == tuning:
            key = json.dumps(
                [row[name] for name in ("dataset", "transforms", "protocol")], default=str
            )
            streams[key].append(seconds.get(row["id"], 0.0))
    cut = [group for runs in streams.values() for group in shares(sorted(runs, reverse=True))]
    return sorted(cut, key=sum, reverse=True)


def shares(runs: Iterable[float]) -> Iterable[list[float]]:
    """Yield the groups of one stream."""
    share: list[float] = []
    for seconds in runs:
        share.append(seconds)
        if sum(share) >= LEAST_SECONDS:
            yield share
            share = []
    if share:
        yield share


def main(store: str, file: str = "") -> None:
    """Print what clusters of several sizes would take."""
    costs = OF_THE_PAGE
    if file:
        costs = Costs(
            *(figure["value"] / 1e3 for figure in json.loads(Path(file).read_text())["workers"][:8])
        )
    phases = [groups(store, tuning) for tuning in (True, False)]
    runs = [seconds for phase in phases for group in phase for seconds in group]
    count, hours = sum(map(len, phases)), sum(runs) / 3600
    print(
        f"{len(runs)} runs in {count} groups, {hours:.1f} h of learning, the longest "
        f"{max(runs):.0f} s"
    )
    for workers in (1, 2, 10, 100, 1_000, 10_000):
        pause = max(SETTINGS.report_seconds, workers / SETTINGS.most_reports)
        total = 0.0
        for phase in phases:
            loads = [Load(sum(group), len(group), 1 + int(sum(group) / pause)) for group in phase]
            total += forecast(loads, workers, costs).seconds
        print(
            f"{workers:6} workers: {total / 60:8.1f} min, {sum(runs) / total / workers:.0%} of "
            "the time is learning"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
