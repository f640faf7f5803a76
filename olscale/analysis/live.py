"""How far an evaluation is, by data set and learner, as terminals, notebooks and pages show it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import nan
from typing import Any

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
        Mean of the last errors of the runs; NaN where there is none.
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
        error next to others.
    name : str
        The learner without parameters, by which pages give it a colour.
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
    name: str = ""


def learners_of(
    evaluation: LiveEvaluation,
) -> dict[str, list[LiveLearner]]:
    """Return the learners on each data set in the order of the experiment.

    The curve is of the stream that the most learners have gone along, so that lines of one picture
    are of one stream.
    """
    by_dataset: dict[str, dict[str, list[LiveRun]]] = defaultdict(
        lambda: defaultdict(list)
    )
    labels = _labels(evaluation)
    for run in evaluation.runs.values():
        by_dataset[run.dataset][labels[run.id]].append(run)
    learners = {}
    for dataset, runs_of in by_dataset.items():
        stream = _longest_stream(runs_of)
        learners[dataset] = [
            _learner(label, runs, stream) for label, runs in runs_of.items()
        ]
    return learners


def _learner(label: str, runs: list[LiveRun], stream: str) -> LiveLearner:
    # Of the replicates one curve is drawn, along the stream of all others.
    shown = next((run for run in runs if run.stream == stream), runs[0])
    ended = [run for run in runs if run.outcome]
    last_errors = [run.errors[-1] for run in runs if run.errors]
    learner = LiveLearner(
        label=label,
        runs=len(runs),
        done=len(ended),
        failed=sum(run.outcome != "ok" for run in ended),
        error=nan,
        metric=shown.metric,
        stream=stream,
        rows=(),
        errors=(),
        name=shown.learner,
    )
    if any(run.late for run in runs):
        return replace(learner, late=True)
    mean = nan
    if last_errors:
        mean = sum(last_errors) / len(last_errors)
    return replace(
        learner,
        error=mean,
        rows=shown.rows,
        errors=shown.errors,
        ahead=tuple(dict.fromkeys(chain.from_iterable(run.ahead for run in runs))),
    )


def _longest_stream(runs_of: dict[str, list[LiveRun]]) -> str:
    """Return the stream with the most positions noted, the first of equals."""
    positions: dict[str, int] = defaultdict(int)
    for runs in runs_of.values():
        for run in runs:
            positions[run.stream] += len(run.rows)
    return max(positions, key=lambda stream: positions[stream], default="")


def _labels(evaluation: LiveEvaluation) -> dict[str, str]:
    """Return the label of each run: the learner, and those of its parameters that differ."""
    # A journal has each setting once, for however many runs.
    settings = {id(run.params): run for run in evaluation.runs.values()}
    values: dict[str, dict[str, set[str]]]
    values = defaultdict(lambda: defaultdict(set))
    for run in settings.values():
        for name, value in run.params.items():
            values[_name(run)][name].add(json.dumps(value))
    labels = {}
    for key, run in settings.items():
        values_of = values[_name(run)]
        differing = sorted(name for name in values_of if len(values_of[name]) > 1)
        shown = [_parameter(name, run.params.get(name)) for name in differing]
        labels[key] = " ".join([_name(run), *shown])
    runs = evaluation.runs.values()
    return {run.id: labels[id(run.params)] for run in runs}


def _name(run: LiveRun) -> str:
    return run.label or run.learner


def _parameter(name: str, value: Any) -> str:
    if isinstance(value, float):
        return f"{name}={value:g}"
    return f"{name}={value}"
