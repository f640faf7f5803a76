"""Checks that streams outlast the initial rows in which learners and transforms predict nothing."""

from collections.abc import Sequence

import numpy as np

from olscale.data.transforms.pipeline import make_transform
from olscale.errors import ParameterError
from olscale.evaluation.label_delay import Schedule
from olscale.evaluation.protocol import Scoring
from olscale.learners.contract.cost import check_rows, cost_of
from olscale.learners.contract.learner import Learner


def check_enough_rows(
    learner: Learner,
    transforms: Sequence[str],
    scoring: Scoring,
    fold: int | None,
    rows: int,
    tested: bool,
) -> None:
    """Refuse a run whose learner would see too few rows to predict any.

    Parameters
    ----------
    learner : Learner
    transforms : sequence of str
        Transforms with their parameters.
    scoring : Scoring
    fold : int, optional
        Number of the model, where several process the stream together.
    rows : int
        Length of the stream.
    tested : bool
        Whether the final model is tested.

    Raises
    ------
    ParameterError
        States the number of rows, the number needed, and what to do.
    """
    interrupted = tested or scoring.interrupts
    steps = [(step.name, *step.start_rows()) for step in map(make_transform, transforms)]
    if not any(least for _, least, _ in steps) and not cost_of(learner).start_rows(interrupted)[0]:
        return
    learned, transformed = rows_learned(scoring, fold, rows, tested)
    check_rows(learner, learned, interrupted)
    for name, least, cure in steps:
        if transformed < least:
            raise ParameterError(
                f"transform {name}: {transformed:,} rows come to learn from, and features are 0 "
                f"before {least:,}; {cure}"
            )


def rows_learned(scoring: Scoring, fold: int | None, rows: int, tested: bool) -> tuple[int, int]:
    """Return the rows that a learner and a transform have learned before the last prediction.

    A `delay` given by a column counts as none, since its values are not known yet.

    Examples
    --------
    >>> rows_learned(Scoring(delay=10), None, rows=100, tested=False)
    (89, 100)
    >>> rows_learned(Scoring(holdout_every=3, holdout_rows=1), None, rows=100, tested=True)
    (75, 75)
    """
    times = Schedule(scoring, fold).times(0, rows)
    last = rows if tested else rows - 1
    if scoring.folds is not None and not tested:
        last = int(np.flatnonzero(times == 0)[-1:].sum())  # the last row that tests this model
    arrived = max(0, last - (scoring.delay if isinstance(scoring.delay, int) else 0))
    return int(times[:arrived].sum()), int(np.count_nonzero(times))


def check_seen(learner: Learner) -> None:
    """Refuse the end of a run whose labels came too late to predict any row by them.

    See `check_enough_rows`.
    """
    if cost_of(learner).start_rows(apart=True)[0]:
        check_rows(learner, int(learner.state_["seen"][0]), apart=True)
