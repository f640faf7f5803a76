"""A learner along rows: what it measures of itself, and the time it took, after every few rows."""

from collections.abc import Iterator
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from olscale.arrays import Array, FloatArray, IntArray
from olscale.compiled.csr import read_only
from olscale.learners.contract.compilation import compile_loops
from olscale.learners.contract.learner import Learner, codes_of
from olscale.learners.registry import make_learner


class Stretch(NamedTuple):
    """Where a learner is.

    Parameters
    ----------
    rows : int
        Rows learned from.
    measures : dict of str to float
        What the learner says of itself.
    seconds : float
        Processor time of learning so far.
    learner : Learner
        As it is now; it learns on when the next is asked for.
    """

    rows: int
    measures: dict[str, float]
    seconds: float
    learner: Learner


def stretches(
    name: str,
    params: dict[str, Any],
    X: FloatArray,
    y: Array,
    every: int,
    classes: int = 2,
) -> Iterator[Stretch]:
    """Have a learner learn dense rows and yield where it is after `every` of them.

    Parameters
    ----------
    name : str
        Of the learner.
    params : dict
    X : array of shape (n_rows, n_features)
    y : array of shape (n_rows,)
        Codes of classes, or targets.
    every : int
    classes : int
        How many there are, where the learner predicts classes.

    Examples
    --------
    >>> X, y = np.array([[1.0], [-1.0], [2.0]]), np.array([1, 0, 1])
    >>> for stretch in stretches("perceptron", {}, X, y, every=2):
    ...     stretch.rows, stretch.measures["updates"]
    (2, 1.0)
    (3, 1.0)
    """
    learner = make_learner(name, params)
    if learner.task == "regression":
        classes = 0
    learner.begin(X.shape[1], classes)
    # Before the clock starts: machine code is no work of the learner.
    compile_loops(learner, read_only(X[:1]))
    seconds = 0.0
    for start in range(0, len(y), every):
        stop = min(start + every, len(y))
        rows = read_only(X[start:stop])
        labels = read_only(y[start:stop])
        begun = process_time()
        learner.learn(rows, labels)
        seconds += process_time() - begun
        yield Stretch(stop, learner.measures(), seconds, learner)


def share_right(learner: Learner, X: FloatArray, y: IntArray) -> float:
    """Return the share of dense rows whose class `learner` predicts.

    Examples
    --------
    >>> X, y = np.array([[1.0], [-1.0]]), np.array([1, 0])
    >>> [stretch] = stretches("perceptron", {}, X, y, every=2)
    >>> share_right(stretch.learner, X, y)
    1.0
    """
    predicted = codes_of(learner.scores(read_only(X)))
    return float(np.mean(predicted == y))
