"""Running evaluations on the screen of a terminal: its width and height, colours, sparklines."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING

from olscale.analysis.live import LiveLearner, learners_of
from olscale.printable import printable
from olscale.report.live_text import (
    error_heading,
    error_text,
    failure_lines,
    live_marks,
    pace_text,
    stand_text,
    state_text,
)
from olscale.report.marks import footnotes
from olscale.report.sparkline import sparkline
from olscale.results.live import LiveEvaluation
from olscale.system.sizes import size_text

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

_STYLES = {
    "running": "blue",
    "done": "green",
    "silent": "yellow",
    "interrupted": "yellow",
}
_MOST_NOTES = 3
_BAR = 40
_SPARK = 24
_WIDE = 100
_NARROW = 60
"""Columns of a terminal that has no room for sparklines."""


def live_screen(
    evaluations: Sequence[LiveEvaluation], width: int, height: int
) -> Group:
    """Return what a terminal of this size shows of evaluations.

    Data sets that are being worked on come first; of each the best learners are shown for which
    there is room.
    """
    from rich.console import Group
    from rich.text import Text

    if not evaluations:
        return Group(Text("no evaluation is running"))
    # Fewer lines than eight would say nothing of an evaluation; the screen crops what
    # is too much.
    lines = max(8, height // len(evaluations))
    parts: list[RenderableType] = []
    for evaluation in evaluations:
        parts += _evaluation(evaluation, width, lines)
    return Group(*parts)


def _evaluation(
    evaluation: LiveEvaluation, width: int, lines: int
) -> list[RenderableType]:
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    state = evaluation.state()
    head = Text(printable(f"{evaluation.name}: "), style="bold", no_wrap=True)
    head.append(printable(state_text(evaluation)), style=_STYLES.get(state, "red"))
    share = evaluation.share_done
    # A bar ends no line; what follows has one of its own where there is no room next to the bar.
    between = " " if width >= _WIDE else "\n"
    stand = Text(
        f"{between}{100 * share:.0f} %, {evaluation.done}/{evaluation.total} runs"
    )
    if evaluation.failed:
        stand.append(f", {evaluation.failed} failed", style="red")
    stand.append(pace_text(evaluation))
    bar = ProgressBar(total=1.0, completed=share, width=min(_BAR, width - 2))
    parts: list[RenderableType] = [head, bar, stand]
    unfinished = [
        group
        for group in evaluation.groups.values()
        if group.going and not evaluation.end
    ]
    notes = evaluation.notes[-_MOST_NOTES:]
    failures = failure_lines(evaluation, _MOST_NOTES)
    workers = [
        f"{group.worker or 'here'}: {group.name}, {stand_text(group)}, {size_text(group.memory)}"
        for group in unfinished
    ]
    sets = sorted(
        learners_of(evaluation).items(), key=lambda item: not _is_going(item[1])
    )
    room = lines - 1 - len(parts) - len(notes) - len(failures) - min(len(workers), 4)
    shown = 0
    for name, learners in sets:
        if room < 4:
            # A table needs its heading, a learner, and perhaps a footnote and the line
            # on what is left out.
            break
        # Half of the lines at most, so that one data set of many learners leaves room
        # for a second.
        table, used = _dataset(name, learners, width, max(1, min(room - 3, lines // 2)))
        parts.append(table)
        room -= used
        shown += 1
    if shown < len(sets):
        parts.append(Text(f"... {len(sets) - shown} more data sets", style="dim"))
    parts += [Text(printable(line), style="dim", no_wrap=True) for line in workers[:4]]
    parts += [
        Text(printable(f"failed: {line}"), style="red", no_wrap=True)
        for line in failures
    ]
    parts += [Text(printable(f"note: {note}"), style="yellow") for note in notes]
    return parts


def _is_going(learners: Sequence[LiveLearner]) -> bool:
    has_begun = any(learner.done or not isnan(learner.error) for learner in learners)
    return has_begun and any(learner.done < learner.runs for learner in learners)


def _dataset(
    name: str, learners: Sequence[LiveLearner], width: int, most: int
) -> tuple[RenderableType, int]:
    """Return the table of a data set, and its lines."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    marks = live_marks(learners)
    signs = {
        learner.label: "".join(mark.sign for mark in of_learner)
        for learner, of_learner in zip(learners, marks, strict=True)
    }
    # Comparisons with NaN are all false, so learners without an error need a key of
    # their own to come last.
    ranked = sorted(learners, key=lambda learner: (isnan(learner.error), learner.error))
    has_sparks = width >= _NARROW
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    # a plain string would be read as markup
    heading = Text(printable(name), style="bold")
    table.add_column(heading, no_wrap=True, min_width=12)
    error_head = error_heading(learners[0].metric)
    done_head = "runs done"
    if not has_sparks:
        error_head = "error"
        done_head = "runs"
    table.add_column(error_head, justify="right", no_wrap=True)
    if has_sparks:
        table.add_column("along the stream", no_wrap=True)
    table.add_column(done_head, justify="right", no_wrap=True)
    for place, learner in enumerate(ranked[:most]):
        done = Text(f"{learner.done}/{learner.runs}")
        if learner.failed:
            done.append(f" {learner.failed} failed", style="red")
        error = f"{error_text(learner.error, learner.metric)}{signs[learner.label]}"
        # Labels are text: rich would read brackets in a plain string as markup.
        label = Text(printable(learner.label), style="bold" if place == 0 else "")
        cells = [label, Text(error)]
        if has_sparks:
            cells.append(Text(sparkline(learner.errors, _SPARK), style="blue"))
        table.add_row(*cells, done)
    notes = list(footnotes(marks))
    if len(ranked) > most:
        notes.append(f"... {len(ranked) - most} more settings")
    below = [Text(printable(line), style="dim") for line in notes]
    return Group(table, *below), 1 + min(most, len(ranked)) + len(below)
