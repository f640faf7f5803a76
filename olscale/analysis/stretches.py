"""A learner on its way through rows: what it measures of itself, and the time it took, after every few of them."""

from collections.abc import Iterator
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    X: NDArray[np.float64],
    y: NDArray[Any],
    every: int,
    classes: int = 2,
) -> Iterator[Stretch]:
    """Have a learner learn dense rows of so many classes or with targets, and yield where it is after `every` of them.

    Examples
    --------
    >>> X, y = np.array([[1.0], [-1.0], [2.0]]), np.array([1, 0, 1])
    >>> [(one.rows, one.measures["updates"]) for one in stretches("perceptron", {}, X, y, every=2)]
    [(2, 1.0), (3, 1.0)]
    """
    learner, seconds = make_learner(name, params), 0.0
    learner.begin(X.shape[1], 0 if learner.task == "regression" else classes)
    compile_loops(learner, read_only(X[:1]))
    for start in range(0, len(y), every):
        stop = min(start + every, len(y))
        begun = process_time()
        learner.learn(read_only(X[start:stop]), read_only(y[start:stop]))
        seconds += process_time() - begun
        yield Stretch(stop, learner.measures(), seconds, learner)


def share_right(learner: Learner, X: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    """Return the share of dense rows whose class `learner` predicts.

    Examples
    --------
    >>> X, y = np.array([[1.0], [-1.0]]), np.array([1, 0])
    >>> [share_right(one.learner, X, y) for one in stretches("perceptron", {}, X, y, every=2)]
    [1.0]
    """
    return float(np.mean(codes_of(learner.scores(read_only(X))) == y))
