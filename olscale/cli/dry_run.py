"""The text of ``olscale evaluate --dry-run``."""

from __future__ import annotations

from collections.abc import Sequence

from olscale.execution.preview import PhasePreview, Preview
from olscale.printable import width
from olscale.results.plans import TUNING


def dry_run_text(preview: Preview, store: str) -> str:
    """Return aligned lines: what there is to do, its size, and the part of each learner."""
    lines = []
    for phase in preview.phases:
        lines += [*_phase_lines(phase, store), ""]
    if preview.undecided:
        lines += [
            f"not chosen by tuning yet: {preview.undecided:,}; the first candidates stand for what "
            "will be chosen",
            "",
        ]
    return "\n".join(lines)


def _phase_lines(phase: PhasePreview, store: str) -> list[str]:
    name = phase.name.removesuffix(TUNING)
    what = "tuning of " if phase.name.endswith(TUNING) else ""
    stored = phase.runs - phase.missing
    lines = [
        f"{what}{name}: {phase.missing:,} of {phase.runs:,} runs to compute, {stored:,} in {store}"
    ]
    if not phase.missing:
        return lines
    on = "in process" if phase.workers == 1 else f"on {phase.workers} workers"
    lines.append(
        f"{phase.groups:,} run groups, {phase.rows:,} rows to learn, about "
        f"{_time(phase.seconds)} of processor time, {_time(phase.wall_seconds)} {on}"
    )
    head = ("dataset", "learner", "runs", "in store", "rows", "time")
    rows = [
        (
            line.dataset,
            line.learner,
            f"{line.runs:,}",
            f"{line.runs - line.missing:,}",
            f"{line.rows:,}",
            _time(line.seconds),
        )
        for line in phase.learners
    ]
    return lines + _table(head, rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lay out names to the left and figures to the right."""
    # Columns of a terminal and not characters: some characters take two.
    widths = [max(map(width, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for row in (head, *rows):
        cells = []
        for i, (cell, room) in enumerate(zip(row, widths, strict=True)):
            gap = " " * (room - width(cell))
            cells.append(cell + gap if i < 2 else gap + cell)
        lines.append(f"  {'  '.join(cells).rstrip()}")
    return lines


def _time(seconds: float) -> str:
    """Return a time with the unit that suits it.

    Examples
    --------
    >>> _time(0.25), _time(90.0), _time(7200.0), _time(1e6)
    ('0.25 s', '1.5 min', '2 h', '12 days')
    """
    for least, unit, name in ((259_200.0, 86_400.0, "days"), (5400.0, 3600.0, "h")):
        if seconds >= least:
            return f"{seconds / unit:,.0f} {name}"
    if seconds >= 60.0:
        return f"{seconds / 60.0:.2g} min"
    return f"{seconds:.2g} s"
