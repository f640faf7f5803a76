"""Neighbours and naive Bayes as nodes of ONNX."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from olscale.learners.bayes.gaussian_loop import LEAST
from olscale.learners.bayes.naive_bayes import NaiveBayes
from olscale.learners.neighbour.knn_window import KNNWindow
from olscale.learners.neighbour.window_loop import SOFT, TIE, Voting
from olscale.models.onnx_graph import Value, doubles


def add_neighbours(learner: KNNWindow, rows: Value) -> Value:
    """Add the votes of the nearest rows of the window; of two classes the difference."""
    return add_votes(*learner.newest_first(), learner.voting(), learner._outputs, rows)


def add_votes(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    scale: NDArray[np.float64],
    voting: Voting,
    outputs: int,
    rows: Value,
) -> Value:
    """Add the votes of the nearest of the points, which come newest first."""
    classes = max(2, outputs)
    if not len(points):
        return rows @ np.zeros((points.shape[1], outputs))
    # By differences, as the learner has them: products lose the digits of close rows.
    differences = (rows.add_axis(1) - doubles(points)) * doubles(scale)
    squares = (differences * differences).sum(axis=2, keeps=False)
    few = np.array([min(voting.k, len(points))])
    # Of equal numbers TopK takes the first: the newest row.
    names = rows.graph.new_names(2)
    nearest, places = rows.graph.add_several(
        "TopK", names, squares, few, axis=1, largest=0
    )
    of_classes = rows.graph.add("Gather", np.eye(classes)[labels], places)
    votes = of_classes.sum(axis=1, keeps=False) * (1.0 / float(few[0]))
    if voting.by_distance:
        weights = (nearest * voting.gamma + SOFT) ** -1.0
        total = weights.sum(axis=1)
        votes = (of_classes * weights.add_axis(2)).sum(axis=1, keeps=False) / total
    if outputs > 1:
        return votes
    first = votes.columns(np.array([0]))
    second = votes.columns(np.array([1]))
    tie = second.is_equal(first)
    return tie.choose(TIE, second - first)


def add_naive_bayes(learner: NaiveBayes, rows: Value) -> Value:
    """Add the log densities and priors of the classes; of two classes the difference."""
    state = learner.state_
    differences = rows.add_axis(2) - doubles(state["means"])
    falls = differences * differences * doubles(state["falls"])
    densities = (falls * -1.0 + doubles(state["heights"])).at_least(LEAST)
    logs = densities.sum(axis=1, keeps=False) * (state["counts"] > 0.0).astype(
        np.float64
    )
    logs = logs + _log_priors(learner)
    if learner._outputs > 1:
        return logs
    return logs.columns(np.array([1])) - logs.columns(np.array([0]))


def _log_priors(learner: NaiveBayes) -> NDArray[np.float64]:
    counts = learner.state_["counts"]
    columns = len(learner.state_["means"])
    priors: NDArray[np.float64] = LEAST * (columns + 1) - np.arange(
        len(counts), dtype=np.float64
    )
    has_rows = counts > 0.0
    priors[has_rows] = np.log(counts[has_rows] / counts.sum())
    return priors
