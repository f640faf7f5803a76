"""Neighbours and naive Bayes as nodes of ONNX."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from olscale.learners.bayes import multinomial_loop
from olscale.learners.bayes.gaussian_loop import LEAST
from olscale.learners.bayes.multinomial_naive_bayes import MultinomialNaiveBayes
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
    graph = rows.graph
    unscaled = rows.add_axis(1) - doubles(points)
    differences = unscaled * doubles(scale)
    squares = differences * differences
    distances = squares.sum(axis=2, keeps=False)
    count = min(voting.k, len(points))
    few = np.array([count])
    # Of equal numbers TopK takes the first: the newest row.
    names = graph.new_names(2)
    nearest, places = graph.add_several(
        "TopK", names, distances, few, axis=1, largest=0
    )
    indicators = np.eye(classes)[labels]
    of_classes = graph.add("Gather", indicators, places)
    votes = of_classes.sum(axis=1, keeps=False) * (1.0 / float(count))
    if voting.by_distance:
        softened = nearest * voting.gamma + SOFT
        weights = softened**-1.0
        total = weights.sum(axis=1)
        weighted = of_classes * weights.add_axis(2)
        votes = weighted.sum(axis=1, keeps=False) / total
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
    squares = differences * differences
    falls = squares * doubles(state["falls"])
    log_densities = falls * -1.0 + doubles(state["heights"])
    densities = log_densities.at_least(LEAST)
    has_rows = (state["counts"] > 0.0).astype(np.float64)
    likelihoods = densities.sum(axis=1, keeps=False) * has_rows
    logs = likelihoods + _log_priors(learner)
    if learner._outputs > 1:
        return logs
    second = logs.columns(np.array([1]))
    first = logs.columns(np.array([0]))
    return second - first


def _log_priors(learner: NaiveBayes) -> NDArray[np.float64]:
    counts = learner.state_["counts"]
    columns = len(learner.state_["means"])
    # Classes without rows come last, and among them the first one first.
    places = np.arange(len(counts), dtype=np.float64)
    priors: NDArray[np.float64] = LEAST * (columns + 1) - places
    has_rows = counts > 0.0
    shares = counts[has_rows] / counts.sum()
    priors[has_rows] = np.log(shares)
    return priors


def add_multinomial(learner: MultinomialNaiveBayes, rows: Value) -> Value:
    """Add the log probabilities of the classes and a row; of two classes the difference."""
    state = learner.state_
    has_rows = state["rows"] > 0.0
    if learner._outputs == 1 and not has_rows.all():
        certain = np.where(has_rows[1], -multinomial_loop.LEAST, multinomial_loop.LEAST)
        return rows @ np.zeros((len(state["counts"]), 1)) + certain
    counts = state["counts"] + float(learner.alpha)
    log_shares = np.log(counts) - np.log(counts.sum(axis=0))
    weights = np.where(has_rows, log_shares, 0.0)
    log_rows = np.log(state["rows"], out=np.zeros(len(has_rows)), where=has_rows)
    total = state["rows"].sum()
    log_all = np.log(total if total > 0.0 else 1.0)
    priors = np.where(has_rows, log_rows - log_all, 0.0)
    logs = rows @ doubles(weights) + priors
    if learner._outputs == 1:
        return logs @ np.array([[-1.0], [1.0]])
    if has_rows.all():
        return logs
    # Classes without rows are 0 so far: they lie below the last of the others.
    places = np.arange(len(has_rows), dtype=np.float64)
    lowest = logs.reduce("ReduceMin")
    below = lowest + (multinomial_loop.LEAST - places)
    return logs + below * (~has_rows).astype(np.float64)
