"""Costs: the seconds a plan says a learner takes, next to those it takes, by shape of the rows.

Plans are cut for workers by these estimates: `learning_seconds`, from the numbers a row goes
through, the speed `Learner.numbers_per_second` and `Learner.row_seconds`. How many rows a kernel
learner without a budget keeps, and how long a batch machine searches, depends on the rows: those
estimates are right within a small factor for most data sets, not for these rows.
"""

from contextlib import suppress
from dataclasses import dataclass
from math import exp, fabs, log
from statistics import fmean, median
from time import process_time

from olscale.bench.base import Figure
from olscale.bench.class_clouds import Shape, clouds
from olscale.bench.linear import untrained
from olscale.errors import DivergedError
from olscale.learners.contract.capability import looks_ahead
from olscale.learners.contract.cost import learning_seconds
from olscale.learners.contract.learner import Learner
from olscale.learners.registry import LEARNERS, make_learner

_SECONDS = 0.1
"""Of a round, about, unless rows are too few or too many for it."""

_FEWEST_ROWS = 500
_MOST_VALUES = 2e7
"""Values of rows that are held in memory."""

_LONGEST = 3.0
"""Seconds of a round with the fewest rows: a shape that takes a learner more is left out."""

_ROUNDS = 3

_SHAPES = (
    Shape(columns=10, classes=2),
    Shape(columns=22, classes=2),
    Shape(columns=200, classes=10),
    Shape(columns=784, classes=10),
    Shape(columns=5000, classes=2, values=60),
)


@dataclass(frozen=True, slots=True)
class _Measured:
    """Seconds of a row of a shape, and how many times as many are estimated."""

    seconds: float
    ratio: float

    @property
    def times_off(self) -> float:
        """Factor by which the estimate is off, whichever way."""
        return exp(fabs(log(self.ratio)))


def figures() -> list[Figure]:
    """Return how far the estimates of each learner are off, the shape with the worst first."""
    return [_figure(name) for name in LEARNERS if not make_learner(name, {}).baseline]


def _figure(name: str) -> Figure:
    learner = make_learner(name, {})
    measured = []
    for shape in _SHAPES:
        if _estimated(learner, shape, _FEWEST_ROWS) <= _LONGEST:
            # One that diverges is no shape to time it with.
            with suppress(DivergedError):
                measured.append(_measured(name, shape))
    mean = exp(fmean(log(of_shape.ratio) for of_shape in measured))
    worst = max(of_shape.times_off for of_shape in measured)
    ratios = " ".join(f"{of_shape.ratio:.2f}" for of_shape in measured)
    seconds = " ".join(f"{1e6 * of_shape.seconds:.3g}" for of_shape in measured)
    return Figure(
        name,
        worst,
        "times off at worst",
        mean,
        "estimated / measured",
        note=f"by shape: {ratios}; measured us a row: {seconds}",
    )


def _size(learner: Learner, shape: Shape) -> tuple[int, int, float]:
    classes = {"classification": shape.classes, "regression": 0, "novelty": 2}[
        learner.task
    ]
    return shape.columns, classes, float(shape.values or shape.columns)


def _estimated(learner: Learner, shape: Shape, rows: int) -> float:
    return learning_seconds(learner, *_size(learner, shape), rows)


def _measured(name: str, shape: Shape) -> _Measured:
    learner = make_learner(name, {})
    most = int(_MOST_VALUES / (shape.values or shape.columns))
    rows = _FEWEST_ROWS
    # A model that grows takes more by the row: twice the rows are estimated anew.
    while 2 * rows <= most and _estimated(learner, shape, 2 * rows) <= _SECONDS:
        rows *= 2
    chunks = list(clouds(shape, rows, learner.task, learner.takes_negative))
    seconds = []
    for _ in range(_ROUNDS):
        # A new model each time: one that has learned updates more seldom.
        model = untrained(name, {}, chunks[0], _size(learner, shape)[1])
        if looks_ahead(model):
            model.prepare(chunks[0].X)
        begin = process_time()
        for chunk in chunks:
            model.learn(chunk.X, chunk.y)
        seconds.append(process_time() - begin)
    taken = median(seconds)
    return _Measured(taken / rows, _estimated(learner, shape, rows) / taken)
