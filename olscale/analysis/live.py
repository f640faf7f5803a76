"""What goes on in an evaluation, by data set and learner: the numbers that terminals, notebooks and pages show."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

from olscale.results.live import LiveEvaluation, LiveRun


@dataclass(frozen=True, slots=True)
class LiveLearner:
    """The runs of a learner in one setting on one data set.

    Attributes
    ----------
    label : str
        The learner, with the parameters that tell its settings apart.
    runs, done, failed : int
        All runs, those that have ended, and those of them without a result.
    error : float
        Mean error so far of the runs heard of; NaN where there is none.
    metric : str
        What the error is: ``cumulative_error``, or ``rmse`` in a regression.
    stream : str
        The stream whose curve this is.
    rows, errors : sequence
        The error along that stream.
    ahead : tuple of str
        What has seen rows before they are predicted.
    late : bool
        Whether it is a reference that predicts nothing by the first rows that count: it has no
        error beside others.
    """

    label: str
    runs: int
    done: int
    failed: int
    error: float
    metric: str
    stream: str
    rows: Sequence[int]
    errors: Sequence[float]
    ahead: tuple[str, ...] = ()
    late: bool = False


def learners_of(evaluation: LiveEvaluation) -> dict[str, list[LiveLearner]]:
    """Return the learners on each data set in the order of the experiment.

    The curve is of the stream that the most learners have gone along, so that lines of one picture
    are of one stream.
    """
    by_dataset: dict[str, dict[str, list[LiveRun]]] = defaultdict(lambda: defaultdict(list))
    labels = _labels(evaluation)
    for run in evaluation.runs.values():
        by_dataset[run.dataset][labels[run.id]].append(run)
    found = {}
    for dataset, settings in by_dataset.items():
        stream = _stream(settings)
        found[dataset] = [_learner(label, runs, stream) for label, runs in settings.items()]
    return found


def _learner(label: str, runs: list[LiveRun], stream: str) -> LiveLearner:
    heard = [run.errors[-1] for run in runs if run.errors]
    shown = next((run for run in runs if run.stream == stream), runs[0])
    done = [run for run in runs if run.outcome]
    failed = sum(run.outcome != "ok" for run in done)
    if any(run.late for run in runs):
        return LiveLearner(
            label, len(runs), len(done), failed, nan, shown.metric, stream, (), (), late=True
        )
    mean = sum(heard) / len(heard) if heard else nan
    ahead = tuple(dict.fromkeys(seen for run in runs for seen in run.ahead))
    return LiveLearner(
        label,
        len(runs),
        len(done),
        failed,
        mean,
        shown.metric,
        stream,
        shown.rows,
        shown.errors,
        ahead,
    )


def _stream(settings: dict[str, list[LiveRun]]) -> str:
    """Return the stream with the most positions heard of, the first of several."""
    positions: dict[str, int] = {}
    for runs in settings.values():
        for run in runs:
            positions[run.stream] = positions.get(run.stream, 0) + len(run.rows)
    return max(positions, key=lambda stream: positions[stream], default="")


def _labels(evaluation: LiveEvaluation) -> dict[str, str]:
    """Return the label of each run: the learner, and those of its parameters that differ."""
    # A journal has each setting once, for however many runs.
    settings = {id(run.params): run for run in evaluation.runs.values()}
    values: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for run in settings.values():
        for name, value in run.params.items():
            values[run.learner][name].add(json.dumps(value))
    labels = {}
    for key, run in settings.items():
        differing = sorted(name for name, found in values[run.learner].items() if len(found) > 1)
        labels[key] = " ".join([run.learner, *_settings(run, differing)])
    return {run.id: labels[id(run.params)] for run in evaluation.runs.values()}


def _settings(run: LiveRun, names: Sequence[str]) -> list[str]:
    values = ((name, run.params.get(name)) for name in names)
    return [
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in values
    ]
