"""Running evaluations as text."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from time import gmtime, strftime, time

from olscale.analysis.live import LiveLearner, learners_of
from olscale.measures import figure_of, measure_of, metric_words
from olscale.printable import printable, width
from olscale.report.marks import Mark, footnotes, look_ahead_mark, reference_mark
from olscale.results.live import COMPILING, LiveEvaluation, LiveGroup, LiveRun
from olscale.system.sizes import duration_text, left_text, size_text, speed_text

_BAR = 24
_MOST_LINES = 40
_MOST_NOTES = 5
_MOST_FAILURES = 5


def state_text(evaluation: LiveEvaluation, now: float | None = None) -> str:
    """Return the state of an evaluation, in a few words."""
    state = evaluation.state(now)
    if state == "running":
        return "running"
    if state != "silent":
        return state
    ago = duration_text((now or time()) - evaluation.heard)
    return (
        f"silent for {ago}: its process ({evaluation.pid} on {evaluation.host}) is gone; "
        "evaluate again to continue"
    )


def error_text(error: float, metric: str) -> str:
    """Return an error, without the percent sign; a dash if there is none yet."""
    return "-" if isnan(error) else figure_of(metric, error)


def error_heading(metric: str) -> str:
    """Return the heading of errors."""
    unit = " (%)" if measure_of(metric).unit == "percent" else ""
    return f"{'error' if metric == 'cumulative_error' else metric_words(metric)} so far{unit}"


def live_marks(learners: Sequence[LiveLearner]) -> list[tuple[Mark, ...]]:
    """Return the marks of each learner's error on one data set."""
    look_ahead = look_ahead_mark(item for learner in learners for item in learner.ahead)
    late = reference_mark(
        "predicts nothing by the first rows that count: no error along the stream"
    )
    marks = []
    for learner in learners:
        of_learner = (look_ahead,) if learner.ahead else ()
        marks.append((*of_learner, late) if learner.late else of_learner)
    return marks


def stand_text(group: LiveGroup) -> str:
    """Return a group's progress: the share of rows learned, or of held-out rows predicted."""
    if group.compiling:
        return COMPILING
    if group.scoring:
        return f"held-out rows {100 * group.scored / group.to_score:.0f} %"
    return f"{100 * group.rows_done / max(1, group.rows):.0f} %"


def failure_lines(evaluation: LiveEvaluation, most: int = _MOST_FAILURES) -> list[str]:
    """Return a line for the failed runs of each learner on a data set: how, and at which row first.

    Their reasons are in the store.
    """
    failed: dict[tuple[str, str, str], list[LiveRun]] = {}
    for run in evaluation.runs.values():
        if run.outcome not in ("", "ok"):
            kind = (
                run.label or run.learner,
                run.dataset,
                run.outcome.replace("_", " "),
            )
            failed.setdefault(kind, []).append(run)
    lines = []
    for (learner, dataset, outcome), runs in failed.items():
        line = f"{learner} on {dataset}: {outcome}"
        rows = [run.failed_row for run in runs if run.failed_row is not None]
        if rows:
            line += f", first after row {min(rows):,}"
        lines.append(line + f", {len(runs)} runs" * (len(runs) > 1))
    if len(lines) > most:
        lines = [*lines[:most], f"... {len(lines) - most} more that failed"]
    return lines


def pace_text(evaluation: LiveEvaluation, now: float | None = None) -> str:
    """Return the speed, as far as it is known, and the time left."""
    speed = evaluation.rows_per_second
    words = f", {speed_text(speed)}" if speed else ""
    if evaluation.end:
        return f"{words}{_ended(evaluation.heard)}"
    if evaluation.state(now) != "running":
        return words
    compiling = f", {COMPILING}" if evaluation.compiling else ""
    return f"{words}{compiling}, {left_text(evaluation.seconds_left)}"


def _ended(at: float) -> str:
    try:
        return f", ended {strftime('%Y-%m-%d %H:%M', gmtime(at))} UTC"
    except (OverflowError, ValueError, OSError):  # from a damaged journal
        return ""


def live_text(evaluations: Sequence[LiveEvaluation], now: float | None = None) -> str:
    """Return evaluations as text: progress, time, each learner's error, workers, notes."""
    return (
        "\n\n".join(_one(evaluation, now) for evaluation in evaluations) + "\n"
        if evaluations
        else "no evaluation is running\n"
    )


def _one(evaluation: LiveEvaluation, now: float | None) -> str:
    filled = round(_BAR * evaluation.share_done)
    failed = f", {evaluation.failed} failed" if evaluation.failed else ""
    lines = [
        f"{evaluation.name}: {state_text(evaluation, now)}",
        f"[{'#' * filled}{'.' * (_BAR - filled)}] {evaluation.done}/{evaluation.total} "
        f"runs{failed}{pace_text(evaluation, now)}",
    ]
    for dataset, learners in learners_of(evaluation).items():
        room = max(width(learner.label) for learner in learners)
        lines.append(f"{dataset}: {error_heading(learners[0].metric)}, runs done")
        marks = live_marks(learners)
        signs = ["".join(mark.sign for mark in of_learner) for of_learner in marks]
        longest = max(map(len, signs))
        lines += [
            f"  {learner.label}{' ' * (room - width(learner.label))}  "
            f"{error_text(learner.error, learner.metric):>6}"
            f"{sign:<{longest}}  {learner.done}/{learner.runs}"
            + (f", {learner.failed} failed" if learner.failed else "")
            for learner, sign in zip(learners, signs, strict=True)
        ]
        lines += [f"  {line}" for line in footnotes(marks)]
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"... {len(lines) - _MOST_LINES} more lines"]
    lines += [f"failed: {line}" for line in failure_lines(evaluation)]
    lines += [
        f"worker {group.worker or 'here'}: {group.name}, {stand_text(group)}, "
        f"{size_text(group.memory)}"
        for group in evaluation.groups.values()
        if group.going and not evaluation.end
    ]
    return "\n".join(
        map(
            printable,
            [*lines, *(f"note: {note}" for note in evaluation.notes[-_MOST_NOTES:])],
        )
    )
