"""The check that sums over rows are all the state between two rows, so checkpoints suffice."""

from typing import Any

import numpy as np

from olscale.compiled.csr import read_only
from olscale.data.chunk import Chunk
from olscale.learners.contract.learner import Learner, State
from olscale.learners.contract.merged_sums import mergeable, sums_key
from olscale.testing.check_list import check_plain_arrays
from olscale.testing.small_streams import (
    COLUMNS,
    assert_same_arrays,
    class_counts,
    cut,
    real_names,
    start_with,
    stream,
)

_CUTS = [0, 1, 100, 300, 512, 720]


def same_sums(learner: type[Learner], params: dict[str, Any]) -> list[dict[str, Any]]:
    """Return settings that claim the sums of `params`, each with one number changed."""
    key = sums_key(learner(**params))
    settings = [{**params, name: 0.5} for name in real_names(learner, params)]
    candidates = [(setting, learner(**setting)) for setting in settings]
    return [
        setting
        for setting, candidate in candidates
        if key and mergeable(candidate) and sums_key(candidate) == key
    ]


def check_sums_go_on_from_copies(learner: type[Learner], params: dict[str, Any]) -> None:
    """Another learner continues from the sums between any two rows to the same bits.

    The summing learner keeps nothing of the rows, and any setting that claims the same sums may
    sum: the first one in a group depends on what else is evaluated.
    """
    for classes in class_counts(learner):
        parts = [stream(classes, "dense", seed) for seed in range(3)]
        X, y = (
            read_only(np.concatenate([getattr(part, name) for part in parts]))
            for name in ("X", "y")
        )
        chunk = Chunk(X, y, COLUMNS)
        summing: Any = start_with(learner, params, chunk.X, classes)
        before = _copies(summing.state())
        sums = summing.no_sums()
        summing.add_rows(chunk.X, chunk.y, sums)
        assert_same_arrays(summing.state(), before, "state")
        expected = _copies(summing.end_sums(sums))
        for setting in (params, *same_sums(learner, params)):
            running_sums: State = {}
            for rows, labels in cut(chunk, _CUTS):
                continuing: Any = start_with(learner, setting, chunk.X, classes)
                running_sums = _copies(running_sums or continuing.no_sums())
                check_plain_arrays("sum", running_sums)
                continuing.add_rows(rows, labels, running_sums)
            continuing = start_with(learner, setting, chunk.X, classes)
            assert_same_arrays(continuing.end_sums(_copies(running_sums)), expected, "sum")


def _copies(arrays: State) -> State:
    return {name: array.copy() for name, array in arrays.items()}
