"""Benchmark figures as a table and as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from olscale.bench.base import Figure

TITLES = ("what", "value", "unit", "ratio", "to", "target", "note")


def cells(figures: Sequence[Figure]) -> list[tuple[str, ...]]:
    """Return a row of texts for each figure, below `TITLES`.

    Examples
    --------
    >>> slow = Figure("pa1", 3.9, "M rows/s", 0.95, "bare loop", ">= 0.9")
    >>> for line in cells([slow, Figure("peer", note="not installed")]):
    ...     print(line)
    ('pa1', '3.90', 'M rows/s', '0.95', 'bare loop', '>= 0.9 met', '')
    ('peer', '-', '', '', '', '', 'not installed')
    """
    verdict = {None: "", True: " met", False: " MISSED"}
    return [
        (
            figure.name,
            "-" if figure.value is None else _number(figure.value),
            figure.unit,
            "" if figure.ratio is None else _number(figure.ratio),
            figure.peer,
            figure.target + verdict[figure.met],
            figure.note,
        )
        for figure in figures
    ]


def _number(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    if 0.1 <= value < 10:
        return f"{value:.2f}"
    return f"{value:.3g}"


def as_json(found: Mapping[str, Sequence[Figure]], machine: Mapping[str, Any]) -> str:
    """Return the figures of all benchmarks with the machine they are from."""
    benchmarks = {
        name: [{**asdict(figure), "met": figure.met} for figure in figures]
        for name, figures in found.items()
    }
    return json.dumps({"machine": machine, "benchmarks": benchmarks}, indent=1) + "\n"
