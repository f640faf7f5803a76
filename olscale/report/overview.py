"""What stands out of a store on the dashboard: runs, failures, workers, state of experiments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olscale.analysis.status import ExperimentProgress, Status
from olscale.report.first_screen import Card
from olscale.report.html import macros
from olscale.results.live import LiveEvaluation
from olscale.system.sizes import left_text, size_text, speed_text


def overview_html(status: Status, evaluations: Sequence[LiveEvaluation]) -> str:
    """Return the head of a store on the dashboard as HTML."""
    running = [
        evaluation for evaluation in evaluations if evaluation.state() == "running"
    ]
    experiments = [
        _experiment(progress, evaluations) for progress in status.experiments
    ]
    planned = {progress.experiment for progress in status.experiments}
    # Tuning has no plan of its own name, and a first evaluation has none before it begins.
    experiments += [
        _in_hand(evaluation) for evaluation in running if evaluation.name not in planned
    ]
    return str(macros("runs.html").overview(_cards(status, running), experiments, ()))


def _cards(status: Status, running: Sequence[LiveEvaluation]) -> list[Card]:
    total = sum(status.outcomes.values())
    good = status.outcomes.get("ok", 0)
    ended = "none has ended yet"
    if total:
        ended = f"ok, of {total:,} that have ended"
    cards = [Card("runs", f"{good:,}", ended)]
    if total > good:
        outcomes = [
            f"{n:,} {name}" for name, n in status.outcomes.items() if name != "ok"
        ]
        cards.append(
            Card("failed", f"{total - good:,}", ", ".join(outcomes), "", "failed")
        )
    # What a first evaluation is at is not in the store yet.
    in_hand = [run for evaluation in running for run in evaluation.runs.values()]
    datasets = {*status.datasets, *(run.dataset for run in in_hand)}
    learners = {run.learner for run in in_hand}
    cards.append(Card("data sets", f"{len(datasets):,}"))
    cards.append(Card("learners", f"{max(len(learners), len(status.learners)):,}"))
    if running:
        workers = {
            group.worker
            for evaluation in running
            for group in evaluation.groups.values()
            if group.going
        }
        speed = sum(evaluation.rows_per_second for evaluation in running)
        times_left = [left_text(evaluation.seconds_left) for evaluation in running]
        words = speed_text(speed) if speed else ""
        cards.append(Card("workers", f"{len(workers):,}", words, "", "running"))
        cards.append(
            Card(
                "time left",
                times_left[0].removesuffix(" left").removeprefix("time left "),
            )
        )
    elif status.last_finished:
        ended = f"{status.last_finished:%Y-%m-%d}"
        cards.append(Card("last run", ended, f"{status.last_finished:%H:%M} UTC"))
    cards.append(Card("size", size_text(status.bytes)))
    return cards


def _experiment(
    progress: ExperimentProgress, evaluations: Sequence[LiveEvaluation]
) -> dict[str, Any]:
    newest = next(
        (item for item in evaluations if item.name == progress.experiment),
        None,
    )
    if newest is not None and newest.state() == "running":
        return _in_hand(newest) | {"lost": progress.lost}
    state = "done"
    if progress.done < progress.total:
        state = newest.state() if newest is not None else "unfinished"
    percent = 100 * progress.done // progress.total if progress.total else 100
    return {
        "name": progress.experiment,
        "state": state,
        "percent": percent,
        "done": progress.done,
        "total": progress.total,
        "lost": progress.lost,
    }


def _in_hand(evaluation: LiveEvaluation) -> dict[str, Any]:
    return {
        "name": evaluation.name,
        "state": "running",
        "percent": int(100 * evaluation.share_done),
        "done": evaluation.done,
        "total": evaluation.total,
        "lost": 0,
    }
